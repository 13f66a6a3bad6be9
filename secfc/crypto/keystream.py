"""Keystreams from keys that two parties share, one key a use, and uniform residues drawn from them.

::

    info = "secfc compare 2" | round (4) | part (4) | phase | purpose | index (4)
    key  = HKDF-SHA256(secret, salt = run, info)

with the length (1) before phase and purpose.
"""

import hmac
import struct
import time
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from secfc.crypto.randomness import Guarded
from secfc.errors import SecFCError
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes

KEY_BYTES = 32
_LABEL = b"secfc compare 2"
_PLACE = struct.Struct("<II")  # round, part
_INDEX = struct.Struct("<I")

ZEROS = memoryview(bytes(12 << 16))  # input of the cipher for keystreams, at most this many bytes at a time

_BLOCK_BYTES = 6 << 16
"""Bytes of residues drawn at a time: with spare words at most the size of `ZEROS`, and a multiple of the
cipher's block."""

_NONCE = bytes(12)  # each key is used for one keystream only

_MODES: tuple[modes.GCM | modes.CTR, ...] = modes.GCM(_NONCE), modes.CTR(_NONCE + (2).to_bytes(4))
"""Both give the same bytes: GCM starts its counter at 2 (NIST SP 800-38D, 7.1)."""


def keystream(key: bytes) -> CipherContext:
    """AES-256 in counter mode with the counters of GCM: encrypting zeros gives the stream. No tag is made.

    The key is used for this one keystream only, so no counter block repeats.
    """
    return Cipher(algorithms.AES256(key), faster_mode()).encryptor()


@cache
def faster_mode() -> modes.GCM | modes.CTR:
    """The faster mode of OpenSSL on this machine: GCM with AVX-512, plain CTR without it."""

    def seconds(mode: modes.GCM | modes.CTR) -> float:
        stream, out = Cipher(algorithms.AES256(bytes(32)), mode).encryptor(), bytearray(len(ZEROS))
        started = time.perf_counter()
        stream.update_into(ZEROS, out)
        return time.perf_counter() - started

    return min(_MODES, key=lambda mode: min(seconds(mode) for _ in range(3)))


def spare_words(count: int, p: int) -> int:
    """Spare 24-bit words for `count` residues: the expected number >= p, plus ten standard deviations."""
    beyond = count * (1 - p / 2**24)
    return int(beyond + 10 * beyond**0.5) + 32


def _redraw(stream: CipherContext, words: Bytes, spare: Bytes, p: int, kernels: Kernels) -> None:
    """Make words of the keystream independent, uniform residues below p, if the spare ones were too few.

    A word of the keystream is uniform below 2**24. Each word that is not below p is replaced by the next
    spare word below p. So every word is uniform below p, independently of the others.
    """
    enough = False
    while not enough:
        stream.update_into(ZEROS[: spare.size], spare.data)
        enough = kernels.redraw(words, spare, p)


