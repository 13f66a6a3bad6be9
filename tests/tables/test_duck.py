"""Queries of .csv and .parquet files and of DuckDB databases, which can access only this one file."""

from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import secfc
from secfc.tables.reading import read_table
from secfc.tables.sources.query import Origin, Query

ROWS = np.random.default_rng(1).normal(size=(20, 2)).round(3)
VISITS = pa.table({"id": [f"p{at}" for at in range(20)], "age": ROWS[:, 0], "dose": ROWS[:, 1]})
KINDS = ("visits.csv", "visits.parquet", "duckdb:///visits.duckdb")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A function that writes a table to a file, or to a DuckDB database as the table `data`."""
    monkeypatch.chdir(tmp_path)

    def make(kind, table=VISITS):
        if kind.endswith(".csv"):
            pyarrow.csv.write_csv(table, kind)
        elif kind.endswith(".parquet"):
            pyarrow.parquet.write_table(table, kind)
        else:
            with duckdb.connect(kind.removeprefix("duckdb:///")) as connection:
                connection.register("given", table)
                connection.execute("CREATE TABLE data AS SELECT * FROM given")
        return kind

    return make


def query(place, text="SELECT id, age, dose FROM data"):
    return Query(origin=Origin.of(place), query=text, name="north")


def refusal(place, text):
    with pytest.raises(secfc.DataError) as caught:
        read_table(query(place, text))
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_query_are_those_of_the_file(place, kind):
    table = read_table(query(place(kind)), id_column="id")
    np.testing.assert_array_equal(table.rows, ROWS)
    assert table.ids.to_pylist() == VISITS["id"].to_pylist()


@pytest.mark.parametrize("name", ["it's.csv", "with space.parquet", "ä;--.parquet", "a[1].parquet", "a*.csv"])
def test_a_file_may_have_any_name(place, name):
    assert read_table(query(place(name)), drop=["id"]).rows.shape == (20, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_something_else_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    name = kind.removeprefix("duckdb:///")
    (tmp_path / name).write_bytes(b"\xff\xfe\x00secret\n\x00" * 400)
    text = refusal(kind, "SELECT * FROM data")
    assert text.startswith(f"{name}: ")
    assert "secret" not in text


# Types


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7::tinyint", 7.0),
        ("7::ubigint", 7.0),
        ("7::hugeint", 7.0),
        ("sum(range)", 3.0),
        ("0.1", 0.1),
        ("12345678901.2345678901::decimal(38, 10)", 12345678901.2345678901),
        ("0.5::float", 0.5),
        ("true", 1.0),
    ],
)
def test_numbers_of_every_type_become_the_nearest_float(place, expression, value):
    asked = query(place("visits.parquet"), f"SELECT {expression} AS age FROM range(3) LIMIT 1")
    assert read_table(asked).rows.tolist() == [[value]]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("NULL", "has 1 missing values, the first in row 2"),
        ("'NaN'::double", "has 1 NaN or infinite values, the first in row 2"),
        ("9007199254740993::bigint", "has 1 exact numbers beyond 2^53, the first in row 2"),
        ("-9007199254740993::hugeint", "has 1 exact numbers beyond 2^53, the first in row 2"),
        (
            "170141183460469231731687303715884105::hugeint",
            "has 1 exact numbers beyond 2^53, the first in row 2",
        ),
        ("9007199254740993.5::decimal(38, 1)", "has 1 exact numbers beyond 2^53, the first in row 2"),
        ("'secret'", "is not numeric (string)"),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_column_and_row(place, expression, told):
    file = place("visits.parquet")
    column = (
        f"CASE WHEN range = 2 THEN {expression} ELSE {'range::varchar' if 'secret' in expression else 1} END"
    )
    text = refusal(file, f"SELECT {column} AS age FROM range(4)")
    assert text.startswith(f"{file}: column 'age' {told}")
    assert "secret" not in text
    assert "900719" not in text


@pytest.mark.parametrize(
    "expression", ["DATE '1950-03-01'", "TIMESTAMP '1950-03-01 10:00'", "[1]", "uuid()", "INTERVAL 1 DAY"]
)
def test_a_column_of_no_numbers_is_named(place, expression):
    text = refusal(place("visits.parquet"), f"SELECT {expression} AS age")
    assert "visits.parquet: column 'age' is not numeric (" in text
    assert "1950" not in text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("9007199254740993::bigint", 2**53 + 1),
        ("9007199254740993::hugeint", 2**53 + 1),
        ("'007'", "007"),
        ("'a'::enum('a', 'b')", "a"),
    ],
)
def test_ids_are_as_they_stand(place, expression, value):
    asked = query(place("visits.parquet"), f"SELECT {expression} AS id, 1 AS age")
    assert read_table(asked, id_column="id").ids.to_pylist() == [value]


def test_a_word_below_the_numbers_of_a_csv_file_makes_a_column_of_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("age\n" + "1\n" * 50_000 + "secret\n")
    assert refusal("a.csv", "SELECT age FROM data").startswith("a.csv: column 'age' is not numeric (string)")


def test_decimals_of_a_parquet_file_without_a_query_are_read_too(place):
    file = place("a.parquet", pa.table({"age": [Decimal("0.10"), Decimal("12345678901234.56")]}))
    assert read_table(Origin.of(file).path).rows.tolist() == [[0.1], [12345678901234.56]]


# Access to other files


@pytest.mark.some(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELEC 1", "the query fails (ParserException)"),
        ("SELECT secret FROM data", "the query fails (BinderException)"),
        ("SELECT 1 FROM secret", "the query fails (CatalogException)"),
        ("SELECT 'secret'::int", "the query fails (ConversionException)"),
        ("", "one SELECT is needed, the query does something else"),
        ("SELECT 1; SELECT 2", "one SELECT is needed"),
        ("DELETE FROM data", "one SELECT is needed"),
        ("DROP VIEW data", "one SELECT is needed"),
        ("CREATE TABLE other AS SELECT 1", "one SELECT is needed"),
        ("COPY data TO 'secret.csv'", "one SELECT is needed"),
        ("COPY data TO 'visits.parquet' (USE_TMP_FILE false)", "one SELECT is needed"),
        ("ATTACH 'secret.duckdb'", "one SELECT is needed"),
        ("EXPORT DATABASE 'secret'", "one SELECT is needed"),
        ("SET enable_external_access = true", "one SELECT is needed"),
        ("INSTALL httpfs", "one SELECT is needed"),
        ("LOAD httpfs", "one SELECT is needed"),
        ("PRAGMA enable_profiling", "one SELECT is needed"),
        ("EXPLAIN SELECT 1", "one SELECT is needed"),
        ("SELECT * FROM 'secret.csv'", "the query fails (PermissionException)"),
        ("SELECT * FROM read_csv('secret.csv')", "the query fails (PermissionException)"),
        ("SELECT * FROM read_text('secret.csv')", "the query fails (PermissionException)"),
        ("SELECT * FROM glob('*')", "the query fails (PermissionException)"),
        ("SELECT * FROM sniff_csv('secret.csv')", "the query fails (PermissionException)"),
        (
            "SELECT * FROM read_parquet('https://127.0.0.1/secret.parquet')",
            "the query fails (PermissionException)",
        ),
        ("SELECT * FROM 's3://secret/a.parquet'", "the query fails (PermissionException)"),
        ("SELECT st_point(1, 2)", "the query fails (CatalogException)"),
        ("SELECT * FROM sqlite_scan('secret.db', 'a')", "the query fails (CatalogException)"),
        ("SELECT * FROM VISITS_OF_OURS", "the query fails (CatalogException)"),
        ("SELECT age, dose AS age FROM data", "two columns have the name 'age'"),
    ],
)
def test_a_query_reaches_its_file_alone_changes_nothing_and_shows_nothing(place, tmp_path, kind, text, told):
    VISITS_OF_OURS = VISITS.to_pandas()  # noqa: F841 - a variable that DuckDB could find
    file = place(kind)
    (tmp_path / "secret.csv").write_text("a\n1\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    said = refusal(file, text)
    assert said.startswith(f"{file.removeprefix('duckdb:///')}: {told}")
    assert "secret" not in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
        ("allow_community_extensions", "false"),
        ("enable_external_access", "false"),
        ("lock_configuration", "true"),
        ("python_enable_replacements", "false"),
        ("temp_directory", ""),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_settings_hold_while_a_query_runs(place, kind, setting, value):
    answer = query(place(kind), f"SELECT current_setting('{setting}')::text AS a").read()
    assert answer["a"].to_pylist() == [value]
