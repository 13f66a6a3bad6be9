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

from secfc.errors import StorageError
from secfc.journal.records import Buffer, RecordFile

_HEADER, _TAKEN, _STATE = b"H", b"T", b"S"
_DIGEST_BYTES = 16
_STANDING = struct.Struct(f"<QI{_DIGEST_BYTES}sc")  # sent before, messages caused, their digest, kind
_COUNTS = struct.Struct("<QQ")  # frames taken, messages sent
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
    caused : int
        Messages that it caused.
    digest : bytes of length 16
        Of these.
    """

    kind: bytes
    payload: bytes = field(repr=False)
    before: int
    caused: int
    digest: bytes


@dataclass(frozen=True, kw_only=True)
class State:
    """Where the party stood after so many frames taken and messages sent."""

    taken: int
    sent: int
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
        try:
            journal = cls(base, _header(base))
            if _second(path).exists():
                journal._round = RecordFile.open(_second(path))
                if _header(journal._round) != {"of": base.identity}:
                    raise StorageError(f"{_second(path)}: it belongs to another journal")
        except BaseException:
            base.close()
            raise
        return journal

    @property
    def path(self) -> Path:
        """Its first file."""
        return self._base.path

    @property
    def _last(self) -> RecordFile:
        return self._round or self._base

    def entries(self) -> Iterator[Taken | State]:
        """What was written after the header, in order."""
        for file in filter(None, (self._base, self._round)):
            for kind, payload in file.records():
                if kind == _TAKEN:
                    before, caused, digest, frame = _STANDING.unpack_from(payload)
                    rest = payload[_STANDING.size :]
                    yield Taken(kind=frame, payload=rest, before=before, caused=caused, digest=digest)
                elif kind == _STATE:
                    taken, sent = _COUNTS.unpack_from(payload)
                    yield State(taken=taken, sent=sent, state=payload[_COUNTS.size :])

    def append(self, kind: bytes, payload: Buffer, messages: Sequence[Buffer], *, before: int) -> None:
        """Write down a frame that was taken and what it caused; not yet synced."""
        standing = _STANDING.pack(before, len(messages), digest_of(messages), kind)
        self._last.append(_TAKEN, b"".join((standing, payload)))

    def sync(self) -> None:
        """Wait until everything that was appended is on the disk."""
        self._last.sync()

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self._base.size + (self._round.size if self._round else 0)

    def checkpoint(self, state: Buffer, *, taken: int, sent: int) -> None:
        """Write down where the party stands; frames taken since the last time are dropped."""
        path = _second(self._base.path)
        if self._round is not None:
            self._round.close()
        header = json.dumps({"of": self._base.identity}).encode()
        record = b"".join((_COUNTS.pack(taken, sent), state))
        self._round = RecordFile.create(path, [(_HEADER, header), (_STATE, record)])

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
        raise StorageError(f"{folder}: {error.strerror}") from None


def _second(path: Path) -> Path:
    return path.with_name(path.name + ".round")


def _header(file: RecordFile) -> dict[str, Any]:
    kind, payload = next(file.records())
    if kind != _HEADER:
        raise StorageError(f"{file.path}: it begins with no header")
    header = json.loads(payload)
    assert isinstance(header, dict)
    return header
