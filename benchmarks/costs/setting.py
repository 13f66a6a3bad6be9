"""The parameters in every measured row, and helper functions of all benchmarks."""

import os
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import secfc
from secfc.api.result import Result
from secfc.crypto import handshake, identity
from secfc.drivers import in_process
from secfc.drivers.costs import MessageRecord
from secfc.drivers.in_process import OnDelivery, run_in_process
from secfc.drivers.setup import OnProgress, Outcome, Setup
from secfc.errors import ConvergenceWarning, ParameterError
from secfc.field.array_types import Floats
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.kernels import VARIABLE, chosen_name
from secfc.protocol.job.job import Job
from secfc.protocol.job.job_options import JobOptions
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.job.row_layout import Layout

DISCLOSURES: tuple[Disclosure, ...] = ("coded", "labels")
PRECISION: int = JobOptions.precision
"""The default of secfc. It is measured unless a command sets another."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The parameters of a measurement.

    Attributes
    ----------
    m, d, k : int
        Rows of all clients, columns, clusters.
    n, t, ell, R : int
        Clients, tolerated colluding clients, segments, answers that a round needs.
    precision : int
    bound : float
        Bound on a row's norm, in the data's units.
    scale : float
        Power of two by which rows are multiplied before rounding.
    residues : int
        Primes of an iteration. The run's shares may have one more.
    kernels : str
        "compiled" or "numpy": small jobs do not load compiled code (secfc.kernels).
    """

    m: int
    d: int
    k: int
    n: int
    t: int
    ell: int
    R: int
    precision: int
    bound: float
    scale: float
    residues: int
    kernels: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """A size to measure: rows, columns, clusters, clients, t, ell."""

    m: int
    d: int
    k: int
    n: int
    t: int
    ell: int

    @classmethod
    def parse(cls, text: str) -> "Case":
        """A case written as "m,d,k,n,t,ell".

        Raises
        ------
        ParameterError
            The text is not six positive integers.
        """
        parts = text.split(",")
        if len(parts) != 6 or not all(part.strip().isdecimal() and int(part) for part in parts):
            raise ParameterError(f"cases: six positive integers m,d,k,n,t,ell are needed, {text!r} was given")
        m, d, k, n, t, ell = map(int, parts)
        return cls(m=m, d=d, k=k, n=n, t=t, ell=ell)

    def job(self, *, bound: float, precision: int, max_iter: int = 300, seed: int | None = None) -> Job:
        """The job of this size.

        Raises
        ------
        ParameterError
            No run can have these parameters.
        """
        return make_job(
            n=self.n,
            k=self.k,
            t=self.t,
            ell=self.ell,
            d=self.d,
            bound=bound,
            precision=precision,
            max_iter=max_iter,
            seed=seed,
            disclosure="coded",
        )


def split_evenly(job: Job, rows: Floats) -> Setup:
    """A run of a job on one thread, with rows split evenly among the clients."""
    names, parties = [f"client {j}" for j in range(1, job.n + 1)], np.array_split(rows, job.n)
    return Setup(job=job, rows=parties, starts=None, names=names, limits=Limits(), threads=1)


def quiet_run(parties: list[Floats], case: Case, **options: Any) -> Result:
    """`secfc.run` without the warning that it stops at max_iter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return secfc.run(parties, case.k, case.t, case.ell, **options)


def stated(job: Job, *, m: int, residues: int, roles: int = 1) -> dict[str, Any]:
    """The attributes of `Setting` for a job on m rows. So many `roles` share a process and choose kernels."""
    return {
        "m": m,
        "d": job.d,
        "k": job.k,
        "n": job.n,
        "t": job.t,
        "ell": job.ell,
        "R": job.threshold,
        "precision": job.precision,
        "bound": job.bound,
        "scale": 2.0**job.exponent,
        "residues": residues,
        "kernels": chosen_name(Layout((m,)).run_residues(job) * roles),
    }


@contextmanager
def same_kernels() -> Iterator[None]:
    """Use compiled kernels for any size, if there is a compiler, so that a sweep does not change kernels.

    A choice in the environment has priority.
    """
    given = os.environ.get(VARIABLE)
    if given is None and chosen_name(sys.maxsize) == "compiled":
        os.environ[VARIABLE] = "compiled"
    try:
        yield
    finally:
        if given is None:
            os.environ.pop(VARIABLE, None)


def run_apart(
    setup: Setup, on_progress: OnProgress | None = None, on_delivery: OnDelivery | None = None
) -> Outcome:
    """`run_in_process`, where each party does the same work as in a separate process.

    A process verifies a statement once, and computes a pair's secret once. In one process the first party
    would do it for all others, and their seconds would be too few.
    """
    with (
        patch.object(identity, "check_signature", identity.check_signature.__wrapped__),
        patch.object(handshake, "check_ephemeral", handshake.check_ephemeral.__wrapped__),
        patch.object(handshake, "verified_transcript", handshake.verified_transcript.__wrapped__),
        patch.object(in_process, "PairSecrets", lambda: None),  # each party has its own
    ):
        return run_in_process(setup, on_progress, on_delivery)


@contextmanager
def cpu_seconds() -> Iterator[None]:
    """Deliveries get CPU seconds of this thread, so other work on the machine is not counted."""
    with patch.object(in_process, "time", SimpleNamespace(perf_counter=time.thread_time)):
        yield


def residues_of_rounds(messages: Iterable[MessageRecord], *, m: int) -> list[int]:
    """Residues about a row in each round with disclosure "coded", in order, of client 1's answers.

    They are primes times sets asked about, which are all in the first round. What else is in these messages
    is smaller than a residue of each row.
    """
    sizes: dict[int, int] = defaultdict(int)
    for message in messages:
        if message.kind == "StepReport" and message.sender == 1 and message.round:
            sizes[message.round] += message.size
    return [sizes[number] // (BYTES_PER_RESIDUE * m) for number in sorted(sizes)]


def most_primes(residues: Iterable[int], k: int) -> int:
    """Primes of the round with most residues about a row, which is taken to ask about all k sets."""
    return -(-max(residues) // k)


def median(values: Iterable[float] | Floats) -> float:
    """Median as a Python float."""
    return float(np.median(list(values)))


def quartiles(values: Iterable[float] | Floats) -> tuple[float, float]:
    """First and third quartile."""
    low, high = np.quantile(list(values), [0.25, 0.75])
    return float(low), float(high)
