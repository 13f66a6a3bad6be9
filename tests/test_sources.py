"""Rows from a database, as from a file, and nothing of the database in an error."""

import json
import sqlite3
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import secfc
from secfc import sources
from secfc.sources import Query
from secfc.tables import read_table, read_tables

ROWS = np.random.default_rng(1).normal(size=(20, 2)).round(3)


@pytest.fixture
def database(tmp_path):
    """A function that makes an SQLite file of some rows and returns its URL."""

    def make(name, rows):
        path = tmp_path / f"{name}.db"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE visits (id TEXT, age REAL, dose REAL, note TEXT)")
            connection.executemany(
                "INSERT INTO visits VALUES (?, ?, ?, 'x')",
                [(f"{name}{i}", *row) for i, row in enumerate(rows)],
            )
        connection.close()
        return f"sqlite:///{path}"

    return make


def query(url, text="SELECT id, age, dose FROM visits ORDER BY rowid"):
    return Query(url=url, query=text, name="north")


@pytest.mark.parametrize("block", [1, 7, 50_000])
def test_rows_of_a_query_are_those_of_the_table(database, monkeypatch, block):
    monkeypatch.setattr(sources, "_BLOCK_ROWS", block)
    table = read_table(query(database("a", ROWS.tolist())), id_column="id")
    np.testing.assert_array_equal(table.rows, ROWS)
    assert table.ids.to_pylist() == [f"a{i}" for i in range(20)]


def test_an_empty_answer_has_no_rows(database):
    assert read_table(query(database("a", [])), drop=["id"]).rows.shape == (0, 2)


def test_whole_numbers_and_fractions_make_one_column(database, monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK_ROWS", 1)
    url = database("a", [])
    table = read_table(query(url, "SELECT 1 AS age UNION ALL SELECT 2.5"))
    np.testing.assert_array_equal(table.rows, [[1.0], [2.5]])


def test_decimals_become_floats():
    assert query("sqlite://")._array("a", (Decimal("1.5"), None)).type == pa.float64()


def test_a_missing_value_is_refused_as_in_a_file(database):
    with pytest.raises(secfc.DataError, match="north: column 'age' has 1 missing values"):
        read_table(query(database("a", [(1.0, 2.0), (None, 3.0)])), drop=["id"])


@pytest.mark.parametrize(
    ("url", "text", "error"),
    [
        (
            "sqlite:///{folder}/a.db",
            "SELECT secret FROM visits",
            "north: the database refuses (OperationalError)",
        ),
        ("sqlite:///{folder}/none/b.db", "SELECT 1", "north: the database refuses (OperationalError)"),
        (
            "sqlite:///{folder}/a.db",
            "DELETE FROM visits",
            "north: the query returns no rows; one SELECT is needed",
        ),
        ("sqlite:///{folder}/a.db", "SELECT note FROM visits", "north: column 'note' is not numeric"),
        ("postgresql://me:secret@127.0.0.1/x", "SELECT 1", "has a password; leave it to the environment"),
        (
            "postgresql://127.0.0.1/x?password=secret",
            "SELECT 1",
            "has a password; leave it to the environment",
        ),
        ("nowhere", "SELECT 1", "--from: the URL of north cannot be read"),
        ("nosuch://127.0.0.1/x", "SELECT 1", "--from: no driver for nosuch databases"),
    ],
)
def test_what_cannot_be_read_is_named_without_a_word_of_the_database(database, tmp_path, url, text, error):
    database("a", [(1.0, 2.0)])
    with pytest.raises(secfc.SecFCError) as caught:
        read_table(query(url.format(folder=tmp_path), text))
    assert error in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_query_that_writes_changes_nothing(database, tmp_path):
    url = database("a", [(1.0, 2.0)])
    with pytest.raises(secfc.DataError):
        read_table(query(url, "DELETE FROM visits"))
    assert read_table(query(url), drop=["id"]).rows.shape == (1, 2)


def test_repr_shows_neither_url_nor_query():
    assert repr(query("sqlite:///x.db")) == "Query(name='north')"


def test_files_and_databases_can_be_mixed(database, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("dose,age\n2.0,1.0\n")
    tables = read_tables([path, query(database("b", [(3.0, 4.0)]))], columns=["age", "dose"])
    assert [table.rows.tolist() for table in tables] == [[[1.0, 2.0]], [[3.0, 4.0]]]


@pytest.mark.processes
def test_the_command_clusters_databases(database, tmp_path):
    urls = [database(name, part) for name, part in zip("abc", np.split(ROWS, [8, 13]), strict=True)]
    command = [sys.executable, "-m", "secfc", "run", *(word for url in urls for word in ("--from", url))]
    command += [
        "--query",
        "SELECT id, age, dose FROM visits",
        "--id",
        "id",
        "-k",
        "2",
        "--t",
        "1",
        "--ell",
        "1",
    ]
    command += ["--out", str(tmp_path / "out"), "--json", "-q", "--seed", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    names = [party["labels"] for party in json.loads(done.stdout)["parties"]]
    assert names == [f"database-{at}.labels.csv" for at in (1, 2, 3)]
    labels = (tmp_path / "out" / names[0]).read_text().splitlines()
    assert labels[0] == '"id","label"'
    assert len(labels) == 9


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((), "FILES: name a file"), (("--from", "sqlite://"), "--query: 0 queries for 1 --from")],
)
def test_sources_that_do_not_fit_are_refused(tmp_path, arguments, text):
    command = [sys.executable, "-m", "secfc", "run", *arguments, "-k", "2", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert text in done.stderr
