"""docs/how-to/databases.md: its files are written and its commands run, for three organisations."""

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from support.organisations import NAMES, Organisations

PAGE = (Path(__file__).parent.parent / "docs" / "how-to" / "databases.md").read_text()
BLOCKS = re.findall(r"^```(bash|toml)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
SERVER = "db.north.example"


@pytest.fixture
def folder(tmp_path, postgres):
    """The organisations' databases, with the same rows as their CSV files."""
    organisations = Organisations(tmp_path)
    rows = {name: part.tolist() for name, part in organisations.rows.items()}
    values = ", ".join(f"('p{at}', {age!r}, {bmi!r}, 2026)" for at, (age, bmi) in enumerate(rows["north"]))
    columns = "patient TEXT, alter_jahre FLOAT, bmi NUMERIC(20, 16), jahr INT"
    postgres.fill("hospital", [f"CREATE TABLE visits ({columns})", f"INSERT INTO visits VALUES {values}"])
    with closing(sqlite3.connect(tmp_path / "south.sqlite")) as database, database:
        database.execute("CREATE TABLE visits (age REAL, weight REAL, height REAL)")
        database.executemany("INSERT INTO visits VALUES (?, ? * 4, 2)", rows["south"])
    twice = np.repeat(organisations.rows["west"], 2, axis=0)
    patients = [f"w{at // 2}" for at in range(len(twice))]
    table = pa.table({"patient": patients, "age": twice[:, 0], "bmi": twice[:, 1]})
    pyarrow.parquet.write_table(table, tmp_path / "west.parquet")
    return tmp_path


@pytest.mark.postgresql
@pytest.mark.processes
@pytest.mark.slow
def test_the_page_can_be_followed(folder, postgres, monkeypatch):
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    for name, value in {"COLUMNS": "120", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    for name in ("PGUSER", "PGPASSWORD"):
        monkeypatch.delenv(name)
    here = {
        f"//{SERVER}/": f"//127.0.0.1:{postgres.port}/",
        "/etc/ssl/north-ca.crt": str(postgres.folder / "root.crt"),
    }
    script = []
    for kind, block in BLOCKS:
        text = block
        for old, new in here.items():
            assert old in PAGE
            text = text.replace(old, new)
        if kind == "toml":
            (folder / text.split("\n", 1)[0].removeprefix("# ")).write_text(text)
        else:
            script.append(text)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(script)],
        input=postgres.password + "\n",  # as a user would type it
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    labels = {name: next(folder.glob(f"results-{name}/*/labels.csv")).read_text().split() for name in NAMES}
    assert {name: len(lines) - 1 for name, lines in labels.items()} == {"north": 12, "south": 9, "west": 5}
    assert labels["west"][1].startswith('"w0",')
    written = {path.name for path in (folder / "result").iterdir()}
    assert written == {"database-1.labels.csv", "south.labels.csv", "west.labels.csv", "summary.json"}
    told = done.stdout + done.stderr
    told += "".join(path.read_text() for path in folder.rglob("*.json")) + "".join(map(str, labels.values()))
    assert postgres.password not in told
    assert SERVER not in told
