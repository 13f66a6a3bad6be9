"""The data, start and expected labels of every peer, written once by `prepare`.

Scripts in separate environments import this module, so it needs only NumPy.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIZES = {"a": (1000, 20, 4), "b": (10_000, 100, 4), "c": (10_000, 100, 16)}
PeerRow = dict[str, Any]

ITERATIONS = 4
"""Lloyd iterations that are timed after the first."""


def prepare(folder: Path, sizes: list[str], seed: int = 0) -> None:
    """Overlapping Gaussian clusters, a random partition as start, and NumPy's labels after it."""
    for size in sizes:
        m, d, k = SIZES[size]
        rng = np.random.default_rng(seed)
        rows = rng.uniform(-10, 10, (k, d))[rng.integers(k, size=m)] + rng.normal(0, 20, (m, d))
        start = rng.integers(k, size=m)
        labels = start
        for _ in range(ITERATIONS + 1):
            labels = lloyd_step(rows, labels, k)
        np.savez(folder / f"{size}.npz", rows=rows, start=start, labels=labels)


def load(folder: Path, size: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    """Rows, start labels, labels after 1 + ITERATIONS iterations, and k."""
    with np.load(folder / f"{size}.npz") as held:
        return held["rows"], held["start"], held["labels"], SIZES[size][2]


def lloyd_step(rows: NDArray[Any], labels: NDArray[Any], k: int) -> NDArray[Any]:
    """One Lloyd iteration in float64: means of the sets, then the nearest of them."""
    belongs = np.eye(k)[labels]
    centres = (belongs.T @ rows) / belongs.sum(axis=0)[:, None]
    nearest: NDArray[Any] = np.argmin((centres**2).sum(axis=1) - 2 * rows @ centres.T, axis=1)
    return nearest


def row(
    size: str, seconds: list[float], labels: NDArray[Any], expected: NDArray[Any], **facts: Any
) -> PeerRow:
    """A row of the results: median and quartiles of seconds per iteration, and rows with other labels."""
    m, d, k = SIZES[size]
    low, high = np.quantile(seconds, [0.25, 0.75])
    return {
        "size": size,
        "m": m,
        "d": d,
        "k": k,
        "seconds": float(np.median(seconds)),
        "seconds_quartiles": [float(low), float(high)],
        "iterations": len(seconds),
        "differing_rows": int((np.asarray(labels) != expected).sum()),
        **facts,
    }


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), sys.argv[2:])
    print(json.dumps({"sizes": sys.argv[2:]}), file=sys.stderr)
