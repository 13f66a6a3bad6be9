"""What the parties agree on before they send data: columns, units, ranges, categories, transforms."""

import datetime
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from itertools import chain
from math import gcd, isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import PlainValidator

from secfc.errors import ParameterError
from secfc.field.fixed_point import MAX_STEPS
from secfc.field.residues import MAX_ROWS
from secfc.tables.column_names import normal
from secfc.tables.toml_file import FileSchema, ListOf, TomlFile, check_values

Scale = Literal["none", "min-max", "standardise", "robust"]
Missing = Literal["refuse", "mean", "median", "zero", "mode", "category"]
Drop = Literal["first"]
BINS = 2, 1024  # fewest and most
_EPOCH = datetime.date(1970, 1, 1)
_Rules = Iterator[tuple[bool, str]]


@dataclass(frozen=True, kw_only=True)
class Column:
    """One agreed column.

    Parameters
    ----------
    name : str
    unit : str
        For people; it is not interpreted.
    low, high : float or datetime.date
        Agreed range of numbers or dates. Dates are converted to days since 1970-01-01.
    date : bool
        Whether the column has dates. It is set if `low` and `high` are dates.
    categories : tuple of str
        Agreed values of a category column, one-hot in this order; then there is no range.
    step : float, optional
        A number above 0 that all values are multiples of, 1 for whole numbers: others are refused. Only with
        ``scale = "none"``, and not of dates, whose step is a day.
    log : bool
        Natural logarithms of the values are taken before scaling; low must be above 0.
    scale : {"none", "min-max", "standardise", "robust"}
        "min-max": the agreed range to 0..1. "standardise": by mean and standard deviation of all rows.
        "robust": by median and interquartile range of all rows; each quartile is off by at most one bin.
    bins : int, optional
        For "robust" only: the number of equal parts of the range, 2 to 1024. The values of all parties in
        each part are counted, and these counts are opened.
    deviations : float, optional
        The most standard deviations between a standardised value and the mean; with "robust" the most
        interquartile ranges from the median. Needed if ranges of prepared columns must be known before the
        mean, as in a job.
    clip : bool
        Values outside the range or beyond `deviations` are moved to the limit. Otherwise they are refused.
    missing : {"refuse", "mean", "median", "zero", "mode", "category"}
        "mean": a missing number becomes the mean of all rows that have one (of logarithms with `log`).
        "median": the same for "robust". "zero": a missing category is 0 in every one-hot column. "mode": it
        becomes the most frequent category of all rows; the counts of categories are opened. "category": it
        is a category of its own, the last, with the one-hot column "name=missing".
    drop : {"first"}, optional
        For two categories only: the one-hot column of the first is left out. With both columns two rows that
        differ are 2 apart in squared distance, with one they are 1 apart, like the ends of a "min-max" range.

    Raises
    ------
    ParameterError
        Names the column and what is wrong.
    """

    name: str
    unit: str = ""
    low: float | datetime.date | None = None
    high: float | datetime.date | None = None
    categories: tuple[str, ...] = ()
    step: float | None = None
    log: bool = False
    scale: Scale = "none"
    bins: int | None = None
    deviations: float | None = None
    clip: bool = False
    missing: Missing = "refuse"
    drop: Drop | None = None
    date: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError("schema: a column needs a name")
        where = f"schema: column {self.name!r}"
        self._set("name", normal(self.name))
        self._set("categories", tuple(self.categories))
        rules = self._rules_of_categories() if self.categories else self._rules_of_range()
        for broken, text in chain(self._rules_of_scale(), rules):
            if broken:
                raise ParameterError(f"{where}: {text}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _rules_of_scale(self) -> _Rules:
        """Pairs: whether the column breaks a rule, and the text. A rule may rely on those before it."""
        for key, kinds in (("scale", Scale), ("missing", Missing)):
            possible = get_args(kinds)
            yield getattr(self, key) not in possible, f"{key} is one of {', '.join(possible)}"
        robust = self.scale == "robust"
        needed = "bins is needed: all values are counted in so many parts of the range, and counts are opened"
        yield (self.bins is not None) != robust, needed if robust else 'bins are of scale = "robust"'
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool)
        within = whole and BINS[0] <= (self.bins or 0) <= BINS[1]
        yield robust and not within, f"bins is a whole number, {BINS[0]} to {BINS[1]}"
        other = "median" if robust else "mean"
        yield (
            not self.categories and self.missing == ("mean" if robust else "median"),
            f'the {self.missing} is not opened with this scale; missing = "{other}" is possible',
        )
        if self.deviations is None:
            return
        scaled = self.scale in ("standardise", "robust")
        yield not scaled, 'deviations are of scale = "standardise" or "robust"'
        positive = _is_number(self.deviations) and self.deviations > 0
        yield not positive, "deviations is a number above 0"
        self._set("deviations", float(self.deviations))

    def _rules_of_categories(self) -> _Rules:
        numbers = self.low is not None or self.high is not None or self.step is not None
        scaled = self.scale != "none" or self.clip or self.log
        yield numbers or scaled, "categories have no range, step, scale, clip or log"
        possible = 'missing = "mode", "category" or "zero" is possible'
        yield self.missing in ("mean", "median"), f"categories have no {self.missing}; {possible}"
        texts = all(isinstance(one, str) and one == one.strip() and one for one in self.categories)
        yield not texts, "categories are texts without spaces around them"
        yield len(set(self.levels)) < len(self.levels), "a category is listed twice"
        yield self.drop not in (None, "first"), 'drop is "first"'
        two = self.drop is None or len(self.levels) == 2
        yield not two, 'drop needs two categories, "missing" included if it is one'
        zero = self.drop is not None and self.missing == "zero"
        yield zero, 'with drop, missing = "zero" would mean the first category; "mode" is possible'

    def _rules_of_range(self) -> _Rules:
        only = f'missing = "{self.missing}" is only for categories; missing = "mean" is possible'
        yield self.missing in ("zero", "mode", "category"), only
        yield self.drop is not None, "drop is only for categories"
        if type(self.low) is datetime.date and type(self.high) is datetime.date:
            for name in ("low", "high"):
                self._set(name, (getattr(self, name) - _EPOCH).days)
            self._set("date", True)
        known = isinstance(self.date, bool) and not (self.date and self.log)
        yield not known, "date is true or false, and dates have no log"
        yield not all(map(_is_number, (self.low, self.high))), "low and high are needed, or categories"
        for name in ("low", "high"):
            self._set(name, float(getattr(self, name)) + 0.0)
        low, high = self.range
        yield not low < high, "low must be below high"
        yield not isfinite(high - low), "high - low exceeds the largest float64"
        yield not isinstance(self.log, bool), "log is true or false"
        yield (
            self.log and not low > 0,
            "low must be above 0 for log; with clip smaller values become low",
        )
        yield not self.ends[0] < self.ends[1], "the logarithms of low and high are equal"
        if self.step is None:
            return
        yield not (_is_number(self.step) and self.step > 0), "step is a number above 0"
        self._set("step", float(self.step))
        yield (
            self.date or self.log or self.scale != "none" or self.missing != "refuse",
            'step needs numbers with scale = "none" and missing = "refuse", without log',
        )
        ends = [Fraction(repr(end)) / Fraction(repr(self.step)) for end in self.range]
        yield max(map(abs, ends)) > MAX_STEPS, "low and high are more than 2**44 steps from 0"
        between = any(end.denominator > 1 for end in ends)
        yield self.clip and between, "low and high must be multiples of step if values are clipped"

    @property
    def range(self) -> tuple[float, float]:
        """Low and high of a column of numbers."""
        assert isinstance(self.low, float)
        assert isinstance(self.high, float)
        return self.low, self.high

    def shown(self, value: float) -> str:
        """A value in the form that messages show: a date, or the number."""
        return str(_EPOCH + datetime.timedelta(days=value)) if self.date else f"{value:g}"

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the values to scale: low and high, or their logarithms."""
        return (_ln(self.range[0]), _ln(self.range[1])) if self.log else self.range

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories of checked values, in order, with "missing" if it is one."""
        return (*self.categories, "missing") if self.missing == "category" else self.categories

    @property
    def prepared(self) -> tuple[str, ...]:
        """Names of the prepared columns; for a category "column=value"."""
        kept = self.levels if self.drop is None else self.levels[1:]
        return tuple(f"{self.name}={one}" for one in kept) or (self.name,)

    @property
    def multiple_of(self) -> Fraction | None:
        """What every prepared value is a multiple of, if it is known."""
        if self.categories or (self.date and self.scale == "none" and not self.opens):
            return Fraction(1)
        return None if self.step is None else Fraction(repr(self.step))

    @property
    def opens(self) -> bool:
        """Whether the column needs statistics over all parties."""
        return self.scale in ("standardise", "robust") or self.missing in ("mean", "median", "mode")

    @property
    def totals(self) -> int:
        """How many numbers are opened, if any: counts by bins or category, or count, sum, sum of squares."""
        return self.bins or len(self.categories) or 3


