"""Text files: their format is detected or given, and unreadable content is refused."""

import codecs
import gzip
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

from secfc.cli.app import app
from secfc.errors import DataError, ParameterError
from secfc.prepare import Column, Schema
from secfc.prepare.tables import checked, read
from secfc.tables.reading import party_names, read_table, write_labels
from secfc.tables.sources.csv_file import kind_of, stem_of
from secfc.tables.sources.own_form import OwnForm
from secfc.tables.sources.query import Origin, Query
from secfc.tables.sources.text_format import Encoding, TextFormat

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


@pytest.mark.some(38)
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
NUMBERED = [
    "case,age\n" + "".join(f"{(7 + at * 7 % 12) * step / 10:g},{at % 3}\n" for at in range(12))
    for step in (10, 5, 1, 20, -5)
] + ["case,age\n" + "".join(f"{2**53 - at},{at % 3}\n" for at in range(12))]  # the largest exact integers


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        (CODES, "patient", "leading zeros"),
        *((content, "case", "numbers in equal steps, each once") for content in NUMBERED),
    ],
)
def test_a_column_that_looks_like_an_identifier_is_clustered_only_if_it_is_named(written, content, name, why):
    path = written("a.csv", content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert str(caught.value) == (
        f"{path}: column {name!r} looks like an identifier ({why}); give it to --id or --drop, or name "
        "all columns with --columns"
    )
    assert read_table(path, columns=[name, "age"]).columns == (name, "age")
    assert read_table(path, id_column=name).columns == ("age",)
    assert read_table(path, drop=[name]).columns == ("age",)


@pytest.mark.parametrize(
    "content",
    [
        "case,age\n" + "".join(f"{at},{at % 3}\n" for at in range(9)),  # by chance
        "case,age\n" + "".join(f"{at + (at > 20)},{at % 3}\n" for at in range(30)),
        "case,age\n" + "".join(f"{at / 2 + (at == 20) / 1000},{at % 3}\n" for at in range(30)),
        "case,age\n" + "".join(f"5.5,{at % 3}\n" for at in range(30)),
        "case,age\n" + "".join(f"{max(1, at)},{at % 3}\n" for at in range(30)),
        "case,age\n0,0.5\n0,00.5\n",
    ],
)
def test_other_numbers_are_values(written, content):
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
        # With decimal commas, a point would separate thousands. Such numbers are refused.
        ("a;b\n1,5;1.234\n2,5;3\n", "column 2 is not numeric (string): decimal points, where another"),
        ("a;b\n1,5;x\n1.5;y\n", "column 1 is not numeric (string): 1 of 2 values are no numbers"),
        ("a;b\n1,5;2\n;3\n", "column 'a' has 1 missing values, the first in row 1"),
        ("a;b\n1;2;3\n", "not a readable .csv file: line 2 has 3 values, the header 2"),
        ('a,b\n"1,5",2\n', "column 1 is not numeric (string): decimal commas"),
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


NOT_UTF_8 = (
    "not a readable .csv file: it is not UTF-8 text; save it as UTF-8, or give its encoding, such as "
    "windows-1252 (--encoding, in a site file data.encoding)"
)
LATER = "größe,note\n" + "1,x\n" * 99999 + "2,ß\n"
NAMELESS = "a,note\n1,x\n2,ß\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (text(","), "latin-1"),
        (text(";"), "latin-1"),
        (text(), "utf-16-le"),
        ("a,b\n1,2\n", "utf-16-le"),
        (NAMELESS, "windows-1252"),
    ],
)
@pytest.mark.parametrize("as_query", [False, True])
def test_another_encoding_is_refused_unless_it_is_given(written, content, encoding, as_query):
    path = written("a.csv", content, encoding)
    if as_query:
        pytest.importorskip("duckdb")
        path = Query(origin=Origin.of(str(path)), query="SELECT * FROM data", name="")
    with pytest.raises(DataError) as caught:
        read_table(path, drop=["note"])
    assert str(caught.value) == f"{path}: {NOT_UTF_8}"


LETTERS = {"windows-1251": "имя", "windows-1250": "wzróst", "iso-8859-2": "wzróst"}


@pytest.mark.some(4)  # each encoding once
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
@pytest.mark.parametrize("encoding", get_args(Encoding))
@pytest.mark.parametrize("as_query", [False, True])
def test_an_encoding_that_is_given_counts_where_none_is_found(written, name, encoding, as_query):
    column = LETTERS.get(encoding, "größe")
    content = f"id;{column};age\n{column};1,5;2\n7;2,5;3\n"
    given = TextFormat(encoding=encoding)
    for of_file in (encoding, "utf-8", "utf-8-sig", "utf-16"):
        path = written(name, content, of_file)
        if as_query:
            pytest.importorskip("duckdb")
            path = Query(origin=Origin.of(str(path)), query="SELECT * FROM data", name="", given=given)
        rows = path if isinstance(path, Query) else OwnForm(rows=path, given=given)
        table = read_table(rows, id_column="id")
        assert table.columns == (column, "age")
        assert table.rows.tolist() == [[1.5, 2.0], [2.5, 3.0]]
        assert table.ids.to_pylist() == [column, "7"]
        found = "" if of_file.startswith("utf-8") else f", {of_file.replace('utf-16', 'UTF-16')}"
        found = found.replace("UTF-16-le", "utf-16-le")
        assert as_query or table.written == f"semicolons between values, decimal commas{found}"


