"""Attacks as tables."""

from typing import Any

from benchmarks.privacy.measure import ATTACKS

_NEAR = (1e-2, 1e-3)
"""Thresholds for the error of a client that answers wrongly."""

Rows = list[dict[str, Any]]
Cells = tuple[list[str], list[list[str]]]


def liar_cells(rows: Rows) -> Cells:
    """Rounds after which a client that answers wrongly, or a comparer that lies, has all rows."""
    found: dict[tuple[str, int, str, str], list[tuple[float, float]]] = {}
    for row in rows:
        if row["attack"] in ("l-rows", "o-rows"):
            of = row["adversary"], row["d"], row["against"], row["note"]
            found.setdefault(of, []).append((row["value"], row["success"]))
    headings = ["who", "d", "disclosure", *(f"rounds to an error below {one:g}" for one in _NEAR), "with"]
    lines = []
    for (who, d, disclosure, note), points in found.items():
        rounds = [next((at for at, error in points if error < one), None) for one in _NEAR]
        lines.append([who, str(d), disclosure, *("" if at is None else f"{at:g}" for at in rounds), note])
    return headings, lines


def label_cells(rows: Rows) -> Cells:
    """What labels alone tell a client that chooses its rows."""
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
        if row["attack"][0] in "npqr"
    ]
    return headings, lines
