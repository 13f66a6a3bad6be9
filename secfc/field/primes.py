"""The prime fields whose product is the ring Z_Q of a run."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from math import prod

from secfc.errors import ParameterError


@dataclass(frozen=True)
class Prime:
    """A prime 2**23 < p < 2**24 with 2**12 | p - 1.

    Below 2**24 a residue packs into three bytes, and a product of two centred residues stays below 2**46.
    2**12 | p - 1 gives p the roots of unity of order 4096 that evaluation points are made of.
    """

    p: int
    generator: int
    """A primitive root modulo p (the smallest)."""


# The eight largest such primes. Uniform masks by rejection lose at most 1.2 % of the draws. The product has
# 191 bits and exceeds every bound of `residues_needed` (options.MAX_ROWS rows at 52 bits of precision need
# 189). tests/field/test_primes.py checks them by trial division.
PRIMES = (
    Prime(16760833, 7),
    Prime(16736257, 5),
    Prime(16699393, 5),
    Prime(16674817, 7),
    Prime(16650241, 14),
    Prime(16617473, 3),
    Prime(16592897, 3),
    Prime(16588801, 19),
)

TWO_ADIC_ORDER = 4096
"""Order of the group of roots of unity that every prime in `PRIMES` has."""


MARGIN_BITS = 24
"""Q is larger than 2**24 times the largest possible distance.

So a uniform residue modulo Q is a possible distance with probability at most 2**-24. And each p is below
2**24, so Q / p is larger than every possible distance: an error modulo p alone makes a distance impossible.
"""


_MODULI = tuple(prod(prime.p for prime in PRIMES[:count]) for count in range(len(PRIMES) + 1))


@cache
def primes_of(count: int) -> tuple[int, ...]:
    """The first `count` primes of the ring."""
    return tuple(prime.p for prime in PRIMES[:count])


def residues_needed(radius: int, largest_set: int) -> int:
    """Number of primes whose product exceeds every scaled squared distance of a round, with the margin.

    A quantised row has norm at most ``radius``, so ``mu_h``, a sum of ``|S_h|`` of them, and
    ``|S_h| x_i`` have norm at most ``|S_h| radius`` each, and

        D = ||mu_h - |S_h| x_i||^2 <= (2 |S_h| radius)^2          (docs/protocol.md, eq. 9).

    D is never negative, so Q > D would be enough to decode it. With Q > 2**24 (2 |S_h| radius)**2 a value
    that is no distance is unlikely to be a possible one (`secfc.kmeans.in_range`). ParameterError if all
    primes together are not enough.
    """
    limit = (2 * int(largest_set) * radius) ** 2 << MARGIN_BITS  # a NumPy integer would overflow
    return primes_above(
        limit, what=f"distances of sets of up to {largest_set} rows, with a margin of {MARGIN_BITS} bits,"
    )


def primes_above(limit: int, *, what: str) -> int:
    """Number of primes whose product exceeds a limit that is quadratic in the radius.

    ParameterError if all primes are not enough. `what` describes the values in its text.
    """
    if limit < _MODULI[-1]:
        return max(1, bisect_right(_MODULI, limit))
    bits, available = limit.bit_length(), _MODULI[-1].bit_length() - 1
    raise ParameterError(
        f"{what} take {bits} bits, the modulus has {available}: lower precision by "
        f"{(bits - available + 2) // 2} bits or use fewer rows"
    )