def test_a_file_that_is_utf_8_but_for_its_end(written):
    path = written("a.csv", LATER, "utf-8")
    path.write_bytes(path.read_bytes()[:-3] + "ß\n".encode("latin-1"))
    with pytest.raises(DataError, match="it is not UTF-8 text"):
        read_table(path, drop=["note"])
    # Its names were UTF-8, which is wrong in the other encoding.
    assert read_table(OwnForm(rows=path, given=TextFormat(encoding="iso-8859-1")), drop=["note"]).columns == (
        "grÃ¶Ã\x9fe",
    )


def test_bytes_that_the_given_encoding_has_no_letter_for(written):
    path = written("a.csv", "a,note\n1,\x81ß\n", "latin-1")
    with pytest.raises(DataError) as caught:
        read_table(OwnForm(rows=path, given=TextFormat(encoding="windows-1252")), drop=["note"])
    assert str(caught.value) == f"{path}: {NOT_UTF_8.replace('text;', 'text, and not windows-1252;')}"


def test_only_encodings_of_the_list_are_possible():
    for encoding in get_args(Encoding):
        assert codecs.lookup(encoding)
    for wrong in ({"encoding": "utf-7"}, {"encoding": "idna"}, {"separator": ";"}, {"decimal": "."}):
        with pytest.raises(ParameterError, match=rf"^{next(iter(wrong))}: .* are possible$"):
            TextFormat(**wrong)


@pytest.mark.parametrize(
    ("content", "given", "rows", "words"),
    [
        ('a,b\n"1,5",2\n', {"decimal": "comma"}, [[1.5, 2.0]], "decimal commas"),
        ("a;b\n1.5;2\n", {"decimal": "point"}, [[1.5, 2.0]], "semicolons between values"),
        ("a|b;c\n1|2\n", {"separator": "bar"}, [[1.0, 2.0]], "bars between values"),
        (
            "a;b\n1,5;2,5\n",
            {"separator": "semicolon", "decimal": "comma"},
            [[1.5, 2.5]],
            "semicolons between values, decimal commas",
        ),
    ],
)
def test_a_separator_and_a_decimal_mark_that_are_given(written, content, given, rows, words):
    table = read_table(OwnForm(rows=written("a.csv", content), given=TextFormat(**given)))
    assert (table.rows.tolist(), table.written) == (rows, words)


SCHEMA = """smallest = 1
[[column]]
name = "größe"
low = 0
high = 9
"""


@pytest.mark.parametrize("query", [False, True])
@pytest.mark.some(1)
def test_commands_take_an_encoding(written, tmp_path, query):
    lines = "größe;alter\n" + "".join(f"{at % 3};{at % 5},5\n" for at in range(12))
    encodings = {"a": "utf-8", "b": "windows-1252", "c": "windows-1252", "new": "windows-1252"}
    paths = {name: str(written(f"{name}.csv", lines, of)) for name, of in encodings.items()}
    parties = [paths[name] for name in "abc"]
    if query:
        pytest.importorskip("duckdb")
        parties = [one for path in parties for one in ("--from", path)] + ["--query", "SELECT * FROM data"]
    given = ["--encoding", "windows-1252", "--separator", "semicolon", "--decimal", "comma"]
    (tmp_path / "schema.toml").write_text(SCHEMA, encoding="utf-8")

    def called(command, *arguments):
        done = CliRunner().invoke(app, [command, *parties, *arguments, *given])
        assert done.exit_code == 0, done.output
        return done

    small = ["--t", "1", "--ell", "1", "--driver", "in-process", "--quiet"]
    called("run", "-k", "2", *small, "--out", str(tmp_path / "out"))
    new = ["--new", f"a={paths['new']}", "--consent", "all", "--run", str(tmp_path / "out")]
    called("predict", *new, "--driver", "in-process", "--quiet", "--out", str(tmp_path / "new"))
    if not query:
        called("choose-k", "--from", "2", "--to", "3", "--consent", "all", "--reveal-inertia", *small)
        done = CliRunner().invoke(app, ["run", *parties, "-k", "2", "--out", str(tmp_path / "none")])
        assert done.exit_code == 2
        assert "it is not UTF-8 text" in done.output
        parties = [paths["b"]]
        assert 'name = "größe"' in called("prepare", "--draft").output
    parties = parties if query else [paths[name] for name in "abc"]
    schema = str(tmp_path / "schema.toml")
    called("prepare", "--schema", schema, "--t", "1", "--out", str(tmp_path / "ready"))
    by = str(tmp_path / "ready" / "preparation.json")
    called("prepare", "--by", by, "--out", str(tmp_path / "again"))
    called("prepare", "--schema", schema, "--check")


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


def test_labels_are_written_as_ever(written, tmp_path):
    table = read_table(written("a.csv", text(";", ",")), id_column="id")
    write_labels(tmp_path / "labels.csv", table, np.array([1, 0, 1], dtype=np.int32))
    expected = '"id","label"\n"007",1\n"7",0\n"a b",1\n'
    assert (tmp_path / "labels.csv").read_text(encoding="utf-8") == expected
