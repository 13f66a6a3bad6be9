"""Inertia after "random" and "k-means++" starts, compared with scikit-learn's k-means++ on the pooled rows.

Results are medians over single starts, with the same number of seeds on both sides. secfc's starts are those
of `secfc.run`. Large datasets are sampled down with a fixed seed, to the same rows on both sides.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

import secfc
from benchmarks.studies.datasets import NAMES, dataset_reader
from secfc.array_types import Floats
from secfc.errors import DataError


def inertias(rows: Floats, k: int, starts: int) -> dict[str, Floats]:
    """Inertia of each start: secfc's after "random" and "k-means++", scikit-learn's after k-means++."""
    parties = np.array_split(rows, 3)
    found: dict[str, list[float]] = {"random": [], "k-means++": [], "scikit-learn": []}
    for seed in range(starts):
        for init in ("random", "k-means++"):
            inertia = secfc.run(parties, k, 1, 1, init=init, seed=seed, disclosure="coded").inertia
            assert inertia is not None
            found[init].append(inertia)
        floats = KMeans(k, init="k-means++", n_init=1, algorithm="lloyd", tol=0, random_state=seed)
        found["scikit-learn"].append(float(floats.fit(rows).inertia_))
    return {name: np.array(values) for name, values in found.items()}


def measure(datasets: Sequence[str], starts: int, most_rows: int, markdown: Path | None) -> None:
    """Print a row per dataset: medians as ratios to scikit-learn's, and the best of all starts.

    Parameters
    ----------
    datasets : sequence of str
        If empty, all datasets whose files exist.
    starts : int
        Of each kind.
    most_rows : int
        Larger datasets are sampled down to this number of rows.
    markdown : Path or None
        A file for the table, in addition to standard output.
    """
    warnings.simplefilter("ignore")
    lines = [
        "| dataset | rows | d | k | random, median | k-means++, median | k-means++, best |",
        "|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for name in datasets or NAMES:
        read, k = dataset_reader(name)
        try:
            rows = read()
        except DataError:
            if datasets:
                raise
            continue
        if len(rows) > most_rows:
            rows = rows[np.random.default_rng(0).choice(len(rows), most_rows, replace=False)]
        found = inertias(rows, k, starts)
        base = np.median(found["scikit-learn"])
        ratios = [np.median(found["random"]) / base, np.median(found["k-means++"]) / base]
        ratios.append(found["k-means++"].min() / found["scikit-learn"].min())
        cells = [name, *rows.shape, k, *(f"{ratio:.4f}" for ratio in ratios)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
        print(lines[-1], flush=True)
    if markdown:
        head = (
            "# Starts\n\nInertia as ratios to scikit-learn's k-means++ (n_init=1, tol=0) on the pooled "
            f"rows: medians of {starts} starts each, and the best of them. More than {most_rows} "
            "rows are sampled down to that. Below 1 is better.\n\n"
            f"Made by `python -m benchmarks starts --starts {starts} --rows {most_rows}`.\n\n"
        )
        markdown.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
