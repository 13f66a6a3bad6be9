"""Excel workbooks: values of one sheet with names in its first line."""

from datetime import date

import pytest

from secfc.errors import DataError
from secfc.tables.reading import read_table

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def sheet(tmp_path):
    def write(lines, name="a.xlsx", more=0):
        book = openpyxl.Workbook()
        for line in lines:
            book.active.append(line)
        for _ in range(more):
            book.create_sheet()
        book.save(tmp_path / name)
        return tmp_path / name

    return write


def test_numbers_and_ids_are_read_as_they_are(sheet):
    lines = [["id", "age", "dose", "note"], ["007", 61, 1.5, "x"], ["8", 70, 2, 3], ["9", 12, -0.25, None]]
    table = read_table(sheet(lines), drop=["note"], id_column="id")
    assert (table.columns, table.rows.tolist()) == (
        ("age", "dose"),
        [[61.0, 1.5], [70.0, 2.0], [12.0, -0.25]],
    )
    assert table.ids.to_pylist() == ["007", "8", "9"]


def test_empty_cells_behind_the_data_are_no_rows_and_no_columns(sheet):
    path = sheet([["a", "b", None], [1, 2, None], [3, 4, None], [None, None, None]])
    assert read_table(path).rows.tolist() == [[1, 2], [3, 4]]


def test_names_alone_are_a_table_without_rows(sheet):
    assert read_table(sheet([["a", "b"]])).rows.shape == (0, 2)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([["a"], [1], [None], [2]], "column 1 has 1 missing values, the first in row 1"),
        ([["a"], [1], ["secret"]], "column 1 is not numeric (string): 1 of 2 values are no numbers"),
        ([["a"], [date(2020, 1, 1)]], "column 1 is not numeric"),
        ([["a", None, "b"], [1, 2, 3]], "the first line has no name, as text, for column 2"),
        ([[1, 2], [3, 4]], "the first line has no name, as text, for column 1"),
        ([], "the first line has no name, as text, for column 1"),
        ([["a", "a"], [1, 2]], "two columns have one name"),
        ([["secret", "5.1"], ["x", "4.2"]], "its first line has numbers where names of columns are expected"),
    ],
)
def test_what_cannot_be_clustered_is_refused_and_no_value_shown(sheet, lines, words):
    with pytest.raises(DataError) as caught:
        read_table(sheet(lines))
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_one_sheet_is_needed(sheet):
    with pytest.raises(DataError, match="3 sheets, one is needed"):
        read_table(sheet([["a"], [1]], more=2))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"a,b\n1,2\n"])
def test_what_is_no_workbook_is_refused(tmp_path, data):
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"not a readable \.xlsx file"):
        read_table(path)
