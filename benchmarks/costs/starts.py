"""Starts on ten data sets: the inertia at which Lloyd's algorithm ends, and what a start by k-means++ costs.

Inertias are means over seeds, divided by the least that any start ended with. "random" is a random partition.
"plain" draws one row for each centre, and "greedy" is the start of `secfc`, both as by scikit-learn. The cost
is that of the start in a run with three clients, in iterations of that run, by bytes.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans, kmeans_plusplus

from benchmarks.reproduce.data import fkm_parties, found
from secfc import run
from secfc.field.array_types import Floats, Labels
from secfc.field.fixed_point import quantise, unit_of
from secfc.kmeans.sets import random_partition
from secfc.operations.beginning.plus_plus import numbers_of, plain_numbers, plain_plus_plus
from secfc.sharing.row_checks import largest_norm

SEEDS, QUICK_SEEDS = 40, 2
_BITS = 24  # of a quantised row; more change nothing here
_SIPU = "cs.uef.fi/sipu/datasets"


@dataclass(frozen=True, kw_only=True)
class StartRow:
    """A data set: mean inertias of starts over the least one, and the cost of a start in iterations."""

    name: str
    m: int
    d: int
    k: int
    seeds: int
    random: float
    plain: float
    greedy: float
    sklearn: float
    iterations: float


def _data(folder: Path | None, *, quick: bool) -> Iterator[tuple[str, Floats, int]]:
    for name, k in (("iris", 3), ("wine", 3), ("breast_cancer", 2), ("digits", 10)):
        rows = getattr(datasets, f"load_{name}")().data
        deviations = rows.std(axis=0)
        yield name, (rows - rows.mean(axis=0)) / np.where(deviations > 0, deviations, 1), k
        if quick:
            return
    for name, k in (("s1", 15), ("s2", 15), ("s3", 15), ("a1", 20)):
        yield name, np.loadtxt(found(folder, f"sipu/{name}.txt", _SIPU)), k
    yield "g2-16-50", np.loadtxt(found(folder, "g2/g2-16-50.txt", _SIPU)), 2
    yield "fkm, beta 1", np.concatenate(fkm_parties(folder, "1")[0]), 16


def measure_starts(folder: Path | None, *, quick: bool) -> Iterator[StartRow]:
    """A row for each data set."""
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    for name, rows, k in _data(folder, quick=quick):
        ends = {
            kind: [KMeans(k, init=start(rows, k, seed), n_init=1, tol=0).fit(rows).inertia_ for seed in seeds]
            for kind, start in STARTS.items()
        }
        least = min(min(one) for one in ends.values())
        means = {kind: float(np.mean(one)) / least for kind, one in ends.items()}
        m, d = rows.shape
        yield StartRow(name=name, m=m, d=d, k=k, seeds=len(seeds), iterations=_cost(rows, k), **means)


def _random(rows: Floats, k: int, seed: int) -> Floats:
    return _means(rows, random_partition(np.random.default_rng(seed), len(rows), k), k)


def _plain(rows: Floats, k: int, seed: int) -> Floats:
    centres: Floats = kmeans_plusplus(rows, k, random_state=seed, n_local_trials=1)[0]
    return centres


def _greedy(rows: Floats, k: int, seed: int) -> Floats:
    """The rows that a run with this seed draws."""
    integers = quantise(rows, unit_of(largest_norm(rows, name="rows"), _BITS, None))
    whole = np.array([[int(value) for value in row] for row in integers.tolist()], dtype=object)
    numbers = plain_numbers(numbers_of(k), np.random.default_rng(seed))
    return _means(rows, plain_plus_plus(whole, np.ones(len(rows), dtype=np.int64), numbers, k), k)


def _sklearn(rows: Floats, k: int, seed: int) -> Floats:
    centres: Floats = kmeans_plusplus(rows, k, random_state=seed)[0]
    return centres


def _means(rows: Floats, sets: Labels, k: int) -> Floats:
    return np.array([rows[sets == h].mean(axis=0) for h in range(k)])


STARTS: dict[str, Callable[[Floats, int, int], Floats]] = {
    "random": _random,
    "plain": _plain,
    "greedy": _greedy,
    "sklearn": _sklearn,
}


def _cost(rows: Floats, k: int) -> float:
    """Bytes before the first iteration, more than with given labels, over those of an iteration."""
    parties, sent = np.array_split(rows, 3), Counter[tuple[str, int]]()
    given: dict[str, Any] = {"k": k, "t": 1, "ell": 1, "seed": 0, "max_iter": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = run(parties, init="k-means++", **given)
        again = run(parties, init=drawn.labels, **given)
    for name, result in (("drawn", drawn), ("given", again)):
        for one in result.costs.messages:
            sent[name, one.round] += one.size
    return (sent["drawn", 0] - sent["given", 0]) / sent["given", 1]
