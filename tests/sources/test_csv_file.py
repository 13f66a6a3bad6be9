"""Text files: separator, decimal mark, encoding and compression are found; what cannot be read is refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from secfc.errors import DataError
from secfc.prepare import Column, Schema
from secfc.prepare.tables import checked, read
from secfc.sources.csv_file import kind_of, stem_of
from secfc.sources.query import Origin, Query
from secfc.tables import party_names, read_table, write_labels

ROWS = [("007", "1.5", "12"), ("7", "-0.25", "13"), ("a b", "2e3", "14")]
EXPECTED = [[1.5, 12.0], [-0.25, 13.0], [2000.0, 14.0]]


def text(separator=",", decimal="."):
    lines = [("id", "größe", "age"), *((one, value.replace(".", decimal), age) for one, value, age in ROWS)]
    return "".join(separator.join(line) + "\n" for line in lines)


@pytest.fixture
def written(tmp_path):
    def write(name, content, encoding="utf-8"):
        data = content.encode(encoding)
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "A.TSV.GZ"])
@pytest.mark.parametrize(
    ("separator", "decimal", "words"),
    [
        (",", ".", ""),
        (";", ".", "semicolons between values"),
        (";", ",", "semicolons between values, decimal commas"),
        ("\t", ",", "tabs between values, decimal commas"),
        ("|", ".", "bars between values"),
    ],
)
def test_how_a_file_is_written_is_found_and_said(written, name, separator, decimal, words, encoding):
    table = read_table(written(name, text(separator, decimal), encoding), id_column="id")
    assert table.columns == ("größe", "age")
    assert table.rows.tolist() == EXPECTED
    assert table.ids.to_pylist() == ["007", "7", "a b"]
    found = [words] if words else []
    assert table.written == ", ".join(found + ["UTF-16"] * (encoding == "utf-16"))


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        ("age, years;bmi\n1,5;2,5\n3,5;4\n", ("age, years", "bmi"), [[1.5, 2.5], [3.5, 4.0]]),
        ('"a;b",c\n1,2\n', ("a;b", "c"), [[1.0, 2.0]]),
        ("x\n1\n2\n", ("x",), [[1.0], [2.0]]),
        ("a;b\n", ("a", "b"), []),
        ("a;b\n1,5;2\n", ("a", "b"), [[1.5, 2.0]]),
        ("a\tb\r\n1\t2\r\n", ("a", "b"), [[1.0, 2.0]]),
    ],
)
def test_separators_that_stand_in_names_or_numbers_too(written, content, columns, rows):
    table = read_table(written("a.csv", content))
    assert (table.columns, table.rows.tolist()) == (columns, rows)


CODES = "patient,age\n000031,5\n31,7\n"
NUMBERED = "case,age\n" + "".join(f"{7 + at * 7 % 12},{at % 3}\n" for at in range(12))


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [(CODES, "patient", "leading zeros"), (NUMBERED, "case", "whole numbers one after the other")],
)
def test_a_column_that_looks_like_an_identifier_is_clustered_only_if_it_is_named(written, content, name, why):
    path = written("a.csv", content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert str(caught.value) == (
        f"{path}: column {name!r} looks like an identifier ({why}); --id or --drop it, or name all columns "
        "with --columns"
    )
    assert read_table(path, columns=[name, "age"]).columns == (name, "age")
    assert read_table(path, id_column=name).columns == ("age",)
    assert read_table(path, drop=[name]).columns == ("age",)


@pytest.mark.parametrize(
    "content",
    [
        "case,age\n" + "".join(f"{at},{at % 3}\n" for at in range(9)),  # by chance
        "case,age\n" + "".join(f"{2 * at},{at % 3}\n" for at in range(30)),
        "case,age\n" + "".join(f"{max(1, at)},{at % 3}\n" for at in range(30)),
        "case,age\n0,0.5\n0,00.5\n",
    ],
)
def test_other_whole_numbers_are_values(written, content):
    assert read_table(written("a.csv", content)).columns == ("case", "age")


def test_a_head_that_ends_within_a_line(written):
    wide = ";".join(f"column {at}" for at in range(40))
    line = ";".join(["12345,5"] * 40)
    table = read_table(written("a.csv", "\n".join([wide, *[line] * 500]) + "\n"))
    assert table.rows.shape == (500, 40)
    assert np.all(table.rows == 12345.5)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        # With decimal commas a point stands between thousands: such a number is read by nobody.
        ("a;b\n1,5;1.234\n2,5;3\n", "column 'b' is not numeric (string): decimal points, where another"),
        ("a;b\n1,5;x\n1.5;y\n", "column 'a' is not numeric (string): 1 of 2 values are no numbers"),
        ("a;b\n1,5;2\n;3\n", "column 'a' has 1 missing values, the first in row 1"),
        ("a;b\n1;2;3\n", "not a readable .csv file: line 2 has 3 values, the header 2"),
        ('a,b\n"1,5",2\n', "column 'a' is not numeric (string): decimal commas"),
    ],
)
def test_what_cannot_be_read_is_refused_and_no_value_shown(written, content, words):
    with pytest.raises(DataError) as caught:
        read_table(written("a.csv", content))
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz"])
@pytest.mark.parametrize("broken", ["not one", "damaged", "cut"])
def test_a_compressed_file_that_is_broken(tmp_path, name, broken):
    whole = gzip.compress(b"a,b\n1,2\n" * 99)
    path = tmp_path / name
    path.write_bytes({"not one": b"a,b\n1,2\n", "damaged": whole[:12] + b"secret", "cut": whole[:-9]}[broken])
    with pytest.raises(DataError, match=rf"not a readable {kind_of(path)} file"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16-le"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_another_encoding_is_refused(written, encoding, separator):
    with pytest.raises(DataError, match="it is not UTF-8 text; save it as UTF-8"):
        read_table(written("a.csv", text(separator), encoding))


@pytest.mark.parametrize(
    ("name", "kind", "stem"),
    [
        ("a.csv", ".csv", "a"),
        ("a.b.TSV.gz", ".tsv.gz", "a.b"),
        ("a.gz", ".gz", "a"),
        ("a", "", "a"),
        ("a.parquet", ".parquet", "a"),
    ],
)
def test_endings(name, kind, stem):
    assert (kind_of(Path(name)), stem_of(Path(name))) == (kind, stem)


def test_parties_are_called_by_names_without_endings():
    assert party_names([Path("north.csv.gz"), Path("south.tsv"), Path("x.csv"), Path("x.tsv")]) == [
        "north",
        "south",
        "x-3",
        "x-4",
    ]


def test_numbers_of_a_schema_have_the_decimal_mark_of_their_file(written):
    schema = Schema(
        columns=(
            Column(name="größe", unit="m", low=-1, high=3000),
            Column(name="age", unit="years", low=0, high=120),
        )
    )
    path = written("a.csv", text(";", ","))
    done = checked(read(path, schema, as_text=["id"]), schema, name="a.csv", others=["id"])
    assert np.column_stack([done.numbers["größe"], done.numbers["age"]]).tolist() == EXPECTED
    path = written("a.csv", text(";", ",").replace("12\n", "1.234\n"))
    with pytest.raises(DataError, match="column 'age' is not numeric: it has 1 values that are no numbers"):
        checked(read(path, schema, as_text=["id"]), schema, name="a.csv", others=["id"])


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ",")])
def test_a_query_reads_a_file_as_it_is_read_without(written, name, separator, decimal):
    pytest.importorskip("duckdb")
    path = written(name, text(separator, decimal))
    asked = Query(origin=Origin.of(str(path)), query='SELECT "größe", age FROM data', name="")
    table = read_table(asked)
    assert (table.columns, table.rows.tolist()) == (("größe", "age"), EXPECTED)
    assert asked.stem == "a"


def test_labels_are_written_as_ever(written, tmp_path):
    table = read_table(written("a.csv", text(";", ",")), id_column="id")
    write_labels(tmp_path / "labels.csv", table, np.array([1, 0, 1], dtype=np.int32))
    expected = '"id","label"\n"007",1\n"7",0\n"a b",1\n'
    assert (tmp_path / "labels.csv").read_text(encoding="utf-8") == expected
