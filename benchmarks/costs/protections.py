"""The cost of the margin in Q, the range check and the server's signatures for an iteration and for sharing.

All variants take turns in one run, on one thread, and are compared with scikit-learn's iterations. One
variant is secfc itself. In each other variant one protection is switched off.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs, take_turns
from benchmarks.costs.setting import PRECISION, Case, Setting, median, stated
from benchmarks.costs.sharing import share_once
from secfc.field import primes
from secfc.kmeans.in_range import RangeCheck
from secfc.protocol.messages.wire import Signer
from secfc.sharing.row_checks import largest_norm

ITERATIONS = 8
TURNS = 3

CASES = (Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),)
QUICK_CASES = (Case(m=500, d=10, k=4, n=5, t=1, ell=2),)


@dataclass(frozen=True, kw_only=True)
class ProtectionRow(Setting):
    """Medians over turns. Residues are those of a round with balanced clusters.

    Attributes
    ----------
    turns : int
    without : str
        The protection that is switched off.
    client, server, sharing : float
        CPU seconds of a client's and the server's iteration, and of sharing, over scikit-learn's iteration.
    client_ratio, server_ratio, sharing_ratio : float
        The same relative to secfc with all protections.
    """

    turns: int
    without: str
    client: float
    server: float
    sharing: float
    client_ratio: float
    server_ratio: float
    sharing_ratio: float


def _unsigned(self: Signer, header: bytes, body: bytes) -> bytes:
    return bytes(64)


def _nothing(*_: object, **__: object) -> None:
    return None


OFF: dict[str, list[Any]] = {
    "nothing": [],
    "the margin": [patch.object(primes, "MARGIN_BITS", 0)],
    "the range check": [patch.object(RangeCheck, "take", _nothing)],
    "signatures": [
        patch.object(Signer, "sign", _unsigned),
        patch("secfc.protocol.messages.wire.verify", _nothing),
    ],
}
"""The protections, and the patches that switch them off."""


@contextmanager
def without(name: str) -> Iterator[None]:
    """Switch a protection off."""
    with ExitStack() as stack:
        for one in OFF[name]:
            stack.enter_context(one)
        yield


def measure_case(case: Case, *, precision: int = PRECISION, turns: int = TURNS) -> Iterator[ProtectionRow]:
    """Measure a case with every variant, in turns."""
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS)
    found: dict[str, list[list[float]]] = defaultdict(list)
    with threadpool_limits(1):
        share_once(job, rows[:1000])  # loads compiled code
    for _ in range(turns):
        for name in OFF:
            with without(name):
                timed = take_turns(job, rows, seeds=range(1))
                with threadpool_limits(1):
                    sharing = share_once(job, rows).seconds
            plain = timed.plaintext
            costs = [median(timed.client / plain), median(timed.server / plain), sharing / median(plain)]
            found[name].append(costs)
    medians = {name: np.median(values, axis=0) for name, values in found.items()}
    for name, costs_of in medians.items():
        with without(name):
            residues = job.residues(-(-case.m // case.k))
        client, server, sharing = costs_of.tolist()
        ratios = (costs_of / medians["nothing"]).tolist()
        yield ProtectionRow(
            **stated(job, m=case.m, residues=residues),
            turns=turns,
            without=name,
            client=client,
            server=server,
            sharing=sharing,
            client_ratio=ratios[0],
            server_ratio=ratios[1],
            sharing_ratio=ratios[2],
        )
