"""All attacks on small data. Letters are those of docs/threat-model.md."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.privacy import (
    bisection,
    boundary,
    coded,
    distances,
    integers,
    opened,
    own_comparer,
    own_labels,
    pairs,
    predictions,
    repeated,
    resamples,
    spreads,
)
from benchmarks.privacy.rows import CENTRES, OF_RANGE, PLACED, AttackRow
from benchmarks.privacy.view import Watched, watch
from benchmarks.reproduce.synthetic import secfc_blobs
from secfc.errors import ParameterError
from secfc.field.array_types import Floats
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.thresholds import SMALLEST_SPREAD

SIGMA = 6.0
"""Deviation of the clusters. They overlap, so that runs take about ten rounds."""

SEED = 1

ATTACKS = {
    "c-centres": "server: rows placed from distances, by centres seen",
    "c-integers": "server: columns found from exact distances, but for order, direction and shift, by d",
    "d-integers": "server and a client: everybody's values exactly, by rows the client owns",
    "f-segments-placed": "server: segments placed one by one",
    "h-centres": "server with opened centres: everybody's rows, by k",
    "h-integers": "server with opened centres: everybody's values exactly",
    "h-alone": "recipient of centres: others' rows at the mean of their cluster's",
    "h-alone-rows": "recipient of centres: others' rows known exactly",
    "h-spreads": "recipient of spreads: bits of others' values that stay unknown",
    "l-rows": "client that answers wrongly: everybody's rows, by rounds",
    "o-pairs": "server that decodes the distances of all pairs of rows (OmniFC): everybody's values, by d",
    "p-rows": "client that chooses its rows: a column of others from labels of all rounds, by its share",
    "q-sorted": "party that chooses its rows: others' sorted values of a column from own labels, by runs",
    "q-rows": "party that chooses its rows: others' rows from own labels and random first sets, by runs",
    "q-sum": "party that chooses its rows: the sum of others' rows from own labels, by runs",
    "q-farthest": "party that chooses its rows: the largest of others' values from own labels, by runs",
    "r-rounds": "one comparer that lies: rows of others from empty sets, by rounds",
    "u-centres": "recipient of centres of several jobs: others' rows known exactly, by what changes",
    "v-rows": "party that chooses its rows: others' rows from tables of resamples, by resamples",
    "s-centres": "party that chooses new rows: centres from the labels of these, by predictions",
}


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of each attack."""

    m: int
    dimensions: tuple[int, ...]
    clusters_opened: tuple[int, ...]
    per_party: tuple[int, ...]
    levels: tuple[int, ...]
    few: tuple[int, ...]
    wrong: tuple[int, ...]
    bits: int
    others: int
    shares: tuple[float, ...]
    chosen_for: int
    tried: int
    runs: int
    own_shares: tuple[float, ...]


FULL = Size(
    m=400,
    dimensions=(2, 4, 8, 16),
    clusters_opened=(2, 3, 4, 5, 6, 8, 9, 10),
    per_party=(4, 8, 16, 32, 64, 128),
    levels=(2, 10, 20),
    few=(2, 3, 4, 5, 6, 8),
    wrong=(2, 4),
    bits=12,
    others=100,
    shares=(0.9, 0.5, 1 / 3, 0.2),
    chosen_for=400,
    tried=200,
    runs=10,
    own_shares=(0.95, 0.5, 1 / 3, 0.1),
)
QUICK = Size(
    m=120,
    dimensions=(4,),
    clusters_opened=(2, 5),
    per_party=(4, 16),
    levels=(5,),
    few=(3,),
    wrong=(2,),
    bits=4,
    others=12,
    shares=(0.9,),
    chosen_for=60,
    tried=40,
    runs=2,
    own_shares=(0.5,),
)


def blobs(n: int, m: int, d: int, k: int = 4, sigma: float = SIGMA) -> list[Floats]:
    """Overlapping clusters, distributed at random over parties of equal size."""
    data = secfc_blobs(n_clusters=k, sigma=sigma, n_parties=n, n_rows=m, n_features=d)
    rows = np.random.default_rng(SEED).permutation(np.concatenate(data.parties))
    return np.array_split(rows, n)


