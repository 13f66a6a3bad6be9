"""All attacks on small data, in the order of docs/threat-model.md."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.figure1 import figure1_case
from benchmarks.privacy import (
    against_labels,
    bisection,
    boundary,
    cheating,
    coalition,
    coded,
    distances,
    draws,
    federated,
    in_range,
    integers,
    lying_comparer,
    opened,
    predicting,
    spreads,
    sybils,
)
from benchmarks.privacy.rows import AttackRow
from benchmarks.privacy.view import Watched, watch
from plaintext_baselines.generators import secfc_blobs
from secfc.errors import ParameterError
from secfc.field.array_types import Floats
from secfc.operations.role import Comparer
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import Disclosure
from secfc.protocol.job.thresholds import SMALLEST_SPREAD

SIGMA = 6.0
"""Deviation of the clusters. They overlap, so that runs take about ten rounds."""

SEED = 1

ROUNDS_BEYOND = 100

ATTACKS = {
    "a-rank": "t clients: equations that no mask enters, over every subset",
    "a-uniform": "t clients: are their shares uniform?",
    "a-classifier": "clients: telling all zeros from all ones by their shares",
    "b-equations": "clients: linear equations without masks",
    "b-values": "clients: values recovered from them as small integers",
    "c-centres": "server: rows placed from distances, by centres seen",
    "c-precision": "server: rows placed, by precision",
    "c-integers": "server: columns found from exact distances, but for order, direction and shift, by d",
    "c-integers-rounds": "the same by rounds",
    "c-integers-precision": "the same by precision",
    "c-n": "server: rows placed after a whole run of Figure 1's sizes, by n",
    "c-d": "the same by d",
    "c-m": "the same by m",
    "d-known-rows": "server and a client: everybody's rows, by rows the client owns",
    "d-integers": "server and a client: everybody's values exactly, by rows the client owns",
    "e-answered": "server that asks about single rows: questions answered",
    "e-tiny-sets": "server that asks about single rows: rows placed",
    "e-differencing": "server that asks about S and S with one more row",
    "e-rounds": "server: rows placed when clients cap the rounds",
    "f-segments": "server: distances per segment by interpolation",
    "f-segments-placed": "server: segments placed one by one",
    "f-with-t-clients": "server and t clients: inner products with what the clients hold",
    "g-disclosed": "server: rows that plain uploads disclose as they are",
    "g-placed": "server: rows put at the nearest uploaded mean",
    "h-centres": "server with opened centres: everybody's rows, by k",
    "h-rounds": "the same by rounds that the server saw",
    "h-reveals": "the same by runs that opened centres",
    "h-precision": "the same by precision",
    "h-integers": "server with opened centres: everybody's values exactly",
    "h-alone": "recipient of centres: others' rows at the mean of their cluster's",
    "h-alone-rows": "recipient of centres: others' rows known exactly",
    "h-spreads": "recipient of spreads: bits of others' values that stay unknown",
    "i-centres": "party that chooses new rows to predict: centres that nobody opened",
    "i-limits": "the same against clients that limit the rows of a job",
    "j-rows": "client that chooses its rows within the bound: others' rows from the labels of all rounds",
    "j-centres": "the same: the last centres",
    "j-beyond": "client with integers beyond the bound, before these ended the run: values of a column",
    "k-rows": "rows placed from distances",
    "k-rounds": "the same by rounds",
    "k-known-rows": "everybody's rows, by d + 1 known rows",
    "k-columns": "columns from exact distances, but for order, direction and shift",
    "k-known-values": "everybody's values exactly, by two known rows",
    "k-segments": "distances per segment",
    "k-segments-placed": "segments placed one by one",
    "k-with-t-clients": "everybody's rows exactly, with shares of t = 2 clients",
    "k-answered": "questions of the server's own that are answered",
    "k-wires": "a comparison that nobody opened, by classifiers",
    "l-rows": "client that answers wrongly: everybody's rows, by rounds",
    "m-sybils": "owners of one person around a row: that row from the labels of their own rows, by these",
    "n-row": "client with rows in a small ball: one row of others from the public draws of a start",
    "o-rows": "one comparer that lies: everybody's rows, by rounds",
    "p-rows": "client that chooses its rows: a column of others' rows from labels, by its share of all rows",
}

_DISCLOSURES: tuple[Disclosure, ...] = ("coded", "labels")


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of each attack."""

    m: int
    known: int
    classifier_rows: int
    dimensions: tuple[int, ...]
    clusters: tuple[int, ...]
    precisions: tuple[int, ...]
    sweeps: dict[str, tuple[int, ...]]
    per_party: tuple[int, ...]
    exact: tuple[int, ...]
    clusters_opened: tuple[int, ...]
    reveals: int
    few: tuple[int, ...]
    levels: tuple[int, ...]
    predictions: tuple[tuple[int, int, int, int], ...]
    own_rows: tuple[int, ...]
    others: int
    wires: int
    wrong: tuple[int, ...]
    bits: int
    sybils: tuple[int, ...]
    sybil_runs: int
    ball: tuple[int, ...]
    comparer_bits: int
    shares: tuple[float, ...]
    chosen_for: int
    tried: int
    runs: int


