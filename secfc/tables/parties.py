"""Converts the parties that users give (arrays, DataFrames, sparse matrices) to checked float64 rows."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from secfc.errors import ColumnWarning, DataError, ParameterError, each
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Labels
from secfc.sharing.row_checks import check_finite
from secfc.tables.column_names import check_no_index, is_index, left_out, normal, normal_all
from secfc.tables.rounding import EXACT, check_exact, may_be_rounded
from secfc.tables.texts import has_visible


@dataclass(frozen=True, kw_only=True)
class Party:
    """One party's rows, and how to return its labels."""

    name: str  # in errors
    rows: Floats = field(repr=False)  # shape (m_j, d)
    frame: Any = field(default=None, repr=False)  # the user's DataFrame, if it has an index (pandas)
    columns: tuple[str, ...] = ()  # column names, if known

    def align(self, labels: Labels) -> Any:
        """Labels as the user expects them: a Series with the DataFrame's index, or the array itself."""
        if self.frame is None:
            return labels
        import pandas as pd  # noqa: PLC0415 - a user who gave a DataFrame has it

        return pd.Series(labels, index=self.frame.index, name="label")


def as_parties(
    parties: Sequence[Any] | Mapping[str, Any],
    names: Sequence[str] | None = None,
    *,
    columns: Sequence[str] = (),
    columns_of: str = "the fit",
    mend: str = "; secfc.Prepare fills missing values in, and encodes texts",
) -> list[Party]:
    """Check and convert every party's rows, with columns of DataFrames matched by name.

    `columns` are those of an earlier fit or file, which errors call `columns_of`, and come first. Errors end
    with `mend`, which says what helps against missing values and texts. One DataError has everything that is
    wrong at any party.
    """
    if isinstance(parties, Mapping):
        names, parties = _names(parties), list(parties.values())
    if (
        isinstance(parties, np.ndarray | str | bytes)
        or is_frame(parties)
        or not isinstance(parties, Sequence)
    ):
        raise ParameterError(
            "parties: a list with one array or DataFrame per party is needed, or a dict of them by name"
        )
    if not parties:
        raise ParameterError("parties: the list is empty")
    names = names or [f"parties[{j}]" for j in range(len(parties))]
    chosen = _columns(parties, names, (columns_of, columns) if columns else None)
    arrays = each(partial(_as_array, mend=mend), parties, names, chosen)
    widths = [array.shape[1] for array in arrays if array is not None]
    if not widths:
        raise ParameterError("parties: no party has a row or a column")
    first = names[next(j for j, one in enumerate(arrays) if one is not None)]

    def party(name: str, given: Any, array: Floats | None, named: Collection[str]) -> Party:
        rows = np.zeros((0, widths[0])) if array is None else array
        if rows.shape[1] != widths[0]:
            raise DataError(f"{name}: {rows.shape[1]} columns, {first} has {widths[0]}")
        frame = given if is_frame(given) and hasattr(given, "index") else None
        return Party(name=name, rows=rows, frame=frame, columns=tuple(named))

    return each(party, names, parties, arrays, chosen)


def in_order(name: str, given: Any, members: Sequence[Party]) -> Any:
    """What an argument has for each party, in their order; ParameterError for a dict with other names."""
    if not isinstance(given, Mapping):
        return given
    names = [member.name for member in members]
    if set(given) != set(names):
        others = ", ".join(sorted(map(repr, set(given) ^ set(names))))
        raise ParameterError(
            f"{name}: a dict needs the names of all parties and no other; differing: {others}"
        )
    return [given[one] for one in names]


def _names(parties: Mapping[str, Any]) -> list[str]:
    for name in parties:
        if not isinstance(name, str) or not has_visible(name):
            raise ParameterError("parties: names of parties are texts that are not empty")
    return list(parties)


def is_frame(party: Any) -> bool:
    """Whether this is a DataFrame, of pandas or Polars."""
    return hasattr(party, "columns") and hasattr(party, "to_numpy")


def _as_array(party: Any, name: str, columns: Mapping[str, int], *, mend: str) -> Floats | None:
    """The rows as a contiguous, finite float64 array; None for an empty list or an array of shape (0,)."""
    frame = is_frame(party)
    rows = _from_frame(party, name, list(columns.values()), mend) if frame else _from_array(party, name, mend)
    if rows is not None:
        check_finite(rows, name=name, d=rows.shape[1], columns=list(columns), mend=mend)
    return rows


