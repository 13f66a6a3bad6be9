"""Federated fuzzy c-means (FFCM) by Stallmann and Wilbik: Tables 2 to 5.

The published figures need the behaviour of the published code: local iterations to convergence, supports that
are sums of memberships, and movement by the Frobenius norm.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal

import numpy as np

from plaintext_baselines import FFCM, partition
from plaintext_baselines.generators import FederatedData, ffcm_absent, ffcm_hidden, ffcm_unequal, g2
from plaintext_baselines.metrics import (
    matched_knowledge_gap,
    nearest_knowledge_gap,
    normalised_knowledge_gap,
    outside_sse,
    within_sse,
)
from secfc._arrays import Floats
from secfc.reproduce import data
from secfc.reproduce.common import Context, Row, Secure, SecureRun, judged, secure_run

CODE: dict[str, Any] = {"local_iter": None, "weights": "memberships", "movement": "frobenius"}
METHODS = ("central", "avg1", "avg2")

REPEATS = 10
"""The paper's; the small cases take seconds, so they are not shortened."""

ROUNDS = 100
"""A run that has not settled by then wanders among starts; the code has no smaller limit."""

# Case 1: within, outside SSE.
TABLE_2 = {"central": (0.3120, 3.7070), "avg1": (0.3588, 3.4078), "avg2": (0.3120, 3.7041)}
# Case 2 and, by rows of the parties, case 3: gap, within, outside SSE.
TABLE_3 = {"central": (1.47, 0.71, 8.57), "avg1": (2.77, 0.73, 8.29), "avg2": (1.25, 0.72, 8.55)}
TABLE_4 = {
    (100, 1000, 100): {
        "central": (0.41, 0.70, 15.24),
        "avg1": (1.17, 1.88, 12.92),
        "avg2": (0.12, 0.63, 17.18),
    },
    (100, 1000, 1000): {
        "central": (0.21, 0.65, 16.00),
        "avg1": (3.88, 1.28, 11.95),
        "avg2": (0.08, 0.63, 17.21),
    },
    (1000, 100, 100): {
        "central": (0.17, 0.65, 16.55),
        "avg1": (1.34, 2.28, 13.83),
        "avg2": (0.10, 0.63, 17.18),
    },
    (1000, 1000, 1000): {
        "central": (0.04, 0.63, 17.14),
        "avg1": (3.62, 1.16, 11.69),
        "avg2": (0.03, 0.62, 17.14),
    },
}
# Case 4: quantiles of the normalised gap over 100 sets.
STATISTICS = ("25 % quantile", "50 % quantile", "75 % quantile", "minimum", "maximum")
TABLE_5 = {
    "central": (2.42, 9.01, 30.98, 0.98, 99.80),
    "avg1": (2.43, 8.87, 30.33, 0.98, 99.24),
    "avg2": (2.41, 8.94, 30.38, 0.97, 95.55),
}
G2_FEATURES = tuple(2**power for power in range(1, 11))
G2_SIGMAS = tuple(range(10, 101, 10))

# Means of 10 runs on rows drawn anew. SSE: sampling moves them by about 1 %; gap: starts decide.
SSE_TOLERANCE = {"within SSE": 0.02, "outside SSE": 0.06}
GAP_TOLERANCE = 0.05
TABLE_5_TOLERANCE = 0.05
"""Relative, with 0.05 absolute for small gaps."""


GAP = "gap"
"""As the text defines it: the sum over matched centres."""

NEAREST_GAP = "gap, mean to nearest"
"""What comes close to Table 4 instead: the mean over found centres of the distance to the nearest true one.

The published code matches by the nearest centre too. Two found centres may then share a true one, and a true
one that nobody found costs nothing.
"""