def _ln(value: float) -> float:
    """The natural logarithm, correctly rounded, so it is the same on every machine."""
    return float(Decimal(value).ln(Context(prec=50)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The agreed columns, in order.

    Parameters
    ----------
    columns : tuple of Column
    smallest : int
        A party is a holder of a column if it has at least this many values. Statistics of a column are opened
        only if it has t + 2 holders. So no t parties see a total of fewer than 2 * `smallest` values of
        others.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> Schema.of({"column": [{"name": "age", "unit": "years", "low": 0, "high": 120}]}).columns[0].range
    (0.0, 120.0)
    """

    columns: tuple[Column, ...] = field()
    smallest: int = 1

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if not names:
            raise ParameterError("schema: it has no column")
        if len(set(names)) < len(names):
            raise ParameterError("schema: two columns have the same name")
        prepared = [name for column in self.columns for name in column.prepared]
        if len(set(prepared)) < len(prepared):
            twice = next(name for name in prepared if prepared.count(name) > 1)
            raise ParameterError(f"schema: two prepared columns are called {twice!r}")
        whole = isinstance(self.smallest, int) and not isinstance(self.smallest, bool)
        if not whole or not 1 <= self.smallest <= MAX_ROWS:
            raise ParameterError(f"schema: smallest is 1 to {MAX_ROWS} values, {self.smallest!r} was given")

    @classmethod
    def read(cls, path: str | Path) -> "Schema":
        """The schema in a TOML file of [[column]] tables; ParameterError names the file and the line."""
        file = TomlFile(Path(path))
        return cls._built(file.check(_File), lambda text, *keys: file.error(*keys, text=text))

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Schema":
        """The schema in a parsed file."""
        return cls._built(check_values(value, _File, name="schema"), lambda text, *_: ParameterError(text))

    @classmethod
    def _built(cls, file: "_File", fault: Callable[..., ParameterError]) -> "Schema":
        columns = []
        for at, one in enumerate(file.column):
            try:
                columns.append(Column(**one.model_dump(exclude_none=True)))
            except ParameterError as error:
                raise fault(str(error), "column", at) from None
        try:
            return cls(columns=tuple(columns), smallest=file.smallest)
        except ParameterError as error:
            raise fault(str(error)) from None

    def to_dict(self) -> dict[str, Any]:
        """The argument of `of` that gives this schema, for JSON."""
        columns = [asdict(one) | {"categories": list(one.categories)} for one in self.columns]
        return {"smallest": self.smallest, "column": columns}

    @property
    def digest(self) -> bytes:
        """SHA-256, 32 bytes, of `to_dict` as JSON with sorted names and floats as Python's shortest repr."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(b"secfc schema 1" + text.encode()).digest()

    @property
    def multiple_of(self) -> Fraction | None:
        """The largest number that every prepared value is a multiple of, if it is known of all columns."""
        found = Fraction(0)
        for column in self.columns:
            one = column.multiple_of
            if one is None:
                return None
            below = found.denominator * one.denominator
            found = Fraction(gcd(int(found * below), int(one * below)), below)
        return found

    @property
    def categories(self) -> tuple[int, ...]:
        """How many categories each column has; 0 for one of numbers or dates."""
        return tuple(len(column.categories) for column in self.columns)

    @property
    def opened(self) -> tuple[Column, ...]:
        """Columns whose statistics are opened, in order."""
        return tuple(column for column in self.columns if column.opens)

    @property
    def ranges(self) -> list[tuple[Column, tuple[float, float]]]:
        """Each column and its range before anything is opened; ParameterError if `deviations` is needed."""
        return [(column, _agreed_range(column)) for column in self.columns]


def check_described(schema: Schema) -> None:
    """Raise ParameterError unless a schema's columns can be described by cluster: as they are."""
    for column in schema.columns:
        if column.scale != "none" or column.log or column.opens:
            text = "described columns have no scale, log or filled in values"
            raise ParameterError(f"schema: column {column.name!r}: {text}")


def _agreed_range(column: Column) -> tuple[float, float]:
    if column.categories or column.scale == "min-max":
        return 0.0, 1.0
    if column.scale == "none":
        return column.ends
    if column.deviations is None:
        text = "deviations is needed, as its mean is not known before the run"
        raise ParameterError(f"schema: column {column.name!r}: {text}")
    return -column.deviations, column.deviations


def _number_or_date(value: Any) -> Any:
    if value is None or type(value) is datetime.date or (type(value) in (int, float)):
        return value
    raise ValueError("a number is needed, or a date such as 1950-01-31")


_End = Annotated[Any, PlainValidator(_number_or_date)]  # a union would report two errors


class _Column(FileSchema):
    """A [[column]] table."""

    name: str
    unit: str = ""
    low: _End = None
    high: _End = None
    date: bool = False
    categories: ListOf[str] | None = None
    step: float | None = None
    log: bool = False
    scale: Scale = "none"
    bins: int | None = None
    deviations: float | None = None
    clip: bool = False
    missing: Missing = "refuse"
    drop: Drop | None = None


class _File(FileSchema):
    smallest: int = 1
    column: ListOf[_Column]
