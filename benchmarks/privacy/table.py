"""Attacks as tables."""

from typing import Any

from benchmarks.privacy.measure import ATTACKS

_NEAR = (1e-2, 1e-3)
"""Thresholds for the error of a client that answers wrongly."""

Rows = list[dict[str, Any]]
Cells = tuple[list[str], list[list[str]]]


def liar_cells(rows: Rows) -> Cells:
    """Rounds after which a client that answers wrongly has all rows."""
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for row in rows:
        if row["attack"] == "l-rows":
            found.setdefault((row["d"], row["note"]), []).append((row["value"], row["success"]))
    headings = ["d", *(f"rounds to an error below {one:g}" for one in _NEAR), "with"]
    lines = []
    for (d, note), points in found.items():
        rounds = [next((at for at, error in points if error < one), None) for one in _NEAR]
        lines.append([str(d), *("" if at is None else f"{at:g}" for at in rounds), note])
    return headings, lines


def label_cells(rows: Rows) -> Cells:
    """What labels alone tell a party that chooses its rows, or a comparer that lies."""
    headings = ["program", "by", "varied", "value", "success", "nothing, everything", "with"]
    lines = [
        [
            ATTACKS[row["attack"]],
            row["adversary"],
            row["swept"],
            f"{row['value']:.5g}",
            f"{row['success']:.2g}",
            f"{row['nothing']:g}, {row['everything']:g}",
            row["note"],
        ]
        for row in rows
        if row["attack"][0] in "opqrsuv"
    ]
    return headings, lines
