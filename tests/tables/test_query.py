"""Where a query runs, and rows from SQLite."""

import json
import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest
from support import warm

import secfc
from secfc.tables.reading import read_table
from secfc.tables.sources import relational
from secfc.tables.sources.query import Origin, Query

ROWS = np.random.default_rng(1).normal(size=(20, 2)).round(3)


@pytest.fixture
def database(tmp_path):
    """A function that makes an SQLite file of some rows and returns its URL."""

    def make(name, rows):
        path = tmp_path / f"{name}.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE visits (id TEXT, age REAL, dose REAL, note TEXT)")
            connection.executemany(
                "INSERT INTO visits VALUES (?, ?, ?, 'x')",
                [(f"{name}{i}", *row) for i, row in enumerate(rows)],
            )
        return f"sqlite:///{path}"

    return make


def query(url, text="SELECT id, age, dose FROM visits ORDER BY rowid"):
    return Query(origin=Origin.of(url), query=text, name="north")


# Origins


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("sqlite:///a.db", "sqlite", "here/a.db"),
        ("sqlite:////srv/a.db", "sqlite", "/srv/a.db"),
        ("duckdb:///in/a.duckdb", "duckdb", "here/in/a.duckdb"),
        ("a.parquet", "file", "here/a.parquet"),
        ("/srv/A.CSV", "file", "/srv/A.CSV"),
    ],
)
def test_a_file_is_relative_to_a_folder(tmp_path, text, kind, path):
    origin = Origin.of(text, folder=tmp_path / "here")
    assert (origin.kind, origin.path) == (kind, tmp_path / path)


URL = "postgresql://db.example.org/north"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("postgresql://me:secret@127.0.0.1/x", "the URL has a password; leave it to the environment"),
        ("postgresql://me:@127.0.0.1/x", "the URL has a password"),
        ("postgresql://me:sec/ret@127.0.0.1/x", "the URL"),
        ("postgresql://me:sec@ret@127.0.0.1/x", "the URL has a password"),
        (f"{URL}?password=secret", "the URL has a password"),
        (f"{URL}?sslmode=require&sslpassword=secret", "the URL has a password"),
        (f"{URL}?plugin=secret", "the URL has an unknown option; application_name, "),
        ("postgresql://127.0.0.1:secret/x", "the URL"),
        ("postgresql+psycopg2://127.0.0.1/x", "postgresql://host/database, sqlite:///file, "),
        ("mysql://me:secret@127.0.0.1/x", "postgresql://host/database, sqlite:///file, "),
        ("sqlite://", "sqlite:/// and the path of a file are needed"),
        ("sqlite:///", "sqlite:/// and the path of a file are needed"),
        ("sqlite://a.db", "sqlite:/// and the path of a file are needed"),
        ("sqlite:///a.db?mode=rwc", "sqlite:/// and the path of a file are needed, without options"),
        ("duckdb://", "duckdb:/// and the path of a file are needed"),
        ("secret", "a .csv, .tsv or .parquet file is needed"),
        ("a.npy", "a .csv, .tsv or .parquet file is needed"),
        ("", "a .csv, .tsv or .parquet file is needed"),
    ],
)
def test_what_is_no_origin_is_refused_unquoted(text, told):
    with pytest.raises(secfc.ParameterError) as caught:
        Origin.of(text)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value)


def test_repr_shows_neither_url_nor_query():
    assert repr(query(URL, "SELECT secret")) == (
        "Query(origin=Origin(kind='postgresql', path=None), name='north')"
    )


@pytest.mark.parametrize(
    ("name", "url", "extra"),
    [
        ("sqlalchemy", "sqlite:///a.db", "sql"),
        ("psycopg", URL, "sql"),
        ("duckdb", "duckdb:///a.db", "duckdb"),
    ],
)
def test_a_library_that_is_not_there_is_named(monkeypatch, tmp_path, name, url, extra):
    (tmp_path / "a.db").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    asked = query(url)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        secfc.ParameterError, match=rf"needed .*, pip install '\.\[{extra}\]' in a checkout of secfc"
    ):
        read_table(asked)


# SQLite


@pytest.mark.parametrize("block", [1, 7, 50_000])
def test_rows_of_a_query_are_those_of_the_table(database, monkeypatch, block):
    monkeypatch.setattr(relational, "BLOCK_ROWS", block)
    table = read_table(query(database("a", ROWS.tolist())), id_column="id")
    np.testing.assert_array_equal(table.rows, ROWS)
    assert table.ids.to_pylist() == [f"a{i}" for i in range(20)]


@pytest.mark.parametrize("block", [1, 10])
def test_whole_numbers_and_fractions_make_one_column(database, monkeypatch, block):
    monkeypatch.setattr(relational, "BLOCK_ROWS", block)
    table = read_table(query(database("a", []), "SELECT 1 AS age UNION ALL SELECT 2.5"))
    np.testing.assert_array_equal(table.rows, [[1.0], [2.5]])


