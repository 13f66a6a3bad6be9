"""SecFC by Li et al.: Tables 1 to 3 and Figure 1."""

from collections.abc import Iterator
from functools import partial
from statistics import fmean

import numpy as np

from benchmarks.reproduce import data, figure1
from benchmarks.reproduce.common import Context, FigureRow, Secure, SecureRun, claimed, judged, secure_run
from benchmarks.reproduce.synthetic import by_clusters, rotated_images, secfc_blobs
from plaintext_baselines import KFED, ExactLloyd
from plaintext_baselines.metrics import hungarian_accuracy
from secfc.field.array_types import Floats, Ints

# (k, k'): accuracy in % and its standard deviation, of centralized Lloyd, k-FED and SecFC.
Figures = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
TABLE_1: dict[tuple[int, int], Figures] = {
    (4, 1): ((100.0, 0.0), (75.0, 0.1), (100.0, 0.0)),
    (4, 2): ((100.0, 0.0), (99.7, 2.1), (100.0, 0.0)),
    (4, 4): ((100.0, 0.0), (25.8, 0.6), (100.0, 0.0)),
    (16, 2): ((88.2, 5.5), (80.3, 5.3), (86.0, 1.5)),
    (16, 4): ((88.2, 5.5), (78.7, 3.7), (86.0, 1.5)),
    (16, 16): ((88.2, 5.5), (7.6, 0.1), (86.0, 1.5)),
}
TABLE_2: dict[tuple[int, int], Figures] = {
    (4, 1): ((96.3, 0.1), (46.7, 0.0), (96.3, 0.0)),
    (4, 2): ((96.3, 0.1), (86.6, 5.5), (96.3, 0.0)),
    (4, 4): ((96.3, 0.1), (25.6, 0.1), (96.3, 0.0)),
    (16, 2): ((84.0, 0.2), (42.0, 2.2), (84.0, 0.1)),
    (16, 4): ((84.0, 0.2), (41.7, 1.2), (84.0, 0.1)),
    (16, 16): ((84.0, 0.2), (8.4, 0.1), (84.0, 0.1)),
}
# (digit, k'), k = 4.
TABLE_3: dict[tuple[int, int], Figures] = {
    (2, 1): ((99.5, 0.1), (50.5, 0.0), (99.5, 0.1)),
    (2, 2): ((99.5, 0.1), (90.3, 10.4), (99.5, 0.1)),
    (2, 4): ((99.5, 0.1), (25.8, 0.1), (99.5, 0.1)),
    (3, 1): ((98.1, 0.0), (97.7, 0.0), (98.1, 0.0)),
    (3, 2): ((98.1, 0.0), (98.1, 0.0), (98.1, 0.0)),
    (3, 4): ((98.1, 0.0), (68.2, 9.4), (98.1, 0.0)),
}
SIGMA = {1: 1.0, 2: 20.0}
METHODS = ("Lloyd", "k-FED", "SecFC")

LEAST_TOLERANCE = 0.5
"""Percentage points, or two of the paper's standard deviations. It gives no seed, so the rows differ."""

WORST_SECONDS = 16.0
"""The text's bound on an iteration of SecFC in Figure 1."""

WHY_KFED = (
    "k-FED as its own paper defines it does better than this on these rows, and at k' = k the published "
    "figure is close to guessing, 1/k. We believe ours."
)
WHY_KFED_BELOW = "k-FED's k-means++ draws decide it; at k' = k it has no guarantee. Ours is as it comes."
WHY_START = (
    "Which local optimum the start leads to decides it, and the paper gives no seed. Its Lloyd and SecFC "
    "columns differ by their starts too; from one start the two are equal, as the last column shows."
)
WHY_DIGIT_2 = (
    "Digit 2 gives about 92.3 at best, also from the true means, to which 92.6 % of the rows are nearest; "
    "digit 3 comes out. docs/reproduce.md says what was tried. We believe ours: the rows are MNIST's own."
)


def table(context: Context, number: int) -> Iterator[FigureRow]:
    """Tables 1 and 2, Gaussian mixtures with sigma 1 and 20; accuracy against the generating cluster."""
    for (k, local), figures in (TABLE_1 if number == 1 else TABLE_2).items():
        context.tell(f"k = {k}, k' = {local}")
        yield from _blobs(context, number, (k, local), figures)


def _blobs(context: Context, number: int, counts: tuple[int, int], figures: Figures) -> Iterator[FigureRow]:
    (k, local), runs = counts, 2 if context.quick else 10
    drawn = secfc_blobs(n_clusters=k, sigma=SIGMA[number], clusters_per_party=local)
    setting = f"sigma {SIGMA[number]:.0f}, k = {k}, k' = {local}, {runs} runs"
    yield from _accuracies(drawn.parties, drawn.labels, counts, figures, setting, runs, WHY_START)


