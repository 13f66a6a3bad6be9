"""From agreed columns to the rows that are clustered, the same at every party."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import hypot, isnan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc._arrays import Bools, Floats
from secfc.errors import DataError, ParameterError
from secfc.prepare.aggregate import add_up
from secfc.prepare.schema import Column, Schema

_STEPS = 1 << 28
"""A number is counted in this many steps of its range when it is added up: squares below 2**56."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What all parties learned, and apply: the opened statistics of each number that needed them.

    Attributes
    ----------
    counts, means, deviations : dict from column name to number
        Rows with a value; their mean and standard deviation (of the population), in the column's unit.
    bound : float
        Public bound on the norm of a prepared row, from the agreed ranges and the statistics.
    names : tuple of str
        Prepared columns; a category is "column=value".
    """

    counts: dict[str, int]
    means: dict[str, float]
    deviations: dict[str, float]
    bound: float
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What `prepare` returns.

    Attributes
    ----------
    rows : list of ndarray of shape (m_j, d), float64
    preparation : Preparation
    """

    rows: list[Floats] = field(repr=False)
    preparation: Preparation


def prepare(
    parties: Sequence[Any], schema: Schema, *, t: int, names: Sequence[str] | None = None
) -> Prepared:
    """Check every party's table against the schema and transform all alike.

    Means and deviations are opened only as sums over all parties, from shares of which any t tell nothing.
    All parties run in this process.

    Parameters
    ----------
    parties : sequence of DataFrame (pandas or Polars) or mapping from column name to values
    schema : Schema
    t : int
        Parties that may collude; at least t + 2 are needed, or a sum would be one party's own.
    names : sequence of str, optional
        What errors call the parties.

    Raises
    ------
    SecFCError
        Naming party, column and row number; never a value. Nothing has been shared then.

    Examples
    --------
    >>> from secfc.prepare import Column, Schema, prepare
    >>> schema = Schema(columns=(Column(name="age", low=0, high=120, scale="standardise"),))
    >>> done = prepare([{"age": [20.0]}, {"age": [40.0]}, {"age": [60.0]}], schema, t=1)
    >>> [round(float(rows[0, 0]), 3) for rows in done.rows], round(done.preparation.means["age"], 3)
    ([-1.225, 0.0, 1.225], 40.0)
    """
    called = list(names) if names is not None else [f"parties[{j}]" for j in range(len(parties))]
    if len(called) != len(parties) or not called:
        raise ParameterError(f"names: {len(called)} names of {len(parties)} parties")
    if isinstance(t, bool) or not isinstance(t, int) or not 1 <= t <= len(called) - 2:
        raise ParameterError(
            f"t: 1 to {len(called) - 2} of {len(called)} parties may collude, {t!r} was given"
        )
    tables = [_checked(party, schema, name) for party, name in zip(parties, called, strict=True)]
    needed = [one for one in schema.columns if one.scale == "standardise" or _fills(one)]
    opened = _open(tables, needed, t)
    return Prepared(
        rows=[_transformed(table, schema, opened) for table in tables],
        preparation=Preparation(
            counts={name: one[0] for name, one in opened.items()},
            means={name: one[1] for name, one in opened.items()},
            deviations={name: one[2] for name, one in opened.items()},
            bound=hypot(*(_reach(column, opened) for column in schema.columns)),
            names=tuple(name for column in schema.columns for name in _names(column)),
        ),
    )


_Table = dict[str, NDArray[Any]]
_Opened = dict[str, tuple[int, float, float]]


def _fills(column: Column) -> bool:
    return column.missing == "mean" and not column.categories


def _names(column: Column) -> list[str]:
    return [f"{column.name}={one}" for one in column.categories] or [column.name]


def _checked(party: Any, schema: Schema, name: str) -> _Table:
    """Agreed columns: numbers within the range (nan: missing) or positions of categories (-1: missing)."""
    found = list(party.columns if hasattr(party, "columns") else party)
    schema.check_names(found, name)
    table: _Table = {}
    for column in schema.columns:
        values = party[column.name]
        table[column.name] = (
            _categories(values, column, name) if column.categories else _numbers(values, column, name)
        )
    if len({len(values) for values in table.values()}) > 1:
        raise DataError(f"{name}: its columns have different lengths")
    return table


