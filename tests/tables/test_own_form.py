"""Site files: other names, units, dates and texts give the rows that pandas makes of them, or one error."""

import datetime
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app
from secfc.errors import ColumnWarning, DataError, ParameterError
from secfc.prepare import Schema, read_rows
from secfc.prepare.draft import draft_schema
from secfc.prepare.prepared_files import check_files, prepare_files
from secfc.tables.reading import load_table, read_table
from secfc.tables.site_rows import given_input
from secfc.tables.sources.own_form import OwnForm
from secfc.tables.sources.text_format import FOUND, TextFormat

SCHEMA = Schema.of(
    {
        "column": [
            {"name": "creatinine", "unit": "µmol/l", "low": 0, "high": 2000, "missing": "mean"},
            {"name": "sex", "categories": ["f", "m"], "drop": "first", "missing": "mode"},
            {"name": "admitted", "low": datetime.date(2020, 1, 1), "high": datetime.date(2026, 12, 31)},
            {"name": "ventilated", "low": 0, "high": 1},
        ]
    }
)
_RNG = np.random.default_rng(3)
SITE = """\
[data]
path = "south.csv"
na = ["?", "-9", "Unbekannt"]

[data.columns]
creatinine = "Kreatinin"
sex = "Geschlecht"
admitted = "Aufnahme"

[data.factors]
creatinine = 88.42

[data.values.sex]
w = "f"

[data.values.ventilated]
ja = "1"
nein = "0"

[data.dates]
admitted = "%d.%m.%Y"
"""


def agreed(rows):
    """Rows in the agreed form. One creatinine and one sex are missing."""
    days = pd.to_datetime("2021-03-01") + pd.to_timedelta(_RNG.integers(0, 900, rows), unit="D")
    frame = pd.DataFrame(
        {
            "patient": [f"p{at}" for at in range(rows)],
            "creatinine": _RNG.integers(40, 300, rows) / 100 * 88.42,
            "sex": _RNG.choice(["f", "m"], rows),
            "admitted": days.strftime("%Y-%m-%d"),
            "ventilated": _RNG.integers(0, 2, rows),
        }
    )
    frame.loc[1, "creatinine"] = np.nan
    frame.loc[2, "sex"] = None
    return frame


@pytest.fixture
def folder(tmp_path):
    """Files of three parties; south.csv is that of `south-agreed.csv` in its own form."""
    for name in ("north", "west"):
        agreed(12).to_csv(tmp_path / f"{name}.csv", index=False)
    given = agreed(15)
    own = pd.DataFrame(
        {
            "patient": given["patient"],
            "Kreatinin": [("?" if np.isnan(one) else f"{one / 88.42:.2f}") for one in given["creatinine"]],
            "Geschlecht": [{"f": "w", "m": "m"}.get(one, "unbekannt") for one in given["sex"]],
            "Aufnahme": pd.to_datetime(given["admitted"]).dt.strftime("%d.%m.%Y"),
            "ventilated": np.where(given["ventilated"], "ja", "nein"),
            "sex": "displaced",
        }
    )
    given["creatinine"] = [
        np.nan if one == "?" else float(Fraction(one) * Fraction("88.42")) for one in own["Kreatinin"]
    ]
    given.to_csv(tmp_path / "agreed.csv", index=False)
    own.to_csv(tmp_path / "south.csv", index=False)
    (tmp_path / "south.toml").write_text(SITE)
    return tmp_path


def inputs(folder, south="south.toml"):
    return [given_input(folder / name, FOUND) for name in ("north.csv", south, "west.csv")]


def test_python_reads_rows_as_commands_do(folder):
    north, west, *south = (
        read_rows(str(folder / name), SCHEMA)
        for name in ("north.csv", "west.csv", "south.toml", "agreed.csv")
    )
    with pytest.warns(ColumnWarning, match="not in the schema"):
        own, alike = (secfc.Prepare(SCHEMA, t=1).fit_transform([north, one, west]) for one in south)
    np.testing.assert_array_equal(np.concatenate(own), np.concatenate(alike))
    numbers = [read_rows(folder / name).to_pandas()[["creatinine"]] for name in ("south.toml", "agreed.csv")]
    pd.testing.assert_frame_equal(*numbers)


