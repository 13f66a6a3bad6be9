"""Federated fuzzy c-means (FFCM) by Stallmann and Wilbik: Tables 2 to 5.

The figures need four things that are in the published code and not in the text: local iterations until
convergence, supports that are sums of memberships, movement by the Frobenius norm, SSEs without squares.
"(mean)" over an SSE is the mean over the parties, each with its own centres: if the limit of rounds ends a
run, every party has different centres. The central method starts from random memberships, as in its step 1.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev
from typing import Any, Literal

import numpy as np

from benchmarks.reproduce import data
from benchmarks.reproduce.common import Context, FigureRow, Secure, judged, secure_run
from benchmarks.reproduce.synthetic import (
    FederatedData,
    ffcm_absent,
    ffcm_hidden,
    ffcm_unequal,
    g2,
    uniform,
)
from plaintext_baselines import FFCM
from plaintext_baselines.metrics import (
    matched_knowledge_gap,
    nearest_knowledge_gap,
    outside_sse,
    within_sse,
)
from secfc.field.array_types import Floats

CODE: dict[str, Any] = {"local_iter": None, "weights": "memberships", "movement": "frobenius"}
METHODS = ("central", "avg1", "avg2")

REPEATS = 10
"""As in the paper. The small cases take seconds, so they are not shortened."""

QUICK_ROUNDS, ROUNDS = 100, 1000
"""The code's limit is 1000. Runs that have not settled after 100 rounds mostly never settle."""

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

GAP_FLOOR = 0.05
SSE_FLOOR = {"within SSE": 0.02, "outside SSE": 0.06}
"""Least tolerances. The paper gives no spread. A row's tolerance is twice the standard error of the
difference of two means of 10 of our own runs, and at most a part of the figure.
"""
LARGEST_PART = 0.25
"""With a larger tolerance everything would agree: matched gaps of single runs differ tenfold."""
TABLE_5_TOLERANCE = 0.05
"""Relative; 0.05 absolute for small gaps."""

GAP = "gap"
"""As defined in the text: the sum over matched centres."""

NEAREST_GAP = "gap, to nearest"
"""As in the published code: for each found centre the distance to the nearest true one, summed.

Two found centres may share a true one. A true one that is not found adds nothing.
"""

SCALED_GAP = "gap, scaled, to nearest"
"""As the first version of that code has it, with columns in units of the centres' deviations: Table 4's."""

WHY_MATCHED = (
    "The text defines a sum over matched centres, which this is; the published code sums the distance of "
    "every found centre to the nearest true one, in Table 4 with columns divided by the standard deviation "
    "of true and found centres: see the row below. We believe ours for the definition."
)
WHY_NEAREST = (
    "Rows and starts are drawn anew, and the paper gives neither seeds nor spreads. Ours is as it comes."
)
WHY_SSE = (
    "Rows and starts are drawn anew. A run of avg1 that does not settle leaves the parties at their own "
    "centres, with an SSE of about 0.5 instead of 2: how many of 10 do decides the mean. Ours is as it comes."
)


@dataclass(frozen=True, kw_only=True)
class MeanOfRuns:
    """A method's figures, or SecFC's.

    Attributes
    ----------
    mean : float
        Over the repeats.
    tolerance : float
        Twice the standard error of the difference of two such means.
    """

    mean: float
    tolerance: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanOfRuns":
        """Mean and tolerance of the runs' figures."""
        error = 0.0 if len(values) < 2 else stdev(values) * (2 / len(values)) ** 0.5
        return cls(mean=fmean(values), tolerance=2 * error)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """For each method its figures by measure, and SecFC's in the same measures."""

    values: dict[str, dict[str, MeanOfRuns]]
    secure: dict[str, dict[str, Secure]]


