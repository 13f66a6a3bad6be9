"""The cost of the engine of a run: one process, one process per party, or NVIDIA FLARE with mutual TLS.

Each driver runs the same job, data and seed, one after the other. The roles do the same work, so only the
engine differs. Needs the extra flare. Loopback only. FLARE starts 28 processes with n = 11 and two helpers.
"""

import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from threadpoolctl import threadpool_limits

from benchmarks.costs.engine_table import HEADINGS, TITLE, engine_cells
from benchmarks.costs.setting import run_apart, split_evenly
from benchmarks.shown import print_table
from secfc.agreement.consortium import Member, add_members
from secfc.agreement.job_file import norm_bound, read_job
from secfc.agreement.key_files import COORDINATOR_KEY, write_new_key
from secfc.agreement.signatures import collect, sign_job, signatures_path
from secfc.agreement.statement import read_summary
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import Setup
from secfc.errors import ParameterError
from secfc.protocol.job.job_options import as_options
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.progress import Progress

if TYPE_CHECKING:
    from secfc.drivers.flare.federation import Federation

SEED = 1
_LARGEST = 40.0
"""Every column's range, as organisations would agree on it: at least 8 standard deviations."""


@dataclass(frozen=True)
class EngineCase:
    """A size to measure."""

    name: str
    n: int
    t: int
    ell: int
    m: int
    d: int
    k: int
    max_iter: int
    disclosure: Disclosure = "labels"


CASES = (
    EngineCase("n = 3", 3, 1, 1, 10_000, 100, 16, 20),
    EngineCase("n = 11 and 2 helpers", 11, 4, 2, 10_000, 100, 16, 20),
    EngineCase("n = 11, coded", 11, 4, 2, 10_000, 100, 16, 20, "coded"),
    EngineCase("answers of 80 MB, coded", 3, 1, 1, 420_000, 8, 16, 3, "coded"),
)
QUICK = (EngineCase("n = 3, quick", 3, 1, 1, 1_000, 20, 8, 5),)

Timeline = list[tuple[str, int, float]]


def setup_of(case: EngineCase) -> Setup:
    """A run on rows around k centres, split evenly."""
    rng = np.random.default_rng(SEED)
    centres = rng.normal(scale=4.0, size=(case.k, case.d))
    rows = centres[rng.integers(case.k, size=case.m)] + rng.normal(scale=2.0, size=(case.m, case.d))
    bound = norm_bound([(-_LARGEST, _LARGEST)] * case.d)
    assert np.abs(rows).max() <= _LARGEST
    job = make_job(
        n=case.n,
        k=case.k,
        t=case.t,
        ell=case.ell,
        d=case.d,
        bound=bound,
        max_iter=case.max_iter,
        seed=SEED,
        disclosure=case.disclosure,
    )
    return replace(split_evenly(job, rows), names=[f"site-{j}" for j in range(1, case.n + 1)])


def watch() -> tuple[Timeline, Callable[[Progress], None]]:
    """A list of the times at which phases and rounds begin, and the callback that fills it."""
    timeline: Timeline = [("identify", 0, 0.0)]
    started = time.perf_counter()

    def look(standing: Progress) -> None:
        if timeline[-1][:2] != (standing.phase, standing.round):
            timeline.append((standing.phase, standing.round, time.perf_counter() - started))

    return timeline, look