def _from_array(party: Any, name: str, mend: str) -> Floats | None:
    if np.ma.isMaskedArray(party) and np.ma.is_masked(party):
        raise DataError(
            f"{name}: {int(np.ma.getmaskarray(party).sum())} values are masked (missing)",
            code=Code.MISSING_VALUE,
        )
    if hasattr(party, "toarray"):
        if party.ndim == 2 and party.dtype.kind not in "buif":  # before a dense array is allocated
            raise DataError(
                f"{name}: numbers are needed, dtype {party.dtype} was given", code=Code.NOT_A_NUMBER
            )
        party = party.toarray()  # shares are dense
    try:
        array = np.asarray(party)
    except ValueError:
        raise DataError(f"{name}: its rows have different lengths") from None
    if array.shape == (0,):
        return None
    if array.ndim != 2:
        raise DataError(f"{name}: an array of shape (rows, columns) is needed, {array.shape} was given")
    if array.shape[1] == 0:
        raise DataError(f"{name}: it has no columns")
    if array.dtype.kind not in "buif":
        raise DataError(
            f"{name}: numbers are needed, dtype {array.dtype} was given{mend}",
            code=Code.NOT_A_NUMBER,
        )
    if array.dtype.kind in "iu":
        check_exact(np.flatnonzero(may_be_rounded(array).any(axis=1)), f"{name}: it")
    return np.ascontiguousarray(array, dtype=np.float64)


def _from_frame(frame: Any, name: str, positions: Sequence[int], mend: str) -> Floats:
    """Columns of a DataFrame as float64; a missing value becomes NaN, which is refused later."""
    rows = np.empty((len(frame), len(positions)))

    def take(at: int, position: int) -> None:
        column = frame.columns[position]
        values = frame.iloc[:, position] if hasattr(frame, "iloc") else frame[column]
        kind = getattr(values.dtype, "kind", None)  # pandas' extension types have it, polars' types do not
        if kind is None:
            values = values.to_numpy()
            kind = values.dtype.kind
        if kind not in "buif" and len(frame):
            raise DataError(
                f"{name}: column {column!r} is not numeric{mend}",
                code=Code.NOT_A_NUMBER,
            )
        if isinstance(values.dtype, np.dtype):
            rows[:, at] = values
        else:
            rows[:, at] = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if kind in "iu" and (np.abs(rows[:, at]) >= EXACT).any():
            if not isinstance(values.dtype, np.dtype):
                values = values.to_numpy(dtype=object, na_value=0)
            check_exact(np.flatnonzero(may_be_rounded(np.asarray(values))), f"{name}: column {column!r}")

    each(take, range(len(positions)), positions)
    return rows


def _columns(
    parties: Sequence[Any], names: Sequence[str], before: tuple[str, Sequence[str]] | None
) -> list[dict[str, int]]:
    """Names and positions of each DataFrame's columns, in the order of `before` or the first; {} for arrays.

    Names that are not text, such as numbers from 0, are positions and must be equal.
    """
    members = list(zip(parties, names, strict=True))
    frames = [at for at, party in enumerate(parties) if is_frame(party)]
    found: list[dict[str, int]] = [{} for _ in parties]
    for at in frames:
        given = list(parties[at].columns)
        if not given:
            raise DataError(f"{names[at]}: it has no columns")
        for place, one in enumerate(given):
            parts = one if isinstance(one, tuple) else (one,)  # a tuple if columns are a MultiIndex
            if all(isinstance(part, str | None) or part != part for part in parts):  # noqa: PLR0124 - NaN
                shown = [normal(part) for part in parts if isinstance(part, str)]
                if all(map(is_index, shown)):
                    index = next(filter(None, shown), "")
                    check_no_index(index, place, where=names[at], hint="drop it, or give it another name")
        if not all(isinstance(name, str) for name in given):
            _check_places(parties, names, frames)
            return [
                _positions(list(map(str, one.columns)), by) if is_frame(one) else {} for one, by in members
            ]
        found[at] = _positions(normal_all(given), names[at])
    if not frames:
        return found
    held: list[tuple[str, Collection[str]]] = [before] if before else []
    held += [(names[at], found[at]) for at in frames]
    if told := left_out(held):
        warnings.warn(told, ColumnWarning, stacklevel=4)
    return [{name: one[name] for name in held[0][1]} if one else one for one in found]


def _positions(columns: Sequence[str], party: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, name in enumerate(columns):
        if name in found:
            raise DataError(f"{party}: two columns have the name {name!r}", code=Code.REPEATED_COLUMN)
        found[name] = place
    return found


def _check_places(parties: Sequence[Any], names: Sequence[str], frames: Sequence[int]) -> None:
    first = frames[0]
    for at in frames[1:]:
        columns, expected = list(parties[at].columns), list(parties[first].columns)
        if len(columns) != len(expected):
            raise DataError(f"{names[at]}: {len(columns)} columns, {names[first]} has {len(expected)}")
        for place, (one, other) in enumerate(zip(columns, expected, strict=True)):
            if one != other:
                raise DataError(f"{names[at]}: column {place} is {one!r}, in {names[first]} it is {other!r}")
