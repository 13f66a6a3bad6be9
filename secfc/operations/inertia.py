"""The inertia of a result, opened by the trio: its first 64 bits, and nothing about single clusters.

T_h is the sum of D over the rows of label h. The evaluators know y_h = T_h + r_h modulo Q, the dealer knows
r_h. Q is odd and 0 <= 2 T_h < Q, so with y2 = 2 y_h mod Q and r2 = 2 r_h mod Q

    2 T_h = y2 - r2 + Q (e ^ f),  e = lsb(y2), f = lsb(r2),

because 2 T_h is even. No comparison is needed. e ^ f = e + (1 - 2 e) f is linear in the values that only the
dealer knows. So the dealer shares all f_h and the sum of c_h r2_h modulo 2**K. The evaluators add up shares
of

    X = sum of c_h 2 T_h,  c_h = floor(2**b / |S_h|**2),

and send each other the high bits of their shares until they see 64 bits of X after its leading zeros. They
never send the low bits, which would tell more than the inertia (docs/proofs.md, "An opened inertia").
"""

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.dealer_keys import Keys
from secfc.comparing.role import Comparer, EvaluatorRole, Role, Sending, Steps
from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_above

KEPT = 64
"""Opened bits of the inertia. A float64 has 53."""

_SPARE = 8
"""Bits of weights beyond `KEPT` and those of |S|**2. Rounding them changes less than one in 2**72."""

_WORD_BITS = 64


def inertia_residues(radius: int, sizes: Ints, m: int) -> int:
    """Number of primes for a round that can open its inertia: 2 T_h < Q, with T_h <= m (2 |S_h| radius)**2.

    ParameterError if all primes together are not enough.
    """
    limit = 2 * m * (2 * int(sizes.max()) * radius) ** 2
    return primes_above(limit, what=f"an inertia of {m} rows")


class WeighedSums:
    """Sums of D over the rows of each label at one of the trio, with the arithmetic on their weights.

    `sums`, shape (P, k), are canonical: y_h at an evaluator, r_h at the dealer. `sizes` are |S_h| of the sets
    whose distances are summed, and `rows` is m.
    """

    def __init__(self, *, sums: Floats, sizes: Ints, rows: int, radius: int, primes: tuple[int, ...]) -> None:
        radix = MixedRadix(primes)
        self.modulus = radix.radices[-1] * primes[-1]
        bits = 2 * rows.bit_length() + KEPT + _SPARE
        one = 1 << bits
        self.weights = [one // int(size) ** 2 if size else 0 for size in sizes]
        self.doubled = [2 * int(y) % self.modulus for y in radix.integers(radix.digits(sums))]
        self.most = 2 * rows * (2 * radius) ** 2 << bits
        self.unit = Fraction(1, 2 << bits)
        words = self.most.bit_length() // _WORD_BITS + 1  # most < 2**(K - 1)
        self.bits = _WORD_BITS * words

    def __repr__(self) -> str:
        return f"WeighedSums(k={len(self.weights)})"

    @property
    def secrets(self) -> list[int]:
        """The values that the dealer shares: all f_h, and minus the sum of c_h r2_h, modulo 2**K."""
        taken = sum(c * r for c, r in zip(self.weights, self.doubled, strict=True))
        return [*(r & 1 for r in self.doubled), -taken % (1 << self.bits)]

    def combined(self, shares: Sequence[int], *, e0: bool) -> int:
        """An evaluator's share of X. E0 adds the values that both know."""
        *flips, total = shares
        for c, y, flip in zip(self.weights, self.doubled, flips, strict=True):
            odd = y & 1
            total += c * self.modulus * (1 - 2 * odd) * flip
            if e0:
                total += c * (y + self.modulus * odd)
        return total % (1 << self.bits)

    def to_bytes(self, values: Sequence[int]) -> bytes:
        """Numbers modulo 2**K, little endian."""
        return b"".join(value.to_bytes(self.bits // 8, "little") for value in values)

    def from_bytes(self, data: bytes) -> list[int]:
        """Inverse of `to_bytes`."""
        size = self.bits // 8
        return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]

    def drawn(self, keys: Keys) -> list[int]:
        """E0's shares, at E0 or at the dealer."""
        words = np.empty((len(self.weights) + 1) * (self.bits // _WORD_BITS), dtype="<u8")
        keys.bits("inertia shares", 0).fill(words)
        return self.from_bytes(words.tobytes())


def shares_of_e1(secrets: Sequence[int], of_e0: Sequence[int], bits: int) -> list[int]:
    """E1's shares: with E0's they add up to the dealer's numbers, modulo 2**bits."""
    return [(one - drawn) % (1 << bits) for one, drawn in zip(secrets, of_e0, strict=True)]


class InertiaDealer(Role):
    """C: it deals, and learns nothing. The keys are those with E0."""

    def __init__(self, sums: WeighedSums, keys: Keys) -> None:
        self._sums = sums
        super().__init__(Comparer.DEALER, self._play(keys))

    def _play(self, keys: Keys) -> Steps:
        sums = self._sums
        halves = shares_of_e1(sums.secrets, sums.drawn(keys), sums.bits)
        yield (Sending(recipient=Comparer.E1, data=sums.to_bytes(halves)),), {}


class InertiaEvaluator(EvaluatorRole):
    """E0 or E1: it learns the inertia. The keys are those with the dealer."""

    def __init__(self, me: Comparer, sums: WeighedSums, keys: Keys) -> None:
        self._sums, self._keys = sums, keys
        self._inertia: Fraction | None = None
        super().__init__(me, self._play())

    @property
    def inertia(self) -> Fraction:
        """Within one in 2**62, in squared quantised units, once it is known."""
        return self._known(self._inertia, "inertia")

    def _play(self) -> Steps:
        sums = self._sums
        dealt = yield from self._dealt((len(sums.weights) + 1) * sums.bits // 8)
        shares = sums.drawn(self._keys) if self._e0 else sums.from_bytes(dealt.tobytes())
        mine = sums.combined(shares, e0=self._e0)
        yield from self._exchanged(self._open(mine))

    def _open(self, mine: int) -> Generator[NDArray[Any], NDArray[Any], None]:
        """Send high bits until enough bits of the sum are known."""
        sums = self._sums
        shift, theirs, found = sums.bits, 0, 0
        while shift and found.bit_length() < KEPT:
            width = min(shift, _WORD_BITS, KEPT - found.bit_length())
            shift -= width
            told = yield np.array([mine >> shift & (1 << width) - 1], dtype="<u8")
            if int(told[0]) >> width:
                raise CheatError(
                    f"the {self._peer.value} told other bits than those asked", code=Code.BAD_MESSAGE
                )
            theirs = theirs << width | int(told[0])
            highest = 1 << sums.bits - shift
            found = ((mine >> shift) + theirs) % highest
            if shift and found == highest - 1:
                found = 0  # the high bits are all 0: only the carry from the low bits is missing
            if found > sums.most >> shift:
                text = "the opened inertia is impossible: an evaluator, the dealer or a client has lied"
                raise CheatError(text, code=Code.BAD_MESSAGE)
        # Low bits that were not sent can carry. The part left out is between 0 and 2**(shift + 1).
        left_out = 1 << shift if shift else 0
        self._inertia = ((found << shift) + left_out) * sums.unit
