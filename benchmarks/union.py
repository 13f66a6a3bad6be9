"""Private set union beside a plain union of sets, and membership privacy beside an ordinary run.

Usage: python benchmarks/union.py union [--ids 100000 1000000] [--methods series sketch] [--loads 8 16 32]
       python benchmarks/union.py run [--rows 20000] [--columns 20]

All parties in one process and one thread; set OMP_NUM_THREADS=1. Seconds are CPU seconds of this process with
wall-clock seconds in brackets, bytes are those of shares between clients and to the server.
"""

import argparse
import os
import time

import numpy as np

import secfc
from secfc.bench.machine import machine
from secfc.psu import kernels, plan
from secfc.psu.plan import UnionPlan
from secfc.psu.tokens import row_ids
from secfc.psu.unite import unite

CAPACITIES = {8: 14, 16: 24, 32: 44}
"""IDs that a bin holds, for each load: about one bin in 50 is overfull."""


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    union = commands.add_parser("union")
    union.add_argument("--ids", type=int, nargs="+", default=[100_000, 1_000_000])
    union.add_argument("--methods", nargs="+", default=["series", "sketch"])
    union.add_argument("--loads", type=int, nargs="+", default=[plan.LOAD], choices=CAPACITIES)
    run = commands.add_parser("run")
    run.add_argument("--rows", type=int, default=20_000)
    run.add_argument("--columns", type=int, default=20)
    for one in (union, run):
        one.add_argument("--n", type=int, default=11)
        one.add_argument("--t", type=int, default=4)
        one.add_argument("--ell", type=int, default=2)
    options = parser.parse_args()
    print(machine()["processor"], f"n={options.n} t={options.t} ell={options.ell}")
    if options.command == "union":
        kernels.choose(1 << 60).matmul(
            *np.ones((2, 1, 1), dtype=np.uint64)
        )  # loaded or compiled before the clock
        for count in options.ids:
            _unions(count, options)
    else:
        _runs(options)


def _unions(count: int, options: argparse.Namespace) -> None:
    names = [f"patient-{i}" for i in range(count)]
    owners = np.random.default_rng(0).integers(0, options.n, count)
    parties = [[names[i] for i in np.flatnonzero(owners == j)] for j in range(options.n)]
    started = time.perf_counter()
    assert len(set().union(*parties)) == count
    plain = time.perf_counter() - started
    salt = os.urandom(16)
    started = time.perf_counter()
    hashed = [row_ids(ids, key=bytes(32), name="party").tokens(salt) for ids in parties]
    hashing = time.perf_counter() - started
    print(f"{count} IDs: plain set union {plain:.2f} s, hashing {hashing:.2f} s")
    for method in options.methods:
        for load in options.loads if method == "series" else options.loads[:1]:
            plan.LOAD, plan.CAPACITY = load, CAPACITIES[load]
            public = UnionPlan(n=options.n, t=options.t, ell=options.ell, cap=count, salt=salt, method=method)
            wall, cpu = time.perf_counter(), time.process_time()
            found = unite(public, hashed)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            assert found.m == count
            size = found.bytes_dealt + found.bytes_opened
            print(
                f"  {method:<6} load {load:>2}: {cpu:6.1f} s ({wall:.1f}), {cpu / plain:5.0f} plain unions, "
                f"{size / 1e6:7.1f} MB, {size / count / options.n:5.0f} bytes an ID and client, "
                f"{found.stages} stages",
                flush=True,
            )


def _runs(options: argparse.Namespace) -> None:
    rows = np.random.default_rng(0).normal(size=(options.rows, options.columns))
    rows += np.random.default_rng(1).integers(0, 4, (options.rows, 1)) * 3
    parties = np.array_split(rows, options.n)
    ids = [[f"{j}-{i}" for i in range(len(part))] for j, part in enumerate(parties)]
    for warm in (True, False):
        for held in (None, ids):
            result = secfc.run(
                parties if not warm else [part[:50] for part in parties],
                4,
                options.t,
                options.ell,
                ids=held if held is None or not warm else [part[:50] for part in held],
                seed=0,
                max_iter=300,
            )
            if warm:
                continue
            costs = {}
            for phase in result.costs.phases:
                seconds, size = costs.get(phase.phase, (0.0, 0))
                costs[phase.phase] = seconds + phase.seconds, size + phase.sent_bytes
            print(
                "membership privacy" if held else "ordinary",
                f"{options.rows} x {options.columns}, {result.n_iter} iterations",
            )
            for phase, (seconds, size) in costs.items():
                every = result.n_iter if phase == "iterate" else 1
                note = " an iteration" if phase == "iterate" else ""
                print(f"  {phase:<9} {seconds / every:7.3f} s {size / every / 1e6:9.1f} MB{note}")


if __name__ == "__main__":
    main()
