"""Invariants of everything that is masked, sealed or opened in a run, which its result does not show.

No keystream hides two things, and no nonce is used twice.
What was sealed opens only unchanged, and only at its place.
"""

import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from secfc.crypto import channel, keystream, randomness
from secfc.crypto.keystream import BitStream, ResidueStream
from secfc.errors import SealError
from secfc.protocol.messages import KINDS

_PURPOSES = sorted({b"of no message", *(kind.purpose for kind in KINDS)} - {b""})


class Records:
    """Keys of all started keystreams, and places of all seals."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fresh, self.given = Counter[bytes](), Counter[bytes]()
        self.shared, self.sealed = Counter[bytes](), Counter[tuple[bytes, bytes]]()
        self._drawn = set[bytes]()
        urandom = os.urandom
        keystream.faster_mode()  # its measurement masks nothing

        def drawn(size: int) -> bytes:
            key = urandom(size)
            self._drawn.add(key)
            return key

        monkeypatch.setattr(os, "urandom", drawn)
        monkeypatch.setattr(randomness, "Cipher", self._of_a_source)
        monkeypatch.setattr(keystream, "Cipher", self._of_a_pair)
        records = self

        class Recorded:
            """AES-GCM that records each nonce it seals under."""

            def __init__(self, key: bytes) -> None:
                self._key, self._real = key, AESGCM(key)

            def encrypt(self, nonce: bytes, *rest: Any) -> bytes:
                records.sealed[self._key, bytes(nonce)] += 1
                return self._real.encrypt(nonce, *rest)

            def encrypt_into(self, nonce: bytes, *rest: Any) -> int:
                records.sealed[self._key, bytes(nonce)] += 1
                return self._real.encrypt_into(nonce, *rest)

            def decrypt(self, *given: Any) -> bytes:
                return self._real.decrypt(*given)

            def decrypt_into(self, *given: Any) -> int:
                return self._real.decrypt_into(*given)

        sealed_parts = channel._sealed

        def sealed(key: bytes, nonce: bytes, *rest: Any) -> channel.Sealed:
            records.sealed[key, bytes(nonce)] += 1
            return sealed_parts(key, nonce, *rest)

        monkeypatch.setattr(channel, "AESGCM", Recorded)
        monkeypatch.setattr(channel, "_sealed", sealed)

    def _of_a_source(self, algorithm: Any, mode: Any) -> Any:
        assert mode.nonce == bytes(16)
        (self.fresh if algorithm.key in self._drawn else self.given)[algorithm.key] += 1
        return Cipher(algorithm, mode)

    def _of_a_pair(self, algorithm: Any, mode: Any) -> Any:
        assert mode in keystream._MODES
        self.shared[algorithm.key] += 1
        return Cipher(algorithm, mode)

    def repeated(self) -> list[str]:
        """Which keys and nonces were used more than once."""
        sealing = {key for key, _ in self.sealed}
        cases = {
            "a source of masks has a key of another": max(self.fresh.values(), default=1) > 1,
            "a nonce is used twice": max(self.sealed.values(), default=1) > 1,
            "keys of a source and of a pair are equal": bool(self.fresh.keys() & self.shared.keys()),
            "a key is both fresh and given": bool(self.fresh.keys() & self.given.keys()),
            "a key masks and seals": bool(sealing & (self.fresh.keys() | self.shared.keys())),
        }
        return [text for text, broken in cases.items() if broken]


class Traffic(Records):
    """All this of one run, as a context: it opens some sealed messages again, changed or at another place."""

    def __init__(self, seed: int, share: float = 0.1) -> None:
        self._patches, self._rng, self._share = pytest.MonkeyPatch(), random.Random(f"traffic {seed}"), share
        self._opened: list[str] = []
        self._streams: dict[int, tuple[bytes, Any]] = {}  # by the object's number, with the object: it stays
        self._hiding = defaultdict[bytes, set[int]](set)  # numbers of streams that hide something, by key

    def __enter__(self) -> Self:
        super().__init__(self._patches)
        open_, traffic = channel.Channel.open, self

        def tried(self: channel.Channel, purpose: bytes, **given: Any) -> memoryview:
            payload = open_(self, purpose, **given)
            if traffic._rng.random() < traffic._share:
                traffic._try(lambda *what, **other: open_(self, *what, **other), purpose, given)
                back = channel.Channel(self._key, self._peer, self._me, self._sealed, self._process)
                traffic._refused("as its recipient's own", lambda: open_(back, purpose, **given), purpose)
            return payload

        begin, add = keystream.keystream, {one: one.add for one in (ResidueStream, BitStream)}

        def begun(key: bytes) -> Any:
            stream = begin(key)
            traffic._streams[id(stream)] = key, stream
            return stream

        def adding(self: Any, *given: Any) -> None:
            number = id(self._stream)
            traffic._hiding[traffic._streams[number][0]].add(number)
            add[type(self)](self, *given)

        self._patches.setattr(keystream, "keystream", begun)
        self._patches.setattr(ResidueStream, "add", adding)
        self._patches.setattr(BitStream, "add", adding)
        self._patches.setattr(channel.Channel, "open", tried)
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.undo()

    def _try(self, open_: Any, purpose: bytes, given: dict[str, Any]) -> None:
        changed = bytearray(given["sealed"])
        changed[self._rng.randrange(len(changed))] ^= 1 + self._rng.randrange(255)
        other = self._rng.choice([one for one in _PURPOSES if one != purpose])
        for what, as_, more in (
            ("changed", purpose, {"sealed": changed}),
            ("of another part", purpose, {"part": given["part"] ^ 1}),
            ("of another round", purpose, {"round_": given.get("round_", 0) ^ 1}),
            (f"as {other.decode()}", other, {}),
        ):
            self._refused(what, partial(open_, as_, **given | more), purpose)

    def _refused(self, what: str, opens: Callable[[], object], purpose: bytes) -> None:
        try:
            opens()
        except SealError:
            return
        self._opened.append(f"{purpose.decode()} opens {what}")

    def repeated(self) -> list[str]:
        """What repeats, and what opens that must not."""
        # The dealer may draw masks again; what they hide is one answer.
        twice = any(len(streams) > 1 for streams in self._hiding.values())
        return [*super().repeated(), *self._opened, *(["a keystream hides two things"] * twice)]