def test_rows_are_prepared_as_those_in_the_agreed_form(folder):
    own = prepare_files(inputs(folder), SCHEMA, t=1, out=folder / "own", id_column="patient")
    alike = prepare_files(
        inputs(folder, "agreed.csv"), SCHEMA, t=1, out=folder / "alike", id_column="patient"
    )
    assert own.preparation == alike.preparation
    assert [path.name for path in own.files] == ["north.csv", "south.csv", "west.csv"]
    assert [one.read_bytes() for one in own.files] == [one.read_bytes() for one in alike.files]
    assert own.mended[1]["missing"] == {"creatinine": 1, "sex": 1}
    assert own.mended[1] == alike.mended[1]


def test_the_commands_take_site_files_for_files(folder):
    (folder / "schema.toml").write_text(
        '[[column]]\nname = "creatinine"\nlow = 0\nhigh = 2000\nscale = "standardise"\nmissing = "mean"\n'
    )
    files = [str(folder / name) for name in ("north.csv", "south.toml", "west.csv")]
    schema, ready = ["--schema", str(folder / "schema.toml")], folder / "ready"
    checked = CliRunner().invoke(app, ["prepare", files[1], *schema, "--id", "patient", "--check"])
    assert checked.exit_code == 0, checked.output
    assert f"{files[1]}: {folder / 'south.csv'}: 15 rows fit; 1 missing in 'creatinine'" in checked.stdout
    done = CliRunner().invoke(app, ["prepare", *files, *schema, "--t", "1", "--out", str(ready)])
    assert done.exit_code == 0, done.output
    pooled = pd.concat(pd.read_csv(folder / f"{name}.csv") for name in ("north", "agreed", "west"))
    found = pd.concat(pd.read_csv(ready / f"{name}.csv") for name in ("north", "south", "west"))
    column = pooled["creatinine"].fillna(pooled["creatinine"].mean())
    expected = (column - pooled["creatinine"].mean()) / pooled["creatinine"].std(ddof=0)
    np.testing.assert_allclose(found["creatinine"], expected, atol=1e-5)


def test_run_clusters_rows_in_their_own_form(tmp_path):
    frames = [pd.DataFrame({"a": _RNG.integers(0, 50, 9), "b": _RNG.integers(0, 2, 9)}) for _ in range(3)]
    for name, frame in zip(("north", "agreed", "west"), frames, strict=True):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    own = pd.DataFrame({"b": np.where(frames[1]["b"], "ja", "nein"), "A": frames[1]["a"] / 10})
    own.to_csv(tmp_path / "own.csv", index=False, sep=";", decimal=",")
    (tmp_path / "agreed.toml").write_text(
        '[data]\npath = "own.csv"\ncolumns.a = "A"\nfactors.a = 10\nvalues.b = {ja = "1", nein = "0"}\n'
    )
    labels = []
    for south in ("agreed.csv", "agreed.toml"):
        files = [str(tmp_path / name) for name in ("north.csv", south, "west.csv")]
        out = tmp_path / f"of-{south}"
        options = ["-k", "2", "--t", "1", "--ell", "1", "--seed", "1", "--driver", "in-process", "--quiet"]
        done = CliRunner().invoke(app, ["run", *files, *options, "--out", str(out)])
        assert done.exit_code == 0, done.output
        labels.append([(out / f"{name}.labels.csv").read_text() for name in ("north", "agreed", "west")])
    assert labels[0] == labels[1]


@pytest.mark.parametrize("factor", [10, 0.1, 88.42, 0.0113, 1e-9, 1 / 3])
def test_products_are_those_of_the_decimal_numbers_rounded_once(tmp_path, factor):
    texts = [f"{one:.3f}" for one in _RNG.uniform(-100, 100, 50)] + ["0.1", "1.1", "7", "123456789.123456789"]
    rows = OwnForm(rows=tmp_path / "a.csv", factors={"a": factor})
    exact = [float(Fraction(text) * Fraction(repr(factor))) for text in texts]
    (tmp_path / "a.csv").write_text("\n".join(["a", *texts, ""]))
    assert read_table(rows, columns=["a"]).rows[:-1, 0].tolist() == exact[:-1]
    as_text = load_table(rows, as_text=["a"]).column("a").to_pylist()
    assert [float(one) for one in as_text] == exact


