"""IDs as tokens: 122 bits of a keyed hash. The clients share the key, and the server does not know it."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from secfc.codes import Code
from secfc.errors import DataError, DuplicateIdError, ParameterError
from secfc.psu.prime import Elements, P
from secfc.texts import has_invisible, is_missing

KEY_BYTES = 32
CHECK_BYTES = 8

SALT_BYTES = 16

_TOKEN_BYTES = 16
_DIGEST_BYTES = 32
_MAX_INT_BITS = 2048
_WRITTEN_AS_FLOAT = re.compile(r"([-+]?[0-9]+)\.0?")
_SEVERAL_ZEROS = re.compile(r"[-+]?[0-9]+\.0{2,}")  # 7.000 may be seven thousand
_ROUNDED = re.compile(r"[-+]?[0-9]([.,][0-9]+[eE]\+?|[eE]\+)[0-9]+")  # long numbers in spreadsheets and Java


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens of a party's IDs, two field elements `u`, `v` each.

    To anyone without the key they look uniform and independent. `check`, 8 bytes, is a hash of key and salt.
    With it clients see whether they have the same key.
    """

    u: Elements = field(repr=False)
    v: Elements = field(repr=False)
    check: bytes = field(default=bytes(CHECK_BYTES), repr=False)

    def __len__(self) -> int:
        return self.u.size


def check_key(key: object) -> bytes:
    """The key, if it is valid; ParameterError otherwise."""
    if not isinstance(key, bytes):
        raise ParameterError(f"id_key: bytes are needed, {type(key).__name__} was given")
    if len(key) != KEY_BYTES:
        raise ParameterError(f"id_key: {KEY_BYTES} bytes are needed, {len(key)} were given")
    return key


@dataclass(frozen=True, kw_only=True)
class RowIds:
    """A party's IDs before a run's salt is known: a keyed digest of each, and the key.

    `digests`, shape (m_j, 32), uint8, are all different and in the order of the IDs. They do not depend on
    the run and never leave the party. The clients share the key, 32 bytes, and the server does not know it.
    """

    digests: NDArray[np.uint8] = field(repr=False)
    key: bytes = field(repr=False)

    def __len__(self) -> int:
        return int(self.digests.shape[0])

    def tokens(self, salt: bytes) -> Tokens:
        """Tokens of the IDs in a run.

        The salt, 16 bytes, is public and different for every run. So to anyone without the key, the tokens of
        two runs have nothing in common.
        """
        state = hashlib.blake2b(key=self.key, digest_size=_TOKEN_BYTES, salt=salt, person=b"secfc token")
        words = np.frombuffer(_hashed(state, (one.data for one in self.digests)), dtype="<u8").reshape(-1, 2)
        # The low 61 bits. All ones, which is p, becomes 0: once in 2**60 words.
        parts = words & np.uint64(P)
        parts[parts == P] = 0
        u, v = np.ascontiguousarray(parts[:, 0]), np.ascontiguousarray(parts[:, 1])
        check = hashlib.blake2b(key=self.key, digest_size=CHECK_BYTES, salt=salt, person=b"key check")
        return Tokens(u=u, v=v, check=check.digest())


def row_ids(ids: Iterable[object], *, key: bytes, name: str) -> RowIds:
    """A party's IDs in their normal form, hashed with the clients' key. `name` is the party in errors.

    IDs are str, int, UUID, bytes or whole floats. All except bytes are compared as text in Unicode's NFC
    without blanks at either end. A whole number that is written as a float is the whole number: 7, "7", 7.0
    and "7.0" are one ID, and "007" is another. A character that nobody sees is refused. Upper and lower case,
    leading zeros, punctuation and blanks inside are not changed, so parties must agree on them.

    DataError if an ID is empty or of another type: the text has its number, never the ID. DuplicateIdError if
    the party has an ID twice: the text has the numbers of the rows, from 0.
    """
    check_key(key)
    state = hashlib.blake2b(key=key, digest_size=_DIGEST_BYTES, person=b"secfc row ID")
    encoded = (_encoded(given, name=name, number=number) for number, given in enumerate(ids))
    digests = np.frombuffer(_hashed(state, encoded), dtype=np.uint8).reshape(-1, _DIGEST_BYTES)
    words = digests.view("<u8")
    order = np.lexsort(words.T)
    same = (words[order[1:]] == words[order[:-1]]).all(axis=1)
    if same.any():
        repeated = order[1:][same]
        at = int(repeated.argmin())
        raise DuplicateIdError(
            f"{name}: {repeated.size} of its IDs are repeated, the first of them in rows "
            f"{order[:-1][same][at]} and {repeated[at]}"
        )
    return RowIds(digests=digests, key=key)


def _hashed(state: hashlib.blake2b, parts: Iterable[bytes | memoryview]) -> bytes:
    """The digests of all parts, each with a copy of the keyed state."""
    hashed = bytearray()
    for part in parts:
        hashing = state.copy()
        hashing.update(part)
        hashed += hashing.digest()
    return bytes(hashed)


def _encoded(given: object, *, name: str, number: int) -> bytes:
    """An ID's normal form (NFC, no blanks at either end) as bytes: a prefix separates bytes from text."""
    if isinstance(given, bytes):
        coded = b"b" + given
    else:
        coded = b"s" + id_text(given, name=name, number=number).encode("utf-8", "surrogatepass")
    if len(coded) == 1:
        raise DataError(f"{name}: ID {number} is missing or empty", code=Code.BAD_ID)
    return coded


def id_text(given: object, *, name: str, number: int) -> str:
    """The normal form of an ID that is not bytes; DataError as `row_ids`, with the ID's number."""
    text = unicodedata.normalize("NFC", _text(given, name=name, number=number)).strip()
    if is_missing(text):
        raise DataError(f"{name}: ID {number} is missing or empty", code=Code.BAD_ID)
    if (whole := _WRITTEN_AS_FLOAT.fullmatch(text)) is not None:
        return whole[1]
    if _SEVERAL_ZEROS.fullmatch(text):
        raise DataError(
            f"{name}: ID {number} is a whole number with zeros behind a point; leave them out",
            code=Code.BAD_ID,
        )
    if _ROUNDED.fullmatch(text):
        raise DataError(
            f"{name}: ID {number} is a number in scientific notation, which may have been rounded; write all "
            "its digits",
            code=Code.BAD_ID,
        )
    if has_invisible(text):
        raise DataError(
            f"{name}: ID {number} has a character that nobody sees, such as a zero-width or no-break space",
            code=Code.BAD_ID,
        )
    return text


def _text(given: object, *, name: str, number: int) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, UUID):
        return str(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        whole = int(given)
        if whole.bit_length() > _MAX_INT_BITS:
            raise DataError(
                f"{name}: ID {number} is an integer of more than {_MAX_INT_BITS} bits", code=Code.BAD_ID
            )
        return str(whole)
    if isinstance(given, float | np.floating | Decimal):
        bits = 126 if isinstance(given, Decimal) else np.finfo(type(given)).nmant + 1
        finite = given.is_finite() if isinstance(given, Decimal) else isfinite(given)
        if not finite or int(given) != given or abs(int(given)) >= 1 << bits:  # may be rounded
            raise DataError(
                f"{name}: ID {number} is a number with a fraction, too large to be exact, or missing",
                code=Code.BAD_ID,
            )
        return str(int(given))
    raise DataError(
        f"{name}: ID {number} is of type {type(given).__name__}; str, int, UUID or bytes are needed",
        code=Code.BAD_ID,
    )
