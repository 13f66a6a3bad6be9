"""What comparers read with disclosure "labels": any two find distances, and one finds noise."""

import numpy as np
import pytest

from benchmarks.privacy.comparers import compared
from benchmarks.privacy.measure import blobs


@pytest.fixture(scope="module", params=[1, 2], ids=["clients compare", "helpers compare"])
def runs(request):
    t, ell = (1, 2) if request.param == 1 else (2, 1)
    return [
        compared(blobs(6, 40, 3, 3), k=3, t=t, ell=ell, seed=1, keys=keys, init="random") for keys in range(4)
    ]


@pytest.mark.parametrize("who", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], ids=str)
def test_what_is_read_is_related_to_distances_for_two_comparers_alone(runs, who):
    pairs = []
    for one in runs:
        seen = one.seen_by(*(one.watched.job.comparers[at] for at in who))
        for sets, read in zip(seen.server.questions, seen.server.distances, strict=True):
            centres = np.array([seen.rows[sets == h].mean(axis=0) for h in range(3)])
            true = ((seen.rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
            pairs.append([(table - table.mean(axis=1, keepdims=True)).ravel() for table in (read, true)])
    read, true = np.concatenate(pairs, axis=1)
    assert read.size > 1000
    related = abs(np.corrcoef(read, true)[0, 1])
    assert related > 0.99 if len(who) == 2 else related < 4 * read.size**-0.5
