"""What the parties agree on before anything leaves them: columns, units, ranges, categories, transforms."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, get_args

from secfc.errors import DataError, ParameterError

Scale = Literal["none", "min-max", "standardise"]
Missing = Literal["refuse", "mean"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One agreed column.

    Parameters
    ----------
    name : str
    unit : str
        For people; it is not interpreted.
    low, high : float
        Agreed range of a number.
    categories : tuple of str
        Agreed values of a category column, one-hot in this order; then there is no range.
    scale : {"none", "min-max", "standardise"}
        "min-max": the agreed range to 0..1. "standardise": mean and standard deviation of all rows.
    clip : bool
        Values outside the range are moved to its end; else they are refused.
    missing : {"refuse", "mean"}
        "mean": the mean of all rows that have a value. A missing category is 0 in every column.

    Raises
    ------
    ParameterError
        Naming the column and what is wrong.
    """

    name: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()
    scale: Scale = "none"
    clip: bool = False
    missing: Missing = "refuse"

    def __post_init__(self) -> None:
        where = f"schema: column {self.name!r}"
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError("schema: a column needs a name")
        object.__setattr__(self, "categories", tuple(self.categories))
        for key, kinds in (("scale", Scale), ("missing", Missing)):
            if getattr(self, key) not in get_args(kinds):
                raise ParameterError(f"{where}: {key} is one of {', '.join(get_args(kinds))}")
        if self.categories:
            if self.low is not None or self.high is not None or self.scale != "none" or self.clip:
                raise ParameterError(f"{where}: categories have no range, scale or clip")
            if not all(isinstance(one, str) for one in self.categories):
                raise ParameterError(f"{where}: categories are texts")
            if len(set(self.categories)) < len(self.categories):
                raise ParameterError(f"{where}: a category is listed twice")
            return
        ends = (self.low, self.high)
        if not all(
            isinstance(end, int | float) and not isinstance(end, bool) and isfinite(end) for end in ends
        ):
            raise ParameterError(f"{where}: low and high are needed, or categories")
        object.__setattr__(self, "low", float(ends[0]))  # type: ignore[arg-type]
        object.__setattr__(self, "high", float(ends[1]))  # type: ignore[arg-type]
        if not self.range[0] < self.range[1]:
            raise ParameterError(f"{where}: low must be below high")

    @property
    def range(self) -> tuple[float, float]:
        """Low and high of a number."""
        assert self.low is not None
        assert self.high is not None
        return self.low, self.high


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The agreed columns, in order.

    Examples
    --------
    >>> Schema.of({"column": [{"name": "age", "unit": "years", "low": 0, "high": 120}]}).columns[0].range
    (0.0, 120.0)
    """

    columns: tuple[Column, ...] = field()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names:
            raise ParameterError("schema: it has no column")
        if len(set(names)) < len(names):
            raise ParameterError("schema: two columns have the same name")

    @classmethod
    def read(cls, path: str | Path) -> "Schema":
        """The schema in a TOML file of [[column]] tables.

        Raises
        ------
        ParameterError
            Naming the file, and the column where there is one.
        """
        try:
            return cls.of(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            raise ParameterError(f"schema: {path} is no readable TOML file") from None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Schema":
        """The schema that a parsed file describes."""
        tables = value.get("column")
        if set(value) != {"column"} or not isinstance(tables, Sequence):
            raise ParameterError("schema: a list of [[column]] tables is needed, and nothing else")
        columns = []
        for table in tables:
            unknown = sorted(set(table) - set(Column.__dataclass_fields__))
            if unknown:
                raise ParameterError(
                    f"schema: column {table.get('name')!r} has an unknown key {unknown[0]!r}"
                )
            if "name" not in table:
                raise ParameterError("schema: a column needs a name")
            columns.append(Column(**table))
        return cls(columns=tuple(columns))

    def check_names(self, found: Sequence[str], name: str) -> None:
        """Raise DataError unless a party's columns are the agreed ones, in any order."""
        for column in self.columns:
            if column.name not in found:
                raise DataError(f"{name}: no column {column.name!r}; the schema needs it")
        agreed = {column.name for column in self.columns}
        extra = [one for one in found if one not in agreed]
        if extra:
            raise DataError(f"{name}: column {extra[0]!r} is not in the schema; leave it out by name")