def model(name: str, k: int, *, seed: int, rounds: int, fuzziness: float = 2.0) -> FFCM:
    """The central method (to be fitted on one party), avg_1 or avg_2."""
    averaging: Literal["weighted", "kmeans"] = "kmeans" if name == "avg2" else "weighted"
    own: dict[str, Any] = {"init": "random"} if name == "central" else CODE
    return FFCM(k, averaging=averaging, fuzziness=fuzziness, max_iter=rounds, random_state=seed, **own)


def measure(
    make: Callable[..., FederatedData], k: int, *, context: Context, fuzziness: float = 2.0
) -> Measured:
    """Run all methods on `make(random_state=seed)`'s data for every repeat."""
    rounds = QUICK_ROUNDS if context.quick else ROUNDS
    values: dict[str, dict[str, list[float]]] = {name: {} for name in METHODS}
    columns: dict[str, dict[str, list[float]]] = {name: {} for name in METHODS}
    same, rows = 0, 0
    for seed in context.steps(range(REPEATS)):
        drawn = make(random_state=seed)
        run = secure_run(drawn.parties, k, seed=seed)
        same, rows = same + run.same, rows + run.rows
        for name in METHODS:
            parties = [np.concatenate(drawn.parties)] if name == "central" else drawn.parties
            fitted = model(name, k, seed=seed, rounds=rounds, fuzziness=fuzziness).fit(parties)
            _collect(values[name], measures(drawn.centers, fitted, parties))
            _collect(
                columns[name], _figures(drawn.centers, run.centres, parties, [run.centres] * len(parties))
            )
    return Measured(
        values={
            name: {kind: MeanOfRuns.of(each) for kind, each in kinds.items()}
            for name, kinds in values.items()
        },
        secure={
            name: {kind: Secure(value=fmean(each), same=same, rows=rows) for kind, each in kinds.items()}
            for name, kinds in columns.items()
        },
    )


def _collect(into: dict[str, list[float]], figures: dict[str, float]) -> None:
    for kind, value in figures.items():
        into.setdefault(kind, []).append(value)


def measures(truth: Floats, fitted: FFCM, parties: Sequence[Floats]) -> dict[str, float]:
    """Gaps of the global centres, and the mean over the parties of the SSEs at each party's centres.

    Parameters
    ----------
    truth : ndarray of shape (n_clusters, n_features)
    fitted : FFCM
        On `parties`.
    parties : sequence of ndarray of shape (m_j, n_features)
    """
    centres = fitted.cluster_centers_
    held = [centres] * len(parties) if fitted.converged_ else fitted.local_centers_
    return _figures(truth, centres, parties, held)


def _figures(
    truth: Floats, centres: Floats, parties: Sequence[Floats], held: Sequence[Floats]
) -> dict[str, float]:
    return {
        GAP: matched_knowledge_gap(truth, centres),
        NEAREST_GAP: nearest_knowledge_gap(centres, truth),
        SCALED_GAP: nearest_knowledge_gap(centres, truth, scaled=True),
        **{
            kind: fmean(sse([rows], own, squared=False) for rows, own in zip(parties, held, strict=True))
            for kind, sse in (("within SSE", within_sse), ("outside SSE", outside_sse))
        },
    }


def _rows(
    measured: Measured, published: Mapping[str, tuple[float, ...]], gaps: Mapping[str, str], setting: str
) -> Iterator[FigureRow]:
    """The rows of a table: its first figure by each of `gaps` (with a sentence for it), then two SSEs."""
    for name, figures in published.items():
        *gap, within, outside = figures
        for kind, why in gaps.items():
            yield _row(measured, name, kind, gap[0], setting, why)
        yield _row(measured, name, "within SSE", within, setting, WHY_SSE)
        yield _row(measured, name, "outside SSE", outside, setting, WHY_SSE)


def _row(measured: Measured, name: str, kind: str, paper: float, setting: str, otherwise: str) -> FigureRow:
    found = measured.values[name][kind]
    of_parties = kind in SSE_FLOOR and name != "central"
    return judged(
        name=name,
        setting=setting,
        measure=f"{kind}, mean of parties" if of_parties else kind,
        paper=paper,
        ours=found.mean,
        tolerance=max(SSE_FLOOR.get(kind, GAP_FLOOR), min(found.tolerance, LARGEST_PART * paper)),
        otherwise=otherwise,
        secure=measured.secure[name][kind],
        decimals=4 if kind in SSE_FLOOR and paper < 5 else 2,
    )


