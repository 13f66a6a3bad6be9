"""Draft a schema from one party's rows. The parties then agree on this schema or change it.

A schema is public. A draft rounds ranges outwards and omits rare texts, so it reveals little about the rows.
"""

import json
from collections.abc import Sequence
from math import isfinite

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from secfc.errors import DataError
from secfc.prepare.tables import is_numeric
from secfc.tables.column_names import is_index, normal_all
from secfc.tables.reading import are_row_numbers, codes_of, load_table, no_column
from secfc.tables.sources.own_form import Input
from secfc.tables.texts import is_missing

MOST_CATEGORIES = 20
FEWEST_OF_A_CATEGORY = 10  # rarer texts may identify a person
_HEAD = """\
# A draft from one file. Agree on units, ranges and categories that all parties know without looking at rows.
# Ranges are rounded outwards; texts of fewer than 10 rows are left out. Leave out outcomes with --drop.
smallest = 20
"""


class _LeftOutError(Exception):
    """A column that is not in the draft. The text is the reason."""


def draft_schema(source: Input, *, drop: Sequence[str] = ()) -> str:
    """The text of a schema file for a party's rows without columns to `drop`, such as outcomes.

    DataError if no column can be used.
    """
    table = load_table(source, named=drop)
    if unknown := [name for name in normal_all(drop) if name not in table.column_names]:
        raise no_column(source, unknown, table)
    codes, drafted, left_out = codes_of(table), [], []
    for name in dict.fromkeys(table.column_names):
        quoted = json.dumps(name, ensure_ascii=False)
        try:
            if table.column_names.count(name) > 1:
                raise _LeftOutError("two columns have this name")
            if name in normal_all(drop):
                raise _LeftOutError("it is not to be clustered (--drop)")
            if is_index(name):
                raise _LeftOutError("it has no name, or that of an index")
            lines = _drafted(table.column(name), is_code=name in codes)
        except _LeftOutError as why:
            left_out.append(f"# {quoted} is left out: {why}")
        else:
            drafted.append("\n".join(["", "[[column]]", f"name = {quoted}", *lines]))
    if not drafted:
        raise DataError(f"{source}: no column of numbers, or of few texts, is in it")
    return "\n".join([_HEAD.rstrip(), *left_out, *drafted, ""])


def _drafted(values: pa.ChunkedArray, *, is_code: bool) -> list[str]:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if values.null_count == len(values):
        raise _LeftOutError("it has no values")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _categories(values)
    if not is_numeric(kind):
        raise _LeftOutError(f"it is of type {kind}")
    numbers = values.drop_null().cast(pa.float64(), safe=False).to_numpy()
    given = numbers[np.isfinite(numbers)]
    if is_code or are_row_numbers(given):
        raise _LeftOutError("it looks like an identifier")
    low, high = (min(given.min(initial=0.0), 0.0), max(given.max(initial=0.0), 0.0))
    ends = [f"-{_outwards(-low)}" if low else "0", _outwards(high) if high else "0" if low else "1"]
    if not all(isfinite(float(end)) for end in ends):
        raise _LeftOutError("its values are too large")
    lines = [f"low = {ends[0]}", f"high = {ends[1]}", 'scale = "min-max"']
    missing = len(values) - given.size
    if missing:
        lines.append(
            f'missing = "mean"  # {missing} are missing here; the mean of all parties is opened for it'
        )
    return lines


def _categories(values: pa.ChunkedArray) -> list[str]:
    texts = pc.utf8_trim_whitespace(values)
    counts = {one["values"]: one["counts"] for one in pc.value_counts(texts).to_pylist()}
    counts = {text: count for text, count in counts.items() if text is not None and not is_missing(text)}
    if len(counts) > MOST_CATEGORIES:
        raise _LeftOutError(f"it has {len(counts)} different texts")
    common = sorted(text for text, count in counts.items() if count >= FEWEST_OF_A_CATEGORY)
    if not common:
        raise _LeftOutError(f"each of its texts is in fewer than {FEWEST_OF_A_CATEGORY} rows")
    lines = [f"categories = {json.dumps(common, ensure_ascii=False)}"]
    rare, missing = len(counts) - len(common), len(values) - sum(counts.values())
    if rare:
        lines.append(f"# {rare} rarer texts are not in the list")
    if missing:
        lines.append(f'missing = "zero"  # {missing} are missing here')
    return lines


def _outwards(value: float) -> str:
    """The least 1, 2 or 5 times a power of ten that is at least `value`, a number above 0."""
    exponent = int(f"{value:e}".partition("e")[2])
    steps = [(digit, power) for power in (exponent - 1, exponent, exponent + 1) for digit in (1, 2, 5)]
    digit, power = next(step for step in steps if float(f"{step[0]}e{step[1]}") >= value)
    return f"{digit}e{power}" if power < 0 or power > 15 else f"{digit}{'0' * power}"