class ResidueStream(Guarded):
    """Independent, uniform residues modulo primes, from a key of 32 bytes that is used for nothing else.

    Two parties with the same key must draw the same numbers of residues modulo the same primes in each call,
    because every call also draws spare words.
    """

    def __init__(self, key: bytes, kernels: Kernels) -> None:
        super().__init__()
        self._stream, self._kernels = keystream(key), kernels

    def fill(self, out: Bytes, primes: Sequence[int]) -> None:
        """Write the next residues modulo each prime, packed, to a contiguous array, (P, ..., 3 * count)."""

        def put(part: Bytes, drawn: Bytes, p: int) -> None:
            part[...] = drawn

        self._draw(out, primes, put)

    def add(self, packed: Bytes, primes: Sequence[int]) -> None:
        """Add the next residues modulo each prime to packed ones below it, of the same shape, in place."""
        self._draw(packed, primes, self._kernels.add_masks)

    def _draw(self, packed: Bytes, primes: Sequence[int], put: Callable[[Bytes, Bytes, int], None]) -> None:
        self.check_process()
        if not packed.flags.c_contiguous:
            raise ValueError("the array is not contiguous")  # reshape would copy it
        for plane, p in zip(packed.reshape(len(primes), -1), primes, strict=True):
            blocks = [plane[low : low + _BLOCK_BYTES] for low in range(0, plane.size, _BLOCK_BYTES)]
            self._draw_blocks([(one, *self._words(one.size, p)) for one in blocks], p, put)

    def _words(self, size: int, p: int) -> tuple[Bytes, Bytes]:
        """The next words of the keystream, of this size, and spare ones."""
        spare = BYTES_PER_RESIDUE * spare_words(size // BYTES_PER_RESIDUE, p)
        row = np.empty(size + spare, dtype=np.uint8)
        self._stream.update_into(ZEROS[: row.size], row.data)
        return row[:size], row[size:]

    def _draw_blocks(
        self, blocks: list[tuple[Bytes, Bytes, Bytes]], p: int, put: Callable[[Bytes, Bytes, int], None]
    ) -> None:
        def draw(block: tuple[Bytes, Bytes, Bytes]) -> bool:
            part, words, spare = block
            enough = self._kernels.redraw(words, spare, p)
            if enough:
                put(part, words, p)
            return enough

        size = sum(part.size for part, _, _ in blocks) // BYTES_PER_RESIDUE
        every = self._kernels.threads.each(draw, blocks, size=size)
        for (part, words, spare), enough in zip(blocks, every, strict=True):
            if not enough:
                _redraw(self._stream, words, spare, p, self._kernels)
                put(part, words, p)


class BitStream(Guarded):
    """Independent, uniform bits, in words of 64, from a key that is used for nothing else."""

    def __init__(self, key: bytes) -> None:
        super().__init__()
        self._stream = keystream(key)

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Write the next words to a contiguous array."""
        octets = self._octets(out)
        for low in range(0, octets.size, len(ZEROS)):
            part = octets[low : low + len(ZEROS)]
            self._stream.update_into(ZEROS[: part.size], part.data)

    def add(self, words: NDArray[np.uint64]) -> None:
        """Add the next words to a contiguous array, in place: ``words ^= next words``."""
        octets = self._octets(words).data
        self._stream.update_into(octets, octets)

    def _octets(self, out: NDArray[np.uint64]) -> Bytes:
        self.check_process()
        if not out.flags.c_contiguous:
            raise ValueError("the array is not contiguous")  # reshape would copy it
        return out.reshape(-1).view(np.uint8)


class Keys:
    """Keys that the dealer and one other party derive for a part of a round.

    Only these two know the secret, of 32 bytes. Numbers are below 2**32. A
    part is a group of rows that is compared separately, so that no message is too large.
    """

    def __init__(self, secret: bytes, *, run: bytes, round_: int, phase: str, part: int = 0) -> None:
        if len(secret) != KEY_BYTES:
            raise ValueError(f"secret: {len(secret)} bytes given, {KEY_BYTES} needed")
        self._key = hmac.digest(run, secret, "sha256")  # the first step of HKDF (RFC 5869)
        self._info = _LABEL + _PLACE.pack(round_, part) + _framed(phase)
        self.used: dict[tuple[str, int], None] = {}
        """Purpose and index of every key so far, in order."""

    def __repr__(self) -> str:
        return f"Keys(used={len(self.used)})"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("Keys cannot be copied or pickled: masks would repeat")

    def key(self, purpose: str, index: int) -> bytes:
        """The key of a use, 32 bytes. SecFCError if the same key was derived before.

        The index is that of the batch, or of the part of an answer, below 2**32.
        """
        if (purpose, index) in self.used:
            raise SecFCError(f"the key for {purpose} {index} was used: masks would repeat")
        self.used[purpose, index] = None
        info = self._info + _framed(purpose) + _INDEX.pack(index)
        return hmac.digest(self._key, info + b"\1", "sha256")  # the second step: 32 bytes are one block

    def bits(self, purpose: str, index: int) -> BitStream:
        """The keystream of a use, as bits."""
        return BitStream(self.key(purpose, index))


@cache
def _framed(text: str) -> bytes:
    return bytes([len(text.encode())]) + text.encode()
