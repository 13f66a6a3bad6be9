"""Columns of several parties are matched by name, in one normal form and any order."""

import gzip
import unicodedata

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import secfc
from secfc.prepare.tables import as_table
from secfc.tables.column_names import left_out, normal
from secfc.tables.parties import as_parties
from secfc.tables.reading import load_table, read_table, read_tables
from secfc.tables.sources.query import Origin, Query

NAMES = ("Größe", "dose", "blood pressure")
WRITTEN = (unicodedata.normalize("NFD", "Größe"), " dose ", "blood\u00a0 pressure")
"""The same names: decomposed, with spaces around them, with another kind of space."""

rng = np.random.default_rng(0)
ROWS = [rng.normal(size=(12, 3)).round(6) for _ in range(3)]  # a sheet has 15 digits


def frames(make=pd.DataFrame):
    """The rows as three frames: unchanged, in another order, with other spellings and one more column."""
    first, second, third = (dict(zip(NAMES, rows.T, strict=True)) for rows in ROWS)
    second = {name: second[name] for name in reversed(NAMES)}
    third = {"note": np.zeros(12)} | dict(zip(WRITTEN, third.values(), strict=True))
    return [make(one) for one in (first, second, third)]


def test_spellings_of_a_name_have_one_form():
    assert {normal(one) for one in WRITTEN} == set(NAMES)
    assert normal("\ufeffage") == "age"
    assert normal("m²") != normal("m2")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_are_matched_by_name_and_what_the_first_lacks_is_left_out_and_said(make):
    with pytest.warns(
        secfc.ColumnWarning, match=r"^columns that parties\[0\] lacks are left out: 'note' \(parties\[2\]\)$"
    ):
        members = as_parties(frames(make))
    for member, rows in zip(members, ROWS, strict=True):
        np.testing.assert_array_equal(member.rows, rows)
        assert member.columns == NAMES


