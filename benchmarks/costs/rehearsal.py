"""A rehearsal on NVIDIA FLARE over slow lines, compared with one without delay and with computed line times.

Sites and server are processes of this machine, with mutual TLS, and are connected through
`benchmarks.costs.relay`. Needs the extra flare.
"""

import csv
import os
import tempfile
import threading
import time
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate, pairwise
from pathlib import Path
from typing import cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.costs.engines import EngineCase, names_of, run_job, setup_of, sites_of
from benchmarks.costs.lines import Network
from benchmarks.costs.links import Carried, carried, round_waits
from benchmarks.costs.relay import Relay
from benchmarks.costs.setting import Setting, median, same_kernels, stated
from plaintext_baselines import ExactLloyd
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.errors import missing
from secfc.protocol.job.options import Disclosure
from secfc.protocol.job.thresholds import default_threshold
from secfc.protocol.messages import SERVER

_SAMPLE_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """The size of a rehearsal: sites with rows, rows in all, columns, clusters, the most rounds."""

    sites: int = 11
    rows: int = 10_000
    columns: int = 50
    k: int = 8
    max_iter: int = 8

    def setup(self, disclosure: str) -> Setup:
        """The run. t and ell are the defaults for this number of sites."""
        t, ell = default_threshold(self.sites, None, None)
        size = (self.sites, t, ell, self.rows, self.columns, self.k, self.max_iter)
        return setup_of(EngineCase("a rehearsal", *size, cast(Disclosure, disclosure)))


QUICK = Rehearsal(sites=3, rows=600, columns=4, k=3, max_iter=4)


@dataclass(frozen=True, kw_only=True)
class RehearsalRow(Setting):
    """One rehearsal.

    Attributes
    ----------
    disclosure : str
    helpers : int
        Sites without rows.
    delay_ms, mbit, loss : float
        Round trip, rate of each line (None: no limit), and probability that a segment is lost.
    identify_seconds, share_seconds, first_seconds : float
        Wall seconds of the phases before the first question, and of the first round.
    round_seconds : float
        Wall seconds of a later round, median.
    round_spread : tuple of float
        Least and most of these.
    rounds : int
        Number of all rounds.
    legs, line_bytes : float
        Those of a later round, as in `benchmarks.costs.links`; medians.
    computed_seconds : float
        Bytes of the busiest line divided by the rate, plus legs times half a round trip.
    message_bytes, relay_bytes : float
        Bytes of a round, on all sites' lines in both directions: of encoded messages, and at the relay.
    free_seconds : float
        `round_seconds` of the rehearsal without delay. If this is that rehearsal, its own.
    exact : bool
        Whether every site's labels equal those of exact Lloyd.
    """

    disclosure: str
    helpers: int
    delay_ms: float
    mbit: float | None
    loss: float
    identify_seconds: float
    share_seconds: float
    first_seconds: float
    round_seconds: float
    round_spread: tuple[float, float]
    rounds: int
    legs: float
    line_bytes: float
    computed_seconds: float
    message_bytes: float
    relay_bytes: float
    free_seconds: float
    exact: bool


@dataclass(frozen=True)
class Rehearsed:
    """Seconds of each phase and round, bytes through the relay in all rounds, and labels by site."""

    steps: list[tuple[str, int, float]]
    relay_bytes: int
    labels: list[np.ndarray]

    def seconds(self, phase: str) -> float:
        """The seconds of a phase."""
        return sum(seconds for one, _, seconds in self.steps if one == phase)

    @property
    def rounds(self) -> list[float]:
        """The seconds of each round."""
        return [seconds for phase, _, seconds in self.steps if phase == "iterate"]


