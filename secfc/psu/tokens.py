"""IDs as tokens: 122 bits from a keyed hash that the clients share a key of and the server does not."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from secfc.errors import DataError, DuplicateIdError, ParameterError
from secfc.psu.prime import Elements, P

KEY_BYTES = 32
CHECK_BYTES = 8

_DIGEST_BYTES = 16
_MAX_INT_BITS = 8 * 255


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens of a party's IDs, two field elements each.

    Attributes
    ----------
    u, v : ndarray of shape (m_j,), uint64
        Below p = 2**61 - 1. For whoever lacks the key they are as good as uniform and independent.
    check : bytes of length 8
        A hash of key and salt, by which clients see that they have the same.
    """

    u: Elements = field(repr=False)
    v: Elements = field(repr=False)
    check: bytes = field(default=bytes(CHECK_BYTES), repr=False)

    def __len__(self) -> int:
        return self.u.size


def check_key(key: object) -> bytes:
    """The key, if it is one.

    Raises
    ------
    ParameterError
        Naming the length needed.
    """
    if not isinstance(key, bytes):
        raise ParameterError(f"id_key: bytes are needed, {type(key).__name__} was given")
    if len(key) != KEY_BYTES:
        raise ParameterError(f"id_key: {KEY_BYTES} bytes are needed, {len(key)} were given")
    return key


def tokens(ids: Iterable[object], *, key: bytes, salt: bytes, name: str) -> Tokens:
    """Tokens of a party's IDs.

    Parameters
    ----------
    ids : iterable of str, int, UUID or bytes
        Not empty, not twice the same. Values of different types are different IDs: 7 is not "7".
    key : bytes of length 32
        Shared by the clients, unknown to the server.
    salt : bytes of length 16
        Public and fresh for every run, so that the tokens of two runs have nothing in common for the server.
    name : str
        What errors call the party.

    Raises
    ------
    DataError
        An ID of another type, or an empty one; the text gives its number, never the ID.
    DuplicateIdError
        The party has an ID twice.

    Notes
    -----
    BLAKE2b, keyed, with the run's salt; IDs are tagged with their type. Strings are hashed
    as given: parties must agree on upper and lower case, blanks and Unicode normalisation.
    """
    check_key(key)
    state = hashlib.blake2b(key=key, digest_size=_DIGEST_BYTES, salt=salt)
    digests = bytearray()
    for number, given in enumerate(ids):
        hashing = state.copy()
        hashing.update(_encoded(given, name=name, number=number))
        digests += hashing.digest()
    words = np.frombuffer(bytes(digests), dtype="<u8").reshape(-1, 2)
    # The low 61 bits; all ones, p, becomes 0: once in 2**60 words.
    parts = words & np.uint64(P)
    parts[parts == P] = 0
    u, v = np.ascontiguousarray(parts[:, 0]), np.ascontiguousarray(parts[:, 1])
    order = np.lexsort((v, u))
    same = (np.diff(u[order]) == 0) & (np.diff(v[order]) == 0)
    if same.any():
        raise DuplicateIdError(f"{name}: {int(same.sum())} of its IDs are repeated")
    check = hashlib.blake2b(key=key, digest_size=CHECK_BYTES, salt=salt, person=b"key check").digest()
    return Tokens(u=u, v=v, check=check)


def _encoded(given: object, *, name: str, number: int) -> bytes:
    """An ID with its type, injectively."""
    if isinstance(given, str):
        coded = b"s" + given.encode("utf-8", "surrogatepass")
    elif isinstance(given, UUID):
        coded = b"u" + given.bytes
    elif isinstance(given, bytes):
        coded = b"b" + given
    elif isinstance(given, int | np.integer) and not isinstance(given, bool):
        whole = int(given)
        if whole.bit_length() >= _MAX_INT_BITS:
            raise DataError(f"{name}: ID {number} is an integer of more than {_MAX_INT_BITS - 1} bits")
        return b"i" + whole.to_bytes(whole.bit_length() // 8 + 1, "little", signed=True)
    else:
        raise DataError(
            f"{name}: ID {number} is of type {type(given).__name__}; str, int, UUID or bytes are needed"
        )
    if len(coded) == 1:
        raise DataError(f"{name}: ID {number} is empty")
    return coded
