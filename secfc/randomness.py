"""Where masks come from: a cryptographic keystream, uniform by rejection.

Public choices (a random start) use a seeded NumPy generator elsewhere; nothing here takes a user's seed.
"""

import os
from math import prod

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from secfc.array_types import Floats
from secfc.errors import SecFCError
from secfc.kernels.interface import Kernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.threads import Turns

KEY_BYTES = 32
_DRAW_BYTES = 4
_MOST_DRAWS = 1 << 15
"""Words drawn at a time: 128 KiB, which stay in a cache and in memory that the process has already."""

_SKIPPED_BYTES = 1 << 20
_WIDE_BITS = (1 << 61) - 1


class Guarded:
    """Belongs to one process, and is never copied or pickled: each would repeat masks."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[object, ...]:
        raise SecFCError(f"a {type(self).__name__} cannot be copied or pickled: its masks would repeat")

    def check_process(self) -> None:
        """Raise SecFCError in another process than the one that made it."""
        if os.getpid() != self._process:
            raise SecFCError(f"a {type(self).__name__} was used in a forked process: its masks would repeat")


class MaskSource(Guarded):
    """Uniform residues from AES-256 in counter mode.

    By default the key, 32 bytes, is fresh from the operating system. A party that is started again passes the
    one of its log, to make the same masks for the same rows; known-answer tests pass a fixed key; nothing
    else does. The key is used for this one keystream, from counter zero, so no block is ever used twice. A
    source refuses to be copied, pickled or used in a forked process: each would repeat masks.
    """

    def __init__(self, key: bytes | None = None) -> None:
        super().__init__()
        if key is None:
            key = os.urandom(KEY_BYTES)
        if len(key) != KEY_BYTES:
            raise ValueError(f"key: {len(key)} bytes given, {KEY_BYTES} needed")
        # The key is fresh, so a counter that starts at zero repeats nothing.
        self._keystream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        self.position = 0  # bytes of the keystream that were used

    def uniform(self, p: int, shape: tuple[int, ...], kernels: Kernels | None = None) -> Floats:
        """Independent, uniform, centred residues modulo an odd prime below 2**24: |x| <= (p - 1)/2.

        Each draw is the low bits of a 32-bit word, as many as p has, and kept if below p: every residue is
        equally likely. Subtracting the constant (p - 1)/2 keeps that. `kernels` do the rejection, NumPy by
        default.
        """
        self.check_process()
        wanted = prod(shape)
        low_bits = (1 << p.bit_length()) - 1
        accept = (kernels or VectorisedKernels()).accept
        kept = np.empty(wanted, dtype=np.float64)
        filled = 0
        if kernels is not None and kernels.threads.for_work(wanted) > 1:
            filled = self._uniform(p, kept, kernels)
        while filled < wanted:
            missing = wanted - filled
            # Half of the draws at worst are refused, 1.2 % with the primes of secfc.field.primes.
            draws = min(int(missing * (low_bits + 1) / p) + 16, _MOST_DRAWS)
            words = np.frombuffer(self._next(_DRAW_BYTES * draws), dtype="<u4")
            filled += accept(words, p, kept[filled:])
        return kept.reshape(shape)

    def wide(self, shape: tuple[int, ...], *, nonzero: bool = False) -> NDArray[np.uint64]:
        """Independent, uniform elements of the field of 2**61 - 1 (`secfc.psu.prime`), of all or but zero.

        The low 61 bits of a 64-bit word, drawn again if they are all ones (or zero, when that is excluded).
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
        """So many independent, uniform bytes."""
        self.check_process()
        return self._next(count)

    def go_on_from(self, position: int) -> None:
        """Pass over what a source with this key has used already.

        Raises SecFCError when this source has used more: what follows would repeat.
        """
        if position < self.position:
            raise SecFCError(f"a MaskSource at byte {self.position} cannot go back to byte {position}")
        while self.position < position:
            self._next(min(_SKIPPED_BYTES, position - self.position))

    def _uniform(self, p: int, kept: Floats, kernels: Kernels) -> int:
        """As many of the first residues as there surely are in whole draws, in threads; how many there are.

        `uniform` makes `_MOST_DRAWS` draws while `least` or more are missing, and none gives more than that.
        """
        low_bits = (1 << p.bit_length()) - 1
        least = -(-(_MOST_DRAWS - 16) * p // (low_bits + 1)) + 1
        draws, turns = (kept.size - least) // _MOST_DRAWS + 1, Turns()  # `kept` is longer than `least`

        def accept(draw: int) -> Floats:
            with turns.take(draw):
                octets = self._next(_DRAW_BYTES * _MOST_DRAWS)
            accepted = np.empty(_MOST_DRAWS)
            return accepted[: kernels.accept(np.frombuffer(octets, dtype="<u4"), p, accepted)]

        accepted = kernels.threads.each(accept, range(draws), size=kept.size, turns=[turns])
        filled = 0
        for one in accepted:
            part = kept[filled : filled + one.size]
            part[...] = one[: part.size]
            filled += part.size
        return filled

    def _next(self, count: int) -> bytes:
        self.position += count
        return self._keystream.update(bytes(count))

    def _words(self, count: int) -> NDArray[np.uint64]:
        words = np.frombuffer(self._next(8 * count), dtype="<u8")
        return words & np.uint64(_WIDE_BITS)
