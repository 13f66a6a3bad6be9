"""How many bits whole runs of exact Lloyd need to end with scikit-learn's labels.

Usage: SECFC_DATA=... python benchmarks/precision.py DATASET [--seeds 10] [--bits 24 26 28 30 32]
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from plaintext_baselines import ExactLloyd

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.datasets import DATASETS


def main() -> None:
    """Print a line per random start: scikit-learn's iterations, then rows that differ at each precision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", choices=DATASETS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--bits", type=int, nargs="+", default=[24, 26, 28, 30, 32])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    read, k = DATASETS[options.dataset]
    rows = read()
    m, d = rows.shape
    print(f"{options.dataset} {m} x {d}, k = {k}: rows that differ at {options.bits} bits")
    for seed in range(options.seeds):
        start = np.random.default_rng(seed).integers(k, size=len(rows))
        centres = np.array([rows[start == h].mean(axis=0) for h in range(k)])
        floats = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(rows)
        differing = []
        for bits in options.bits:
            exact = ExactLloyd(k, init=[start], precision=bits).fit([rows])
            differing.append(int((exact.labels_[0] != floats.labels_).sum()))
        print(f"start {seed}: {floats.n_iter_} iterations, {differing}", flush=True)


if __name__ == "__main__":
    main()