FULL = Size(
    m=400,
    known=20,
    classifier_rows=8000,
    dimensions=(4, 8, 16, 32),
    clusters=(2, 4, 8),
    precisions=(4, 6, 8, 10, 12, 16, 20, 24, 28, 32),
    sweeps={"n": (10, 16, 25), "d": (20, 50, 100, 200), "m": (1000, 2000, 5000)},
    per_party=(4, 8, 16, 32, 64, 128),
    exact=(2, 4, 8, 16),
    clusters_opened=(2, 3, 4, 5, 6, 8, 9, 10),
    reveals=4,
    few=(2, 3, 4, 5, 6, 8),
    levels=(2, 10, 20),
    predictions=((2, 3, 2000, 6), (2, 4, 100, 12), (2, 4, 2000, 6), (4, 8, 2000, 6), (8, 10, 2000, 6)),
    own_rows=(0, 10, 100, 1000),
    others=100,
    wires=4000,
    wrong=(2, 4),
    bits=12,
    sybils=(1, 2, 4, 8),
    sybil_runs=20,
    ball=(200, 2000, 20_000),
    comparer_bits=22,
    shares=(0.9, 0.5, 1 / 3, 0.2),
    chosen_for=400,
    tried=200,
    runs=10,
)
QUICK = Size(
    m=120,
    known=4,
    classifier_rows=1500,
    dimensions=(4,),
    clusters=(3,),
    precisions=(8, 32),
    sweeps={"n": (5,), "d": (8,), "m": (200,)},
    per_party=(4, 16),
    exact=(4,),
    clusters_opened=(2, 5),
    reveals=2,
    few=(3,),
    levels=(5,),
    predictions=((2, 4, 1000, 3),),
    own_rows=(0, 4, 8),
    others=12,
    wires=200,
    wrong=(2,),
    bits=4,
    sybils=(8,),
    sybil_runs=4,
    ball=(2000,),
    comparer_bits=4,
    shares=(0.9,),
    chosen_for=60,
    tried=40,
    runs=2,
)


def blobs(n: int, m: int, d: int, k: int = 4, sigma: float = SIGMA) -> list[Floats]:
    """Overlapping clusters, distributed at random over parties of equal size."""
    data = secfc_blobs(n_clusters=k, sigma=sigma, n_parties=n, n_rows=m, n_features=d)
    rows = np.random.default_rng(SEED).permutation(np.concatenate(data.parties))
    return np.array_split(rows, n)


def measure_attacks(size: Size, only: Sequence[str] = ()) -> Iterator[AttackRow]:
    """Run every attack, or those with some letters.

    Raises
    ------
    ParameterError
        There is no attack with a given letter.
    """
    letters = sorted({attack[0] for attack in ATTACKS})
    for one in only:
        if one not in letters:
            raise ParameterError(f"--only: attacks are {letters[0]} to {letters[-1]}, {one!r} was given")
    with threadpool_limits(1):
        for part, run in _PARTS:
            if not only or set(part) & set(only):
                yield from (row for row in run(size) if not only or row.attack[0] in only)


def _coalitions(size: Size) -> Iterator[AttackRow]:
    for t, ell in ((4, 2), (1, 5), (2, 4)):
        parties = blobs(11, size.m, 10)
        watched = watch(parties, k=4, t=t, ell=ell, seed=SEED)
        yield coalition.any_t_clients(watched.job, size.m)
        yield coalition.uniformity(watched, tuple(range(1, t + 1)))
        yield from coalition.coalitions(watched, size.known)
    for clients in (1, 2, 3, 4):
        yield from coalition.told_apart(n=7, t=2, ell=2, d=2, m=size.classifier_rows, coalition=clients)


def _centres(watched: Watched) -> list[int]:
    last = len(distances.seen(watched)[1])
    return sorted({2, *range(3, min(last, watched.job.d + 4)), watched.job.d + 1, last})


