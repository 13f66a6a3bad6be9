"""What must hold of a simulated run, found by exact Lloyd on the pooled rows, without the protocol."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from support.lloyd import by_name

from plaintext_baselines import ExactLloyd
from plaintext_baselines._exact import ExactRows
from plaintext_baselines._floats import NearestCentres
from plaintext_baselines._plus_plus import plus_plus_rows
from plaintext_baselines._quantise import quantise
from secfc.drivers.setup import Setup
from secfc.errors import DuplicateIdError, ParameterError, PartyError, RangeError, TooManyFaultsError
from secfc.field.array_types import Floats, Labels
from secfc.kmeans.clustering import LabelResult, SearchResult
from secfc.kmeans.consensus import bootstrap
from secfc.kmeans.sets import random_partition
from secfc.operations.ending.cells import OwnColumns, own_parts
from secfc.operations.ending.overlaps import plain_tables
from secfc.protocol.job.cases import Predict

from .cases import Case
from .faults import Ending


class _From(ExactLloyd):
    """Exact Lloyd from given sets, of which some may be empty."""

    sets: Labels

    def _starting_sets(self, *_: Any) -> Labels:
        return self.sets


_NAMED = re.compile(r"[Cc]lients? (\d+(?:(?:, | and )\d+)*)")


def broken_promises(case: Case, ending: Ending) -> list[str]:
    """Ways in which a run broke its promises."""
    faults, found = ending.faults, [f"not refused: {one}" for one in ending.accepted]
    honest = set(range(1, case.setup.job.parties + 1)) - case.liars
    there = honest - case.unreliable if not case.beyond else set[int]()
    keeping = honest - (case.unreliable if case.beyond else set())
    repeated = {fault.client for fault in case.scenario.faults if fault.kind == "duplicate"}
    for what, allowed, blamed in (
        ("called liars", keeping, faults.liars),
        ("called cheats", keeping, faults.cheats),
        ("called absent", there, faults.absent),
        ("left out", there, faults.left_out),
        ("refused", there - repeated | ({0} if there else set()), ending.refused_of),
    ):
        if wrongly := sorted(allowed & set(blamed)):
            found.append(f"{what}: {wrongly}, which did nothing wrong; {ending.refused}")
    if case.overlap and (case.promised or ending.error is None):
        twice = isinstance(ending.error, DuplicateIdError)
        return found + ([] if twice else [f"an ID that is held twice ends the run by {ending.error!r}"])
    if case.far and ending.error is None:
        return [*found, f"rows of client {case.far} are beyond the bound, and nobody noticed"]
    if isinstance(ending.error, RangeError) and case.far in ending.error.clients:
        return found
    if ending.error is not None:
        return found + _unfounded(case, ending, honest, there)
    found += differences(case.setup, ending)
    if case.promised and case.setup.committee is None:
        without = {j for j in there if j <= case.setup.job.n} - ending.labels.keys()
        found += [f"no labels: {sorted(without)}"] if without else []
    return found


def _unfounded(case: Case, ending: Ending, honest: set[int], there: set[int]) -> list[str]:
    """Why this run may not end by this error, if it may not."""
    error = ending.error
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, PartyError):
        return [text]  # a network in which nothing moves
    if not case.promised:
        # What several parties do not agree on names all of them, and liars a victim: so only without liars.
        wrongly = set(getattr(error, "clients", ())) & there if not case.liars else set()
        return [f"{text} names {sorted(wrongly)}, which did nothing wrong"] if wrongly else []
    if isinstance(error, ParameterError) and ending.faults.left_out:
        return []  # with them went all rows of a start cluster, or so many that k are not left
    if _too_few(case, ending):
        return []
    named = {int(j) for some in _NAMED.findall(str(error)) for j in re.findall(r"\d+", some)}
    return [f"{text} (honest: {sorted(named & honest)})"]


def _too_few(case: Case, ending: Ending) -> bool:
    """Whether unreadable shares may end the run without naming a party (`secfc.sharing.unread`)."""
    job = case.setup.job
    enough = job.threshold + len(case.unreliable) + 2 * job.max_liars + (job.max_liars + 1) ** 2 // 4
    disputed = {client for pair in ending.faults.unread for client in pair}
    too_few = bool(disputed) and (job.n < enough or not disputed.isdisjoint(job.comparers))
    return isinstance(ending.error, TooManyFaultsError) and too_few


def exact(setup: Setup, ending: Ending) -> bool:
    """Whether the run gave what exact Lloyd gives on the rows that took part."""
    return not differences(setup, ending)


def differences(setup: Setup, ending: Ending) -> list[str]:
    """Where a run's results are not those of exact Lloyd on the rows that took part."""
    job, best = setup.job, ending.clustering
    assert best is not None
    rows, weights = pooled(setup, ending)
    found, results = [], ending.found
    if job.own_labels:
        found += [] if all((one.labels == -1).all() for one in results) else ["the server knows labels"]
        best = _told(setup, ending, best)
        results = tuple(best if one is ending.clustering else one for one in results)
        if job.seed is not None and job.method.init != "labels":
            found += _unlike_starts(setup, results, rows, weights)
    if [one.k for one in results] != list(job.method.compared or (job.k,)):
        found.append("other numbers of clusters")
    whole = best  # with the labels of clients that were lost, if they are known
    for one in results:
        if isinstance(job.method, Predict):
            assert setup.starts is not None
            expected = _nearest(setup, rows, np.concatenate(setup.starts), weights)
            expected[one.labels < 0] = -1  # of clients that are gone
            found += [] if np.array_equal(one.labels, expected) else ["predicted labels are wrong"]
            continue
        if job.method.init == "k-means++":
            continue  # nobody knows which rows were drawn; with a seed `_unlike_starts` does
        model = _From(one.k, **_options(setup))
        model.sets = one.start
        fitted = _fit(model, rows, weights)
        found += _unlike(one, fitted, setup)
        found += _unlike_opened(setup, one, rows, weights, model)
        whole = replace(one, labels=fitted.labels_[0]) if one is best else whole
    if not (
        isinstance(job.method, Predict)
        or job.method.compared
        or job.method.init == "labels"
        or job.seed is None
    ):
        model = ExactLloyd(job.k, n_init=job.method.n_init, **by_name(job), **_options(setup))
        fitted = _fit(model, rows, weights)
        unlike, whole = _unlike(best, fitted, setup), replace(best, labels=fitted.labels_[0])
        unlike += _unlike_opened(setup, best, rows, weights, model)
        found += [f"{one}, of the start by name" for one in unlike]
    for party, own in ending.labels.items():
        if not np.array_equal(own, best.labels[_places(setup, ending, party)]):
            found.append(f"{party} has other labels than the result")
    found += _unlike_tables(setup, ending, rows, whole) + _unlike_cells(setup, ending, best)
    for client, centres in ending.centres.items() if (whole.labels >= 0).all() else ():
        if not np.allclose(centres, _means(setup, rows, whole, weights), rtol=1e-9, equal_nan=True):
            found.append(f"client {client} has other centres")
    return found