def letters() -> list[str]:
    """Letters of attacks, each once."""
    return sorted({attack[0] for attack in ATTACKS})


def measure_attacks(size: Size, only: Sequence[str] = ()) -> Iterator[AttackRow]:
    """Run every attack, or those with some letters.

    Raises
    ------
    ParameterError
        There is no attack with a given letter.
    """
    known = letters()
    for one in only:
        if one not in known:
            raise ParameterError(f"--only: attacks are {', '.join(known)}, {one!r} was given")
    with threadpool_limits(1):
        for part, run in _PARTS:
            if not only or set(part) & set(only):
                yield from (row for row in run(size) if not only or row.attack[0] in only)


def _server(size: Size) -> Iterator[AttackRow]:
    for d in size.dimensions:
        watched = watch(blobs(5, size.m, d), k=4, t=1, ell=2, seed=SEED)
        last = len(distances.seen(watched)[1])
        counts = sorted({2, *range(3, min(last, d + 4)), d + 1, last})
        yield from distances.by_centres(watched, swept="k=4, d", value=d, counts=counts)
        yield integers.from_distances(watched, attack="c-integers", swept="k=4, d", value=d)
        if d == min(8, max(size.dimensions)):
            yield from integers.with_known_rows(watched, [1, 2, 3])


def _segments(size: Size) -> Iterator[AttackRow]:
    d = 8
    for ell in (1, 2, 4, 8):
        parties = blobs(2 * (ell + 1) - 1, size.m, d)
        watched = watch(parties, k=4, t=1, ell=ell, seed=SEED)
        yield from coded.segments_placed(watched, list(range(2, d + 3)))


def _consented(parties: list[Floats], k: int, **parameters: Any) -> Watched:
    """A run that reveals its centres to the first client."""
    limits = Limits(reveal_centres=True, reveal_spread=SMALLEST_SPREAD)
    given: dict[str, Any] = {"seed": SEED, "reveal_to": (opened.RECIPIENT,)} | parameters
    return watch(parties, k=k, t=1, ell=1, limits=limits, **given)


def _opened(size: Size) -> Iterator[AttackRow]:
    for d in size.dimensions:
        if d > 8:  # more columns need more clusters than these
            continue
        for k in size.clusters_opened:
            watched = _consented(blobs(5, size.m, d), k)
            yield opened.server_with_centres([watched], attack="h-centres", swept=f"d={d}, k", value=k)
            yield opened.exactly_with_centres(watched, swept=f"d={d}, k", value=k)
    for per_party in size.per_party:
        watched = _consented(blobs(3, 3 * per_party, 8), 4)
        yield from opened.recipient_alone(watched, swept="rows per party", value=per_party)
    for levels in size.levels:
        watched = _consented(spreads.whole_numbers(5, 60, 4, levels, SEED), 3, reveal_spread=SMALLEST_SPREAD)
        yield from spreads.of_few(watched, levels, list(size.few), SEED)
        yield from spreads.of_a_run(watched, levels)


def _wrong_answers(size: Size) -> Iterator[AttackRow]:
    for d, max_liars in product(size.wrong, (0, 1)):
        given: dict[str, Any] = {"bits": size.bits, "smallest": 5, "seed": SEED, "max_liars": max_liars}
        yield from bisection.by_wrong_answers(blobs(4 + 2 * max_liars, size.others, d), **given)


def _pairs(size: Size) -> Iterator[AttackRow]:
    for d in size.dimensions:
        rows = np.concatenate(blobs(5, size.m, d))
        bound = float(np.linalg.norm(rows, axis=1).max())
        yield from pairs.by_pairs(make_job(n=5, k=4, t=1, ell=1, d=d, bound=bound, disclosure="coded"), rows)


