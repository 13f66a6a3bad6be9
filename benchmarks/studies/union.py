"""Private set union compared with a plain union of sets, and membership privacy with an ordinary run.

All parties are in one process and one thread. Seconds are CPU seconds of this process, with wall-clock
seconds in brackets. Bytes are those of shares between clients and to the server.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

import secfc
from benchmarks.costs.machine import machine
from benchmarks.studies.unite import unite
from secfc.errors import ParameterError
from secfc.ids import row_ids
from secfc.psu import kernels, plan
from secfc.psu.plan import UnionPlan

CAPACITIES = {8: 14, 16: 24, 32: 44}
"""IDs that a bin can hold, for each load: about one bin in 50 is overfull."""


@dataclass(frozen=True, kw_only=True)
class UnionParties:
    """Clients, how many of them may collude, and segments."""

    n: int
    t: int
    ell: int


def measure_unions(sizes: UnionParties, ids: Sequence[int], loads: Sequence[int]) -> None:
    """Print a line for each number of IDs and each load (if no loads are given: the protocol's load)."""
    if not set(loads) <= CAPACITIES.keys():
        raise ParameterError(f"--loads: {', '.join(map(str, CAPACITIES))} are known")
    _print_machine(sizes)
    kernels.choose(1 << 60).matmul(*np.ones((2, 1, 1), dtype=np.uint64))  # compiles before the clock starts
    with threadpool_limits(1):
        for count in ids:
            _unions(count, sizes, loads or [plan.LOAD])


def _print_machine(sizes: UnionParties) -> None:
    print(machine()["processor"], f"n={sizes.n} t={sizes.t} ell={sizes.ell}")


def _unions(count: int, sizes: UnionParties, loads: Sequence[int]) -> None:
    names = [f"patient-{i}" for i in range(count)]
    owners = np.random.default_rng(0).integers(0, sizes.n, count)
    parties = [[names[i] for i in np.flatnonzero(owners == j)] for j in range(sizes.n)]
    started = time.perf_counter()
    assert len(set().union(*parties)) == count
    plain = time.perf_counter() - started
    salt = os.urandom(16)
    started = time.perf_counter()
    hashed = [row_ids(ids, key=bytes(32), name="party").tokens(salt) for ids in parties]
    hashing = time.perf_counter() - started
    print(f"{count} IDs: plain set union {plain:.2f} s, hashing {hashing:.2f} s")
    for load in loads:
        plan.LOAD, plan.CAPACITY = load, CAPACITIES[load]
        public = UnionPlan(n=sizes.n, t=sizes.t, ell=sizes.ell, cap=count, salt=salt)
        wall, cpu = time.perf_counter(), time.process_time()
        found = unite(public, hashed)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert found.m == count
        size = found.bytes_dealt + found.bytes_opened
        print(
            f"  load {load:>2}: {cpu:6.1f} s ({wall:.1f}), {cpu / plain:5.0f} plain unions, "
            f"{size / 1e6:7.1f} MB, {size / count / sizes.n:5.0f} bytes an ID and client, "
            f"{found.stages} stages",
            flush=True,
        )


def measure_runs(sizes: UnionParties, m: int, d: int) -> None:
    """Print seconds and bytes of each phase of a run on m x d rows, ordinary and with membership privacy."""
    _print_machine(sizes)
    with threadpool_limits(1):
        _runs(sizes, m, d)


def _runs(sizes: UnionParties, m: int, d: int) -> None:
    rows = np.random.default_rng(0).normal(size=(m, d))
    rows += np.random.default_rng(1).integers(0, 4, (m, 1)) * 3
    parties = np.array_split(rows, sizes.n)
    ids = [[f"{j}-{i}" for i in range(len(part))] for j, part in enumerate(parties)]
    for warm in (True, False):
        for held in (None, ids):
            result = secfc.run(
                parties if not warm else [part[:50] for part in parties],
                4,
                sizes.t,
                sizes.ell,
                ids=held if held is None or not warm else [part[:50] for part in held],
                seed=0,
                max_iter=300,
                disclosure="coded",
            )
            if warm:
                continue
            costs: dict[str, tuple[float, int]] = {}
            for phase in result.costs.phases:
                seconds, size = costs.get(phase.phase, (0.0, 0))
                costs[phase.phase] = seconds + phase.seconds, size + phase.sent_bytes
            print(
                "membership privacy" if held else "ordinary",
                f"{m} x {d}, {result.n_iter} iterations",
            )
            for name, (seconds, size) in costs.items():
                every = result.n_iter if name == "iterate" else 1
                note = " an iteration" if name == "iterate" else ""
                print(f"  {name:<9} {seconds / every:7.3f} s {size / every / 1e6:9.1f} MB{note}")