def table_2(context: Context) -> Iterator[FigureRow]:
    """Case 1: a party without the third cluster; sigma = 0.5, which the paper does not give."""
    measured = measure(ffcm_unequal, 3, context=context)
    yield from _rows(measured, TABLE_2, {}, f"case 1, sigma 0.5, {REPEATS} runs")


def table_3(context: Context) -> Iterator[FigureRow]:
    """Case 2: a cluster hidden from both parties, m = 1.1. SecFC has a third client without rows."""
    measured = measure(ffcm_hidden, 3, context=context, fuzziness=1.1)
    gaps = {GAP: WHY_MATCHED, NEAREST_GAP: WHY_NEAREST}
    yield from _rows(measured, TABLE_3, gaps, f"case 2, m = 1.1, {REPEATS} runs")


def table_4(context: Context) -> Iterator[FigureRow]:
    """Case 3: locally absent clusters."""
    for sizes in TABLE_4:
        context.tell(f"sizes {sizes}")
        yield from _absent(context, sizes)


def _absent(context: Context, sizes: tuple[int, int, int]) -> Iterator[FigureRow]:
    measured = measure(partial(ffcm_absent, sizes=sizes), 4, context=context)
    gaps = {GAP: WHY_MATCHED, SCALED_GAP: WHY_NEAREST}
    yield from _rows(measured, TABLE_4[sizes], gaps, f"case 3, {sizes}, {REPEATS} runs")


def table_5(context: Context) -> Iterator[FigureRow]:
    """Case 4: the G2 sets. Sets without a file are drawn anew from the same two Gaussians."""
    repeats = 1 if context.quick else REPEATS
    gaps: dict[str, list[float]] = {name: [] for name in METHODS}
    secure_gaps, same, rows, drawn_anew = [], 0, 0, 0
    for features in context.steps(G2_FEATURES, "number of features"):
        for sigma in G2_SIGMAS:
            original = data.g2_rows(context.folder, features, sigma)
            drawn_anew += original is None
            for seed in range(repeats):
                parties, centres = _g2_parties(original, features, sigma, seed)
                for name in METHODS:
                    given = [np.concatenate(parties)] if name == "central" else parties
                    found = model(name, 2, seed=seed, rounds=QUICK_ROUNDS).fit(given).cluster_centers_
                    gaps[name].append(_normalised_gap(centres, found))
            run = secure_run(parties, 2, seed=0)
            same, rows = same + run.same, rows + run.rows
            secure_gaps.append(_normalised_gap(centres, run.centres))
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
                otherwise=f"{drawn_anew} sets without a file at hand are drawn anew from the same Gaussians.",
                secure=Secure(value=column, same=same, rows=rows),
                decimals=2,
            )


def _g2_parties(original: Floats | None, features: int, sigma: int, seed: int) -> tuple[list[Floats], Floats]:
    if original is None:
        made = g2(n_features=features, sigma=float(sigma), random_state=seed)
        return made.parties, made.centers
    parts = uniform(len(original), 10, random_state=seed)
    return [original[part] for part in parts], np.full((2, features), [[500.0], [600.0]])


def _normalised_gap(truth: Floats, centres: Floats) -> float:
    """FFCM's "ngap"."""
    return matched_knowledge_gap(truth, centres) / float(np.sqrt(truth.shape[1]))


def _statistics(gaps: Sequence[float]) -> tuple[float, ...]:
    quartiles = np.quantile(gaps, [0.25, 0.5, 0.75])
    return (*map(float, quartiles), min(gaps), max(gaps))


EXPERIMENTS = {"table2": table_2, "table3": table_3, "table4": table_4, "table5": table_5}
