"""A schema drafted from one file fits the file and reveals little about its rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from secfc.cli.app import app
from secfc.errors import DataError
from secfc.prepare import Schema
from secfc.prepare.draft import FEWEST_OF_A_CATEGORY, MOST_CATEGORIES, draft_schema
from secfc.prepare.prepared_files import check_files


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(1)
    rows = 60
    columns = {
        "patient": [f"p{at}" for at in range(rows)],
        "number": [f"{at:04d}" for at in range(rows)],
        "visit": [(at + 1) / 2 for at in range(rows)],
        "age": [*rng.integers(0, 98, rows - 1).tolist(), 98],
        "change": [*rng.uniform(-0.3, 0.04, rows - 1).tolist(), -0.3],
        "dose": [None if at < 3 else 7.5 for at in range(rows)],
        "smoker": ["never"] * 30 + ["former"] * 28 + ["rare"] * 2,
        "note": [None] * rows,
        "still": [0] * rows,
    }
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def read(text, tmp_path):
    (tmp_path / "schema.toml").write_text(text)
    return Schema.read(tmp_path / "schema.toml")


def test_ranges_are_rounded_outwards_and_identifiers_left_out(file, tmp_path):
    text = draft_schema(file)
    schema = read(text, tmp_path)
    found = {column.name: column for column in schema.columns}
    assert list(found) == ["age", "change", "dose", "smoker", "still"]
    assert found["age"].range == (0, 100)
    assert found["change"].range == (-0.5, 0.05)
    assert found["dose"].range == (0, 10)
    assert found["dose"].missing == "mean"
    assert found["still"].range == (0, 1)
    assert found["smoker"].categories == ("former", "never")
    for name in ("patient", "number", "visit", "note"):
        assert f'# "{name}" is left out: ' in text
    assert "98" not in text
    assert "rare" not in text.replace("rarer", "")


def test_rows_fit_their_draft_but_for_rare_texts(file, tmp_path):
    schema = read(draft_schema(file), tmp_path)
    with pytest.raises(DataError) as caught:
        check_files([file], schema)
    assert "column 'smoker' has 2 values outside the agreed categories" in str(caught.value)
    assert "errors" not in str(caught.value)


@pytest.mark.parametrize("value", [1e-12, 0.00099999, 0.001, 1, 1.0000001, 2, 3, 5, 9.99, 1e15, 3e200])
def test_a_range_has_the_value_and_one_digit(value, tmp_path):
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pa.table({"x": [value, -value]}), path)
    (column,) = read(draft_schema(path), tmp_path).columns
    low, high = column.range
    assert -low == high
    assert value <= high <= 2.5 * value
    assert f"{high:.0e}"[0] in "125"
    assert float(f"{high:.0e}") == high


def test_texts_of_many_kinds_and_rare_ones_are_no_categories(tmp_path):
    many = [f"t{at % (MOST_CATEGORIES + 1)}" for at in range(20 * MOST_CATEGORIES)]
    few = [f"t{at // (FEWEST_OF_A_CATEGORY - 1)}" for at in range(2 * (FEWEST_OF_A_CATEGORY - 1))]
    for texts, told in ((many, f"it has {MOST_CATEGORIES + 1} different texts"), (few, "fewer than 10 rows")):
        path = tmp_path / "x.parquet"
        pyarrow.parquet.write_table(pa.table({"x": texts, "y": [0.5] * len(texts)}), path)
        assert '# "x" is left out: ' in draft_schema(path)
        assert told in draft_schema(path)


def test_a_file_without_a_use_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("id\na\nb\n")
    with pytest.raises(DataError, match="no column of numbers, or of few texts"):
        draft_schema(tmp_path / "x.csv")
    pyarrow.parquet.write_table(pa.table({"x": [1.7e308]}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="no column of numbers"):
        draft_schema(tmp_path / "x.parquet")


def test_the_command_prints_it_and_takes_one_file(file):
    done = CliRunner().invoke(app, ["prepare", "--draft", str(file)])
    assert done.exit_code == 0
    assert done.output == draft_schema(file)
    done = CliRunner().invoke(app, ["prepare", "--draft", str(file), str(file.with_name("other.csv"))])
    assert done.exit_code == 2
    assert "--draft: one file is needed, 2 were given" in done.output