def test_products_of_numbers_with_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,1;x\n-0,7;x\nNA;x\n")
    schema = Schema.of({"column": [{"name": "a", "low": -10, "high": 10, "missing": "mean"}]})
    source = OwnForm(rows=tmp_path / "a.csv", factors={"a": 1.1})
    ((_, rows),) = check_files([source], schema)
    np.testing.assert_array_equal(rows.numbers["a"], [1.21, -0.77, np.nan])
    (tmp_path / "a.csv").write_text("a;b\n1,1;x\n1.234;x\n")
    with pytest.raises(DataError, match="values that are no numbers, the first in row 1"):
        check_files([replace(source, given=TextFormat(decimal="comma"))], schema)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.0, -9.0, None]),
        pa.array([1, -9, None]),
        pa.array(["1", "-9.0", "NA"]),
        pa.array(["1", " ? ", ""]),
        pa.array(["1", "-9", None]).dictionary_encode(),
        pa.array([1, -9, None], type=pa.decimal128(5, 0)),
        pa.array([1.0, -9.0, None], type=pa.float32()),
    ],
)
def test_texts_that_mean_missing_are_missing_in_every_type(tmp_path, values):
    pyarrow.parquet.write_table(pa.table({"a": values}), tmp_path / "a.parquet")
    number = Schema.of({"column": [{"name": "a", "low": 0, "high": 5, "missing": "mean"}]})
    category = Schema.of({"column": [{"name": "a", "categories": ["1"], "missing": "category"}]})
    source = OwnForm(rows=tmp_path / "a.parquet", na=("?", "-9"))
    for schema in (number, category):
        ((_, rows),) = check_files([source], schema)
        assert rows.missing == {"a": 2}


def test_codes_and_truth_values_become_agreed_texts_in_every_type(tmp_path):
    schema = Schema.of({"column": [{"name": "a", "categories": ["no", "yes"]}]})
    for values, texts in (
        (pa.array([True, False]), {"True": "yes", "False": "no"}),
        (pa.array(["True", "False"]), {"True": "yes", "False": "no"}),
        (pa.array([1, 0]), {"1": "yes", "0": "no"}),
        (pa.array([1.0, 0.0]), {"1": "yes", "0": "no"}),
        (pa.array(["yes", " N "]), {"N": "no"}),
    ):
        pyarrow.parquet.write_table(pa.table({"a": values}), tmp_path / "a.parquet")
        ((_, rows),) = check_files([OwnForm(rows=tmp_path / "a.parquet", values={"a": texts})], schema)
        assert rows.categories["a"].tolist() == [1, 0]