def _numbers(values: Any, column: Column, name: str) -> Floats:
    where = f"{name}: column {column.name!r}"
    try:
        numbers = np.array(
            values.to_numpy(dtype=np.float64, na_value=np.nan) if hasattr(values, "iloc") else values,
            dtype=np.float64,
        )
    except (TypeError, ValueError):
        raise DataError(f"{where} is not numeric") from None
    missing = np.isnan(numbers)
    if missing.any() and not _fills(column):
        raise DataError(f"{where} misses {missing.sum()} values, the first in row {int(missing.argmax())}")
    low, high = column.range
    outside = ~missing & ~((numbers >= low) & (numbers <= high))
    if outside.any() and not column.clip:
        raise DataError(
            f"{where} has {outside.sum()} values outside {low:g} to {high:g}"
            f"{' ' + column.unit if column.unit else ''}, the first in row {int(outside.argmax())}; "
            "check the unit"
        )
    return np.where(missing, numbers, np.clip(numbers, low, high))


def _categories(values: Any, column: Column, name: str) -> NDArray[Any]:
    number = {one: at for at, one in enumerate(column.categories)}
    given = list(values)
    missing: Bools = np.array(
        [value is None or (isinstance(value, float) and isnan(value)) for value in given], dtype=np.bool_
    )
    found = np.array(
        [-1 if lost else number.get(value, -2) for value, lost in zip(given, missing, strict=True)]
    )
    where = f"{name}: column {column.name!r}"
    if (found == -2).any():
        raise DataError(
            f"{where} has {(found == -2).sum()} values outside the agreed categories, the first in row "
            f"{int((found == -2).argmax())}"
        )
    if missing.any() and column.missing == "refuse":
        raise DataError(f"{where} misses {missing.sum()} values, the first in row {int(missing.argmax())}")
    return found


def _open(tables: list[_Table], needed: list[Column], t: int) -> _Opened:
    """Count, mean and deviation of each column, from the sums over all parties."""
    if not needed:
        return {}
    totals = add_up([[n for one in needed for n in _sums(table[one.name], one)] for table in tables], t=t)
    opened: _Opened = {}
    for at, column in enumerate(needed):
        count, total, squares = totals[3 * at : 3 * at + 3]
        if count == 0:
            raise DataError(f"column {column.name!r} has no value at any party")
        low, high = column.range
        step = (high - low) / _STEPS
        # Exact integers: count * squares - total**2 >= 0 by Cauchy and Schwarz.
        deviation = sqrt(count * squares - total * total) / count * step
        opened[column.name] = (count, low + step * total / count, deviation)
    return opened


def _sums(values: Floats, column: Column) -> tuple[int, int, int]:
    """Count, sum and sum of squares of a party's values, in steps of the range."""
    low, high = column.range
    present = values[~np.isnan(values)]
    steps = np.rint((present - low) / (high - low) * _STEPS).astype(np.int64)
    squares = sum(int(part) * int(part) for part in steps.tolist())
    return present.size, int(steps.sum()), squares


def _transformed(table: _Table, schema: Schema, opened: _Opened) -> Floats:
    parts = []
    for column in schema.columns:
        values = table[column.name]
        if column.categories:
            parts.append((values[:, np.newaxis] == np.arange(len(column.categories))).astype(np.float64))
            continue
        filled = np.where(np.isnan(values), opened[column.name][1], values) if _fills(column) else values
        parts.append(_scaled(filled, column, opened)[:, np.newaxis])
    return np.ascontiguousarray(np.hstack(parts))


def _scaled(values: Any, column: Column, opened: _Opened) -> Any:
    low, high = column.range
    match column.scale:
        case "min-max":
            return (values - low) / (high - low)
        case "standardise":
            _, mean, deviation = opened[column.name]
            return (values - mean) / (deviation or 1.0)
    return values


def _reach(column: Column, opened: _Opened) -> float:
    """The largest magnitude that a prepared value can have (of a category: of its one-hot columns' norm)."""
    if column.categories:
        return 1.0
    return max(abs(float(_scaled(end, column, opened))) for end in column.range)
