"""Runs of a few rows, and small parts."""

import numpy as np
import pytest

from secfc.drivers.setup import Setup
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.tables.ids import row_ids


def make(
    counts=(5, 0, 7), *, k=3, t=1, ell=1, d=3, starts=False, ids=False, seed=1, limits=None, **parameters
):
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=(m, d)) + rng.integers(3, size=(m, 1)) * 3 for m in counts]
    m, held = sum(counts), None
    labels = np.split((np.arange(m) % k).astype(np.int32), np.cumsum(counts)[:-1])
    if starts:
        parameters["init"] = "labels"
    if parameters.get("predict"):  # the last row of each party that has some
        parameters["max_iter"] = 1
        labels = [np.where(np.arange(len(own)) == len(own) - 1, -1, own).astype(np.int32) for own in labels]
    if ids:
        parameters |= {"ids_cap": m}
        names = np.split(np.arange(m), np.cumsum(counts)[:-1])
        held = [row_ids(one.tolist(), key=bytes(32), name="party") for one in names]
    return Setup(
        job=make_job(
            n=len(counts),
            k=k,
            t=t,
            ell=ell,
            d=d,
            bound=64.0,
            seed=seed,
            **{"disclosure": "coded"} | parameters,
        ),
        rows=rows,
        starts=labels if starts else None,
        ids=held,
        salt=bytes(16),
        names=[f"parties[{j}]" for j in range(len(counts))],
        limits=limits or Limits(),
    )


@pytest.fixture(scope="session")
def setup_of():
    return make
