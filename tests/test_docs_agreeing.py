"""The commands of docs/agreeing-on-a-job.md."""

import json
import os
import re
import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from support import warm

PAGE = (Path(__file__).parent.parent / "docs" / "agreeing-on-a-job.md").read_text()
BLOCKS = re.findall(r"^```(bash|toml|)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def secfc_command(line, folder, status=0):
    done = warm.run(
        [sys.executable, "-m", "secfc", *shlex.split(line)[1:]],
        cwd=folder,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == status, (line, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def write_rows(folder):
    rng = np.random.default_rng(5)
    for name, m in (("north", 12), ("south", 7), ("west", 9)):
        rows = [(f"{name}{at}", float(rng.uniform(20, 90)), float(rng.uniform(18, 40))) for at in range(m)]
        if name == "south":
            with closing(sqlite3.connect(folder / "south.sqlite")) as database, database:
                database.execute("CREATE TABLE visits (patient TEXT, alter_jahre REAL, bmi REAL, year INT)")
                database.executemany("INSERT INTO visits VALUES (?, ?, ?, 2026)", rows)
        lines = ["patient,age,bmi", *(f"{row[0]},{row[1]},{row[2]}" for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join([*lines, ""]))


def run_page(folder, until=None):
    """Write the page's files and run its commands in order; return what each printed."""
    write_rows(folder)
    alike = dict.fromkeys(("north-hidden.toml", "north-prepared.toml"), ("north", "south", "west"))
    return run_blocks(BLOCKS, folder, alike=alike, until=until)


def run_blocks(blocks, folder, *, alike, until=None):
    """Write a page's files and run its commands. Of files that are alike, the page has the first party's."""
    printed = {}
    for kind, text in blocks:
        if kind == "toml":
            text = text.replace("expires = 2030-12-31", "expires = 9999-12-31")  # noqa: PLW2901
            file = text.split("\n", 1)[0].removeprefix("# ")
            (folder / file).write_text(text)
            first, *others = alike.get(file, (None,))
            for name in others:
                (folder / file.replace(first, name)).write_text(text.replace(first, name))
        elif kind == "bash":
            for line in text.splitlines():
                if until is not None and line.startswith(until):
                    return printed
                printed[line] = secfc_command(line, folder)
    return printed


@pytest.mark.processes
def test_the_page_can_be_followed_and_its_summary_is_audited(tmp_path):
    printed = run_page(tmp_path)
    audited = printed["secfc audit job.summary.json --job job.toml"]
    assert audited.count("holds  ") == 7
    assert "DOES NOT HOLD" not in audited
    audited = printed["secfc audit hidden.summary.json --job hidden.toml"]
    assert audited.count("holds  ") == 7
    audited = printed["secfc audit prepared.summary.json --job prepared.toml"]
    assert audited.count("holds  ") == 7
    assert len(list(tmp_path.glob("results-*/*/labels.csv"))) == 9
    assert len(list(tmp_path.glob("results-*/*/preparation.json"))) == 3
    summary = tmp_path / "job.summary.json"
    summary.write_text(summary.read_text().replace('"converged": true', '"converged": false', 1))
    audited = secfc_command("secfc audit job.summary.json --job job.toml", tmp_path, status=1)
    assert "DOES NOT HOLD  north: its statement was changed" in audited
    before = summary.read_text()
    again = "secfc job run job.toml north.toml south.toml west.toml"
    assert "no-runs-left" in secfc_command(again, tmp_path, status=3)
    assert summary.read_text() == before


@pytest.mark.processes
def test_commands_refuse_what_is_wrong(tmp_path):
    run_page(tmp_path, until="secfc job sign")

    def refused(line, status=2):
        return " ".join(secfc_command(line, tmp_path, status=status).split())

    assert "north.pub: it exists" in refused("secfc keygen north.key --name north")
    assert "name: 1 to 63 letters" in refused("secfc keygen other.key --name 'a b'")
    assert not (tmp_path / "other.key").exists()
    assert "'north' is the name of party 1 too" in refused("secfc roster add roster.toml north.pub")
    assert "their checksum is wrong" in refused(f"secfc roster verify roster.toml --words '{'zoo ' * 12}'")
    other = f"{'abandon ' * 11}about"
    assert "not those of roster.toml" in refused(f"secfc roster verify roster.toml --words '{other}'", 3)
    assert "none.key: No such file" in refused("secfc roster verify roster.toml --key none.key")
    assert "north (not signed)" in refused("secfc job verify job.toml", 3)
    assert "none.signatures: no such file" in refused("secfc job collect job.toml none.signatures")

    text = (tmp_path / "north.toml").read_text()
    (tmp_path / "north.toml").write_text(text.replace("smallest_set = 1", "smallest_set = 5"))
    (line,) = (text for kind, text in BLOCKS if not kind and "refuses" in text)
    assert line.strip() in refused("secfc job sign north.toml", 3)
    assert not (tmp_path / "job.signatures").exists()

    job = (tmp_path / "job.toml").read_text()
    (tmp_path / "job.toml").write_text(job.replace("k = 2", 'k = "2"'))
    (line,) = (text for kind, text in BLOCKS if not kind and "refuses" not in text)
    assert line.strip() in refused("secfc job show job.toml")


@pytest.mark.processes
def test_words_that_are_read_out_are_those_shown_and_signatures_from_elsewhere_are_collected(tmp_path):
    run_page(tmp_path, until="secfc job sign")
    told = secfc_command("secfc roster show roster.toml --json", tmp_path)
    shown = json.JSONDecoder().raw_decode(told)[0]["result"]  # people read the rest
    words = shown["words"]
    assert "words: of this roster" in secfc_command(
        f"secfc roster verify roster.toml --words '{words}'", tmp_path
    )
    south = shown["parties"][1]["words"]
    printed = secfc_command(f"secfc roster verify roster.toml --words '{south}'", tmp_path)
    assert "of the key of south" in printed
    secfc_command("secfc job sign north.toml", tmp_path)
    (tmp_path / "job.signatures").rename(tmp_path / "from-north.signatures")
    secfc_command("secfc job sign south.toml", tmp_path)
    printed = secfc_command("secfc job collect job.toml from-north.signatures", tmp_path)
    assert printed.split() == ["north:", "signed", "south:", "signed", "west:", "not", "signed"]
