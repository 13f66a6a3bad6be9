"""How large the numbers of each operation can be, so how many primes a job needs."""

from math import isqrt, prod

from secfc.field.primes import primes_above
from secfc.kmeans.score import INERTIA, NEAR, SCORE, most_score

DRAW_BITS = 32
"""A draw below N is floor(N r / 2**32), r uniform below 2**32: probabilities are multiples of 2**-32.

So the error of each probability is below 2**-32, and a row whose part of N is smaller may never be drawn.
"""

_SPREAD = 8
"""A sum with coefficients -1, 0 and 1 is at most 8 times the norm of its terms, except with probability
2 e**-64 (`secfc.operations.beginning.in_range`)."""


def most_sum(radius: int, rows: int) -> int:
    """Bound on all values of so many rows within the radius. It fails with negligible probability."""
    return _SPREAD**2 * (isqrt(rows) + 1) * radius


def bounded_residues(radius: int, rows: int, columns: int) -> int:
    """Number of primes with which no squared norm wraps around after the sums were found small.

    Then no entry exceeds 4 `most_sum`, so the squared norm of a row is below Q / 2. `columns` counts those of
    all segments. ParameterError if all primes together are not enough.
    """
    limit = 2 * columns * (4 * most_sum(radius, rows)) ** 2
    return primes_above(limit, what=f"norms of {rows} rows of {columns} columns")


def pair_residues(radius: int, m: int) -> int:
    """Number of primes with which |u| < Q / 2 for all sets of m rows: |u| <= (m / 2)^4 (2 radius)^2."""
    most = 2 * (prod((m // 2, m - m // 2)) * 2 * radius) ** 2
    return primes_above(most, what=f"pairs of sets of {m} rows")


def refill_residues(radius: int, m: int) -> int:
    """Number of primes with which |D_i n_b^2 - D_j n_a^2| < Q / 2 for any sets: at most m^4 (2 radius)^2."""
    return primes_above(2 * (m**2 * 2 * radius) ** 2, what=f"farthest of {m} rows")


def draw_residues(radius: int, m: int) -> int:
    """Number of primes with which |rho c_m - 2**32 c_i| < Q / 2, for rows of total weight m.

    D is 1 or at most (2 radius)^2.
    """
    most = m * max(1, (2 * radius) ** 2)
    return primes_above(2 * (most << DRAW_BITS), what=f"draws by distances of {m} rows")


def fit_residues(radius: int, m: int, *, compares: bool, opens: bool) -> int:
    """Number of primes to compare the scores of starts, or to open an inertia; m is the weight of all rows.

    Each row is as near to its centre as to the mean of its set, so D is at most radius**2 on average.
    """
    compared = NEAR * most_score(m, radius**2, SCORE) if compares else 0
    opened = most_score(m, radius**2, INERTIA) if opens else 0
    return primes_above(2 * max(compared, opened), what=f"an inertia of {m} rows")
