"""Keystreams of keys that two parties share, and uniform residues from them."""

import os
from math import prod

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from secfc.errors import SecFCError
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.kernels import Kernels

ZEROS = memoryview(bytes(6 << 16))
"""What a keystream is added to, at most so many bytes at a time."""

_NONCE = bytes(12)
"""Of a key that is used for one keystream."""


def keystream(key: bytes) -> CipherContext:
    """AES-256 in counter mode as GCM has it (NIST SP 800-38D, 6.5): what it adds to zeros; no tag is made.

    The key is used for this one keystream, so a counter that starts anew repeats nothing. It is GCM because
    OpenSSL computes that with wider instructions than plain counter mode.
    """
    return Cipher(algorithms.AES256(key), modes.GCM(_NONCE)).encryptor()


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
    spare = words[BYTES_PER_RESIDUE * count :]
    while not kernels.redraw(words, count, p):
        stream.update_into(ZEROS[: spare.size], spare.data)


class BitStream:
    """Independent, uniform bits, in words of 64, from a key that is used for nothing else.

    It refuses to be copied, pickled or used in a forked process: each would repeat masks.
    """

    def __init__(self, key: bytes) -> None:
        self._stream, self._process = keystream(key), os.getpid()

    def __repr__(self) -> str:
        return "BitStream()"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError("a BitStream cannot be copied or pickled: its masks would repeat")

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Write the next words to a contiguous array."""
        octets = _octets(out, self._process)
        for low in range(0, octets.size, len(ZEROS)):
            part = octets[low : low + len(ZEROS)]
            self._stream.update_into(ZEROS[: part.size], part.data)

    def add(self, words: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
        """Write ``words ^ next words`` to an array; both are contiguous and of one shape."""
        octets = _octets(out, self._process)
        if prod(words.shape) != prod(out.shape):
            raise ValueError("words do not fit where they go")
        self._stream.update_into(words.reshape(-1).view(np.uint8).data, octets.data)


def _octets(out: NDArray[np.uint64], process: int) -> NDArray[np.uint8]:
    if os.getpid() != process:
        raise SecFCError("a BitStream was used in a forked process: its masks would repeat")
    if not out.flags.c_contiguous:
        raise ValueError("the array is not contiguous")  # a copy would be written to
    return out.reshape(-1).view(np.uint8)
