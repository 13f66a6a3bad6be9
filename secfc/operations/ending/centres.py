"""Centres, and spreads, of the final sets, opened to the clients that the job names, and to nobody else.

A recipient learns the exact sum of each set, with the noise of all clients if the job has noise, and its
size, which is its weight if rows have weights; with spreads also the sum of each column's squares. Sizes are
opened modulo as few primes as hold them: a comparer that lies can deal bits that differ by prime.
"""

from collections.abc import Collection, Generator
from dataclasses import dataclass, field
from fractions import Fraction
from math import copysign

import numpy as np

from secfc.errors import CheatError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import primes_above
from secfc.operations.ending.spreads import deviations
from secfc.operations.opening import opened_to
from secfc.protocol.job.job import Job
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What was opened to a client: in the data's units, shape (k, d), and the sizes of sets, shape (k,).

    NaN for a set without rows. `deviations` are population deviations, if the job opens spreads.
    """

    centres: Floats = field(repr=False)
    deviations: Floats | None = field(repr=False)
    sizes: Ints = field(repr=False)


def opened_centres(
    me: Party,
    job: Job,
    recipients: Collection[int],
    *,
    sums: Shared,
    sizes: Shared,
    squares: Shared | None,
    weight: int,
    reach: int,
) -> Generator[None, None, Opened | None]:
    """Of [s], and [q] or <q>, shape (k, width), and [n], shape (k,); None at a client that is no recipient.

    `weight` is that of all rows, and noise is at most `reach`. TooManyFaultsError or CheatError if no rows
    within the bound have these sums and sizes.
    """
    few = me.code.primes[: primes_above(weight, what="sizes of clusters")]
    kept = None if sizes.residues is None else sizes.residues[: len(few)]
    of_sets = yield from opened_to(me, recipients, Shared(few, sizes.shape, kept), "sizes")
    parts = [(yield from opened_to(me, recipients, sums.reshape(sums.size), "sums"))]
    if squares is not None:
        parts.append((yield from opened_to(me, recipients, squares.reshape(squares.size), "squares")))
    if of_sets is None:
        return None
    counts = _sizes(few, of_sets, weight)
    found = [_integers(me.code.primes, one, counts.size, job.d) for one in parts if one is not None]
    _check_sums(found[0], counts, radius=job.radius, reach=reach)
    spread = None if squares is None else deviations(found[0], found[1], job=job, sizes=counts)
    return Opened(centres=centres_of(found[0], job=job, sizes=counts), deviations=spread, sizes=counts)


def centres_of(sums: list[list[int]], *, job: Job, sizes: Ints) -> Floats:
    """Means from sums, (k, d) in the data's units: the float64 nearest to each quotient, NaN if empty."""
    centres = np.full((len(sizes), job.d), np.nan)
    for h in np.flatnonzero(sizes).tolist():
        for column in range(job.d):
            total = sums[column][h]
            centres[h, column] = copysign(
                job.distance_in_data_units(Fraction(abs(total), int(sizes[h]))), total
            )
    return centres


def _sizes(primes: tuple[int, ...], opened: Floats, weight: int) -> Ints:
    """Sizes, shape (k,), int64, of segments, shape (P, ell, k), which are all the same."""
    radix = MixedRadix(primes)
    found = radix.integers(radix.digits(opened))
    if (found != found[0]).any() or sum(found[0]) != weight:
        raise CheatError("opened sizes of clusters are not those of all rows", code=Code.BAD_MESSAGE)
    sizes: Ints = found[0].astype(np.int64)
    return sizes


def _integers(primes: tuple[int, ...], opened: Floats, k: int, d: int) -> list[list[int]]:
    """Sums, d lists of k signed integers, of segments, shape (P, ell, k * width)."""
    radix = MixedRadix(primes)
    columns = opened.reshape(*opened.shape[:2], k, -1).swapaxes(2, 3).reshape(len(primes), -1, k)
    found, modulus = radix.integers(radix.digits(columns[:, :d])), radix.radices[-1] * primes[-1]
    return [[int(one) - (modulus if 2 * int(one) > modulus else 0) for one in line] for line in found]


def _check_sums(sums: list[list[int]], sizes: Ints, *, radius: int, reach: int) -> None:
    for h, size in enumerate(sizes.tolist()):
        if any(abs(line[h]) > size * radius + reach for line in sums):
            raise TooManyFaultsError(
                f"centres: a sum over cluster {h} is larger than its {size} rows allow: some client's "
                "share of it is wrong"
            )