def _told(setup: Setup, ending: Ending, result: LabelResult) -> LabelResult:
    """The result with the labels that owners were told; others stay unknown, -1."""
    labels = result.labels.copy()
    for party, own in ending.labels.items():
        labels[_places(setup, ending, party)] = own
    return replace(result, labels=labels)


def _unlike(one: LabelResult, expected: ExactLloyd, setup: Setup) -> list[str]:
    """What differs between a result and that of exact Lloyd."""
    unknown = setup.job.own_labels & (one.labels < 0)
    pairs: dict[str, tuple[Any, Any]] = {
        "labels": (one.labels.tolist(), np.where(unknown, -1, expected.labels_[0]).tolist()),
        "iterations": (one.n_iter, expected.n_iter_),
        "converged": (one.converged, expected.converged_),
    }
    if isinstance(one, SearchResult):
        pairs["inertia"] = setup.job.in_data_units(one.inertia), expected.inertia_
        pairs["history"] = [setup.job.in_data_units(it) for it in one.history], list(expected.history_)
    return [f"{name}: {mine}, exact {theirs}" for name, (mine, theirs) in pairs.items() if mine != theirs]


def _unlike_starts(
    setup: Setup, results: Sequence[LabelResult], rows: Floats, weights: Labels | None
) -> list[str]:
    """What differs where the best of several starts was chosen."""
    job, rng = setup.job, np.random.default_rng(setup.job.seed)
    secret = job.method.init == "k-means++"
    ended: dict[int, list[tuple[_From, int]]] = {}
    for k in job.method.starts:
        model = _From(k, **_options(setup))
        model.sets = _drawn(setup, rng, rows, weights, k) if secret else random_partition(rng, len(rows), k)
        score = _score(setup, rows, weights, _fit(model, rows, weights), spare=16)
        ended.setdefault(k, []).append((model, score))
    found = []
    for one in results:
        models, scores = zip(*ended[one.k], strict=True)
        least = min(scores)
        near = sum(128 * score <= 129 * least for score in scores)
        model = models[scores.index(least)]
        if not np.array_equal(one.start, np.full(len(rows), -1) if secret else model.sets):
            found.append(f"k={one.k}: another start is the best")
        if secret:
            found += _unlike(one, model, setup) + _unlike_opened(setup, one, rows, weights, model)
        alike = None if len(models) == 1 else (scores.index(least), scores.count(least), near)
        told = one.best and (one.best.number, one.best.equal, one.best.near)
        if told != alike:
            found.append(f"k={one.k}: starts that are alike: {told}, exact {alike}")
    return found


