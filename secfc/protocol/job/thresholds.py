"""The arithmetic of the threshold, defaults that depend on the number of parties, and the bounds of a job."""

from typing import cast

from secfc.field.primes import TWO_ADIC_ORDER
from secfc.lagrange.basis import recovery_threshold
from secfc.protocol.job.cases import Start
from secfc.protocol.job.options import AUTO, Auto, Disclosure

SMALLEST_SPREAD = 10
"""Fewest rows of others in a cluster whose spread is opened (docs/decisions/021-centres-by-consent.md)."""

SMALLEST_CELL = 2
"""Fewest rows with which a party holds a cell of a table: its part of the sum is not one row."""

USUAL_CELL = 5
"""The smallest cell of a consent for which nobody names another number."""

COMPARERS = 3  # a dealer and two evaluators
MAX_CLIENTS = TWO_ADIC_ORDER
MAX_CLUSTERS = (1 << 16) - 1
MAX_OWNERS = 1 << 20  # a million tiny deposits bound the work of a committee member
MAX_ROUNDS = (1 << 32) - 2  # numbers have 4 bytes, and the last number marks the end of the run
MAX_TABLED = 1 << 10
"""Most sets of all partitions of one k: how all of them overlap is dealt and opened in one step."""
ROWS_FOR_RESAMPLE = 10
"""Fewest rows in all for each resample: its tables tell about one equation of others' rows."""

ELEVEN = 11
"""Fewest clients for t = 4 and ell = 2."""


def default_threshold(n: int, t: int | None, ell: int | None, *, max_liars: int = 0) -> tuple[int, int]:
    """The defaults for t and ell where None is given: 4 and 2 for eleven clients or more.

    With fewer clients ell is 1. Then t is the largest number, up to 4, that leaves one client to spare if
    that is possible.
    """
    room = n - 2 * max_liars if isinstance(max_liars, int) else n
    if ell is None:  # given values are checked later
        ell = 2 if room >= ELEVEN and (not isinstance(t, int) or recovery_threshold(t, 2) <= room) else 1
    if t is None:
        if not isinstance(ell, int):
            return 1, ell
        most, with_spare = (room + 1) // 2 - ell, room // 2 - ell
        t = max(1, min(4, most if room >= ELEVEN or with_spare < 1 else with_spare))
    return t, ell


COMPARED_STARTS = 5  # for each k: a too large inertia of one k would mislead


def default_start(
    init: str, n_init: int | Auto, *, disclosure: Disclosure, compared: bool
) -> tuple[Start, int]:
    """The values of init and `n_init` where "auto" is given (docs/decisions/050-default-start.md).

    With "labels" k-means++, of which nobody learns a row. With "coded" the server would learn distances to
    drawn rows, so the start is random. One start, because each more costs about as much as the first.
    """
    if init == AUTO:
        init = "k-means++" if disclosure == "labels" else "random"
    if n_init == AUTO:
        n_init = COMPARED_STARTS if compared else 1
    return cast(Start, init), n_init  # given values are checked later


def fitting(n: int, t: int, ell: int) -> list[tuple[int, int]]:
    """The (t, ell) with R <= n nearest to the given ones: keep t, keep ell, or lower both."""
    room = (n + 1) // 2
    candidates = [(t, room - t), (room - ell, ell), (max(1, min(t, room - 1)), 1)]
    fits = [(a, b) for a, b in candidates if a >= 1 and 1 <= b <= max(ell, 1) and a <= t and a + b <= room]
    return list(dict.fromkeys(fits))