@pytest.mark.filterwarnings("ignore::secfc.ColumnWarning")
def test_a_model_knows_its_columns_by_name():
    limits = secfc.Limits(reveal_centres=True)
    options = {"t": 1, "ell": 1, "random_state": 1, "reveal": secfc.Reveal(centres="all"), "limits": limits}
    model = secfc.SecureKMeans(2, **options).fit(frames())
    assert tuple(model.feature_names_in_) == NAMES
    expected = model.predict(ROWS[1])
    for one in frames():
        assert model.predict(one).size == 12
    np.testing.assert_array_equal(model.predict(frames()[1]), expected)
    with pytest.raises(secfc.DataError, match=r"^X: no column 'dose', the fit has it$"):
        model.predict(frames()[0].drop(columns="dose"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_files_are_matched_by_name(tmp_path, kind):
    paths = [tmp_path / f"{at}.{kind}" for at in range(3)]
    for path, frame in zip(paths, frames(), strict=True):
        write = {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[kind]
        write(path, index=False)
    with pytest.warns(secfc.ColumnWarning, match=r"0\.\w+ lacks are left out: 'note' \(.*2\.\w+\)$"):
        tables = read_tables(paths)
    for table, rows in zip(tables, ROWS, strict=True):
        np.testing.assert_array_equal(table.rows, rows)
    chosen = read_tables(paths, columns=[WRITTEN[2], "dose"], drop=[WRITTEN[0]])
    np.testing.assert_array_equal(chosen[2].rows, ROWS[2][:, [2, 1]])


def test_identifiers_stay_as_they_are_under_a_name_that_is_spelt_otherwise(tmp_path):
    (tmp_path / "a.csv").write_text(" patient ,x\n007,1.5\n08,2.5\n")
    assert load_table(tmp_path / "a.csv", as_text=["patient"]).column("patient").to_pylist() == ["007", "08"]


def test_what_is_missing_is_told_with_what_is_there_instead():
    parties = [("a", ["age", "dose"]), ("b", ["age", "dosis", "note"])]
    with pytest.raises(secfc.DataError) as caught:
        left_out(parties)
    assert str(caught.value) == "b: no column 'dose', a has it; it has 'dosis', 'note', which a lacks"
    assert left_out([("a", ["age"]), ("b", ["age"])]) == ""


def test_names_that_look_alike_are_told_apart():
    cyrillic = "d\u043ese"
    with pytest.raises(secfc.DataError) as caught:
        left_out([("a", ["dose"]), ("b", [cyrillic])])
    assert str(caught.value) == (
        f"b: no column 'dose', a has it; it has '{cyrillic}' ('d\\u043ese'), which a lacks"
    )


def test_two_columns_whose_names_differ_in_spelling_alone_are_refused():
    frame = pd.DataFrame({"age": [1.0], "age ": [2.0]})
    with pytest.raises(secfc.DataError, match=r"^parties\[0\]: two columns have the name 'age'$"):
        secfc.run([frame] * 3, 1, 1, 1)


@pytest.mark.parametrize("second", ["age", " age"])
def test_a_column_that_is_chosen_twice_is_refused(tmp_path, second):
    (tmp_path / "a.csv").write_text("age,dose\n1,2\n")
    with pytest.raises(secfc.DataError, match=r"a\.csv: column 'age' is chosen twice$"):
        read_tables([tmp_path / "a.csv"], columns=["age", second])


@pytest.mark.parametrize("names", [[0, 1, 0, 1], [0, "0", 1, 2]])
def test_two_columns_without_names_that_are_called_alike_are_refused(names):
    frame = pd.DataFrame([[1.0, 2.0, 3.0, 4.0]], columns=names)
    with pytest.raises(secfc.DataError, match=r"^parties\[0\]: two columns have the name '0'$"):
        secfc.run([frame] * 3, 1, 1, 1)


@pytest.mark.parametrize("line", ["5.1,3.5,1.4", "31,7,2", "000031;5,25;f", "-1,0,x,1.5", "7,7"])
def test_a_first_row_is_never_shown_as_a_header(tmp_path, line):
    (tmp_path / "a.csv").write_text(f"{line}\n{line}\n")
    with pytest.raises(secfc.DataError) as caught:
        read_tables([tmp_path / "a.csv"], columns=["age"])
    text = "its first line has numbers where names of columns are expected; a header is needed"
    assert str(caught.value) == f"{tmp_path / 'a.csv'}: {text}"


HEADERLESS = {
    "texts": ["Anna,Berlin", "Bob,Rome"],
    "one whole number": ["Anna,Berlin,42", "Bob,Rome,43"],
    "a missing number": ["Anna,NA,unknown", "Bob,2,4"],
    "no number": ["Anna,?,-", "Bob,2,4"],
    "one odd number": ["Anna,Berlin,pending", "Bob,Rome,4"],
    "the same twice": ["Anna,Anna,1", "Bob,Rome,4"],
    "two odd numbers": ["Anna,pending,pending", "Bob,2,4"],
}
VALUES = ("Anna", "Berlin", "Bob", "Rome", "pending", "unknown", "42")


@pytest.mark.some(8)
@pytest.mark.parametrize("lines", HEADERLESS.values(), ids=HEADERLESS)
@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "xlsx", "query"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"columns": ["age"]},
        {"columns": ["9"]},
        {"drop": ["age"]},
        {"id_column": "age"},
        {"drop": ["42"], "columns": ["Ann"]},
    ],
    ids=str,
)
def test_no_error_shows_a_first_row_as_names(tmp_path, lines, kind, given):
    paths = [tmp_path / f"{name}.{'csv' if kind == 'query' else kind}" for name in "ab"]
    other = [line.replace("Anna", "Rome") for line in reversed(lines)]
    for path, rows in zip(paths, (lines, other), strict=True):
        values = [[int(one) if one.isdigit() else one for one in row.split(",")] for row in rows]
        if kind == "xlsx":
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append(row.split(","))
            for at, row in enumerate(values[1:], start=2):
                for column, value in enumerate(row, start=1):
                    book.active.cell(at, column, value)
            book.save(path)
            continue
        text = "".join(line.replace(",", "\t" if kind == "tsv" else ",") + "\n" for line in rows)
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode())
    if kind == "query":
        pytest.importorskip("duckdb")
        paths = [Query(origin=Origin.of(str(one)), query="SELECT * FROM data", name="") for one in paths]
    for read in (lambda: read_tables(paths, **given), lambda: read_table(paths[0], **given)):
        with pytest.raises(secfc.DataError) as caught:
            read()
        told = str(caught.value).replace(str(tmp_path), "")
        asked = [one for names in given.values() for one in ([names] if isinstance(names, str) else names)]
        assert not [one for one in VALUES if one in told and one not in asked]


