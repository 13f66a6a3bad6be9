"""A party's journal of one run: what it was begun with, every frame it took, and what it has sent.

The frames of a round that is over are of no use to a server once it has written down where it stands: then
they are dropped (`checkpoint`). That state and what follows it are in a second file.
"""

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from secfc.codes import code_of_write
from secfc.errors import StorageError
from secfc.journal.ledger import Ledger, Sent
from secfc.journal.records import Buffer, RecordFile

_HEADER, _TAKEN, _STATE, _UNSETTLED = b"H", b"T", b"S", b"U"
_DIGEST_BYTES = 16
_STANDING = struct.Struct(f"<QI{_DIGEST_BYTES}sc")  # sent before, messages caused, their digest, kind
_RECIPIENT_BYTES = 4
_COUNTS = struct.Struct("<QQI")  # frames taken, messages sent, bytes of the counts by party
_PLACE = struct.Struct("<IQ")  # recipient, index
_SIZE = struct.Struct("<Q")
_OWNER_ONLY = 0o700


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A frame that was taken, and the messages that it caused.

    Attributes
    ----------
    kind : bytes of length 1
    payload : bytes
    before : int
        Messages sent before.
    recipients : tuple of int
        Of the messages that it caused.
    digest : bytes of length 16
        Of these.
    """

    kind: bytes
    payload: bytes = field(repr=False)
    before: int
    recipients: tuple[int, ...]
    digest: bytes


@dataclass(frozen=True, kw_only=True)
class State:
    """Where the party stood after so many frames taken and messages sent; these also by other party."""

    taken: int
    sent: int
    taken_from: dict[int, int]
    sent_to: dict[int, int]
    state: bytes = field(repr=False)


class Journal:
    """An open journal.

    Attributes
    ----------
    header : dict
        What the run was begun with, secrets included.
    """

    def __init__(self, base: RecordFile, header: dict[str, Any]) -> None:
        self.header = header
        self._base = base
        self._round: RecordFile | None = None

    def __repr__(self) -> str:
        return f"Journal({self._base.path.name!r})"

    @classmethod
    def begin(cls, path: Path, header: dict[str, Any]) -> Self:
        """A new journal, readable by its owner only.

        Parameters
        ----------
        path : Path
            Its first file; the second is beside it.
        header : dict
            As JSON takes it.

        Raises
        ------
        StorageError
            When there is one already, or it cannot be written.
        """
        make_folder(path.parent)
        if path.exists():
            raise StorageError(f"{path}: there is a journal already")
        return cls(RecordFile.create(path, [(_HEADER, json.dumps(header).encode())]), header)

    @classmethod
    def resume(cls, path: Path) -> Self | None:
        """The journal of a run that was begun; None when there is none.

        Raises
        ------
        StorageError
            When it is not as it was written, or another process has it open.
        """
        if not path.exists():
            return None
        base = RecordFile.open(path)
        journal = cls(base, {})
        try:
            journal.header = _header(base)
            if _second(path).exists():
                journal._round = RecordFile.open(_second(path))
                journal._check_round(journal._round)
        except BaseException:
            journal.close()
            raise
        return journal

    def _check_round(self, file: RecordFile) -> None:
        """Raise StorageError unless the second file follows the first one, and neither was cut."""
        header = _header(file)
        if header.get("of") != self._base.identity:
            raise StorageError(f"{file.path}: it belongs to another journal")
        if len(self._base) != header["after"]:
            raise StorageError(
                f"{self.path}: it has {len(self._base)} records, {header['after']} were written to it"
            )
        if len(file) < header["records"]:
            raise StorageError(f"{file.path}: it has {len(file)} records, it began with {header['records']}")

    @property
    def path(self) -> Path:
        """Its first file."""
        return self._base.path

    @property
    def _last(self) -> RecordFile:
        return self._round or self._base

    def entries(self) -> Iterator[Taken | State | Sent]:
        """What was written after the header, in order; after a state the messages that were not settled."""
        for file in filter(None, (self._base, self._round)):
            for kind, payload in file.records():
                if kind == _TAKEN:
                    yield _taken(payload)
                elif kind == _STATE:
                    yield _state(payload)
                elif kind == _UNSETTLED:
                    recipient, index = _PLACE.unpack_from(payload)
                    yield Sent(recipient=recipient, index=index, message=payload[_PLACE.size :])

    def append(
        self,
        kind: bytes,
        payload: Buffer,
        messages: Sequence[Buffer],
        *,
        before: int,
        recipients: Sequence[int],
    ) -> None:
        """Write down a frame that was taken and what it caused; not yet synced."""
        standing = _STANDING.pack(before, len(messages), digest_of(messages), kind)
        to = b"".join(one.to_bytes(_RECIPIENT_BYTES, "little") for one in recipients)
        self._last.append(_TAKEN, b"".join((standing, to, payload)))

    def sync(self) -> None:
        """Wait until everything that was appended is on the disk."""
        self._last.sync()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._base.size + (self._round.size if self._round else 0)

    def checkpoint(self, state: Buffer, *, taken: int, sent: int, ledger: Ledger) -> None:
        """Write down where the party stands; frames taken since the last time are dropped."""
        path = _second(self._base.path)
        if self._round is not None:
            self._round.close()
        by_party = json.dumps([list(ledger.taken_from.items()), list(ledger.sent_to.items())]).encode()
        record = b"".join((_COUNTS.pack(taken, sent, len(by_party)), by_party, state))
        unsettled = [
            (_UNSETTLED, b"".join((_PLACE.pack(one.recipient, one.index), one.message)))
            for one in ledger.unsettled
        ]
        begun = {"of": self._base.identity, "after": len(self._base), "records": 2 + len(unsettled)}
        header = _HEADER, json.dumps(begun).encode()
        self._round = RecordFile.create(path, [header, (_STATE, record), *unsettled])

    def close(self) -> None:
        """Close its files, which stay."""
        self._base.close()
        if self._round is not None:
            self._round.close()

    def remove(self) -> None:
        """Close and delete its files, secrets first."""
        self._base.remove()
        if self._round is not None:
            self._round.remove()


def _taken(payload: bytes) -> Taken:
    before, caused, digest, frame = _STANDING.unpack_from(payload)
    rest = _STANDING.size + caused * _RECIPIENT_BYTES
    places = range(_STANDING.size, rest, _RECIPIENT_BYTES)
    recipients = tuple(int.from_bytes(payload[at : at + _RECIPIENT_BYTES], "little") for at in places)
    return Taken(kind=frame, payload=payload[rest:], before=before, recipients=recipients, digest=digest)


def _state(payload: bytes) -> State:
    taken, sent, size = _COUNTS.unpack_from(payload)
    rest = _COUNTS.size + size
    taken_from, sent_to = map(dict, json.loads(payload[_COUNTS.size : rest]))
    return State(taken=taken, sent=sent, taken_from=taken_from, sent_to=sent_to, state=payload[rest:])


def digest_of(messages: Iterable[Buffer]) -> bytes:
    """Digest of messages in order, 16 bytes."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for message in messages:
        digest.update(_SIZE.pack(len(message)))
        digest.update(message)
    return digest.digest()


def make_folder(folder: Path) -> None:
    """A folder that only its owner can enter, made if need be.

    Raises
    ------
    StorageError
    """
    try:
        folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: {error.strerror}", code=code_of_write(error)) from None


def _second(path: Path) -> Path:
    return path.with_name(path.name + ".round")


def _header(file: RecordFile) -> dict[str, Any]:
    kind, payload = next(file.records())
    if kind != _HEADER:
        raise StorageError(f"{file.path}: it begins with no header")
    header = json.loads(payload)
    assert isinstance(header, dict)
    return header
