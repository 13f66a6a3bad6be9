"""Row IDs in their normal form, the same from every source. `secfc.psu.tokens` hashes them."""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from uuid import UUID

import numpy as np

from secfc.errors import DataError
from secfc.errors.codes import Code
from secfc.psu.tokens import RowIds, hashed_ids
from secfc.tables.texts import has_invisible, is_missing

_MAX_INT_BITS = 2048
_WRITTEN_AS_FLOAT = re.compile(r"([-+]?[0-9]+)\.0?")
_SEVERAL_ZEROS = re.compile(r"[-+]?[0-9]+\.0{2,}")  # 7.000 may be seven thousand
_ROUNDED = re.compile(r"[-+]?[0-9]([.,][0-9]+[eE]\+?|[eE]\+)[0-9]+")  # long numbers in spreadsheets and Java


def row_ids(ids: Iterable[object], *, key: bytes, name: str) -> RowIds:
    """A party's IDs in their normal form, hashed with the clients' key. `name` is the party in errors.

    IDs are str, int, UUID, bytes or whole floats. All except bytes are compared as text in Unicode's NFC
    without blanks at either end. A whole number that is written as a float is the whole number: 7, "7", 7.0
    and "7.0" are one ID, and "007" is another. A character that nobody sees is refused. Errors have numbers
    of rows, never an ID.
    """
    encoded = (_encoded(given, name=name, number=number) for number, given in enumerate(ids))
    return hashed_ids(encoded, key=key, name=name)


def _encoded(given: object, *, name: str, number: int) -> bytes:
    """An ID's normal form (NFC, no blanks at either end) as bytes: a prefix separates bytes from text."""
    if isinstance(given, bytes):
        coded = b"b" + given
    else:
        coded = b"s" + id_text(given, name=name, number=number).encode("utf-8", "surrogatepass")
    if len(coded) == 1:
        raise _bad(name, number, "missing or empty")
    return coded


def id_text(given: object, *, name: str, number: int) -> str:
    """The normal form of an ID that is not bytes; DataError as `row_ids`, with the ID's number."""
    text = unicodedata.normalize("NFC", _text(given, name=name, number=number)).strip()
    if is_missing(text):
        raise _bad(name, number, "missing or empty")
    if (whole := _WRITTEN_AS_FLOAT.fullmatch(text)) is not None:
        return whole[1]
    if _SEVERAL_ZEROS.fullmatch(text):
        raise _bad(name, number, "a whole number with zeros behind a point; leave them out")
    if _ROUNDED.fullmatch(text):
        known = "a number in scientific notation, which may have been rounded; write all its digits"
        raise _bad(name, number, known)
    if has_invisible(text):
        seen = "a text with a character that nobody sees, such as a zero-width or no-break space"
        raise _bad(name, number, seen)
    return text


def _text(given: object, *, name: str, number: int) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, UUID):
        return str(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        whole = int(given)
        if whole.bit_length() > _MAX_INT_BITS:
            raise _bad(name, number, f"an integer of more than {_MAX_INT_BITS} bits")
        return str(whole)
    if isinstance(given, float | np.floating | Decimal):
        bits = 126 if isinstance(given, Decimal) else np.finfo(type(given)).nmant + 1
        finite = given.is_finite() if isinstance(given, Decimal) else isfinite(given)
        if not finite or int(given) != given or abs(int(given)) >= 1 << bits:  # may be rounded
            raise _bad(name, number, "a number with a fraction, too large to be exact, or missing")
        return str(int(given))
    raise _bad(name, number, f"of type {type(given).__name__}; str, int, UUID or bytes are needed")


def _bad(name: str, number: int, what: str) -> DataError:
    return DataError(f"{name}: ID {number} is {what}", code=Code.BAD_ID)
