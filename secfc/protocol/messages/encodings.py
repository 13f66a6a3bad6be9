"""Encodings of the fields of messages, and bodies, which are sequences of fields.

All integers are little endian. Every value has exactly one encoding, and any other bytes are refused.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from secfc.crypto.channel import TAG_BYTES, Sealed
from secfc.crypto.handshake import COIN_BYTES, Introduction
from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.crypto.identity import KEY_BYTES, SIGNATURE_BYTES
from secfc.errors import MessageError
from secfc.field.array_types import Ints, Labels
from secfc.field.label_packing import FEW, PackedLabels, bits_of, packed_size
from secfc.field.packing import Payload
from secfc.field.residues import MAX_ROWS, MAX_WEIGHT
from secfc.protocol.job.thresholds import COMPARERS, MAX_CLIENTS

_COUNT = struct.Struct("<I")
_INTRODUCED = ("rows", "smallest", "start", "weights", "ephemeral", "commitment", "signature")
_INTRODUCTION = struct.Struct(f"<II{DIGEST_BYTES}s{DIGEST_BYTES}s{KEY_BYTES}s{COIN_BYTES}s{SIGNATURE_BYTES}s")
_MOST_PARTIES = MAX_CLIENTS + COMPARERS


@dataclass(frozen=True, kw_only=True)
class Largest:
    """The most that a job's messages have of something, in bytes unless said otherwise.

    `step` is what a party sends another in a step of a program, `step_report` what it sends the coordinator,
    or the coordinator a party.
    """

    k: int  # number of clusters
    parties: int  # number of them
    rows: int  # of all parties
    weighted: bool  # whether rows have weights
    labelled: bool  # whether rows have start labels
    step: int
    step_report: int


Most = Callable[[Largest], int]


class Reader:
    """Reads a message from the front. MessageError if bytes are missing."""

    def __init__(self, data: memoryview, *, at: int = 0) -> None:
        self._data, self._size = data, len(data)
        self._at = at

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read the next values of this layout."""
        return layout.unpack(self.take(layout.size))

    def take(self, size: int) -> memoryview:
        """Read the next `size` bytes, as a view."""
        first, self._at = self._at, self._at + size
        if self._at > self._size:
            raise MessageError(f"truncated message: {self._size} bytes, {self._at} needed")
        return self._data[first : self._at]

    @property
    def left(self) -> int:
        """Number of bytes not yet read."""
        return self._size - self._at


@dataclass(frozen=True, repr=False)
class Encoding:
    """The encoding of a field. `pack` and `unpack` take the job's k."""

    pack: Callable[[Any, int], bytes | memoryview]  # for a bulk: only the bytes before the payload
    unpack: Callable[[Reader, int], Any]
    most: Most  # bytes of the largest value of a job
    bulk: bool = False  # a `Payload`, the last field of its message, which is not copied


class Body:
    """The fields of a message in order. Only the last one may take all remaining bytes."""

    def __init__(self, **fields: Encoding) -> None:
        self.fields = fields
        self._bulk = next((name for name in reversed(fields) if fields[name].bulk), None)

    def pack(self, message: object, k: int) -> tuple[bytes, Payload | None]:
        """The bytes of a message's fields and, if the last field is a bulk, its payload."""
        data = b"".join([one.pack(getattr(message, name), k) for name, one in self.fields.items()])
        return data, None if self._bulk is None else getattr(message, self._bulk)

    def unpack(self, reader: Reader, k: int) -> dict[str, Any]:
        """The fields, by name."""
        return {name: one.unpack(reader, k) for name, one in self.fields.items()}

    def most(self, of: Largest) -> int:
        """Bytes of the largest body of a job."""
        return sum(encoding.most(of) for encoding in self.fields.values())


COUNT = Encoding(
    lambda value, k: _COUNT.pack(value), lambda reader, k: reader.unpack(_COUNT)[0], lambda of: _COUNT.size
)


def octets(size: int) -> Encoding:
    """Exactly `size` bytes."""
    return Encoding(lambda value, k: value, lambda reader, k: bytes(reader.take(size)), lambda of: size)


REPORT = Encoding(
    lambda value, k: value, lambda reader, k: reader.take(reader.left), lambda of: of.step_report
)
"""A view of all remaining bytes: what a party and the coordinator send each other in a step."""


