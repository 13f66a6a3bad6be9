"""IDs as tokens: 122 bits of a keyed hash. The clients share the key, and the server does not know it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secfc.errors import DuplicateIdError, ParameterError
from secfc.psu.prime import Elements, P

KEY_BYTES = 32
CHECK_BYTES = 8

SALT_BYTES = 16

_TOKEN_BYTES = 16
_DIGEST_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens of a party's IDs, two field elements `u`, `v` each.

    To anyone without the key they look uniform and independent. `check`, 8 bytes, is a hash of key and salt.
    With it clients see whether they have the same key.
    """

    u: Elements = field(repr=False)
    v: Elements = field(repr=False)
    check: bytes = field(default=bytes(CHECK_BYTES), repr=False)

    def __len__(self) -> int:
        return self.u.size


def check_key(key: object) -> bytes:
    """The key, if it is valid; ParameterError otherwise."""
    if not isinstance(key, bytes):
        raise ParameterError(f"id_key: bytes are needed, {type(key).__name__} was given")
    if len(key) != KEY_BYTES:
        raise ParameterError(f"id_key: {KEY_BYTES} bytes are needed, {len(key)} were given")
    return key


@dataclass(frozen=True, kw_only=True)
class RowIds:
    """A party's IDs before a run's salt is known: a keyed digest of each, and the key.

    `digests`, shape (m_j, 32), uint8, are all different and in the order of the IDs. They do not depend on
    the run and never leave the party. The clients share the key, 32 bytes, and the server does not know it.
    """

    digests: NDArray[np.uint8] = field(repr=False)
    key: bytes = field(repr=False)

    def __len__(self) -> int:
        return int(self.digests.shape[0])

    def tokens(self, salt: bytes) -> Tokens:
        """Tokens of the IDs in a run.

        The salt, 16 bytes, is public and different for every run. So to anyone without the key, the tokens of
        two runs have nothing in common.
        """
        state = hashlib.blake2b(key=self.key, digest_size=_TOKEN_BYTES, salt=salt, person=b"secfc token")
        words = np.frombuffer(_hashed(state, (one.data for one in self.digests)), dtype="<u8").reshape(-1, 2)
        # The low 61 bits. All ones, which is p, becomes 0: once in 2**60 words.
        parts = words & np.uint64(P)
        parts[parts == P] = 0
        u, v = np.ascontiguousarray(parts[:, 0]), np.ascontiguousarray(parts[:, 1])
        check = hashlib.blake2b(key=self.key, digest_size=CHECK_BYTES, salt=salt, person=b"key check")
        return Tokens(u=u, v=v, check=check.digest())


def hashed_ids(encoded: Iterable[bytes], *, key: bytes, name: str) -> RowIds:
    """A party's IDs, as bytes in their normal form, hashed with the clients' key. `name` is for errors.

    DuplicateIdError if the party has an ID twice: the text has the numbers of the rows, from 0.
    """
    check_key(key)
    state = hashlib.blake2b(key=key, digest_size=_DIGEST_BYTES, person=b"secfc row ID")
    digests = np.frombuffer(_hashed(state, encoded), dtype=np.uint8).reshape(-1, _DIGEST_BYTES)
    words = digests.view("<u8")
    order = np.lexsort(words.T)
    same = (words[order[1:]] == words[order[:-1]]).all(axis=1)
    if same.any():
        repeated = order[1:][same]
        at = int(repeated.argmin())
        raise DuplicateIdError(
            f"{name}: {repeated.size} of its IDs are repeated, the first of them in rows "
            f"{order[:-1][same][at]} and {repeated[at]}"
        )
    return RowIds(digests=digests, key=key)


def _hashed(state: hashlib.blake2b, parts: Iterable[bytes | memoryview]) -> bytes:
    """The digests of all parts, each with a copy of the keyed state."""
    hashed = bytearray()
    for part in parts:
        hashing = state.copy()
        hashing.update(part)
        hashed += hashing.digest()
    return bytes(hashed)