@pytest.mark.parametrize("block", [1, 10])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("VALUES (1.5), (NULL)", "has 1 missing values, the first in row 1"),
        ("VALUES (NULL), (NULL)", "has 2 missing values, the first in row 0"),
        ("VALUES (NULL), (1), ('secret')", "has a text in row 2, below a number"),
        ("VALUES ('secret'), (2)", "has a number in row 1, below a text"),
        ("VALUES (1.5), (9007199254740993)", "has 1 exact numbers beyond 2^53, the first in row 1"),
        ("VALUES (-9007199254740993), (1.5)", "has 1 exact numbers beyond 2^53, the first in row 0"),
        ("VALUES (1), (9007199254740993)", "has 1 exact numbers beyond 2^53, the first in row 1"),
        ("VALUES (1), (9e999)", "has 1 NaN or infinite values, the first in row 1"),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_row(database, monkeypatch, text, told, block):
    monkeypatch.setattr(relational, "BLOCK_ROWS", block)
    with pytest.raises(secfc.DataError) as caught:
        read_table(query(database("a", []), text))
    assert f"a.db: column 'column1' {told}" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "900719" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT secret FROM visits", "a.db: the query fails (SQLITE_ERROR)"),
        ("SELECT 1; DELETE FROM visits", "a.db: the query fails (ProgrammingError)"),
        ("DELETE FROM visits", "a.db: one SELECT is needed, the query does something else"),
        ("DELETE FROM visits RETURNING age", "a.db: one SELECT is needed"),
        ("ATTACH 'secret.db' AS other", "a.db: one SELECT is needed"),
        ("VACUUM INTO 'secret.db'", "a.db: "),
        ("PRAGMA user_version = 3", "a.db: one SELECT is needed"),
        ("PRAGMA table_info(visits)", "a.db: one SELECT is needed"),
        ("SELECT load_extension('secret')", "a.db: the query fails (SQLITE_ERROR)"),
        ("", "a.db: the query gives no columns; one SELECT is needed"),
        ("SELECT note FROM visits", "a.db: column 'note' is not numeric"),
        ("SELECT age, dose AS age FROM visits", "a.db: two columns have the name 'age'"),
    ],
)
def test_a_query_that_cannot_be_used_changes_nothing_and_shows_nothing(
    database, tmp_path, monkeypatch, text, error
):
    monkeypatch.chdir(tmp_path)
    url = database("a", [(1.0, 2.0)])
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(secfc.SecFCError) as caught:
        read_table(query(url, text))
    assert error in str(caught.value)
    assert "secret" not in str(caught.value)
    assert (tmp_path / "a.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.usefixtures("closed_connections")
def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "a.db").write_text("no database at all, but long enough to have a header " * 20)
    with pytest.raises(secfc.DataError, match=r"a\.db: the database cannot be opened \(SQLITE_NOTADB\)$"):
        read_table(query(f"sqlite:///{tmp_path / 'a.db'}"))


def test_a_missing_database_is_not_made(tmp_path):
    with pytest.raises(secfc.DataError, match=r"a\.db: no such file$"):
        read_table(query(f"sqlite:///{tmp_path / 'a.db'}"))
    assert list(tmp_path.iterdir()) == []


# The command


@pytest.mark.processes
def test_the_command_clusters_databases(database, tmp_path):
    urls = [database(name, part) for name, part in zip("abc", np.split(ROWS, [8, 13]), strict=True)]
    command = [sys.executable, "-m", "secfc", "run", *(word for url in urls for word in ("--from", url))]
    command += ["--query", "SELECT id, age, dose FROM visits", "--id", "id", "-k", "2", "--t", "1"]
    command += ["--ell", "1", "--out", str(tmp_path / "out"), "--json", "-q", "--seed", "0"]
    done = warm.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    names = [party["labels"] for party in json.loads(done.stdout)["result"]["parties"]]
    assert names == [f"{name}.labels.csv" for name in "abc"]
    labels = (tmp_path / "out" / names[0]).read_text().splitlines()
    assert labels[0] == '"id","label"'
    assert len(labels) == 9


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "FILES: name a file"),
        (
            ("--from", "sqlite:///a.db"),
            "--query: one for each --from is needed, or one for all; 0 for 1 --from were given",
        ),
        (
            ("--from", "sqlite:///a.db", "--from", "postgresql://me:secret@host/x", "--query", "SELECT 1"),
            "--from: number 2: the URL has a password",
        ),
    ],
)
def test_sources_that_do_not_fit_are_refused(tmp_path, arguments, text):
    command = [sys.executable, "-m", "secfc", "run", *arguments, "-k", "2", "--out", str(tmp_path / "out")]
    done = warm.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 2
    assert text in done.stderr
    assert "secret" not in done.stderr
