"""Keystreams of keys that two parties share, and uniform residues from them."""

import time
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import accumulate

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.kernels import Kernels
from secfc.randomness import Guarded
from secfc.threads import Turns

ZEROS = memoryview(bytes(6 << 16))  # what a keystream is added to, at most so many bytes at a time

_BLOCK_BYTES = 3 << 16
"""Residues that are drawn at a time; with their spare words they are shorter than `ZEROS`."""

_ADDED = np.ones(1, dtype=np.int64)  # the sign of masks that are added
_NONCE = bytes(12)  # of a key that is used for one keystream

_MODES: tuple[modes.GCM | modes.CTR, ...] = modes.GCM(_NONCE), modes.CTR(_NONCE + (2).to_bytes(4))
"""Both give the same bytes: GCM counts from 2 (NIST SP 800-38D, 7.1)."""


def keystream(key: bytes) -> CipherContext:
    """AES-256 in counter mode as GCM has it: what it adds to zeros; no tag is made.

    The key is used for this one keystream, so a counter that starts anew repeats nothing.
    """
    return Cipher(algorithms.AES256(key), _faster()).encryptor()


@cache
def _faster() -> modes.GCM | modes.CTR:
    """The mode that OpenSSL computes faster here: with AVX-512 it is GCM by far, without it plain CTR."""

    def seconds(mode: modes.GCM | modes.CTR) -> float:
        stream, out = Cipher(algorithms.AES256(bytes(32)), mode).encryptor(), bytearray(len(ZEROS))
        started = time.perf_counter()
        stream.update_into(ZEROS, out)
        return time.perf_counter() - started

    return min(_MODES, key=lambda mode: min(seconds(mode) for _ in range(3)))


def spare_words(count: int, p: int) -> int:
    """Words of 24 bits drawn beyond `count`, ten standard deviations more than are not below p on average."""
    beyond = count * (1 - p / 2**24)
    return int(beyond + 10 * beyond**0.5) + 32


def draw(stream: CipherContext, words: NDArray[np.uint8], count: int, p: int, kernels: Kernels) -> None:
    """Make the first `count` words independent, uniform residues below p; the rest is spare.

    A word of the keystream is uniform below 2**24. Each that is not below p is replaced by the next spare
    word that is, so what is left is uniform below p, in each place independently.
    """
    stream.update_into(ZEROS[: words.size], words.data)
    _replace(stream, words, count, p, kernels)


def _replace(stream: CipherContext, words: NDArray[np.uint8], count: int, p: int, kernels: Kernels) -> None:
    """As `draw`, of words that are drawn."""
    spare = words[BYTES_PER_RESIDUE * count :]
    while not kernels.redraw(words, count, p):
        stream.update_into(ZEROS[: spare.size], spare.data)


@lru_cache(maxsize=32)
def _ends(count: int, primes: tuple[int, ...]) -> tuple[int, ...]:
    """Where the words of each prime begin, bytes, and where the last end."""
    sizes = (BYTES_PER_RESIDUE * (count + spare_words(count, p)) for p in primes)
    return tuple(accumulate(sizes, initial=0))


class ResidueStream(Guarded):
    """Independent, uniform residues modulo primes, from a key of 32 bytes that is used for nothing else.

    Two parties with the same key take the same numbers of residues at a time, modulo the same primes: each
    time spare words are drawn. Those of all primes are drawn at once where they are few.
    """

    def __init__(self, key: bytes, kernels: Kernels) -> None:
        super().__init__()
        self._stream, self._kernels = keystream(key), kernels

    def fill(self, out: NDArray[np.uint8], primes: Sequence[int]) -> None:
        """Write the next residues modulo each prime, packed, to a contiguous array, (P, ..., 3 * count)."""

        def fill(part: NDArray[np.uint8], words: NDArray[np.uint8], p: int) -> None:
            part[...] = words[: part.size]

        self._each(fill, out, primes)

    def add(self, packed: NDArray[np.uint8], primes: Sequence[int]) -> None:
        """Add the next residues modulo each prime to packed ones below it, likewise, in place."""

        def add(part: NDArray[np.uint8], words: NDArray[np.uint8], p: int) -> None:
            self._kernels.add_masks(part, words[np.newaxis], _ADDED, p)

        self._each(add, packed, primes)

    def _each(
        self,
        work: Callable[[NDArray[np.uint8], NDArray[np.uint8], int], None],
        packed: NDArray[np.uint8],
        primes: Sequence[int],
    ) -> None:
        """Do something with the pieces of an array, words for each, and its prime."""
        self.check_process()
        if not packed.flags.c_contiguous:
            raise ValueError("the array is not contiguous")  # a copy would be written to
        planes = packed.reshape(len(primes), -1)
        count = planes.shape[1] // BYTES_PER_RESIDUE
        ends = _ends(count, tuple(primes))
        if ends[-1] <= len(ZEROS):
            every = np.empty(ends[-1], dtype=np.uint8)
            self._stream.update_into(ZEROS[: ends[-1]], every.data)
            for plane, p, low, high in zip(planes, primes, ends, ends[1:], strict=False):
                words = every[low:high]
                _replace(self._stream, words, count, p, self._kernels)
                work(plane, words, p)
            return
        turns = Turns()

        def of_piece(item: tuple[int, tuple[NDArray[np.uint8], int]]) -> None:
            number, (part, p) = item
            count = part.size // BYTES_PER_RESIDUE
            words = np.empty(BYTES_PER_RESIDUE * (count + spare_words(count, p)), dtype=np.uint8)
            with turns.take(number):
                draw(self._stream, words, count, p, self._kernels)
            work(part, words, p)

        pieces = [
            (plane[low : low + _BLOCK_BYTES], p)
            for plane, p in zip(planes, primes, strict=True)
            for low in range(0, plane.size, _BLOCK_BYTES)
        ]
        size = planes.size // BYTES_PER_RESIDUE
        self._kernels.threads.each(of_piece, list(enumerate(pieces)), size=size, turns=[turns])


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

    def _octets(self, out: NDArray[np.uint64]) -> NDArray[np.uint8]:
        self.check_process()
        if not out.flags.c_contiguous:
            raise ValueError("the array is not contiguous")  # a copy would be written to
        return out.reshape(-1).view(np.uint8)