def test_a_sheet_is_chosen_by_name(tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        pd.DataFrame({"note": [1, 2]}).to_excel(book, sheet_name="Legende", index=False)
        pd.DataFrame({"age": [40, 50]}).to_excel(book, sheet_name="2026", index=False)
    (tmp_path / "a.toml").write_text('[data]\npath = "a.xlsx"\nsheet = "2026"\n')
    assert read_table(given_input(tmp_path / "a.toml", FOUND)).rows.tolist() == [[40], [50]]
    for source, told in (
        (tmp_path / "a.xlsx", r"2 sheets, one is needed \(data\.sheet of a site file\)"),
        (OwnForm(rows=tmp_path / "a.xlsx", sheet="2025"), r"no sheet '2025', one is needed"),
    ):
        with pytest.raises(DataError, match=told):
            read_table(source)


def test_codes_with_leading_zeros_look_like_identifiers_under_another_name(tmp_path):
    (tmp_path / "a.csv").write_text("nr,age\n007,4\n012,5\n")
    with pytest.raises(DataError, match="column 'nr' looks like an identifier"):
        read_table(OwnForm(rows=tmp_path / "a.csv", columns={"patient": "nr"}))


def test_everything_wrong_is_told_by_party_file_column_and_row_without_a_value(folder):
    own = pd.read_csv(folder / "south.csv", dtype=str)
    own.loc[3, "Kreatinin"], own.loc[4, "Geschlecht"], own.loc[5, "Aufnahme"] = (
        "9,9 secret",
        "secret",
        "31.02.2024",
    )
    own.rename(columns={"ventilated": "beatmet"}).to_csv(folder / "south.csv", index=False)
    where = f"{folder / 'south.toml'}: {folder / 'south.csv'}"
    with pytest.raises(DataError) as caught:
        prepare_files(inputs(folder), SCHEMA, t=1, out=folder / "out")
    found = "patient, Kreatinin, Geschlecht, Aufnahme, beatmet"
    assert str(caught.value) == f"{where}: no column 'ventilated'; it has {found}"
    (folder / "south.toml").write_text(
        SITE.replace("[data.columns]", '[data.columns]\nventilated = "beatmet"')
    )
    with pytest.raises(DataError) as caught:
        prepare_files(inputs(folder), SCHEMA, t=1, out=folder / "out")
    assert str(caught.value) == (
        f"{where}: 3 errors\n"
        "  column 'Kreatinin' is not numeric: it has 1 values that are no numbers, the first in row 3\n"
        "  column 'Geschlecht' has 1 values outside the agreed categories, the first in row 4\n"
        "  column 'Aufnahme' has 1 values that are no dates as 1950-01-31, the first in row 5"
    )
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[data.columns]", "[data.colums]", "5: data.colums: unknown key; did you mean columns?"),
        ('path = "south.csv"', "", "1: data: either path, or path and query, or url and query, are needed"),
        ("[data]", 'party = "south"\n[data]', "1: party: unknown key (data are possible)"),
        ("[data]", '[data]\nid = "patient"', "2: data.id: unknown key"),
        ('"Geschlecht"', '"Aufnahme"', "5: data.columns: two columns are one column here"),
        ("88.42", "0", "11: data.factors.creatinine: Input should be greater than 0"),
        ("88.42", "inf", "11: data.factors.creatinine: Input should be less than"),
        ("88.42", "nan", "11: data.factors.creatinine: Input should be"),
        ("88.42", '"88.42"', "11: data.factors.creatinine: a number is needed"),
        ('"%d.%m.%Y"', '"DD.MM.YYYY"', "21: data.dates.admitted: a format such as %d.%m.%Y is needed"),
        ('"%d.%m.%Y"', '"%d.%m."', "21: data.dates.admitted: a format such as %d.%m.%Y is needed"),
        ('"%d.%m.%Y"', '"%a %d.%m."', "21: data.dates.admitted: a format such as %d.%m.%Y is needed"),
        ('"%d.%m.%Y"', '"%d.%d.%Y"', "21: data.dates.admitted: a format such as %d.%m.%Y is needed"),
        ('"?", "-9"', "-9", "3: data.na[1]: a text is needed"),
        ('ja = "1"', "ja = 1", "17: data.values.ventilated.ja: a text is needed"),
        ("na =", 'sheet = "2"\nna =', "3: data.sheet: only of an .xlsx file"),
        ("south.csv", 'south.xlsx"\nseparator = "tab', "3: data.separator: only of a text file"),
    ],
)
def test_what_is_wrong_in_a_site_file_is_told_by_line(folder, old, new, told):
    (folder / "south.toml").write_text(SITE.replace(old, new, 1))
    with pytest.raises(ParameterError) as caught:
        given_input(folder / "south.toml", FOUND)
    assert str(caught.value).startswith(f"{folder / 'south.toml'}:{told}")


@pytest.mark.parametrize("key", ["factors.age = 2", 'dates.age = "%d.%m.%Y"', 'values.age = {a = "b"}'])
def test_what_is_given_for_a_column_that_is_not_there_is_refused(folder, key):
    (folder / "south.toml").write_text(f'[data]\npath = "south.csv"\n{key}\n')
    text = r"south\.toml: .*south\.csv: no column 'age'; it has patient, Kreatinin, "
    with pytest.raises(DataError, match=text):
        load_table(given_input(folder / "south.toml", FOUND), named=["patient"])


def test_a_draft_leaves_out_outcomes_and_says_so(folder):
    done = CliRunner().invoke(
        app, ["prepare", "--draft", str(folder / "north.csv"), "--drop", "ventilated,sex"]
    )
    assert done.exit_code == 0, done.output
    assert '# "ventilated" is left out: it is not to be clustered (--drop)' in done.stdout
    assert 'name = "creatinine"' in done.stdout
    assert 'name = "ventilated"' not in done.stdout
    with pytest.raises(DataError, match="no column 'died'; it has patient, creatinine"):
        draft_schema(folder / "north.csv", drop=["died"])
    wrong = CliRunner().invoke(app, ["prepare", str(folder / "north.csv"), "--drop", "sex", "--check"])
    assert wrong.exit_code == 2
    assert "--drop: only with --draft" in wrong.output
