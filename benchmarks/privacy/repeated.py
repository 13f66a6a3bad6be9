"""Attack u: what centres of several jobs on nearly the same rows tell a recipient. Nobody lies.

The criterion is that of TAR (G. Yang, L. Luo, Q. Li: *Breaking privacy in federated clustering: perfect input
reconstruction via temporal correlations*, arXiv:2511.07073): a row that is a combination of opened sums is
known. TAR takes sums of all rounds, of sets that hardly change. Here sums of final clusters alone are opened,
and nobody sees whose rows they are of. So the recipient looks for unions of clusters of two jobs that differ
by one row of others: a difference of their sums that is within the bound.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from benchmarks.privacy.own_labels import UNIT, clustered
from benchmarks.privacy.rows import DISCLOSED, AttackRow
from secfc.field.array_types import Floats, Ints
from secfc.protocol.job.making import make_job

_PARTIES, _CLUSTERS, _COLUMNS = 5, 4, 4
_AROUND, _SIGMA = 4.0, 1.5
"""Deviations of centres, and of rows around theirs."""


@dataclass(frozen=True)
class Centres:
    """What a job opens of others' rows, after the recipient has subtracted its own: (k, d) and (k,)."""

    sums: Floats
    sizes: Ints


def candidates(jobs: Sequence[Centres], bound: float) -> set[tuple[int, ...]]:
    """Rows, in units, that are the difference of two unions of clusters of different jobs."""
    found = set[tuple[int, ...]]()
    for one, other in combinations(map(_unions, jobs), 2):
        gaps = one.sizes[:, np.newaxis] - other.sizes
        at, beside = np.nonzero(np.abs(gaps) == 1)
        rows = (one.sums[at] - other.sums[beside]) * gaps[at, beside][:, np.newaxis]
        found |= in_units(rows[np.linalg.norm(rows, axis=1) <= bound])
    return found


def _unions(job: Centres) -> Centres:
    """Sums and sizes of all unions of clusters but the empty one."""
    chosen = np.array(list(product((0, 1), repeat=len(job.sizes))))[1:]
    return Centres(chosen @ job.sums, chosen @ job.sizes)


def in_units(rows: Floats) -> set[tuple[int, ...]]:
    """Rows in whole units."""
    return set(map(tuple, np.rint(rows / UNIT).astype(np.int64).tolist()))


Job = tuple[int, Floats, Ints]
"""The number of clusters, the recipient's rows, and the numbers of others' rows that are in."""


def cases(own: Floats, others: int, jobs: int, rng: np.random.Generator) -> Mapping[str, list[Job]]:
    """Jobs that a study may run one after the other."""
    k, all_of_them, order = _CLUSTERS, np.arange(others), rng.permutation(others)
    moved = [_rounded(own + rng.normal(scale=_SIGMA / 2, size=own.shape)) for _ in range(jobs)]
    return {
        "the same job again": [(k, own, all_of_them)] * jobs,
        "other k": [(k + at, own, all_of_them) for at in range(jobs)],
        "own rows moved": [(k, one, all_of_them) for one in moved],
        "one row of others more": [(k, own, np.sort(order[: others - jobs + at + 1])) for at in range(jobs)],
    }


def _rounded(rows: Floats) -> Floats:
    found: Floats = np.rint(rows / UNIT) * UNIT
    return found


def by_repeated_jobs(*, each: int, jobs: int, repeats: int, seed: int) -> Iterator[AttackRow]:
    """Part of others' rows that are known exactly after so many jobs, with so many rows of each party."""
    shares, wrong = dict[str, list[float]](), dict[str, list[int]]()
    for number in range(repeats):
        rng = np.random.default_rng([seed, number])
        middles = rng.normal(scale=_AROUND, size=(_CLUSTERS, _COLUMNS))
        sets = rng.integers(_CLUSTERS, size=each * _PARTIES)
        rows = _rounded(middles[sets] + rng.normal(scale=_SIGMA, size=(len(sets), _COLUMNS)))
        own, others = rows[:each], rows[each:]
        bound, true = float(np.linalg.norm(rows, axis=1).max()), in_units(others)
        for name, planned in cases(own, len(others), jobs, rng).items():
            found = candidates([_opened(one, others, rng) for one in planned], bound)
            shares.setdefault(name, []).append(len(found & true) / len(true))
            wrong.setdefault(name, []).append(len(found - true))
    job = make_job(n=_PARTIES, k=_CLUSTERS, t=1, ell=1, d=_COLUMNS, bound=bound)
    for name, values in shares.items():
        common: dict[str, Any] = {
            "attack": "u-centres",
            "adversary": "recipient of centres",
            "against": "any",
        }
        yield DISCLOSED.row(
            float(np.mean(values)),
            job=job,
            m=each * _PARTIES,
            **common,
            swept=f"{name}: jobs",
            value=jobs,
            note=f"mean of {repeats}; beside {np.mean(wrong[name]):.3g} that are nobody's",
        )


def _opened(job: Job, others: Floats, rng: np.random.Generator) -> Centres:
    k, own, inside = job
    rows = np.concatenate([own, others[inside]])
    labels = clustered(rows, k, rng, max_iter=300, init="k-means++")[0][len(own) :]
    members = labels == np.arange(k)[:, np.newaxis]
    return Centres(members @ others[inside], members.sum(axis=1))