def test_columns_that_may_have_no_names_are_told_by_place(tmp_path):
    for name, text in (("a", "Anna,3\nBob,4\n"), ("b", "Anna,Rome,3\nBob,Rome,4\n"), ("c", "Eve,3\nBob,4\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    a, b, c = (tmp_path / f"{name}.csv" for name in "abc")
    with pytest.raises(secfc.DataError) as caught:
        read_table(a)
    assert (
        str(caught.value)
        == f"{a}: column 1 is not numeric (string); leave it out (--drop, --id) or encode it"
    )
    with pytest.raises(secfc.DataError) as caught:
        read_table(a, columns=["age"])
    assert str(caught.value) == (
        f"{a}: no column 'age'; it has 2 columns, and a first line that may be no header"
    )
    with pytest.raises(secfc.DataError) as caught:
        read_tables([a, c])
    assert str(caught.value) == (
        f"{c}: 1 of the 2 names that the first line of {a} has are not in its first line; a header is needed "
        "in both; --drop leaves columns out"
    )
    with (
        pytest.warns(secfc.ColumnWarning, match=r"a\.csv lacks are left out: 1 \(.*b\.csv\)$"),
        pytest.raises(secfc.DataError, match="column 1 is not numeric"),
    ):
        read_tables([a, b])


@pytest.mark.parametrize(
    ("text", "given", "told"),
    [
        ("city,age,bmi\nRome,1,2\n", {}, "column 'city' is not numeric"),  # words above numbers
        (
            "city,age\nRome,1\n",
            {"id_column": "city", "columns": ["agee"]},
            "no column 'agee'; it has city, age",
        ),
        ("city,age\nRome,1\n", {"columns": ["city", "age"]}, "column 'city' is not numeric"),
    ],
)
def test_names_of_a_header_are_shown(tmp_path, text, given, told):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(secfc.DataError, match=told):
        read_table(tmp_path / "a.csv", **given)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        (
            "SELECT *, 'north' AS site FROM data",
            "column 1",
        ),  # the text and the word are not columns of the file
        ("SELECT *, 'north' site FROM data", "column 1"),
        ("SELECT *, 5 AS site FROM data", "column 1"),
        ("SELECT * FROM data WHERE 'north' = 'north'", "column 1"),
        ("SELECT * FROM data WHERE north = 'south'", "column 'north'"),
    ],
)
def test_a_constant_in_a_query_makes_no_first_line_a_header(tmp_path, query, place):
    (tmp_path / "a.csv").write_text("north,5,Smith\nsouth,6,Jones\n")
    with pytest.raises(secfc.DataError, match=f"{place} is not numeric"):
        read_table(Query(origin=Origin.of(str(tmp_path / "a.csv")), query=query, name=""))


def test_tables_with_names_of_their_own_have_them_shown(tmp_path):
    pyarrow.parquet.write_table(pa.table({"city": ["Rome"]}), tmp_path / "a.parquet")
    with pytest.raises(secfc.DataError, match="column 'city' is not numeric"):
        read_table(tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", np.full((1, 2), np.nan))
    with pytest.raises(secfc.DataError, match="column '0' has 1 NaN"):
        read_table(tmp_path / "a.npy")


@pytest.mark.parametrize("line", ["0,1,2", "patient,2019,2020,2021", "age,nan,inf", "x1,x2"])
def test_numbers_that_follow_one_another_are_names(tmp_path, line):
    (tmp_path / "a.csv").write_text(f"{line}\n{','.join('5' * (line.count(',') + 1))}\n")
    assert load_table(tmp_path / "a.csv").column_names == line.split(",")


def test_arrays_of_other_widths_are_refused_in_files_too(tmp_path):
    for name, width in (("a", 2), ("b", 3)):
        np.save(tmp_path / f"{name}.npy", np.ones((4, width)))
    with pytest.raises(secfc.DataError, match=r"b\.npy: 3 columns, .*a\.npy has 2$"):
        read_tables([tmp_path / "a.npy", tmp_path / "b.npy"])


def test_tables_to_prepare_have_names_in_normal_form():
    table = as_table({name: [1.0] for name in WRITTEN}, "north")
    assert table.column_names == list(NAMES)
    assert as_table(table.rename_columns(WRITTEN), "north").column_names == list(NAMES)
