"""Names of columns: one normal form, and which columns of several parties are clustered."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite

from secfc.codes import Code
from secfc.errors import DataError

_NO_WORDS = frozenset({"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "inf", "infinity"})


def normal(name: str) -> str:
    """A name in the form that is compared and shown: composed Unicode (NFC), single spaces, none around."""
    return unicodedata.normalize("NFC", " ".join(name.lstrip("\ufeff").split()))


def normal_all(names: Iterable[str]) -> list[str]:
    """Each name in normal form."""
    return list(map(normal, names))


def are_names(texts: Iterable[str]) -> bool:
    """Whether texts can be a header: numbers in it are whole and follow one another, as places and years do.

    A text that was not split where it should have been may be of several numbers.
    """
    numbers = []
    for text in (part for one in texts for part in re.split(r"[;|\t]", one)):
        with suppress(ValueError):
            numbers.append(float(text.replace(",", ".", 1)))
    finite = [number for number in numbers if isfinite(number)]  # "nan" and "inf" may be names
    return all(number.is_integer() and number == finite[0] + at for at, number in enumerate(finite))


def is_header(names: Mapping[str, bool], given: Iterable[str]) -> bool:
    """Whether the first line of a file can only be a header, and no row of values.

    It has a name that somebody has given; or two columns of numbers or more are below words, all of them.
    A row of values would need different words in all columns of numbers, and "NA" and the like are none.

    Parameters
    ----------
    names : mapping of str to bool
        What the first line has, in normal form, and whether numbers stand below it.
    given : iterable of str
        Names of columns from options, a job or a schema.
    """
    if any(_is_word(name) and name in names for name in normal_all(given)):
        return True
    above = [name for name, numbers in names.items() if numbers]
    return len(above) > 1 and all(map(_is_word, above))


def _is_word(text: str) -> bool:
    """Whether a text is neither a number nor one that stands for a missing one."""
    with suppress(ValueError):
        float(text.replace(",", ".", 1))
        return False
    return text.casefold() not in _NO_WORDS and any(map(str.isalpha, text))


def left_out(
    parties: Sequence[tuple[str, Collection[str]]], *, hint: str = "", unsure: Collection[str] = ()
) -> str:
    """In words, the columns that others than the first party have, and the first has not; "" for none.

    Parameters
    ----------
    parties : pairs of str and collection of str
        What errors call a party, and its columns in normal form.
    hint : str, optional
        What can be done about a column that is missing.
    unsure : collection of str, optional
        Parties of which names are not shown: they may be values.

    Raises
    ------
    DataError
        A party lacks a column of the first one: with the columns that it has instead, which may be the same
        under another name.
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
    """Names for people. Letters that look like others, such as Cyrillic ones, are shown by code too."""
    return ", ".join(repr(name) if name.isascii() else f"{name!r} ({name!a})" for name in names)
