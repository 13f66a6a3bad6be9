"""How many bits whole runs of exact Lloyd need to end with scikit-learn's labels, and their primes."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.costs.datasets import dataset_reader
from plaintext_baselines import ExactLloyd
from secfc.field.array_types import Floats, Ints
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import Disclosure
from secfc.sharing.row_checks import largest_norm


def measure(dataset: str, seeds: int, bits: Sequence[int], step: float | None) -> None:
    """Print a line per random start: scikit-learn's iterations, then rows that differ at each precision.

    With a step that rows are multiples of it is the last number. Then the primes of each are printed: of
    shares, and of a round about the sets that the first start ended with.
    """
    warnings.simplefilter("ignore")
    read, k = dataset_reader(dataset)
    rows = read()
    m, d = rows.shape
    ways: list[dict[str, Any]] = [{"precision": one} for one in bits]
    named = [f"{one} bits" for one in bits]
    if step is not None:
        ways.append({"step": step})
        named.append(f"steps of {step:g}")
    print(f"{dataset} {m} x {d}, k = {k}: rows that differ at {', '.join(named)}")
    sizes: Ints | None = None
    for seed in range(seeds):
        start = np.random.default_rng(seed).integers(k, size=len(rows))
        centres = np.array([rows[start == h].mean(axis=0) for h in range(k)])
        floats = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0).fit(rows)
        differing = []
        for way in ways:
            exact = ExactLloyd(k, init=[start], **way).fit([rows])
            differing.append(int((exact.labels_[0] != floats.labels_).sum()))
        print(f"start {seed}: {floats.n_iter_} iterations, {differing}", flush=True)
        sizes = np.bincount(floats.labels_, minlength=k) if sizes is None else sizes
    if sizes is not None:
        for line in _primes(rows, sizes, ways):
            print(line)


def _primes(rows: Floats, sizes: Ints, ways: Sequence[dict[str, Any]]) -> Iterator[str]:
    """For each disclosure the primes of shares and of a round, at each precision."""
    m, d = rows.shape
    bound = largest_norm(rows, name="rows")
    for disclosure in get_args(Disclosure):
        jobs = [
            make_job(n=11, k=sizes.size, t=4, ell=2, d=d, bound=bound, disclosure=disclosure, **way)
            for way in ways
        ]
        counts = [f"{job.residues(m)} and {job.round_residues(sizes, m)}" for job in jobs]
        yield f'primes of shares and of a round, "{disclosure}": {", ".join(counts)}'
