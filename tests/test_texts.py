"""Texts mean the same from every source: index columns, missing values, numbers that float64 rounds."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from sqlalchemy import create_engine

import secfc
from secfc.errors import DataError
from secfc.prepare.draft import draft_schema
from secfc.prepare.schema import Column, Schema
from secfc.prepare.tables import as_table, checked, read
from secfc.tables.ids import row_ids as hashed
from secfc.tables.reading import read_table, row_ids
from secfc.tables.sources.query import Origin, Query
from secfc.tables.texts import MISSING, SPELLINGS

INDEX_NAMES = [
    *("Unnamed: 0", "Unnamed: 12", "Unnamed: 0.1", "Unnamed: 0_level_1", "__index_level_0__"),
    *("index", "level_0", "row_nr", "row_index", "...1", "rowname", "row.names", "row_names", "rn"),
    *("_c0", "__null_dask_index__", "rowid", "", " ", "\u200b", "\ufeff"),
]


def csv(folder: Path, frame: pd.DataFrame, **given: object) -> Path:
    path = folder / "north.csv"
    frame.to_csv(path, **given)
    return path


def parquet(folder: Path, columns: dict[str, object]) -> Path:
    path = folder / "north.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def sheet(folder: Path, columns: dict[str, list[float]]) -> Path:
    path, book = folder / "north.xlsx", openpyxl.Workbook()
    book.active.append(list(columns))
    for values in zip(*columns.values(), strict=True):
        book.active.append(values)
    book.save(path)
    return path


def sqlite(folder: Path, columns: dict[str, list[float]]) -> Query:
    path = folder / "north.db"
    engine = create_engine(f"sqlite:///{path}")
    pd.DataFrame(columns).to_sql("data", engine, index=False)
    engine.dispose()
    return Query(origin=Origin.of(f"sqlite:///{path}"), query="SELECT * FROM data", name="north")


def queried(path: Path) -> Query:
    return Query(origin=Origin.of(str(path)), query="SELECT * FROM data", name="north")


class TestIndexColumns:
    COLUMNS: ClassVar = {"age": [5.0, 3.0, 9.0], "bmi": [1.0, 8.0, 2.0]}

    @pytest.mark.parametrize("name", INDEX_NAMES)
    @pytest.mark.parametrize("source", ["csv", "parquet", "sheet", "frame", "polars"])
    def test_none_is_clustered_in_silence(self, tmp_path: Path, name: str, source: str) -> None:
        held = {name: [4.0, 7.0, 1.0], **self.COLUMNS}
        frame = pd.DataFrame(held)
        take = {
            "csv": lambda: read_table(csv(tmp_path, frame, index=False)),
            "parquet": lambda: read_table(parquet(tmp_path, held)),
            "sheet": lambda: read_table(sheet(tmp_path, held)),
            "frame": lambda: secfc.run([frame] * 3, 2, 1, 1),
            "polars": lambda: secfc.run([pl.DataFrame(held)] * 3, 2, 1, 1),
        }
        with pytest.raises(DataError, match=r"no name|is named as libraries name an index"):
            take[source]()

    @pytest.mark.parametrize("name", ["index", "level_0", "rn"])
    def test_none_of_a_database_is_clustered_in_silence(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(DataError, match="is named as libraries name an index"):
            read_table(sqlite(tmp_path, {name: [4.0, 7.0, 1.0], **self.COLUMNS}))

    def test_a_filtered_frame_that_was_written_with_its_index_is_refused(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"age": np.arange(40.0) % 7, "bmi": np.arange(40.0) % 5})
        kept = frame[frame.age > 2]
        with pytest.raises(DataError, match=r"north\.csv: column 1 has no name; give it to --id or --drop"):
            read_table(csv(tmp_path, kept))
        with pytest.raises(DataError, match=r"column 1 has no name|is named as libraries name an index"):
            read_table(queried(csv(tmp_path, kept)))
        kept.to_parquet(tmp_path / "kept.parquet")
        with pytest.raises(DataError, match="'__index_level_0__' is named as libraries name an index"):
            read_table(tmp_path / "kept.parquet")

    def test_one_that_the_user_chooses_or_drops_is_taken(self, tmp_path: Path) -> None:
        path = csv(tmp_path, pd.DataFrame(self.COLUMNS).rename_axis("index"))
        assert read_table(path, columns=["index", "age"]).columns == ("index", "age")
        assert read_table(path, drop=["index"]).columns == ("age", "bmi")
        assert read_table(path, id_column="index").columns == ("age", "bmi")

    @pytest.mark.parametrize("missing", [None, float("nan")])
    def test_a_frame_with_a_column_without_a_name_is_refused(self, missing: object) -> None:
        frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["age", missing])
        with pytest.raises(DataError, match="column 2 has no name"):
            secfc.run([frame] * 3, 2, 1, 1)

    def test_a_frame_with_an_index_among_columns_of_several_levels_is_refused(self) -> None:
        frame = pd.DataFrame(self.COLUMNS)
        frame.columns = pd.MultiIndex.from_product([frame.columns, ["mean"]])
        assert secfc.run([frame] * 3, 2, 1, 1, init="random", seed=0).labels
        with pytest.raises(DataError, match="column 'index' is named as libraries name an index"):
            secfc.run([frame.reset_index()] * 3, 2, 1, 1)

    def test_an_index_that_pandas_wrote_to_parquet_is_refused_whatever_its_name(self, tmp_path: Path) -> None:
        frame = pd.DataFrame(self.COLUMNS, index=pd.Index([4, 7, 1], name="patient"))
        path = tmp_path / "north.parquet"
        frame.to_parquet(path)
        with pytest.raises(DataError, match=r"north\.parquet: column 'patient' is the index of a DataFrame"):
            read_table(path)
        assert read_table(path, id_column="patient").columns == ("age", "bmi")
        assert read_table(path, columns=["patient"]).columns == ("patient",)
        pd.DataFrame(self.COLUMNS).to_parquet(path)
        assert read_table(path).columns == ("age", "bmi")

    @pytest.mark.parametrize("given", [b"{", b"[]", b"\xff", b'{"index_columns": 5}', b'"x"'])
    def test_metadata_that_pandas_did_not_write_are_no_error(self, tmp_path: Path, given: bytes) -> None:
        path = tmp_path / "north.parquet"
        pyarrow.parquet.write_table(
            pa.table({"age": [1.0]}).replace_schema_metadata({b"pandas": given}), path
        )
        assert read_table(path).columns == ("age",)

    def test_columns_of_measurements_are_taken(self, tmp_path: Path) -> None:
        held = {name: [4.0, 7.0, 1.0] for name in ("X", "x1", "body mass index", "level", "c0", "number")}
        assert read_table(csv(tmp_path, pd.DataFrame(held), index=False)).columns == tuple(held)

    def test_a_draft_leaves_them_out(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"age": np.arange(40.0) % 7, "bmi": np.arange(40.0) % 5})
        drafted = draft_schema(csv(tmp_path, frame[frame.age > 2]))
        assert '# "" is left out: it has no name, or that of an index' in drafted
        assert 'name = ""' not in drafted


class TestExactNumbers:
    """Whole numbers beyond 2^53 are one error from every source."""

    LARGE: ClassVar = [2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 10**20 + 1, -(2**53) - 1, -(10**25)]
    TEXT = r"exact numbers beyond 2\^53"

    @pytest.mark.parametrize("whole", LARGE)
    @pytest.mark.parametrize("other", ["3", "0.5"])
    def test_in_text_files(self, tmp_path: Path, whole: int, other: str) -> None:
        path = tmp_path / "north.csv"
        path.write_text(f"age,bmi\n1,{whole}\n2,{other}\n")
        with pytest.raises(
            DataError, match=rf"north\.csv: column 'bmi' has 1 {self.TEXT}, the first in row 0"
        ):
            read_table(path)
        schema = Schema(columns=(Column(name="bmi", low=-1e30, high=1e30),))
        with pytest.raises(DataError, match=rf"column 'bmi' has 1 {self.TEXT}"):
            checked(read(path, schema), schema, name="north")

    @pytest.mark.parametrize("whole", [2**53 + 1, 2**63 - 1, 10**20 + 1, 10**45])
    @pytest.mark.parametrize("other", ["3", "0.5"])
    def test_in_queries_of_text_files(self, tmp_path: Path, whole: int, other: str) -> None:
        path = tmp_path / "north.csv"
        path.write_text(f"age, bm'i \n1,{whole}\n2,{other}\n")
        with pytest.raises(DataError, match=self.TEXT):
            read_table(queried(path))

    @pytest.mark.parametrize("take", [lambda path: path, queried], ids=["file", "query"])
    def test_beside_decimal_commas(self, tmp_path: Path, take: Callable[[Path], Path | Query]) -> None:
        path = tmp_path / "north.csv"
        path.write_text(f"age;bmi\n1,5;{2**53 + 1}\n2,5;3,5\n")
        with pytest.raises(DataError, match=self.TEXT):
            read_table(take(path))

    @pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
    def test_in_columns_that_are_not_clustered_they_are_taken(self, tmp_path: Path, ending: str) -> None:
        path = tmp_path / f"north{ending}"
        pd.DataFrame({"age": [1, 2], "bmi": [2, 3], "mrn": [10**19 + 1, 10**20 + 3]}).to_csv(
            path, index=False
        )
        for given in ({"drop": ["mrn"]}, {"columns": ["age", "bmi"]}, {"id_column": "mrn"}):
            assert read_table(path, **given).rows.tolist() == [[1.0, 2.0], [2.0, 3.0]]
        query = Query(origin=Origin.of(str(path)), query="SELECT age, bmi FROM data", name="north")
        assert read_table(query).rows.tolist() == [[1.0, 2.0], [2.0, 3.0]]

    def test_the_first_line_is_not_shown_if_it_may_be_no_header(self, tmp_path: Path) -> None:
        path, whole = tmp_path / "north.csv", 10**19 + 1
        path.write_text(f"Miller,{whole}\nSmith,{whole + 1}\nJones,{whole + 2}\n")
        with pytest.raises(DataError, match=f"column 2 has 2 {self.TEXT}") as error:
            read_table(path)
        assert str(whole) not in str(error.value)

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([2**53 + 1, 3]),
            pa.array([2**64 - 1, 3], pa.uint64()),
            pa.array([Decimal(2**53 + 1), Decimal(3)], pa.decimal128(38)),
        ],
        ids=["int64", "uint64", "decimal"],
    )
    def test_in_parquet(self, tmp_path: Path, column: pa.Array) -> None:
        path = parquet(tmp_path, {"age": [1.0, 2.0], "bmi": column})
        with pytest.raises(DataError, match=self.TEXT):
            read_table(path)
        schema = Schema(columns=(Column(name="bmi", low=-1e30, high=1e30),))
        with pytest.raises(DataError, match=self.TEXT):
            checked(read(path, schema), schema, name="north")

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"bmi": [2**53 + 1, 3]}),
            pd.DataFrame({"bmi": np.array([2**64 - 1, 3], dtype=np.uint64)}),
            pd.DataFrame({"bmi": pd.array([2**53 + 1, 3], dtype="Int64")}),
            pl.DataFrame({"bmi": [2**53 + 1, 3]}),
            np.array([[2**53 + 1], [3]]),
            [[2**53 + 1], [3]],
        ],
        ids=["int64", "uint64", "Int64", "polars", "array", "list"],
    )
    def test_in_frames_and_arrays(self, frame: object) -> None:
        with pytest.raises(DataError, match=self.TEXT):
            secfc.run([frame] * 3, 2, 1, 1)

    def test_floats_and_numbers_up_to_there_are_taken(self, tmp_path: Path) -> None:
        path = tmp_path / "north.csv"
        path.write_text(f"age,bmi\n1e20,{2**53}\n2.5,-{2**53}\n")
        assert read_table(path).rows.tolist() == [[1e20, 2.0**53], [2.5, -(2.0**53)]]


class TestNumbers:
    @pytest.mark.parametrize("text", ["1_000", "\uff11\uff12", "\u0661\u0662", "1\u00a0000", "1'000"])
    def test_what_only_python_or_a_person_reads_as_a_number_is_named_as_none(
        self, tmp_path: Path, text: str
    ) -> None:
        path = tmp_path / "north.csv"
        path.write_text(f"age,bmi\n1,2\n3,{text}\n5,6\n", encoding="utf-8")
        with pytest.raises(DataError) as error:
            read_table(path)
        assert "1 of 3 values are no numbers, the first in row 1" in str(error.value)
        assert text not in str(error.value)


class TestMissing:
    @pytest.mark.parametrize("text", SPELLINGS)
    def test_a_text_is_missing_in_columns_of_numbers_and_of_categories(
        self, tmp_path: Path, text: str
    ) -> None:
        path = tmp_path / "north.csv"
        path.write_text(f"age,sex\n1,f\n{text},{text}\n3,m\n")
        with pytest.raises(DataError, match="column 'age' has 1 missing values, the first in row 1"):
            read_table(path, columns=["age"])
        schema = Schema(
            columns=(
                Column(name="age", low=0, high=9, missing="mean"),
                Column(name="sex", categories=("f", "m"), missing="zero"),
            )
        )
        frame = pd.DataFrame({"age": ["1", text, "3"], "sex": ["f", text, "m"]})
        parquet(tmp_path, {name: frame[name].tolist() for name in frame})
        tables = [
            read(path, schema),
            read(tmp_path / "north.parquet", schema),
            as_table(frame, "north"),
            as_table(pl.DataFrame(frame.to_dict("list")), "north"),
        ]
        for table in tables:
            done = checked(table, schema, name="north")
            assert np.isnan(done.numbers["age"]).tolist() == [False, True, False]
            assert done.categories["sex"].tolist() == [0, -1, 1]

    def test_a_draft_has_no_such_category(self, tmp_path: Path) -> None:
        path = csv(tmp_path, pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20 + ["NA"] * 20}), index=False)
        assert 'categories = ["f", "m"]' in draft_schema(path)

    def test_the_list_is_stated(self) -> None:
        page = (Path(__file__).parents[1] / "docs" / "how-to" / "files.md").read_text(encoding="utf-8")
        assert [one for one in MISSING - {""} if f"`{one}`" not in page] == []


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string(), pa.string_view()])
def test_ids_of_parquet_files_of_any_text_are_those_of_text_files(tmp_path: Path, kind: pa.DataType) -> None:
    """pandas 3 writes large strings."""
    path = parquet(tmp_path, {"id": pa.array(["a", "b"], kind), "age": [1.0, 2.0]})
    other = tmp_path / "south.csv"
    other.write_text("id,age\nb,1\nc,2.5\n")
    tables = [read_table(one, id_column="id") for one in (path, other)]
    assert row_ids(tables) == [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize(("kind", "whole"), [(pa.float32(), 2**24), (pa.float64(), 2**53)])
def test_ids_of_parquet_files_that_may_have_been_rounded_are_refused(
    tmp_path: Path, kind: pa.DataType, whole: int
) -> None:
    """They would make two people one: here the next whole number is not exact."""
    path = parquet(tmp_path, {"id": pa.array([7.0, float(whole)], kind), "age": [1.0, 2.0]})
    other = tmp_path / "south.csv"
    other.write_text("id,age\nb,1\nc,2.5\n")
    for paths in ([path, other], [path, path]):
        ids = [read_table(one, id_column="id") for one in paths]
        with pytest.raises(DataError, match="ID 1 is a number with a fraction, too large to be exact"):
            [hashed(one, key=bytes(32), name="north") for one in row_ids(ids)]
