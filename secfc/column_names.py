"""Names of columns: one normal form, and which columns of several parties are clustered."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from math import isfinite

from secfc.codes import Code
from secfc.errors import DataError


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


def left_out(parties: Sequence[tuple[str, Collection[str]]], *, hint: str = "") -> str:
    """In words, the columns that others than the first party have, and the first has not; "" for none.

    Parameters
    ----------
    parties : pairs of str and collection of str
        What errors call a party, and its columns in normal form.
    hint : str, optional
        What can be done about a column that is missing.

    Raises
    ------
    DataError
        A party lacks a column of the first one: with the columns that it has instead, which may be the same
        under another name.
    """
    first, columns = parties[0]
    more: dict[str, str] = {}
    for party, held in parties:
        others = sorted(set(held) - set(columns))
        if missing := [name for name in columns if name not in held]:
            instead = f"; it has {_listed(others)}, which {first} lacks" if others else ""
            raise DataError(
                f"{party}: no column {_listed(missing)}, {first} has it{instead}{hint}",
                code=Code.MISSING_COLUMN,
            )
        more |= {name: more.get(name, party) for name in others}
    told = ", ".join(f"{name!r} ({party})" for name, party in sorted(more.items()))
    return f"columns that {first} lacks are left out: {told}" if told else ""


def _listed(names: Iterable[str]) -> str:
    """Names for people. Letters that look like others, such as Cyrillic ones, are shown by code too."""
    return ", ".join(repr(name) if name.isascii() else f"{name!r} ({name!a})" for name in names)
