"""A whole clustering with membership privacy compared with one without: seconds and bytes.

There is one process per party. Both runs start with the same sets, so they have the same iterations and must
give the same labels.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.costs.runs import timed
from benchmarks.costs.setting import (
    PRECISION,
    Case,
    Setting,
    most_primes,
    quiet_run,
    residues_of_rounds,
    stated,
)
from secfc.drivers.costs import Costs
from secfc.field.array_types import Floats

CLUSTER_STD = 4.0
"""With this deviation clusters touch, and runs take tens of iterations."""

CASES = (Case(m=100_000, d=10, k=8, n=11, t=4, ell=2),)

QUICK_CASES = (Case(m=2000, d=4, k=3, n=3, t=1, ell=1),)


@dataclass(frozen=True, kw_only=True)
class MembershipRow(Setting):
    """A run with membership privacy, and the ordinary run from the same assignment.

    Attributes
    ----------
    n_iter : int
        Iterations of both runs.
    labels_equal : bool
        Whether both runs gave every row the same label.
    union_seconds, share_seconds, round_seconds : float
        CPU seconds of all parties' work in the phases *union* and *share*, and in an iteration.
    ordinary_share_seconds, ordinary_round_seconds : float
    union_bytes, share_bytes, round_bytes : int
        Bytes sent by all parties.
    ordinary_share_bytes : int
    cpu_seconds, wall_seconds, ordinary_cpu_seconds, ordinary_wall_seconds : float
        Seconds of whole runs, over all processes.
    """

    n_iter: int
    labels_equal: bool
    share_seconds: float
    round_seconds: float
    ordinary_share_seconds: float
    ordinary_round_seconds: float
    share_bytes: int
    round_bytes: int
    ordinary_share_bytes: int
    cpu_seconds: float
    wall_seconds: float
    ordinary_cpu_seconds: float
    ordinary_wall_seconds: float


def _held(case: Case) -> tuple[list[Floats], list[list[int]]]:
    """Rows of Gaussian clusters, distributed at random, and their IDs in random order."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, (case.k, case.d))
    rows = centres[rng.integers(case.k, size=case.m)]
    rows += rng.normal(0, CLUSTER_STD, rows.shape)
    ids = rng.permutation(10 * case.m)[: case.m]
    parties = np.array_split(rng.permutation(case.m), case.n)
    return [rows[own] for own in parties], [ids[own].tolist() for own in parties]


def measure_case(case: Case, *, precision: int = PRECISION) -> Iterator[MembershipRow]:
    """Run a case to its end with membership privacy, and then without."""
    parties, ids = _held(case)
    options: dict[str, Any] = {
        "precision": precision,
        "seed": 0,
        "driver": "multiprocess",
        "disclosure": "coded",
    }
    hidden, (cpu, wall) = timed(lambda: quiet_run(parties, case, ids=ids, **options))
    ordinary, (ordinary_cpu, ordinary_wall) = timed(
        lambda: quiet_run(parties, case, init=hidden.start, **options)
    )
    both = zip(hidden.labels, ordinary.labels, strict=True)
    seconds, sent = _by_phase(hidden.costs)
    ordinary_seconds, ordinary_sent = _by_phase(ordinary.costs)
    rounds, ordinary_rounds = (
        len(residues_of_rounds(one.costs.messages, m=case.m)) for one in (hidden, ordinary)
    )
    asked = residues_of_rounds(hidden.costs.messages, m=case.m)
    yield MembershipRow(
        **stated(hidden.job, m=case.m, residues=most_primes(asked, case.k)),
        n_iter=hidden.n_iter,
        labels_equal=hidden.n_iter == ordinary.n_iter and all(np.array_equal(a, b) for a, b in both),
        share_seconds=seconds["share"],
        round_seconds=seconds["iterate"] / rounds,
        ordinary_share_seconds=ordinary_seconds["share"],
        ordinary_round_seconds=ordinary_seconds["iterate"] / ordinary_rounds,
        share_bytes=sent["share"],
        round_bytes=sent["iterate"] // rounds,
        ordinary_share_bytes=ordinary_sent["share"],
        cpu_seconds=cpu,
        wall_seconds=wall,
        ordinary_cpu_seconds=ordinary_cpu,
        ordinary_wall_seconds=ordinary_wall,
    )


def _by_phase(costs: Costs) -> tuple[dict[str, float], dict[str, int]]:
    """CPU seconds and bytes of all parties by phase."""
    seconds: dict[str, float] = defaultdict(float)
    sent: dict[str, int] = defaultdict(int)
    for phase in costs.phases:
        seconds[phase.phase] += phase.seconds
        sent[phase.phase] += phase.sent_bytes
    return seconds, sent
