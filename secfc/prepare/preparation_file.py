"""The public part of a preparation as a file. With it a party can prepare its rows again, or new rows."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, NonNegativeInt

from secfc.errors import ParameterError
from secfc.field.residues import MAX_ROWS
from secfc.prepare.column_transform import Preparation
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Mode, Opened, Quartiles, Statistics
from secfc.tables.outputs import write_json
from secfc.tables.toml_file import FileSchema, ListOf, TableOf, check_values, read_json

PREPARATION = "preparation.json"
"""Name of the file."""

MENDED = ".mended.json"
"""A party's file of what was missing and clipped is its name with this. Without it nothing is reported."""


def public_part(preparation: Preparation) -> dict[str, Any]:
    """What all parties know. It does not contain any party's number of rows."""
    return {
        "schema": preparation.schema.to_dict(),
        "digest": preparation.schema.digest.hex(),
        "columns": {name: list(ends) for name, ends in preparation.ranges.items()},
        "bound": preparation.bound,
        "statistics": {name: _plain(asdict(one)) for name, one in preparation.statistics.items()},
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: list(one) if isinstance(one, tuple) else one for name, one in values.items()}


def write_preparation(path: Path, preparation: Preparation) -> None:
    """Write `public_part` as a file for `read_preparation`."""
    write_json(path, public_part(preparation))


class _Mended(FileSchema):
    rows: NonNegativeInt
    missing: TableOf[str, NonNegativeInt]
    clipped: TableOf[str, NonNegativeInt]


def write_mended(folder: Path, name: str, mended: Mapping[str, Any]) -> None:
    """Write how much of a party's rows was mended (`Checked.mended`). Whoever has the file may report it."""
    write_json(folder / f"{name}{MENDED}", {key: mended[key] for key in _Mended.model_fields})


def read_mended(folder: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The same of the parties whose files are in the folder, by name."""
    paths = {name: folder / f"{name}{MENDED}" for name in names}
    found = {name: path for name, path in paths.items() if path.is_file()}
    return {
        name: vars(check_values(read_json(path), _Mended, name=str(path))) for name, path in found.items()
    }


def read_preparation(path: str | os.PathLike[str]) -> Preparation:
    """The preparation in a file that `secfc prepare` wrote; ParameterError for any other file."""
    path = Path(path)
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("schema"), dict):
        raise ParameterError(f"{path}: schema is needed")
    try:
        schema = Schema.of(value["schema"])
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    told = value.get("statistics")
    names = [column.name for column in schema.opened]
    if not isinstance(told, dict) or set(told) != set(names):
        raise ParameterError(f"{path}: statistics of the columns {', '.join(names) or '(none)'} are needed")
    statistics = {column.name: _statistics(told[column.name], column, path) for column in schema.opened}
    preparation = Preparation(schema=schema, statistics=statistics)
    for key, expected in public_part(preparation).items():
        if value.get(key) != expected:
            raise ParameterError(f"{path}: {key} is not what follows from schema and statistics")
    return preparation


class _Moments(FileSchema):
    holders: NonNegativeInt
    count: NonNegativeInt
    mean: FiniteFloat
    deviation: Annotated[FiniteFloat, Field(ge=0)]


class _Counts(FileSchema):
    holders: NonNegativeInt
    count: NonNegativeInt
    counts: ListOf[NonNegativeInt]


class _Categories(_Counts):
    mode: str


class _Bins(_Counts):
    lower: FiniteFloat
    median: FiniteFloat
    upper: FiniteFloat


def _statistics(value: object, column: Column, path: Path) -> Opened:
    """The statistics of a column; what follows from others is compared later."""
    where = f"{path}: statistics.{column.name}"
    if column.bins or column.categories:
        given: _Counts = check_values(value, _Bins if column.bins else _Categories, name=where)
        if len(given.counts) != column.totals or not 0 < sum(given.counts) <= MAX_ROWS:
            raise ParameterError(f"{where}.counts: not {column.totals} numbers of values")
        kind = Quartiles if column.bins else Mode
        return kind.of(given.counts, column, holders=given.holders)
    moments = check_values(value, _Moments, name=where)
    low, high = column.ends
    if not low <= moments.mean <= high or moments.deviation > high - low:
        raise ParameterError(f"{where}: no values from {low:g} to {high:g} have this mean and deviation")
    return Statistics(**moments.model_dump())
