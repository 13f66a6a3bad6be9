"""How many bits whole runs of exact Lloyd need to end with scikit-learn's labels."""

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.studies.datasets import dataset_reader
from plaintext_baselines import ExactLloyd


def measure(dataset: str, seeds: int, bits: Sequence[int]) -> None:
    """Print a line per random start: scikit-learn's iterations, then rows that differ at each precision."""
    warnings.simplefilter("ignore")
    read, k = dataset_reader(dataset)
    rows = read()
    m, d = rows.shape
    print(f"{dataset} {m} x {d}, k = {k}: rows that differ at {list(bits)} bits")
    for seed in range(seeds):
        start = np.random.default_rng(seed).integers(k, size=len(rows))
        centres = np.array([rows[start == h].mean(axis=0) for h in range(k)])
        floats = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(rows)
        differing = []
        for precision in bits:
            exact = ExactLloyd(k, init=[start], precision=precision).fit([rows])
            differing.append(int((exact.labels_[0] != floats.labels_).sum()))
        print(f"start {seed}: {floats.n_iter_} iterations, {differing}", flush=True)
