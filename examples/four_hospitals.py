"""Writes the files of docs/guide.md: patients of four hospitals, generated.

Run: python examples/four_hospitals.py FOLDER

There are three kinds of patients, mixed differently in each hospital. Some values are missing. The south has
its own names for two columns, and another unit. One value of the west has a misplaced point.
"""

import csv
import sys
from pathlib import Path

import numpy as np

COLUMNS = ["patient", "age", "heart_rate", "creatinine", "lactate", "crp", "sex", "died", "stay"]
OWN_NAMES = {"age": "Alter", "crp": "CRP_mg_dl"}
"""Of the south, whose CRP is in mg/dl."""

MIXES = {"north": [120, 60, 70], "east": [70, 90, 50], "south": [90, 50, 80], "west": [80, 70, 40]}
"""Patients of each kind."""

# By kind: age, heart rate, medians of creatinine, lactate and CRP, parts of women and of deaths, median stay.
KINDS = np.array(
    [
        [52, 82, 0.9, 1.2, 30, 0.5, 0.05, 5],
        [55, 116, 1.2, 2.9, 210, 0.5, 0.22, 10],
        [76, 90, 2.6, 1.8, 80, 0.35, 0.30, 12],
    ]
)


def patients(rng: np.random.Generator, name: str) -> list[dict[str, object]]:
    """A hospital's rows, in the order in which the patients came. None is a missing value."""
    rows = list[dict[str, object]]()
    for kind in rng.permutation(np.repeat(np.arange(3), MIXES[name])):
        age, rate, creatinine, lactate, crp, women, died, stay = KINDS[kind]
        rows.append(
            {
                "patient": f"{name[0].upper()}{len(rows) + 1:03}",
                "age": round(np.clip(rng.normal(age, 9), 18, 99)),
                "heart_rate": round(rng.normal(rate, 10)),
                "creatinine": round(creatinine * rng.lognormal(0, 0.3), 2),
                "lactate": round(lactate * rng.lognormal(0, 0.35), 1) if rng.random() > 0.06 else None,
                "crp": min(550, round(crp * rng.lognormal(0, 0.6)) + 1) if rng.random() > 0.04 else None,
                "sex": ("f" if rng.random() < women else "m") if rng.random() > 0.01 else None,
                "died": "yes" if rng.random() < died else "no",
                "stay": round(stay * rng.lognormal(0, 0.5)),
            }
        )
    return rows


def main(folder: Path) -> None:
    """Write a file for each hospital."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(2026)
    for name in MIXES:
        rows, columns = patients(rng, name), COLUMNS
        if name == "south":
            columns = [OWN_NAMES.get(column, column) for column in COLUMNS]
            for row in rows:
                crp = row["crp"]
                row["crp"] = f"{crp / 10:.1f}" if isinstance(crp, int) else "?"
        elif name == "west":
            rows[16]["creatinine"] = 88
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(row.values() for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
