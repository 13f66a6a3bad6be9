"""Attack m: several owners that are one person read another's row from the labels of their own rows.

Owners are not identified, so one person may deposit as many owners. Its rows are anchors below all possible
values of the row, and probes between the anchors. If the row is in a set with own rows only, all other
numbers are known. The last labels of the probes show between which probes the middle of the two centres is,
and so between which values the row is. Other rows are far away.
"""

from collections.abc import Iterator

import numpy as np

import secfc
from benchmarks.privacy.rows import PLACED, AttackRow
from secfc.errors import LimitError
from secfc.field.array_types import Floats, Labels
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job

_WIDE = 10.0
"""The row is uniform in [0, _WIDE)."""

_FAR, _BOUND = 100.0, 200.0
_HONEST, _SPREAD = 500, 0.2
"""Number and spread of the other rows, which are around `_FAR`."""

_ANCHORS = 50
"""Rows at each anchor for each probe. So a probe that changes sides moves the middle by less than the
distance to the next probe."""


def own_rows(probes: int) -> Floats:
    """Rows at two anchors below all possible values of the row, and probes where the middle may be."""
    anchors, apart = _ANCHORS * probes, _WIDE / (2 * probes)
    low, high = ((-2 * apart + (x - anchors * apart) / (anchors + 1)) / 2 for x in (0.0, _WIDE))
    between = np.linspace(low, high, probes + 2)[1:-1]
    own = [np.full(anchors, -2 * apart), between, np.full(anchors, -apart)]
    return np.concatenate(own)[:, np.newaxis]


def placed(own: Floats, labels: Labels) -> float:
    """The row's estimate: the middle of the values that agree with the labels of own rows."""
    values, left, right = own[:, 0], labels[0], labels[-1]
    in_left, in_right = labels == left, labels == right
    if left == right or not (in_left | in_right).all():
        return _WIDE / 2
    least, most = values[in_left].max(), values[in_right].min()
    given, count = values[in_right].sum(), in_right.sum() + 1
    ends = ((2 * middle - values[in_left].mean()) * count - given for middle in (least, most))
    return float(np.clip(list(ends), 0, _WIDE).mean())


def by_sybils(*, probes: tuple[int, ...], smallest: int, runs: int, seed: int) -> Iterator[AttackRow]:
    """Attack m: the error of placing the row, by own rows. A run that `smallest` ends reveals nothing."""
    rng = np.random.default_rng(seed)
    job = make_job(n=3, k=3, t=1, ell=1, d=1, bound=_BOUND)
    for count in probes:
        own, errors, guessed, refused = own_rows(count), [], [], 0
        for number in range(runs):
            row, others = rng.uniform(0, _WIDE, (1, 1)), rng.normal(_FAR, _SPREAD, (_HONEST, 1))
            found = _WIDE / 2
            try:
                result = secfc.run(
                    [row, others, own],
                    job.k,
                    job.t,
                    job.ell,
                    committee=range(3, 3 + job.n),
                    comparers=(3, 4, 5),
                    bound=_BOUND,
                    init="k-means++" if smallest == 1 else "random",
                    seed=seed * runs + number,
                    limits=Limits(smallest_set=smallest),
                )
                found = placed(own, result.labels[2])
            except LimitError:
                refused += 1
            errors.append(found - row[0, 0])
            guessed.append(_WIDE / 2 - row[0, 0])
        yield PLACED.row(
            float(np.linalg.norm(errors) / np.linalg.norm(guessed)),
            job=job,
            m=_HONEST + 1 + len(own),
            attack="m-sybils",
            adversary="owners of one person",
            against="labels",
            swept="own rows",
            value=len(own),
            note=f"{runs} runs, smallest_set={smallest}; {refused} ended by it",
        )