def _drawn(setup: Setup, rng: np.random.Generator, rows: Floats, weights: Labels | None, k: int) -> Labels:
    """The sets of the rows that k-means++ draws in secret."""
    exact = _arithmetic(setup, rows, weights, k)
    chosen = plus_plus_rows(exact.distances_from, len(rows), k, rng, weights)
    sets = np.full(len(rows), -1, dtype=np.int32)
    sets[chosen[::-1]] = np.arange(k)[::-1]  # a row chosen again stays in its first set
    return sets


def _score(setup: Setup, rows: Floats, weights: Labels | None, model: ExactLloyd, *, spare: int) -> int:
    arithmetic = _arithmetic(setup, rows, weights, k=model.n_clusters)
    return arithmetic.score(model._centres, NearestCentres(model.labels_[0], None), spare)


def _unlike_opened(
    setup: Setup, one: LabelResult, rows: Floats, weights: Labels | None, model: ExactLloyd
) -> list[str]:
    """What differs of an inertia of which the first 25 bits are opened, as a whole number."""
    if not setup.job.disclosure.inertia:
        return []
    score = _score(setup, rows, weights, model, spare=24)
    length = int(len(rows) if weights is None else weights.sum()).bit_length()
    zeros = max(0, score.bit_length() - 25)
    exact = setup.job.in_data_units(Fraction(score >> zeros << zeros, 1 << 2 * length + 24))
    return [] if one.opened == exact else [f"inertia of k={one.k}: {one.opened}, exact {exact}"]


def _unlike_tables(setup: Setup, ending: Ending, rows: Floats, result: LabelResult) -> list[str]:
    """Clients whose tables are not those of pooled resamples, if the seed says what is drawn."""
    job = setup.job
    if not job.method.resamples or job.seed is None or (result.labels < 0).any():
        return []
    draws, _ = bootstrap(job.seed, len(rows), k=job.k, resamples=job.method.resamples)
    found = []
    for at, k in enumerate(job.method.compared or (job.k,)):
        partitions = [result.labels] if k == result.k else []  # nobody is told labels of another k
        for number, counts in enumerate(draws, 1):
            inside, options = counts > 0, _options(setup) | {"n_init": job.method.n_init}
            model = ExactLloyd(k, init="k-means++", random_state=[job.seed, number, k], **options)
            partitions.append(_fit(model, rows[inside], counts[inside]).predict(rows))
        expected, first = plain_tables(partitions, k), 1 + len(draws) - len(partitions)
        for j, one in ending.resampled.items():
            if not np.array_equal(one.tables[at][first:, first:], expected):
                found.append(f"client {j} has other tables of resamples with k={k}")
    return found


