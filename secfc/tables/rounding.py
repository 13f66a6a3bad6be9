"""What rounding to float64 or to the precision of a run would lose. Texts never show a value."""

import re
from collections.abc import Iterable, Sequence
from math import ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints
from secfc.field.fixed_point import row_norms, scale_exponent

EXACT = 2**53
"""All whole numbers up to here are exact in float64, but not all above."""

_WHOLE = re.compile(r"[-+]?[0-9]{16,}")

_FEW_STEPS = 256
"""Eight bits: with fewer, labels differ from those of the unrounded rows (docs/precision.md)."""

_ASKED_FOR = 16
_LOOKED_AT = 10_000


def is_beyond_exact(text: str) -> bool:
    """Whether a text is a whole number that float64 may round."""
    return _WHOLE.fullmatch(text.strip()) is not None and abs(int(text)) > EXACT


def beyond_exact(texts: Iterable[str | None]) -> list[int]:
    """The positions of such texts."""
    return [at for at, text in enumerate(texts) if text is not None and is_beyond_exact(text)]


def may_be_rounded(whole: NDArray[Any]) -> NDArray[np.bool_]:
    """Which whole numbers float64 may round."""
    found: NDArray[np.bool_] = (whole > EXACT) | (whole < -EXACT)
    return found


def check_exact(beyond: Sequence[int] | Ints, where: str, *, above: int = 0) -> None:
    """Raise DataError if float64 would round exact numbers: those in rows `beyond`, after `above` others."""
    if len(beyond):
        raise DataError(
            f"{where} has {len(beyond)} exact numbers beyond 2^53, the first in row {above + beyond[0]}, "
            "that float64 would round; leave the column out, or cast it to double precision",
            code=Code.OUT_OF_RANGE,
        )


def rounded_away(parties: Sequence[Floats], *, bound: float, precision: int) -> bool:
    """Whether half of the rows are only a few rounding steps from the median, for example due to one far row.

    Of many rows only a sample is used. Rows at the median, and rows that rounding does not change, such as
    small integers, are not lost. With a precision below `_ASKED_FOR` the caller has asked for few steps.
    """
    if precision < _ASKED_FOR:
        return False
    part = max(1, sum(rows.shape[0] for rows in parties) // _LOOKED_AT)
    rows = np.vstack([rows[::part] for rows in parties])
    if not rows.size:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        away = np.abs(rows - np.median(rows, axis=0)).max(axis=1)
    exponent = scale_exponent(bound, precision)
    steps = np.ldexp(rows[away > 0], exponent)
    away = away[away > 0]
    kept = (steps == np.rint(steps)).all(axis=1)
    if 2 * kept.sum() >= away.size:
        return False
    return bool(np.median(away) < _FEW_STEPS * ldexp(1.0, -exponent))


def few_steps(parties: Sequence[Floats], *, names: Sequence[str], precision: int) -> str:
    """The text when the largest norm makes rounding too coarse: which row it is, and what to do."""
    norms = [row_norms(rows) for rows in parties]
    party = max(range(len(norms)), key=lambda j: norms[j].max(initial=-1.0))
    return (
        f"precision: {precision} bits of the largest norm, that of row {norms[party].argmax()} of "
        f"{names[party]}, round half of all rows to few different values; leave out rows far from all "
        "others, clip or centre columns (secfc.prepare), raise precision, or give a bound to run with "
        "these rows"
    )
