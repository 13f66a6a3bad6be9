"""The commands of docs/how-to/prepare.md, on files that fit its schema."""

import csv
import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
from support import warm

from secfc.tables.site_rows import given_input
from secfc.tables.sources.text_format import FOUND

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "prepare.md").read_text()


def test_commands_of_the_page_work_with_its_schema(tmp_path):
    (schema,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "schema.toml").write_text(schema)
    rng = np.random.default_rng(0)
    for name, rows in (("north", 24), ("south", 22), ("west", 25)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                ["patient", "age", "dose", "marker", "stay", "admitted", "visits", "smoker", "sex"]
            )
            for row in range(rows):
                smoker = rng.choice(["never", "former", "current", ""])
                writer.writerow(
                    [
                        f"{name}{row}",
                        rng.integers(20, 90),
                        rng.normal(20, 20),
                        rng.lognormal(3, 2),
                        rng.integers(0, 30),
                        f"2024-02-{rng.integers(10, 29)}",
                        rng.integers(0, 60),
                        smoker,
                        rng.choice(["f", "m"]) if row else "N/A",
                    ]
                )
    commands = re.findall(r"^secfc .*$", PAGE.replace("\\\n", ""), flags=re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        done = warm.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert ("22 rows fit" in done.stdout) == (" prepare " in command)
    alone, together = (tmp_path / one / "south.csv" for one in ("south-prepared", "prepared"))
    assert alone.read_bytes() == together.read_bytes()
    with (tmp_path / "result" / "north.centres.csv").open() as file:
        assert all(
            20 <= float(row["age"]) <= 90 and 0 <= float(row["dose"]) <= 50 for row in csv.DictReader(file)
        )
    with (tmp_path / "prepared" / "west.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "patient",
        "age",
        "dose",
        "marker",
        "stay",
        "admitted",
        "visits",
        "smoker=never",
        "smoker=former",
        "smoker=current",
        "sex=m",
    ]
    assert len(rows) == 25
    assert all(0 <= float(row["dose"]) <= 1 for row in rows)
    assert abs(sum(float(row["age"]) for row in rows) / 25) < 1


def test_the_site_file_of_the_page_is_one(tmp_path):
    (text,) = re.findall(r"```\n(# south\.toml\n.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "south.toml").write_text(text)
    form = given_input(tmp_path / "south.toml", FOUND)
    assert (form.sheet, form.factors, form.values) == ("2026", {"dose": 0.001}, {"sex": {"w": "f"}})