def _unlike_cells(setup: Setup, ending: Ending, result: LabelResult) -> list[str]:
    """Clients whose table of described columns is not that of the rows, or opens what it may not."""
    described, told = setup.job.opened.described, [one.to_dict() for one in ending.counted.values()]
    if described is None or not told:
        return []
    assert setup.columns is not None
    assert ending.layout is not None
    if any(one != told[0] for one in told):
        return ["clients have other tables of described columns"]
    (counted, *_), dealers = ending.counted.values(), [j for j, m in enumerate(ending.layout.counts, 1) if m]
    if list(counted.clients) != dealers:
        opened = [one for one in counted.numbers if one is not None]
        return ["columns were opened without a client that has rows"] if opened else []
    labels = [result.labels[ending.layout.rows(j)] for j in dealers]
    if any((own < 0).any() for own in labels):
        return []  # of a client that was lost after it had dealt its cells
    parts = [
        own_parts(own, OwnColumns(values=setup.columns[j - 1]), described, counted.clusters)
        for j, own in zip(dealers, labels, strict=True)
    ]
    cells = described.columns * len(counted.clusters)
    holds, small, numbers = np.split(np.array(parts, dtype=object).sum(0), [cells, 2 * cells])
    passed = ((holds >= setup.job.t + 2) & (small == 0)).reshape(described.columns, -1).all(axis=1)
    ends = np.cumsum([len(counted.clusters) * width for width in described.widths])
    expected = [
        one.reshape(len(counted.clusters), -1).tolist() if passes else None
        for one, passes in zip(np.split(numbers, ends[:-1]), passed, strict=True)
    ]
    return [] if told[0]["numbers"] == expected else [f"described: {told[0]['numbers']}, exact {expected}"]


def pooled(setup: Setup, ending: Ending) -> tuple[Floats, Labels | None]:
    """All rows that took part, in the run's order, and their weights."""
    if ending.union_rows:
        order = np.concatenate([ending.union_rows[j] for j in range(1, setup.job.n + 1)])
        assert sorted(order) == list(range(order.size))
        return np.concatenate(setup.rows)[np.argsort(order)], None
    assert ending.layout is not None
    counts = ending.layout.counts
    assert all(count in (0, len(own)) for count, own in zip(counts, setup.rows, strict=True))
    rows = [own for own, count in zip(setup.rows, counts, strict=True) if count]
    if setup.weights is None:
        return np.concatenate(rows), None
    weights = [own for own, count in zip(setup.weights, counts, strict=True) if count]
    return np.concatenate(rows), np.concatenate(weights)


def _places(setup: Setup, ending: Ending, party: int) -> Any:
    """The numbers of a party's rows in the run."""
    if ending.union_rows:
        return ending.union_rows[party]
    assert ending.layout is not None
    return ending.layout.rows(party)


def _options(setup: Setup) -> dict[str, Any]:
    job = setup.job
    unit = {"precision": job.precision} if job.step is None else {"step": job.step}
    return {"bound": job.bound, "max_iter": job.method.max_iter, "tol_moved": job.method.tol_moved} | unit


def _fit(model: ExactLloyd, rows: Floats, weights: Labels | None) -> ExactLloyd:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations are enough, so do not warn
        return model.fit([rows], sample_weight=None if weights is None else [weights])


def _arithmetic(setup: Setup, rows: Floats, weights: Labels | None, k: int | None = None) -> ExactRows:
    unit = setup.job.unit
    return ExactRows(quantise([rows], unit), k or setup.job.k, unit, weights)


def _nearest(setup: Setup, rows: Floats, start: Labels, weights: Labels | None) -> Labels:
    """Labels of a prediction: given ones stay, another row gets that of the nearest mean."""
    arithmetic = _arithmetic(setup, rows, weights)
    return np.where(start < 0, arithmetic.assign(arithmetic.means(start)).labels, start)


def _means(
    setup: Setup, rows: Floats, result: LabelResult, weights: Labels | None
) -> Sequence[Sequence[float]]:
    centres = _arithmetic(setup, rows, weights).means(result.labels)
    absent = [np.nan] * setup.job.d
    return [absent if one is None else one.to_floats(setup.job.unit) for one in centres[: result.k]]