def _server(size: Size) -> Iterator[AttackRow]:
    for d in size.dimensions:
        watched = watch(blobs(5, size.m, d), k=4, t=1, ell=2, seed=SEED)
        yield from distances.by_centres(watched, swept="k=4, d", value=d, counts=_centres(watched))
        yield from distances.with_known_rows(watched, sorted({1, *range(2, d + 3, max(1, d // 8)), d, d + 1}))
        if d == min(8, max(size.exact)):
            yield from integers.with_known_rows(watched, [1, 2, 3])
            for rounds in range(1, min(6, len(watched.server.questions)) + 1):
                yield integers.from_distances(
                    watched.after(rounds), attack="c-integers-rounds", swept="rounds", value=rounds
                )
    for d in size.exact:
        watched = watch(blobs(5, size.m, d), k=4, t=1, ell=2, seed=SEED)
        yield integers.from_distances(watched, attack="c-integers", swept="k=4, d", value=d)
    for k in size.clusters:
        watched = watch(blobs(5, size.m, 8, k), k=k, t=1, ell=2, seed=SEED)
        yield from distances.by_centres(watched, swept="d=8, k", value=k, counts=_centres(watched))
    for precision in size.precisions:
        watched = watch(blobs(5, size.m, 8), k=4, t=1, ell=2, seed=SEED, precision=precision)
        yield distances.whole_run(watched, attack="c-precision", swept="precision", value=precision)
        yield integers.from_distances(
            watched, attack="c-integers-precision", swept="precision", value=precision
        )


def _figure1(size: Size) -> Iterator[AttackRow]:
    """The sizes of `python -m benchmarks figure1`, so that cost and privacy can be compared."""
    for swept, values in size.sweeps.items():
        for value in values:
            case = figure1_case(**({"n": 10, "d": 20, "m": 1000} | {swept: value}))
            data = secfc_blobs(
                n_clusters=4,
                sigma=1.0,
                clusters_per_party=2,
                n_parties=case.n,
                n_rows=case.m,
                n_features=case.d,
            )
            watched = watch(list(data.parties), k=4, t=case.t, ell=case.ell, seed=SEED)
            yield distances.whole_run(watched, attack=f"c-{swept}", swept=swept, value=value)


def _limits(size: Size) -> Iterator[AttackRow]:
    parties = blobs(3, size.m, 8)
    common: dict[str, Any] = {"t": 1, "ell": 1}
    yield from cheating.tiny_sets(parties, k=4, smallest=[1, 2, 5, 20], **common)
    yield from cheating.differencing(parties, k=1, smallest=20, members=[10, 19, 20, 40, 80], **common)
    yield from cheating.rounds_answered(parties, k=4, most=[1, 2, 3, 4, 6, 8], seed=SEED, **common)


def _coded(size: Size) -> Iterator[AttackRow]:
    d = 8
    for ell in (1, 2, 4, 8):
        parties = blobs(2 * (ell + 1) - 1, size.m, d)
        watched = watch(parties, k=4, t=1, ell=ell, seed=SEED)
        yield coded.per_segment(watched)
        yield from coded.segments_placed(watched, list(range(2, d + 3)))
    watched = watch(blobs(5, 60, 4), k=4, t=2, ell=1, seed=SEED)
    yield coded.server_and_t_clients(watched, own=0)


def _federated(size: Size) -> Iterator[AttackRow]:
    for per_party in size.per_party:
        parties = blobs(8, 8 * per_party, 8)
        watched = watch(parties, k=4, t=1, ell=2, seed=SEED)
        yield from federated.uploads_leak(watched, per_party)


def _consented(parties: list[Floats], k: int, **parameters: Any) -> Watched:
    """A run that reveals its centres to the first client."""
    limits = Limits(reveal_centres=True, reveal_spread=SMALLEST_SPREAD)
    given: dict[str, Any] = {"seed": SEED, "reveal_to": (opened.RECIPIENT,)} | parameters
    return watch(parties, k=k, t=1, ell=1, limits=limits, **given)


def _opened(size: Size) -> Iterator[AttackRow]:
    for d in size.exact:
        if d > 8:  # more columns need more clusters than these
            continue
        for k in size.clusters_opened:
            watched = _consented(blobs(5, size.m, d), k)
            yield opened.server_with_centres([watched], attack="h-centres", swept=f"d={d}, k", value=k)
            yield opened.exactly_with_centres(watched, swept=f"d={d}, k", value=k)
    parties = blobs(5, size.m, 8)
    for k in (4, 9):
        watched = _consented(parties, k)
        for rounds in range(1, min(6, len(watched.server.questions)) + 1):
            yield opened.server_with_centres(
                [watched.after(rounds)], attack="h-rounds", swept=f"d=8, k={k}, rounds", value=rounds
            )
    runs = [_consented(parties, 4, seed=SEED + s) for s in range(size.reveals)]
    for count in range(1, size.reveals + 1):
        yield opened.server_with_centres(
            runs[:count], attack="h-reveals", swept="d=8, k=4, runs", value=count
        )
    for precision in size.precisions:
        watched = _consented(blobs(5, size.m, 4), 5, precision=precision)
        yield opened.server_with_centres(
            [watched], attack="h-precision", swept="d=4, k=5, precision", value=precision
        )
    for per_party in size.per_party:
        watched = _consented(blobs(3, 3 * per_party, 8), 4)
        yield from opened.recipient_alone(watched, swept="rows per party", value=per_party)


def _spreads(size: Size) -> Iterator[AttackRow]:
    for levels in size.levels:
        watched = _consented(spreads.whole_numbers(5, 60, 4, levels, SEED), 3, reveal_spread=SMALLEST_SPREAD)
        yield from spreads.of_few(watched, levels, list(size.few), SEED)
        yield from spreads.of_a_run(watched, levels)


def _predicting(size: Size) -> Iterator[AttackRow]:
    for d, k, probes, jobs in size.predictions:
        parties = blobs(3, size.m, d)
        yield from predicting.by_predictions(
            parties, k=k, jobs=jobs, probes=probes, seed=SEED, attack="i-centres"
        )
    most = 2 * size.m
    yield from predicting.by_predictions(
        parties, k=k, jobs=1, probes=probes, seed=SEED, attack="i-limits", most_rows=most
    )


def own_rows(size: Size) -> Iterator[AttackRow]:
    """A client that chooses its rows, one with rows like the others', one with integers beyond the bound."""
    rng, most = np.random.default_rng(SEED), size.own_rows[-1]
    for d in (2, 8):
        rows = blobs(1, size.others + most, d)[0]
        others, given = rows[: size.others], {"k": 4, "seed": SEED}
        parties = np.array_split(others, 2)
        like = (rows[size.others :] - others.mean(axis=0)) / others.std(axis=0)
        chosen = rng.uniform(-2, 2, size=(most, d))
        for count, starts in [(count, 1) for count in size.own_rows] + [(size.own_rows[-2], 10)]:
            for who, own in (("client that chooses rows", chosen), ("client with rows like others'", like)):
                yield from in_range.within_bound(
                    parties, own=own[:count], starts=starts, adversary=who if count else "anybody", **given
                )
                if not count:
                    break
    for levels in size.own_rows[1:]:
        values = rng.integers(0, levels, size.others)
        yield in_range.beyond_bound(values, levels=levels, rounds=ROUNDS_BEYOND, seed=SEED)


def _labels(size: Size) -> Iterator[AttackRow]:
    """Every program on the views of servers, and on the views of coalitions with disclosure "labels"."""
    d = min(8, max(size.exact))
    parties = blobs(6, size.m, d)
    for disclosure in _DISCLOSURES:
        given: dict[str, Any] = {"disclosure": disclosure, "seed": SEED}
        watched = watch(parties, k=4, t=1, ell=2, keys=SEED, **given)
        yield from against_labels.run_programs(watched, SEED)
        yield from against_labels.by_rounds(watched, SEED)
        yield from against_labels.with_t_clients(blobs(5, 60, 4), k=4, **given)
        yield against_labels.questions(parties[:4], k=4, **given)
    yield from against_labels.bits(blobs(4, size.wires, d), seed=SEED)


def _wrong_answers(size: Size) -> Iterator[AttackRow]:
    for d in size.wrong:
        given: dict[str, Any] = {"bits": size.bits, "smallest": 5, "seed": SEED}
        for disclosure in _DISCLOSURES:
            yield from bisection.by_wrong_answers(blobs(4, size.others, d), disclosure=disclosure, **given)
        for disclosure in _DISCLOSURES:
            yield from bisection.by_wrong_answers(
                blobs(6, size.others, d), disclosure=disclosure, max_liars=1, **given
            )


def _sybils(size: Size) -> Iterator[AttackRow]:
    for smallest in (1, 2):
        yield from sybils.by_sybils(probes=size.sybils, smallest=smallest, runs=size.sybil_runs, seed=SEED)


def _draws(size: Size) -> Iterator[AttackRow]:
    yield from draws.by_draws(own=size.ball, others=size.others, runs=size.runs, seed=SEED)


def _lying_comparer(size: Size) -> Iterator[AttackRow]:
    given: dict[str, Any] = {"bits": size.comparer_bits, "smallest": 5, "seed": SEED, "max_liars": 1}
    for liar in (Comparer.DEALER, Comparer.E0):
        yield from lying_comparer.by_lying_comparer(blobs(6, size.others, 2), liar=liar, **given)


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


_PARTS: tuple[tuple[str, Callable[[Size], Iterator[AttackRow]]], ...] = (
    ("ab", _coalitions),
    ("cd", _server),
    ("c", _figure1),
    ("e", _limits),
    ("f", _coded),
    ("g", _federated),
    ("h", _opened),
    ("h", _spreads),
    ("i", _predicting),
    ("j", own_rows),
    ("k", _labels),
    ("l", _wrong_answers),
    ("m", _sybils),
    ("n", _draws),
    ("o", _lying_comparer),
    ("p", _chosen_rows),
)
"""Letters of attacks, and the function that measures them."""
