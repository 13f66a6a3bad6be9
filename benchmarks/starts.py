"""Inertia after "random" and "k-means++" starts, beside scikit-learn's k-means++ on the pooled rows.

Usage: SECFC_DATA=... python benchmarks/starts.py [DATASET ...] [--starts 20] [--rows 5000] [--markdown FILE]

Single starts: medians over as many seeds on both sides, ours over `secfc.run` itself. Datasets of more than
--rows rows are sampled down to that, with a fixed seed and the same rows on both sides.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

import secfc

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.datasets import DATASETS


def inertias(rows: np.ndarray, k: int, starts: int) -> dict[str, np.ndarray]:
    """Inertia of each start: ours after "random" and "k-means++", scikit-learn's after k-means++."""
    parties = np.array_split(rows, 3)
    found: dict[str, list[float]] = {"random": [], "k-means++": [], "scikit-learn": []}
    for seed in range(starts):
        for init in ("random", "k-means++"):
            found[init].append(secfc.run(parties, k, 1, 1, init=init, seed=seed).inertia)
        floats = KMeans(k, init="k-means++", n_init=1, algorithm="lloyd", tol=0, random_state=seed)
        found["scikit-learn"].append(float(floats.fit(rows).inertia_))
    return {name: np.array(values) for name, values in found.items()}


def main() -> None:
    """Print a row per dataset: medians as ratios to scikit-learn's, and the best of all starts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", choices=[[], *DATASETS])
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--markdown", type=Path, help="also write the table here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| dataset | rows | d | k | random, median | k-means++, median | k-means++, best |",
        "|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for name in options.datasets or DATASETS:
        read, k = DATASETS[name]
        try:
            rows = read()
        except pytest.skip.Exception:  # how the readers say that a file is not there
            continue
        if len(rows) > options.rows:
            rows = rows[np.random.default_rng(0).choice(len(rows), options.rows, replace=False)]
        found = inertias(rows, k, options.starts)
        base = np.median(found["scikit-learn"])
        ratios = [np.median(found["random"]) / base, np.median(found["k-means++"]) / base]
        ratios.append(found["k-means++"].min() / found["scikit-learn"].min())
        cells = [name, *rows.shape, k, *(f"{ratio:.4f}" for ratio in ratios)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
        print(lines[-1], flush=True)
    if options.markdown:
        head = (
            "# Starts\n\nInertia as ratios to scikit-learn's k-means++ (n_init=1, tol=0) on the pooled "
            f"rows: medians of {options.starts} starts each, and the best of them. More than {options.rows} "
            "rows are sampled down to that. Below 1 is better.\n\n"
            f"Made by `python benchmarks/starts.py --starts {options.starts} --rows {options.rows}`.\n\n"
        )
        options.markdown.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