def table_3(context: Context) -> Iterator[FigureRow]:
    """Rotated MNIST, ten clients. In this simulation the first five compute for all."""
    for (digit, local), figures in TABLE_3.items():
        if not (context.quick and local == 2):
            context.tell(f"digit {digit}, k' = {local}")
            yield from _rotated(context, digit, local, figures)


def _rotated(context: Context, digit: int, local: int, figures: Figures) -> Iterator[FigureRow]:
    images, digits = data.mnist(context.folder)
    runs = 1 if context.quick else 10
    rows, turns = rotated_images(images[digits == digit])
    parts = by_clusters(turns, 10, local, random_state=0)
    parties, classes = [rows[part] for part in parts], [turns[part] for part in parts]
    yield from _accuracies(
        parties,
        classes,
        (4, local),
        figures,
        f"digit {digit}, k' = {local}, {runs} run{'s' if runs > 1 else ''}",
        runs,
        WHY_DIGIT_2 if digit == 2 else WHY_START,
        committee=5,
    )


def _accuracies(
    parties: list[Floats],
    classes: list[Ints],
    counts: tuple[int, int],
    figures: Figures,
    setting: str,
    runs: int,
    why: str,
    committee: int | None = None,
) -> Iterator[FigureRow]:
    k, local = counts
    truth = np.concatenate(classes)

    def percent(labels: list[Ints]) -> float:
        return 100 * hungarian_accuracy(truth, np.concatenate(labels))

    def of_run(run: SecureRun) -> float:
        return percent(run.labels)

    ran = [secure_run(parties, k, seed=seed, committee=committee) for seed in range(runs)]
    secure = Secure.over(ran, of_run)
    lloyd = [ExactLloyd(k, init="separation", random_state=seed).fit(parties).labels_ for seed in range(runs)]
    kfed = [KFED(k, local_clusters=local, random_state=seed).fit(parties).labels_ for seed in range(runs)]
    ours = (fmean(map(percent, lloyd)), fmean(map(percent, kfed)), secure.value)
    for name, (mean, deviation), value in zip(METHODS, figures, ours, strict=True):
        yield judged(
            name=name,
            setting=setting,
            measure="accuracy, %",
            paper=mean,
            ours=value,
            tolerance=max(LEAST_TOLERANCE, 2 * deviation),
            otherwise=why if name != "k-FED" else WHY_KFED if value > mean else WHY_KFED_BELOW,
            secure=secure,
            decimals=1,
        )


def figure_1(context: Context) -> Iterator[FigureRow]:
    """Seconds of an iteration against n, d and m, and what the text says of them.

    The paper does not print the figure's numbers. Compute time only, as in the paper.
    """
    starts = 2 if context.quick else figure1.STARTS
    for swept, values in (figure1.QUICK_SWEEPS if context.quick else figure1.SWEEPS).items():
        context.tell(f"{swept} varies")
        yield from _sweep(swept, values, starts)


def _sweep(swept: str, values: tuple[int, ...], starts: int) -> Iterator[FigureRow]:
    for value in values:
        point = figure1.measured(swept, value, starts)
        run = secure_run(point.parties, point.case.k, seed=0)
        seconds = point.client_seconds + point.server_seconds
        column = Secure(value=seconds, same=run.same, rows=run.rows)
        setting = f"{swept} varies: n = {point.case.n}, d = {point.case.d}, m = {point.case.m}"
        of_point = partial(
            claimed,
            setting=setting,
            measure="seconds",
            secure=column,
            decimals=5,
        )
        yield of_point(
            name="SecFC, an iteration",
            claim=f"below {WORST_SECONDS:.0f} s",
            ours=seconds,
            holds=seconds < WORST_SECONDS,
            otherwise="This machine is slower than the paper's 12 cores.",
        )
        yield of_point(
            name="k-FED, a run",
            claim="below an iteration of SecFC",
            ours=point.kfed_seconds,
            holds=point.kfed_seconds < seconds,
            otherwise=(
                "Here k-FED's parties run one after another and all count, where an iteration of SecFC counts "  # noqa: E501
                "one client and the server; the row below divides by n. The paper does not say how it counted."  # noqa: E501
            ),
        )
        yield of_point(
            name="k-FED, a run / n",
            ours=point.kfed_seconds / point.case.n,
        )


EXPERIMENTS = {
    "table1": partial(table, number=1),
    "table2": partial(table, number=2),
    "table3": table_3,
    "figure1": figure_1,
}
