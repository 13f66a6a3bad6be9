"""Lloyd iterations in SPU (SecretFlow's device): replicated sharing over 2^64 (ABY3), 3 parties as threads.

Usage: python spu_lloyd.py FOLDER OUT.json SIZE...

The program is hand-written: one matrix product for the distances, a secure argmin, one product for the sums
and a secure division. Nothing is opened between iterations. SPU's own `sml.KMEANS` took 4 to 40 times as
long. Seconds are the slope between runs of different numbers of iterations, so sharing the input is not
counted.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import spu
from numpy.typing import NDArray
from spu.utils import frontend, simulation

from benchmarks.peers.data import ITERATIONS, PeerRow, load, row

REPEATS = 3


def lloyd(k: int, iterations: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A function of secret rows and first centres, which returns labels after some iterations."""

    def run(rows: Any, centres: Any) -> tuple[Any, Any]:
        for _ in range(iterations):
            distances = jnp.sum(centres * centres, axis=1) - 2 * jnp.matmul(rows, centres.T)
            labels = jnp.argmin(distances, axis=1)
            belongs = (labels[:, None] == jnp.arange(k)[None, :]).astype(jnp.float32)
            counts = jnp.sum(belongs, axis=0)
            centres = jnp.matmul(belongs.T, rows) / counts[:, None]
        return labels, centres

    return run


def compiled(rows: NDArray[Any], centres: NDArray[Any], k: int, iterations: int) -> Any:
    """SPU's program of `iterations` iterations. Compiling it is not timed."""
    program, _ = frontend.compile(
        frontend.Kind.JAX,
        lloyd(k, iterations),
        (rows, centres),
        {},
        ["rows", "centres"],
        [spu.Visibility.VIS_SECRET] * 2,
        lambda flat: [f"out{at}" for at in range(len(flat))],
    )
    return program


def timed(program: Any, rows: NDArray[Any], centres: NDArray[Any]) -> tuple[float, NDArray[Any]]:
    """Seconds of a run, and its labels."""
    simulator = simulation.Simulator.simple(3, spu.ProtocolKind.ABY3, spu.FieldType.FM64)
    started = time.perf_counter()
    labels, _ = simulator(program, rows, centres)
    return time.perf_counter() - started, np.asarray(labels)


def run(folder: Path, size: str) -> PeerRow:
    """Time a size."""
    rows, start, expected, k = load(folder, size)
    # Products of 18 fractional bits must fit 64 bits, so rows are scaled to 1.
    scaled = rows / np.abs(rows).max()
    belongs = np.eye(k)[start]
    centres = (belongs.T @ scaled) / belongs.sum(axis=0)[:, None]
    seconds = []
    few, many = (compiled(scaled, centres, k, iterations) for iterations in (1, ITERATIONS + 1))
    for _ in range(REPEATS):
        long, labels = timed(many, scaled, centres)
        short, _ = timed(few, scaled, centres)
        seconds.append((long - short) / ITERATIONS)
    return row(
        size,
        seconds,
        labels,
        expected,
        system=f"SPU {version('spu')}",
        parties="3, t = 1",
        model="semi-honest, honest majority; no dropouts",
        reveals="nothing but the result",
        sent_bytes=None,
    )


if __name__ == "__main__":
    folder, out, *sizes = sys.argv[1:]
    Path(out).write_text(json.dumps([run(Path(folder), size) for size in sizes]), encoding="utf-8")