def _chosen_rows(size: Size) -> Iterator[AttackRow]:
    given: dict[str, Any] = {"others": size.chosen_for, "runs": size.runs, "seed": SEED}
    for share in size.shares:
        for d, max_iter, tried in (
            (1, 300, size.tried),
            (1, 300, 0),
            (1, 10, size.tried),
            (2, 300, size.tried),
        ):
            yield boundary.by_chosen_rows(share=share, d=d, max_iter=max_iter, tried=tried, **given)


def _own_labels(size: Size) -> Iterator[AttackRow]:
    m, of, runs = size.chosen_for, own_labels.by_own_labels, sorted({0, 1, 2, size.runs, 3 * size.runs})
    given: dict[str, Any] = {"repeats": (size.runs + 1) // 2, "seed": SEED}
    for share in size.own_shares:
        for d, k in product((1, 2), (2, 4)):
            more: dict[str, Any] = {"share": share, "others": m, "d": d, "k": k}
            yield from of("q-sorted", own_labels.sorted_errors, PLACED, runs=runs, **more, **given)
        for max_iter in (300, 1):
            more = {"share": share, "others": m // 4, "max_iter": max_iter}
            yield from of("q-rows", own_labels.row_errors, PLACED, runs=(m // 4, m // 2, m), **more, **given)
        more = {"share": share, "others": m}
        yield from of("q-sum", own_labels.sum_errors, OF_RANGE, runs=range(6), **more, **given)
    for share in size.own_shares:
        yield from _by_start(size, {"share": share, "others": m}, given)


def _by_start(size: Size, of_rows: dict[str, Any], given: dict[str, Any]) -> Iterator[AttackRow]:
    """What runs tell whose first rows k-means++ draws, and a row that random first sets tell instead."""
    of, drawn, runs = own_labels.by_own_labels, {**of_rows, "init": "k-means++"}, range(6)
    for k in (2, 4):
        more, after = {**drawn, "d": 1, "k": k}, (0, 1, 2, size.runs, 3 * size.runs)
        yield from of("q-sorted", own_labels.sorted_errors, PLACED, runs=after, **more, **given)
    yield from of("q-sum", own_labels.sum_errors, OF_RANGE, runs=runs, **drawn, **given)
    for init in ("random", "k-means++"):
        more = {**of_rows, "max_iter": 1, "init": init}
        yield from of("q-farthest", own_labels.farthest_errors, OF_RANGE, runs=range(4), **more, **given)


def _predictions(size: Size) -> Iterator[AttackRow]:
    for share, new in product(size.own_shares, (10, 100)):
        more: dict[str, Any] = {"share": share, "others": size.chosen_for, "new": new}
        given: dict[str, Any] = {"repeats": (size.runs + 1) // 2, "seed": SEED, "runs": (0, 3, 6, 9)}
        of = predictions.centre_errors
        yield from own_labels.by_own_labels("s-centres", of, CENTRES, **more, **given)


def _repeated(size: Size) -> Iterator[AttackRow]:
    for each in (size.others // 4, size.others):
        yield from repeated.by_repeated_jobs(each=each, jobs=8, repeats=size.runs, seed=SEED)


def _resamples(size: Size) -> Iterator[AttackRow]:
    given: dict[str, Any] = {"repeats": (size.runs + 1) // 2, "seed": SEED, "resamples": (5, 20, 100, 400)}
    for share, others in product(size.own_shares, (size.chosen_for // 20, size.chosen_for // 4)):
        yield from resamples.by_resamples(share=share, others=others, **given)


def _own_comparer(size: Size) -> Iterator[AttackRow]:
    for d, k in product((1, 2), (3, 4)):
        yield from own_comparer.by_rounds(others=size.chosen_for, k=k, d=d, bits=size.bits, seed=SEED)


_PARTS: tuple[tuple[str, Callable[[Size], Iterator[AttackRow]]], ...] = (
    ("cd", _server),
    ("f", _segments),
    ("h", _opened),
    ("l", _wrong_answers),
    ("o", _pairs),
    ("p", _chosen_rows),
    ("q", _own_labels),
    ("r", _own_comparer),
    ("s", _predictions),
    ("u", _repeated),
    ("v", _resamples),
)
"""Letters of attacks, and the function that measures them."""