@contextmanager
def peaks(pids: Callable[[], dict[int, str]]) -> Iterator[dict[str, int]]:
    """Largest resident size by role, in bytes, from the kernel's maximum, which is read twice a second."""
    found: dict[str, int] = {}
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.5):
            for pid, role in pids().items():
                found[role] = max(found.get(role, 0), high_water(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def high_water(pid: int) -> int:
    """VmHWM of a process, 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")), 0)


def in_process(case: EngineCase) -> dict[str, Any]:
    """All parties in this process."""
    Path("/proc/self/clear_refs").write_text("5")  # reset its peak
    timeline, look = watch()
    outcome = run_apart(setup_of(case), look)
    return {
        "costs": outcome.costs.to_dict(),
        "timeline": timeline,
        "memory": {"all parties": high_water(os.getpid())},
    }


def multiprocess(case: EngineCase) -> dict[str, Any]:
    """A process per party over pipes."""
    import psutil  # noqa: PLC0415 - of the extra flare

    def pids() -> dict[int, str]:
        forked = [one.pid for server in psutil.Process().children() for one in server.children()]
        return {os.getpid(): "server"} | dict.fromkeys(forked, "client")

    timeline, look = watch()
    with peaks(pids) as memory:
        outcome = run_multiprocess(setup_of(case), look)
    return {"costs": outcome.costs.to_dict(), "timeline": timeline, "memory": memory}


def flare(case: EngineCase) -> dict[str, Any]:
    """A FLARE server and sites."""
    from secfc.drivers.flare.federation import Federation  # noqa: PLC0415 - of the extra flare
    from secfc.drivers.flare.jobs import export_job  # noqa: PLC0415

    setup = setup_of(case)
    names = [*setup.names, *(f"helper-{j}" for j in range(1, setup.job.helpers + 1))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export_job(write_job(folder, setup, names), folder / "job", deadline=600.0)
        with Federation(folder / "flare", names) as federation:
            for site in names:
                federation.join(site, folder / f"{site}.toml")
            federation.give_key(folder / COORDINATOR_KEY)
            started = time.perf_counter()
            federation.start()
            up = time.perf_counter()
            with peaks(lambda: roles(federation)) as memory:
                _, path = federation.run(folder / "job", timeout=3600.0)
            ended = time.perf_counter()
        summary = {"ended": "no summary"} if path is None else read_summary(path).coordinator
    if summary["ended"] != "complete":
        raise SystemExit(f"flare: {summary['ended']}")
    return {
        "costs": summary["costs"],
        "timeline": summary["timeline"],
        "memory": memory,
        "start_seconds": up - started,
        "job_seconds": ended - up,
    }


def write_job(folder: Path, setup: Setup, names: Sequence[str]) -> Path:
    """Write the files of all organisations, helpers last. Returns the job file, signed by all."""
    members, keys = [], []
    for site in names:
        keys.append(write_new_key(folder / f"{site}.key"))
        members.append(Member(name=site, key=keys[-1].public))
        (folder / f"{site}.toml").write_text(
            f'party = "{site}"\njob = "job.toml"\nkey = "{site}.key"\nresults = "results-{site}"\n'
        )
    for site, rows in zip(setup.names, setup.rows, strict=True):
        np.save(folder / f"{site}.npy", rows)
        with (folder / f"{site}.toml").open("a") as file:
            file.write(f'[data]\npath = "{site}.npy"\n')
    coordinator = Member(name="hub", key=write_new_key(folder / COORDINATOR_KEY).public)
    n = setup.job.n
    add_members(folder / "roster.toml", members[:n], coordinator, helpers=members[n:])
    given = "k", "t", "ell", "init", "n_init", "max_iter", "seed", "disclosure"
    values = {name: as_options(setup.job)[name] for name in given}
    lines = [
        'title = "A benchmark"',
        'roster = "roster.toml"',
        "expires = 9999-12-31",
        "runs = 1000",
        "[clustering]",
    ]
    lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()] + ["[columns]"]
    lines += [f"{at} = [{-_LARGEST}, {_LARGEST}]" for at in range(setup.job.d)]
    job = folder / "job.toml"
    job.write_text("\n".join(lines) + "\n")
    agreement = read_job(job)
    assert agreement.job == setup.job
    signed = [sign_job(agreement, site, key) for site, key in zip(names, keys, strict=True)]
    collect(agreement, signatures_path(job), signed)
    return job


def roles(federation: "Federation") -> dict[int, str]:
    """FLARE's processes and their roles: at each party a parent, and one for the job."""
    from secfc.drivers.flare.kits import SERVER  # noqa: PLC0415 - of the extra flare

    found = {}
    for name in (SERVER, *federation.sites):
        side = "server" if name == SERVER else "site"
        for at, pid in enumerate(federation.parties[name].pids):
            found[pid] = f"{side} {'parent' if at == 0 else 'job'}"
    return found


def row(case: EngineCase, driver: str, measured: dict[str, Any]) -> dict[str, Any]:
    """Seconds and bytes of each phase and round."""
    timeline = measured["timeline"]
    steps = [(phase, round_, later[2] - at) for (phase, round_, at), later in pairwise(timeline)]
    rounds = [seconds for phase, _, seconds in steps if phase == "iterate"]
    phases: dict[str, dict[str, float]] = {}
    for phase, _, seconds in steps:
        phases.setdefault(phase, {"wall": 0.0, "cpu": 0.0, "bytes": 0})["wall"] += seconds
    for cost in measured["costs"]["phases"]:
        phase = phases.setdefault(cost["phase"], {"wall": 0.0, "cpu": 0.0, "bytes": 0})
        phase["cpu"] += cost["seconds"]
        phase["bytes"] += cost["sent_bytes"]
    iterate = phases["iterate"]
    return {
        **asdict(case),
        "case": case.name,
        "driver": driver,
        "rounds": len(rounds),
        "round_seconds": statistics.median(rounds),
        "round_spread": [min(rounds), max(rounds)],
        "round_cpu_seconds": iterate["cpu"] / len(rounds),
        "round_bytes": iterate["bytes"] / len(rounds),
        "phases": phases,
        "memory": measured["memory"],
        **{name: measured[name] for name in ("start_seconds", "job_seconds") if name in measured},
    }


DRIVERS = {"in-process": in_process, "multiprocess": multiprocess, "flare": flare}


def measure_engines(drivers: Sequence[str], *, quick: bool, as_json: bool) -> None:
    """Measure each case with each driver, with one thread per process, and print the rows."""
    unknown = set(drivers) - DRIVERS.keys()
    if unknown:
        raise ParameterError(f"--only: {', '.join(sorted(unknown))}: not among {', '.join(DRIVERS)}")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # for the processes that drivers start
    rows = []
    with threadpool_limits(1):
        for case in QUICK if quick else CASES:
            for driver in drivers:
                rows.append(row(case, driver, DRIVERS[driver](case)))
                typer.echo(f"{case.name}: {driver} done", err=True)
    if as_json:
        typer.echo(json.dumps(rows, allow_nan=False))
    else:
        print_table(TITLE, HEADINGS, engine_cells(rows))
