"""Attacks k and l as tables: a line for each program, a column for each adversary."""

from typing import Any

from benchmarks.privacy.against_labels import ALONE
from benchmarks.privacy.measure import ATTACKS

_COLUMNS = (
    ("coded", "server"),
    ("distances", "server"),
    ("labels", "server + client"),
    ("labels", "server + dealer"),
    ("labels", "server + first evaluator"),
    ("labels", "server + second evaluator"),
    (ALONE, ALONE),
    ("labels", "dealer + first evaluator"),
    ("labels", "dealer + second evaluator"),
    ("labels", "both evaluators"),
)
"""What is disclosed, and to whom."""

_NEAR = (1e-2, 1e-3)
"""Errors that a client that answers wrongly comes below."""

Rows = list[dict[str, Any]]
Cells = tuple[list[str], list[list[str]]]


def view_cells(rows: Rows) -> Cells:
    """Success of each program; of several the best."""
    found: dict[str, dict[tuple[str, str], list[float]]] = {}
    ends: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row["attack"].startswith("k-") and row["swept"] == "comparers":
            by = found.setdefault(row["attack"], {})
            by.setdefault((row["against"], row["adversary"]), []).append(row["success"])
            ends[row["attack"]] = row["nothing"], row["everything"]
    headings = ["program", "nothing, everything"]
    headings += [who if against == ALONE else f'"{against}": {who}' for against, who in _COLUMNS]
    lines = []
    for attack, by in found.items():
        nothing, everything = ends[attack]
        best = max if everything > nothing else min
        texts = [f"{best(by[column]):.2g}" if column in by else "" for column in _COLUMNS]
        lines.append([ATTACKS[attack], f"{nothing:g}, {everything:g}", *texts])
    return headings, lines


def liar_cells(rows: Rows) -> Cells:
    """Rounds after which a client that answers wrongly has everybody's rows."""
    found: dict[tuple[int, str, str], list[tuple[float, float]]] = {}
    for row in rows:
        if row["attack"] == "l-rows":
            found.setdefault((row["d"], row["against"], row["note"]), []).append(
                (row["value"], row["success"])
            )
    headings = ["d", "disclosure", *(f"rounds to an error below {one:g}" for one in _NEAR), ""]
    lines = []
    for (d, disclosure, note), points in found.items():
        rounds = [next((at for at, error in points if error < one), None) for one in _NEAR]
        lines.append([str(d), disclosure, *("" if at is None else f"{at:g}" for at in rounds), note])
    return headings, lines
