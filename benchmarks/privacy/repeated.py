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
from secfc.agreement.logs.ledger import determines_few
from secfc.field.array_types import Bools, Floats, Ints
from secfc.protocol.job.making import make_job

_PARTIES, _CLUSTERS, _COLUMNS = 5, 4, 4
_AROUND, _SIGMA = 4.0, 1.5
"""Deviations of centres, and of rows around theirs."""
_SMALLEST = 5
"""The smallest cell of a table."""


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
    found = dict[tuple[str, bool], list[tuple[float, int, int]]]()
    for number in range(repeats):
        rng = np.random.default_rng([seed, number])
        middles = rng.normal(scale=_AROUND, size=(_CLUSTERS, _COLUMNS))
        sets = rng.integers(_CLUSTERS, size=each * _PARTIES)
        rows = _rounded(middles[sets] + rng.normal(scale=_SIGMA, size=(len(sets), _COLUMNS)))
        own, others = rows[:each], rows[each:]
        bound, true = float(np.linalg.norm(rows, axis=1).max()), in_units(others)
        for name, planned in cases(own, len(others), jobs, rng).items():
            members = [_members(one, others, rng) for one in planned]
            for guarded in (False, True):
                inside = _passed(members, each) if guarded else members
                told = candidates([Centres(one @ others, one.sum(axis=1)) for one in inside], bound)
                counts = len(told & true) / len(true), len(told - true), len(inside)
                found.setdefault((name, guarded), []).append(counts)
    job = make_job(n=_PARTIES, k=_CLUSTERS, t=1, ell=1, d=_COLUMNS, bound=bound)
    for (name, guarded), measured in found.items():
        known, wrong, opened = np.mean(measured, axis=0)
        common: dict[str, Any] = {
            "attack": "u-centres",
            "adversary": "recipient of centres",
            "against": "any",
        }
        yield DISCLOSED.row(
            known,
            job=job,
            m=each * _PARTIES,
            **common,
            swept=f"{name}, {'rules of tables' if guarded else 'no rules'}: jobs",
            value=jobs,
            note=f"mean of {repeats}; beside {wrong:.3g} that are nobody's; {opened:.3g} jobs were opened",
        )


def _members(job: Job, others: Floats, rng: np.random.Generator) -> Bools:
    """Which of others' rows are in each cluster, shape (k, others)."""
    k, own, inside = job
    rows = np.concatenate([own, others[inside]])
    labels = clustered(rows, k, rng, max_iter=300, init="k-means++")[0][len(own) :]
    found = np.zeros((k, len(others)), dtype=np.bool_)
    found[:, inside] = labels == np.arange(k)[:, np.newaxis]
    return found


def _passed(jobs: Sequence[Bools], each: int) -> list[Bools]:
    """The jobs that a table of these clusters would pass: no small part, and no ledger that refuses."""
    passed = list[Bools]()
    for cells in jobs:
        parts = [
            [one[:, at : at + each] for one in (*passed, cells)] for at in range(0, cells.shape[1], each)
        ]
        small = [((counts := own[-1].sum(axis=1)) > 0) & (counts < _SMALLEST) for own in parts]
        if not np.any(small) and not any(determines_few(np.concatenate(own), _SMALLEST) for own in parts):
            passed.append(cells)
    return passed