WHY_DRAWS = (
    "Rows and starts are drawn anew, and the paper gives neither seeds nor spreads; a start that leads to "
    "another local optimum moves a mean of 10 runs by more than the tolerance. Ours is as it comes."
)
WHY_SUM = (
    "The text defines a sum over matched centres, which this is; the row below has the mean distance of a "
    "found centre to the nearest true one, which comes closer to the table. We believe ours for the "
    "definition."
)
WHY_SSE = (
    "SSEs without squares, as only these fit the spread of the paper's own data. Rows and starts are drawn "
    "anew, and another local optimum moves a mean of 10 runs by more than the tolerance. Ours is as it comes."
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Means over the repeats of each measure, for each method, and SecFC's columns."""

    values: dict[str, dict[str, float]]
    secure: dict[str, Secure]


def model(name: str, k: int, *, seed: int, **options: Any) -> FFCM:
    """The central method (on one party), avg_1 or avg_2."""
    averaging: Literal["weighted", "kmeans"] = "kmeans" if name == "avg2" else "weighted"
    own = {} if name == "central" else CODE
    return FFCM(k, averaging=averaging, max_iter=ROUNDS, random_state=seed, **own, **options)


def measure(make: Any, k: int, *, fuzziness: float = 2.0) -> Measured:
    """Run all methods on `make(random_state=seed)`'s data for every repeat."""
    values: dict[str, dict[str, list[float]]] = {name: {} for name in METHODS}
    runs: list[tuple[FederatedData, SecureRun]] = []
    for seed in range(REPEATS):
        drawn: FederatedData = make(random_state=seed)
        for name in METHODS:
            parties = [np.concatenate(drawn.parties)] if name == "central" else drawn.parties
            centres = model(name, k, seed=seed, fuzziness=fuzziness).fit(parties).cluster_centers_
            for kind, value in _measures(drawn, centres).items():
                values[name].setdefault(kind, []).append(value)
        runs.append((drawn, secure_run(drawn.parties, k, seed=seed)))
    columns: dict[str, list[float]] = {}
    for drawn, run in runs:
        for kind, value in _measures(drawn, run.centres).items():
            columns.setdefault(kind, []).append(value)
    return Measured(
        values={name: {kind: fmean(each) for kind, each in kinds.items()} for name, kinds in values.items()},
        secure={
            kind: Secure(
                value=fmean(each),
                same=sum(run.same for _, run in runs),
                rows=sum(run.rows for _, run in runs),
            )
            for kind, each in columns.items()
        },
    )


def _measures(drawn: FederatedData, centres: Floats) -> dict[str, float]:
    return {
        GAP: matched_knowledge_gap(drawn.centers, centres),
        # Every found centre to the true one nearest to it, where the metric is the other way round.
        NEAREST_GAP: nearest_knowledge_gap(centres, drawn.centers) / len(centres),
        "within SSE": within_sse(drawn.parties, centres, squared=False),
        "outside SSE": outside_sse(drawn.parties, centres, squared=False),
    }


def _rows(
    measured: Measured, published: Mapping[str, tuple[float, ...]], kinds: Sequence[str], setting: str
) -> Iterator[Row]:
    for name, figures in published.items():
        for kind, paper in zip(kinds, figures, strict=True):
            otherwise = WHY_DRAWS if kind == GAP else WHY_SSE
            yield _row(measured, name, kind, paper, setting, otherwise)


def _row(measured: Measured, name: str, kind: str, paper: float, setting: str, otherwise: str) -> Row:
    return judged(
        name=name,
        setting=setting,
        measure=kind,
        paper=paper,
        ours=measured.values[name][kind],
        tolerance=SSE_TOLERANCE.get(kind, GAP_TOLERANCE),
        otherwise=otherwise,
        secure=measured.secure[kind],
        decimals=4 if kind.endswith("SSE") and paper < 5 else 2,
    )


def table_2(context: Context) -> Iterator[Row]:
    """Case 1: a party without the third cluster; sigma = 0.5, which the paper does not give."""
    del context
    measured = measure(ffcm_unequal, 3)
    setting = f"case 1, sigma 0.5, {REPEATS} runs"
    yield from _rows(measured, TABLE_2, ("within SSE", "outside SSE"), setting)


def table_3(context: Context) -> Iterator[Row]:
    """Case 2: a cluster hidden from both parties, m = 1.1. SecFC: a third client without rows takes part."""
    del context
    measured = measure(ffcm_hidden, 3, fuzziness=1.1)
    setting = f"case 2, m = 1.1, {REPEATS} runs"
    yield from _rows(measured, TABLE_3, (GAP, "within SSE", "outside SSE"), setting)


def table_4(context: Context) -> Iterator[Row]:
    """Case 3: locally absent clusters."""
    del context
    for sizes, published in TABLE_4.items():
        measured = measure(partial(ffcm_absent, sizes=sizes), 4)
        setting = f"case 3, {sizes}, {REPEATS} runs"
        for name in METHODS:
            gap, *errors = published[name]
            yield _row(measured, name, GAP, gap, setting, WHY_SUM)
            yield _row(measured, name, NEAREST_GAP, gap, setting, WHY_DRAWS)
            yield from _rows(measured, {name: tuple(errors)}, ("within SSE", "outside SSE"), setting)


def table_5(context: Context) -> Iterator[Row]:
    """Case 4: the G2 sets. Sets whose file is not at hand are drawn anew from the same two Gaussians."""
    repeats = 1 if context.quick else REPEATS
    gaps: dict[str, list[float]] = {name: [] for name in METHODS}
    secure_gaps, same, rows, drawn_anew = [], 0, 0, 0
    for features in G2_FEATURES:
        for sigma in G2_SIGMAS:
            original = data.g2_rows(context.folder, features, sigma)
            drawn_anew += original is None
            for seed in range(repeats):
                parties, centres = _g2_parties(original, features, sigma, seed)
                for name in METHODS:
                    given = [np.concatenate(parties)] if name == "central" else parties
                    found = model(name, 2, seed=seed, normalise=True).fit(given).cluster_centers_
                    gaps[name].append(normalised_knowledge_gap(centres, found))
            run = secure_run(parties, 2, seed=0)
            same, rows = same + run.same, rows + run.rows
            secure_gaps.append(normalised_knowledge_gap(centres, run.centres))
    columns = _statistics(secure_gaps)
    for name in METHODS:
        for statistic, paper, ours, column in zip(
            STATISTICS, TABLE_5[name], _statistics(gaps[name]), columns, strict=True
        ):
            yield judged(
                name=name,
                setting=f"100 G2 sets ({drawn_anew} drawn anew), {repeats} run{'s' if repeats > 1 else ''}",
                measure=f"ngap, {statistic}",
                paper=paper,
                ours=ours,
                tolerance=max(TABLE_5_TOLERANCE * paper, TABLE_5_TOLERANCE),
                otherwise="Sets without a file at hand are drawn anew; whether that is why is not known.",
                secure=Secure(value=column, same=same, rows=rows),
                decimals=2,
            )


def _g2_parties(original: Floats | None, features: int, sigma: int, seed: int) -> tuple[list[Floats], Floats]:
    if original is None:
        made = g2(n_features=features, sigma=float(sigma), random_state=seed)
        return made.parties, made.centers
    parts = partition.uniform(len(original), 10, random_state=seed)
    return partition.take(original, parts), np.full((2, features), [[500.0], [600.0]])


def _statistics(gaps: Sequence[float]) -> tuple[float, ...]:
    quartiles = np.quantile(gaps, [0.25, 0.5, 0.75])
    return (*map(float, quartiles), min(gaps), max(gaps))
