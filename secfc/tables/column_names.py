"""Names of columns: their normal form, and which columns of several parties are clustered."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from typing import Any

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.tables.texts import has_visible

_INDEX = re.compile(
    r"unnamed: [0-9]+(_level_[0-9]+)?(\.[0-9]+)?|__index_level_[0-9]+__|index|level_[0-9]+"  # pandas
    r"|row_nr|row_index"  # Polars
    r"|\.\.\.[0-9]+|rn|row[._]?names?"  # R: readr, data.table, row names
    r"|_c[0-9]+|__null_dask_index__|rowid|column0+",  # Spark, Dask, SQLite, DuckDB
    re.IGNORECASE,
)
"""Names that libraries give to an index, or to a column without a name."""

_NO_WORDS = frozenset({"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "inf", "infinity"})


def normal(name: str) -> str:
    """A name in the form that is compared and shown: NFC, single spaces inside, no spaces around it."""
    return unicodedata.normalize("NFC", " ".join(name.lstrip("\ufeff").split()))


def normal_all(names: Iterable[str]) -> list[str]:
    """The normal form of each name."""
    return list(map(normal, names))


def are_names(texts: Iterable[str]) -> bool:
    """Whether texts can be a header: numbers in it must be consecutive integers, such as positions or years.

    A text may contain several numbers when it was not split at the right separator.
    """
    numbers = []
    for text in (part for one in texts for part in re.split(r"[;|\t]", one)):
        with suppress(ValueError):
            numbers.append(float(text.replace(",", ".", 1)))
    finite = [number for number in numbers if isfinite(number)]  # a column may be called "nan" or "inf"
    return all(number.is_integer() and number == finite[0] + at for at, number in enumerate(finite))


def is_header(names: Mapping[str, bool], given: Iterable[str]) -> bool:
    """Whether the first line of a file can only be a header, not a row of values.

    `names` are its names in normal form, and whether the column below holds numbers. It is a header if it has
    one of the names `given` by options, a job or a schema. It also is one if at least two columns hold
    numbers and the first line has a word in each of them: a row of values has numbers there. "NA" and
    similar texts do not count as words.
    """
    if any(_is_word(name) and name in names for name in normal_all(given)):
        return True
    above = [name for name, numbers in names.items() if numbers]
    return len(above) > 1 and all(map(_is_word, above))


def _is_word(text: str) -> bool:
    """Whether a text is neither a number nor a mark for a missing one."""
    with suppress(ValueError):
        float(text.replace(",", ".", 1))
        return False
    return text.casefold() not in _NO_WORDS and any(map(str.isalpha, text))


def is_index(name: str) -> bool:
    """Whether a name is none that a person sees, or one that libraries give to an index."""
    return not has_visible(name) or _INDEX.fullmatch(name) is not None


def indexes_in(schema: Any) -> list[str]:
    """The columns of a pyarrow schema that pandas wrote as the index of a DataFrame."""
    try:
        given = (schema.pandas_metadata or {})["index_columns"]
        return normal_all(name for name in given if isinstance(name, str))  # a range is a dict
    except (LookupError, TypeError, ValueError):  # not written by pandas
        return []


def check_no_index(name: str, place: int, *, where: str, hint: str) -> None:
    """Raise DataError for a column, in a `place` from 0, without a name or named as libraries name an index.

    It numbers the rows of a frame that was written, and would be clustered like a measurement.
    """
    if not has_visible(name):
        raise DataError(f"{where}: column {place + 1} has no name; {hint}", code=Code.EXTRA_COLUMN)
    if is_index(name):
        raise DataError(
            f"{where}: column {name!r} is named as libraries name an index; {hint}", code=Code.EXTRA_COLUMN
        )


def left_out(
    parties: Sequence[tuple[str, Collection[str]]], *, hint: str = "", unsure: Collection[str] = ()
) -> str:
    """Text that lists the columns which later parties have and the first party lacks; "" for none.

    DataError if a party lacks a column of the first: it may have the same one under another name. `hint`
    says what can be done. Names of parties in `unsure` may be values and are not shown.
    """
    first, columns = parties[0]
    more: dict[str, str] = {}
    counts: list[str] = []
    for party, held in parties:
        others = sorted(set(held) - set(columns))
        if missing := [name for name in columns if name not in held]:
            if {first, party} & set(unsure):
                raise DataError(
                    f"{party}: {len(missing)} of the {len(columns)} names that the first line of {first} has "
                    f"are not in its first line; a header is needed in both{hint}",
                    code=Code.MISSING_COLUMN,
                )
            instead = f"; it has {_listed(others)}, which {first} lacks" if others else ""
            raise DataError(
                f"{party}: no column {_listed(missing)}, {first} has it{instead}{hint}",
                code=Code.MISSING_COLUMN,
            )
        if party in unsure:
            counts += [f"{len(others)} ({party})"] if others else []
        else:
            more |= {name: more.get(name, party) for name in others}
    told = ", ".join([*(f"{name!r} ({party})" for name, party in sorted(more.items())), *counts])
    return f"columns that {first} lacks are left out: {told}" if told else ""


def _listed(names: Iterable[str]) -> str:
    """Names for people. A name with non-ASCII letters is also shown escaped: letters may look alike."""
    return ", ".join(repr(name) if name.isascii() else f"{name!r} ({name!a})" for name in names)
