"""SecFC and NumPy on the peers' data, in the same format of rows.

Usage: python secfc_side.py FOLDER OUT.json SIZE...

SecFC's seconds are those of all parties, one after another on one thread (clients + server), with messages
encoded and decoded. NumPy's are one plaintext iteration on the pooled rows.
"""

import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import secfc
from benchmarks.costs.iteration import take_turns
from benchmarks.costs.labels import timed_rounds
from benchmarks.costs.setting import PRECISION, Case, same_kernels
from benchmarks.peers.data import ITERATIONS, SIZES, PeerRow, lloyd_step, load, row
from secfc.field.array_types import Floats
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages import Step, StepReport
from secfc.sharing.row_checks import largest_norm

PARTIES = ((3, 1, 1), (11, 4, 2))
STARTS = 3
ASKED = {one.__name__ for one in (Step, StepReport)}
"""Messages of parties in a round, with disclosure "labels"."""


def secure(folder: Path, size: str, n: int, t: int, ell: int) -> PeerRow:
    """Seconds of all parties in an iteration, and labels from the given start."""
    rows, start, expected, k = load(folder, size)
    job = _job(rows, k, n, t, ell, max_iter=ITERATIONS + 2)
    turns = take_turns(job, rows, seeds=range(STARTS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", secfc.ConvergenceWarning)
        result = secfc.run(
            np.array_split(rows, n),
            k,
            t,
            ell,
            init=np.array_split(start, n),
            max_iter=ITERATIONS,
            disclosure="coded",
        )
    sent = sum(one.size for one in result.costs.messages if one.round == 1)
    return row(
        size,
        list(n * turns.client + turns.server),
        np.concatenate(result.labels),
        expected,
        system=f"SecFC {secfc.__version__}",
        parties=f"{n} and a server, t = {t}, ell = {ell}",
        model="semi-honest, any t of n clients, or the server alone",
        reveals="labels of all rows to all; distances of rows, and with ell > 1 of segments, to the server",
        sent_bytes=sent // n,
    )


def with_labels(folder: Path, size: str, n: int, t: int, ell: int) -> PeerRow:
    """The same with disclosure "labels"."""
    rows, start, expected, k = load(folder, size)
    job = changed_job(_job(rows, k, n, t, ell, max_iter=ITERATIONS), disclosure="labels", init="labels")
    seconds = []
    with threadpool_limits(1):
        for turn in range(STARTS):
            outcome, by_round = timed_rounds(job, rows, seed=turn, start=start)
            seconds += list(by_round[1:].sum(axis=1))
    helpers = "" if not job.helpers else f", {job.helpers} of them helpers"
    each = Counter[int]()
    for one in outcome.costs.messages:
        if one.kind in ASKED and one.round > 1:
            each[one.sender] += one.size
    return row(
        size,
        seconds,
        np.concatenate(outcome.labels),
        expected,
        system=f"SecFC {secfc.__version__}",
        parties=f"{job.parties} and a server, t = {t}, ell = {ell}{helpers}",
        model="malicious, any t of n clients, or the server; semi-honest, one of the three that compare",
        reveals="to every party labels of its own rows, row counts and which clusters are empty",
        sent_bytes=max(each.values()) // ITERATIONS,
    )


def _job(rows: Floats, k: int, n: int, t: int, ell: int, *, max_iter: int) -> Job:
    case = Case(m=rows.shape[0], d=rows.shape[1], k=k, n=n, t=t, ell=ell)
    return case.job(bound=largest_norm(rows, name="rows"), precision=PRECISION, max_iter=max_iter)


def plaintext(folder: Path, size: str) -> PeerRow:
    """Seconds of NumPy's iterations."""
    rows, labels, expected, k = load(folder, size)
    seconds = []
    with threadpool_limits(1):
        for _ in range(ITERATIONS + 1):
            started = time.perf_counter()
            labels = lloyd_step(rows, labels, k)
            seconds.append(time.perf_counter() - started)
    return row(
        size,
        seconds[1:],
        labels,
        expected,
        system=f"NumPy {np.__version__}",
        parties="1",
        model="plaintext",
        reveals="everything",
        sent_bytes=None,
    )


if __name__ == "__main__":
    place, out, *sizes = sys.argv[1:]
    measured = []
    # SPU's compilation is not counted either. By itself a run of size a would use NumPy, because loading
    # costs more.
    with same_kernels():
        for one in sizes or SIZES:
            measured.append(plaintext(Path(place), one))
            measured += [secure(Path(place), one, *parties) for parties in PARTIES]
            measured += [with_labels(Path(place), one, *parties) for parties in PARTIES]
    Path(out).write_text(json.dumps(measured), encoding="utf-8")