@contextmanager
def watched(relay: Relay) -> Iterator[list[tuple[float, int]]]:
    """Samples of the wall clock in seconds, and the bytes that had passed until then."""
    found: list[tuple[float, int]] = [(0.0, 0)]
    done = threading.Event()

    def sample() -> None:
        while not done.wait(_SAMPLE_SECONDS):
            found.append((time.time(), sum(relay.passed)))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def rehearse(setup: Setup, network: Network) -> Rehearsed:
    """Run the job once on this machine, with all sites behind such lines."""
    names = names_of(setup)
    with tempfile.TemporaryDirectory(prefix="secfc-rehearsal-") as name:
        folder = Path(name)
        with Relay(names, network) as relay, sites_of(folder, setup, relay.ports) as federation:
            relay.forward_to(federation.port)
            federation.start()
            with watched(relay) as passed:
                summary, path = run_job(federation, folder)
            # The coordinator writes its summary after it has taken the wall seconds.
            began = path.stat().st_mtime - summary["costs"]["wall_seconds"]
        labels = [_labels(folder / f"results-{site}") for site in setup.names]
    timeline = summary["timeline"]
    starts = [seconds for _, _, seconds in timeline]
    asked = [at for at, (phase, _, _) in enumerate(timeline) if phase == "iterate"]
    first, last = began + starts[asked[0]], began + starts[asked[-1] + 1]
    return Rehearsed(
        steps=[(phase, number, later[2] - at) for (phase, number, at), later in pairwise(timeline)],
        relay_bytes=_until(passed, last) - _until(passed, first),
        labels=labels,
    )


def _until(passed: list[tuple[float, int]], moment: float) -> int:
    return passed[bisect_right(passed, moment, key=lambda one: one[0]) - 1][1]


def _labels(results: Path) -> np.ndarray:
    (run,) = results.iterdir()
    with (run / "labels.csv").open(encoding="utf-8") as file:
        return np.array([int(row["label"]) for row in csv.DictReader(file)])


def exact_labels(setup: Setup) -> list[np.ndarray]:
    """The labels of exact Lloyd from the start that the job draws."""
    job = setup.job
    start = run_in_process(setup).start
    ends = list(accumulate(map(len, setup.rows)))[:-1]
    exact = ExactLloyd(
        job.k,
        init=np.split(start, ends),
        bound=job.bound,
        precision=job.precision,
        max_iter=job.method.max_iter,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is expected to stop at max_iter
        return list(exact.fit(setup.rows).labels_)


def measure_rehearsals(
    rehearsal: Rehearsal, disclosures: Sequence[str], networks: Sequence[Network]
) -> Iterator[RehearsalRow]:
    """Rehearse each disclosure without delay and over each network, one after the other.

    Raises
    ------
    ParameterError
        FLARE is not installed, or no run can have these sizes.
    """
    if find_spec("nvflare") is None:
        raise missing("NVIDIA FLARE", "this benchmark", "flare")
    setups = [rehearsal.setup(disclosure) for disclosure in disclosures]
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # for the started processes
    with same_kernels(), threadpool_limits(1):
        for setup in setups:
            counted, right = carried(setup), exact_labels(setup)
            free: float | None = None
            for network in (Network(), *networks):
                found = rehearse(setup, network)
                exact = all(map(np.array_equal, found.labels, right))
                row = _row(setup, network, found, counted, exact=exact, free=free)
                free = row.free_seconds
                yield row


def _row(
    setup: Setup,
    network: Network,
    found: Rehearsed,
    counted: dict[int, Carried],
    *,
    exact: bool,
    free: float | None,
) -> RehearsalRow:
    job, rounds = setup.job, found.rounds
    later = rounds[1:] or rounds
    legs, busiest = round_waits(counted)
    numbers = sorted(legs)[1:]
    behind = numbers[1:] or numbers
    waiting, size = median(legs[one] for one in behind), median(busiest[one] for one in behind)
    sent = [
        sum(count for (party, _), count in counted[one].lines.items() if party != SERVER) for one in numbers
    ]
    m = sum(map(len, setup.rows))
    return RehearsalRow(
        **stated(job, m=m, residues=job.residues(m)),
        disclosure=job.disclosure.name,
        helpers=job.helpers,
        delay_ms=1e3 * network.round_trip,
        mbit=None if np.isinf(network.rate) else network.rate / 1e6,
        loss=network.loss,
        identify_seconds=found.seconds("identify"),
        share_seconds=found.seconds("share"),
        first_seconds=rounds[0],
        round_seconds=median(later),
        round_spread=(min(later), max(later)),
        rounds=len(rounds),
        legs=waiting,
        line_bytes=size,
        computed_seconds=8 * size / network.rate + waiting * network.round_trip / 2,
        message_bytes=sum(sent) / len(sent),
        relay_bytes=found.relay_bytes / len(rounds),
        free_seconds=median(later) if free is None else free,
        exact=exact,
    )
