"""The public part of a preparation as a file. With it a party can prepare its rows again, or new rows."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Any

from secfc.errors import ParameterError
from secfc.field.residues import MAX_ROWS
from secfc.prepare.column_transform import Preparation
from secfc.prepare.schema import Column, Schema
from secfc.prepare.statistics import Counts, Quartiles, Statistics
from secfc.tables.toml_file import read_json

SUMMARY = "preparation.json"
"""Name of the file."""


def summary_of(preparation: Preparation) -> dict[str, Any]:
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


def write_summary(path: Path, preparation: Preparation) -> None:
    """Write `summary_of` as a file for `read_summary`."""
    path.write_text(json.dumps(summary_of(preparation), indent=2) + "\n", encoding="utf-8")


def read_summary(path: Path) -> Preparation:
    """The preparation in a file that `secfc prepare` wrote; ParameterError for any other file."""
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
    for key, expected in summary_of(preparation).items():
        if value.get(key) != expected:
            raise ParameterError(f"{path}: {key} is not what follows from schema and statistics")
    return preparation


def _quartiles(value: Any, column: Column, path: Path) -> Quartiles:
    where, counts = (
        f"{path}: statistics.{column.name}",
        value.get("counts") if isinstance(value, dict) else None,
    )
    holders = value.get("holders") if isinstance(value, dict) else None
    if (
        type(holders) is not int
        or holders < 0
        or not isinstance(counts, list)
        or len(counts) != column.totals
    ):
        raise ParameterError(f"{where}: holders and {column.totals} counts are needed")
    if not all(type(one) is int and one >= 0 for one in counts) or not 0 < sum(counts) <= MAX_ROWS:
        raise ParameterError(f"{where}.counts: not numbers of values")
    found = Quartiles.of(Counts(counts=tuple(counts)), column, holders=0, smallest=0)
    return replace(found, holders=holders)


def _statistics(value: Any, column: Column, path: Path) -> Statistics | Quartiles:
    if column.bins:
        return _quartiles(value, column, path)
    kinds = {"holders": int, "count": int, "mean": float, "deviation": float}
    where = f"{path}: statistics.{column.name}"
    if not isinstance(value, Mapping) or set(value) != set(kinds):
        raise ParameterError(f"{where}: {', '.join(kinds)} are needed")
    for key, kind in kinds.items():
        if type(value[key]) is not kind or not isfinite(value[key]) or (key != "mean" and value[key] < 0):
            raise ParameterError(f"{where}.{key}: not a number that can be")
    low, high = column.ends
    if not low <= value["mean"] <= high or value["deviation"] > high - low:
        raise ParameterError(f"{where}: no values from {low:g} to {high:g} have this mean and deviation")
    return Statistics(**value)
