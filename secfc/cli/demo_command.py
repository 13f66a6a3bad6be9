"""`secfc demo`: clusters digits of five clients, a process each, and compares with KMeans on all rows."""

import numpy as np
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import secfc
from secfc.api.result import Result
from secfc.cli.render import console, cost_table, threshold_line
from secfc.field.array_types import Floats, Ints
from secfc.report.pooled import PooledComparison, compare_with_pooled
from secfc.tables.number_texts import number_text

CLIENTS, CLUSTERS, T, ELL = 5, 10, 1, 2


def uneven_parties(rows: Floats, classes: Ints) -> list[Ints]:
    """Row numbers of each client, sorted by class: client j has about j times as many rows as client 1."""
    order = np.argsort(classes, kind="stable")
    weights = np.arange(1, CLIENTS + 1)
    ends = np.cumsum(weights)[:-1] * rows.shape[0] // weights.sum()
    return np.split(order, ends)


def run_demo(*, seed: int) -> None:
    """Run the demo and print its tables."""
    rows, classes = load_digits(return_X_y=True)
    members = uneven_parties(rows, classes)
    out = console()
    out.print(
        f"scikit-learn's digits: {rows.shape[0]} rows of {rows.shape[1]} columns at {CLIENTS} clients; "
        f"each client has {min(map(len, members))} to {max(map(len, members))} rows and "
        f"{min(len(np.unique(classes[m])) for m in members)} to "
        f"{max(len(np.unique(classes[m])) for m in members)} of the {CLUSTERS} digits"
    )
    parties = [rows[member] for member in members]
    result = secfc.run(parties, CLUSTERS, T, ELL, seed=seed, driver="multiprocess", progress="bar")
    out.print(threshold_line(result.job))
    out.print()
    pooled = compare_with_pooled(result, parties)
    out.print(_comparison(result, pooled, np.concatenate([classes[member] for member in members])))
    out.print()
    out.print(cost_table(result.costs, result.job))
    out.print()
    out.print(
        f"{pooled.same} of {pooled.rows} rows have the same label as with Lloyd's algorithm on the "
        "pooled rows from the same start. Next, for your own files: secfc run --help"
    )


def _comparison(result: Result, pooled: PooledComparison, classes: Ints) -> Table:
    secure = np.concatenate(result.labels)
    table = Table(title="The same clustering without pooling", title_justify="left")
    table.add_column("")
    for heading in ("adjusted Rand index", "inertia", "iterations", "seconds", "same labels"):
        table.add_column(heading, justify="right")
    same = f"{pooled.same} of {pooled.rows}"
    rows = (
        ("SecFC", secure, result.inertia, result.n_iter, result.costs.wall_seconds, same),
        ("scikit-learn, pooled", pooled.labels, pooled.inertia, pooled.n_iter, pooled.seconds, ""),
    )
    for name, labels, inertia, n_iter, seconds, identical in rows:
        agreement = adjusted_rand_score(classes, labels)  # agreement with the digits' classes
        table.add_row(
            name,
            f"{agreement:.3f}",
            "not opened" if inertia is None else number_text(inertia, 6),
            str(n_iter),
            f"{seconds:.2f}",
            identical,
        )
    return table
