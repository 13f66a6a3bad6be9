"""Masks from a cryptographic keystream, uniform by rejection sampling.

Public choices (a random start) use a seeded NumPy generator elsewhere. Nothing here uses a user's seed.
"""

import os
from math import prod

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from secfc.errors import SecFCError
from secfc.field.array_types import Floats

KEY_BYTES = 32
_DRAW_BYTES = 4
_MOST_DRAWS = 1 << 15
"""Words drawn at a time: 128 KiB, which fit in the cache and in memory that is already allocated."""

_ZEROS = memoryview(bytes(_DRAW_BYTES * _MOST_DRAWS))  # what is encrypted, at most this many bytes at a time


_WIDE_BITS = (1 << 61) - 1


class Guarded:
    """Belongs to one process and cannot be copied or pickled, because a copy would repeat masks."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError(f"a {type(self).__name__} cannot be copied or pickled: its masks would repeat")

    def check_process(self) -> None:
        """Raise SecFCError in any process except the one that made the object."""
        if os.getpid() != self._process:
            raise SecFCError(f"a {type(self).__name__} was used in a forked process: its masks would repeat")


class MaskSource(Guarded):
    """Uniform residues from AES-256 in counter mode.

    By default the key, 32 bytes, is fresh from the operating system. A party that is restarted passes the key
    of its log to make the same masks for the same rows. Known-answer tests pass a fixed key. Nothing else
    passes a key. The key is used for this one keystream, from counter zero, so no block is used twice. A
    source refuses to be copied, pickled or used in a forked process, because masks would repeat.
    """

    def __init__(self, key: bytes | None = None) -> None:
        super().__init__()
        if key is None:
            key = os.urandom(KEY_BYTES)
        if len(key) != KEY_BYTES:
            raise ValueError(f"key: {len(key)} bytes given, {KEY_BYTES} needed")
        # The key is used only here, so starting the counter at zero repeats nothing.
        self._keystream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self.position = 0  # used bytes of the keystream

    def uniform(self, p: int, shape: tuple[int, ...]) -> Floats:
        """Independent, uniform, centred residues modulo an odd prime below 2**24: |x| <= (p - 1)/2.

        Each draw is the low bits of a 32-bit word, as many as p has. It is kept if it is below p, so every
        residue is equally likely. Subtracting the constant (p - 1)/2 preserves this.
        """
        self.check_process()
        low_bits = (1 << p.bit_length()) - 1
        kept = np.empty(prod(shape), dtype=np.float64)
        filled = 0
        while filled < kept.size:
            missing = kept.size - filled
            # At worst half of the draws are rejected; with the primes of secfc.field.primes 1.2 %.
            draws = min(int(missing * (low_bits + 1) / p) + 16, _MOST_DRAWS)
            drawn = self._next(_DRAW_BYTES * draws).view("<u4") & np.uint32(low_bits)
            accepted = drawn[drawn < p][:missing]
            kept[filled : filled + accepted.size] = accepted
            filled += accepted.size
        kept -= (p - 1) // 2
        return kept.reshape(shape)

    def wide(self, shape: tuple[int, ...], *, nonzero: bool = False) -> NDArray[np.uint64]:
        """Independent, uniform elements of the field of 2**61 - 1 (`secfc.psu.prime`), optionally nonzero.

        The low 61 bits of a 64-bit word, drawn again if all are ones (or zero, if that is excluded).
        """
        self.check_process()
        wanted = prod(shape)
        kept = self._words(wanted)
        while True:
            refused = kept == np.uint64(_WIDE_BITS)
            if nonzero:
                refused |= kept == 0
            count = int(refused.sum())
            if not count:
                return kept.reshape(shape)
            kept[refused] = self._words(count)

    def octets(self, count: int) -> bytes:
        """`count` independent, uniform bytes."""
        self.check_process()
        return self._next(count).tobytes()

    def _next(self, count: int) -> NDArray[np.uint8]:
        self.position += count
        octets = np.empty(count, dtype=np.uint8)
        for low in range(0, count, len(_ZEROS)):
            part = octets[low : low + len(_ZEROS)]
            self._keystream.update_into(_ZEROS[: part.size], part.data)
        return octets

    def _words(self, count: int) -> NDArray[np.uint64]:
        return self._next(8 * count).view("<u8") & np.uint64(_WIDE_BITS)