def sealed(most: Most) -> Encoding:
    """A sealed payload: a view of all remaining bytes. `most` bounds the payload without its tag."""

    def unpack(reader: Reader, k: int) -> Sealed:
        if reader.left < TAG_BYTES:
            raise MessageError(f"a sealed message of {reader.left} bytes, at least {TAG_BYTES} are needed")
        return Sealed(payload=reader.take(reader.left))

    return Encoding(lambda value, k: b"", unpack, lambda of: most(of) + TAG_BYTES, bulk=True)


def _pack_starts(sets: Labels | PackedLabels | None, k: int) -> bytes:
    if sets is None:
        return _COUNT.pack(0)
    packed = sets if isinstance(sets, PackedLabels) else PackedLabels.of(sets, k, none=True)
    return b"".join((_COUNT.pack(packed.size), packed.payload))


def _unpack_starts(reader: Reader, k: int) -> PackedLabels | None:
    (count,) = reader.unpack(_COUNT)
    if count > MAX_ROWS:
        raise MessageError(f"labels of {count} rows, at most {MAX_ROWS} are possible")
    payload = reader.take(packed_size(count, bits_of(k)))
    if count <= FEW:
        return _few_starts(bytes(payload), count, k)
    return PackedLabels(payload=payload, size=count, largest=k, none=True)


@lru_cache(maxsize=2)
def _few_starts(payload: bytes, size: int, k: int) -> PackedLabels | None:
    """Labels that parties of one process were all told: they are checked and unpacked once."""
    return PackedLabels(payload=payload, size=size, largest=k, none=True) if size else None


STARTS = Encoding(
    _pack_starts,
    _unpack_starts,
    lambda of: _COUNT.size + (packed_size(of.rows, bits_of(of.k)) if of.labelled else 0),
)
"""The set of each row, 0 to k - 1, or -1 for none. Received ones stay packed. None stands for 0 rows."""


def _unpack_weights(reader: Reader, k: int) -> Ints | None:
    (count,) = reader.unpack(_COUNT)
    if count > MAX_ROWS:
        raise MessageError(f"weights of {count} rows, at most {MAX_ROWS} are possible")
    weights = np.frombuffer(reader.take(_COUNT.size * count), dtype="<u4").astype(np.int64)
    if count and not 1 <= weights.min() <= weights.max() <= MAX_WEIGHT:
        raise MessageError(f"weights are from 1 to {MAX_WEIGHT}, others were sent")
    return weights if count else None


WEIGHTS = Encoding(
    lambda value, k: (
        _COUNT.pack(0 if value is None else value.size)
        + (b"" if value is None else value.astype("<u4").tobytes())
    ),
    _unpack_weights,
    lambda of: _COUNT.size * (1 + (of.rows if of.weighted else 0)),
)
"""The number of weights, then the weights. Number 0 stands for None."""


def _pack_introduction(one: Introduction) -> bytes:
    return _INTRODUCTION.pack(*(getattr(one, name) for name in _INTRODUCED))


def _introduction_of(data: bytes | memoryview) -> Introduction:
    return Introduction(**dict(zip(_INTRODUCED, _INTRODUCTION.unpack(data), strict=True)))


_NOBODY = bytes(_INTRODUCTION.size)
"""All zeros stand for a party that sent no Hello. They hold no valid signature."""


def _unpack_introductions(reader: Reader, k: int) -> tuple[Introduction | None, ...]:
    count, more = divmod(reader.left, _INTRODUCTION.size)
    if more:
        raise MessageError(f"Plan: a body of {reader.left} bytes is no multiple of {_INTRODUCTION.size}")
    if count > _MOST_PARTIES:
        raise MessageError(f"Plan: of {count} parties, at most {_MOST_PARTIES} are possible")
    return _introductions_of(bytes(reader.take(reader.left)))


@lru_cache(maxsize=2)
def _introductions_of(data: bytes) -> tuple[Introduction | None, ...]:
    """Those of these bytes: parties of one process share what they were all told."""
    read = (data[at : at + _INTRODUCTION.size] for at in range(0, len(data), _INTRODUCTION.size))
    return tuple(None if one == _NOBODY else _introduction_of(one) for one in read)


INTRODUCTION = Encoding(
    lambda value, k: _pack_introduction(value),
    lambda reader, k: _introduction_of(reader.take(_INTRODUCTION.size)),
    lambda of: _INTRODUCTION.size,
)
INTRODUCTIONS = Encoding(
    lambda value, k: b"".join(_NOBODY if one is None else _pack_introduction(one) for one in value),
    _unpack_introductions,
    lambda of: _INTRODUCTION.size * of.parties,
)
"""The introduction of every party, zeros for an absent one."""
