"""Whole iterations with each disclosure: the work of all parties, on one thread, in runs that take turns.

Messages are encoded, sealed, decoded and handled as between processes, but stay in memory. An iteration goes
from one question to the next.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs, plaintext_steps
from benchmarks.costs.setting import (
    DISCLOSURES,
    PRECISION,
    Case,
    Setting,
    cpu_seconds,
    median,
    quartiles,
    run_apart,
    same_kernels,
    split_evenly,
    stated,
)
from secfc.drivers.setup import Outcome
from secfc.field.array_types import Floats, Labels
from secfc.kmeans.sets import random_partition
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.messages import Step
from secfc.protocol.messages.wire import Envelope
from secfc.sharing.row_checks import largest_norm

CASES = (
    Case(m=1_000, d=20, k=4, n=3, t=1, ell=1),
    Case(m=10_000, d=100, k=4, n=3, t=1, ell=1),
    Case(m=10_000, d=100, k=16, n=3, t=1, ell=1),
    Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),
)
QUICK_CASES = (Case(m=600, d=4, k=3, n=4, t=1, ell=1),)
TURNS = 3
"""Runs with each disclosure."""

SKIPPED = 3
"""Iterations at the start of a run that are skipped, because most rows change in them."""

ITERATIONS = 12


@dataclass(frozen=True, kw_only=True)
class LabelsRow(Setting):
    """Medians over the iterations of a run after the first `SKIPPED`. Seconds of secfc are CPU seconds.

    Attributes
    ----------
    turns : int
        Iterations for the medians.
    plaintext_seconds : float
        Seconds of scikit-learn's Lloyd iteration on the pooled rows.
    coded_seconds, labels_seconds : float
        Seconds of all parties together.
    ratio : float
        "labels" divided by "coded".
    other_ratio : float or None
        A client that does not compare with "labels", divided by one with "coded"; None if all compare.
    dealer_ratio, first_ratio, second_ratio : float
        The same for the dealer and both evaluators, which are clients or helpers.
    first_round_seconds : float
        The first iteration with "labels", of all parties.
    exchanges : float
        Messages from the first evaluator to the second, median.
    dealt_bytes, each_way_bytes : float
        To the second evaluator, from the dealer and from the first evaluator, medians.
    """

    turns: int
    plaintext_seconds: float
    coded_seconds: float
    labels_seconds: float
    ratio: float
    ratio_quartiles: tuple[float, float]
    other_ratio: float | None
    dealer_ratio: float
    first_ratio: float
    second_ratio: float
    first_round_seconds: float
    exchanges: float
    dealt_bytes: float
    each_way_bytes: float


def measure_case(case: Case, *, precision: int = PRECISION) -> Iterator[LabelsRow]:
    """Measure a case, with all disclosures in turns."""
    with threadpool_limits(1), same_kernels():
        yield _measure(case, precision)


def _measure(case: Case, precision: int) -> LabelsRow:
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS)
    found: dict[Disclosure, list[Floats]] = {one: [] for one in DISCLOSURES}
    plain, first = list[float](), list[float]()
    for turn in range(TURNS):
        start = random_partition(np.random.default_rng(turn), case.m, case.k)
        plain += [seconds for _, seconds in zip(range(4), plaintext_steps(rows, start, case.k), strict=False)]
        for disclosure in DISCLOSURES:
            outcome, seconds = timed_rounds(changed_job(job, disclosure=disclosure), rows, seed=turn)
            found[disclosure].append(seconds[SKIPPED:])
        first.append(float(seconds[0].sum()))
    coded, labels = (np.concatenate(found[one]) for one in DISCLOSURES)
    least = min(len(coded), len(labels))
    ratios = labels[:least].sum(axis=1) / coded[:least].sum(axis=1)
    client = median(coded[:, 1:].mean(axis=1))
    compares = changed_job(job, disclosure="labels")
    roles = compares.comparers
    others = [j for j in range(1, case.n + 1) if j not in roles]
    sent = _sent(outcome, compares)
    return LabelsRow(
        **stated(job, m=case.m, residues=compares.residues(case.m)),
        turns=len(labels),
        plaintext_seconds=median(plain),
        coded_seconds=median(coded.sum(axis=1)),
        labels_seconds=median(labels.sum(axis=1)),
        ratio=median(ratios),
        ratio_quartiles=quartiles(ratios),
        other_ratio=median(labels[:, others].mean(axis=1)) / client if others else None,
        dealer_ratio=median(labels[:, roles[0]]) / client,
        first_ratio=median(labels[:, roles[1]]) / client,
        second_ratio=median(labels[:, roles[2]]) / client,
        first_round_seconds=median(first),
        exchanges=sent[0],
        dealt_bytes=sent[1],
        each_way_bytes=sent[2],
    )


def timed_rounds(job: Job, rows: Floats, *, seed: int, start: Labels | None = None) -> tuple[Outcome, Floats]:
    """A run, and CPU seconds of each round and party, shape (rounds, parties + 1), with the server first.

    Rows, and the given start for a job with init="labels", are split evenly among the clients.
    """
    seconds: dict[int, Floats] = defaultdict(lambda: np.zeros(job.parties + 1))

    def delivered(header: Envelope, taken: float) -> None:
        if header.work == "iterate" and header.round:
            seconds[header.round][header.recipient] += taken

    starts = None if start is None else np.array_split(start, job.n)
    setup = replace(split_evenly(changed_job(job, seed=seed), rows), starts=starts)
    with cpu_seconds():
        outcome = run_apart(setup, None, delivered)
    return outcome, np.array([seconds[round_] for round_ in sorted(seconds)])


def _sent(outcome: Outcome, job: Job) -> tuple[float, float, float]:
    """Medians per round: messages of the first evaluator, and bytes of dealer and first, to the second."""
    dealer, first, second = job.comparers
    sizes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for message in outcome.costs.messages:
        if message.kind == Step.__name__ and message.round > SKIPPED and message.recipient == second:
            sizes[message.sender, message.round].append(message.size)
    rounds = sorted({round_ for _, round_ in sizes})
    return (
        float(np.median([len(sizes[first, round_]) for round_ in rounds])),
        float(np.median([sum(sizes[dealer, round_]) for round_ in rounds])),
        float(np.median([sum(sizes[first, round_]) for round_ in rounds])),
    )
