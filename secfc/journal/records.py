r"""A file of records that a process appends to and that another one, after it was killed, reads.

::

    file   = "secfc records 1\n" | key (32) | record 0 | record 1 | ...
    record = length (8) | kind (1) | tag of these (8) | payload | tag of all (16)

Tags are BLAKE2b under the file's key, with the record's number first: they find bytes that were torn,
flipped, cut out or moved. The key is in the file, so they find accidents, and not somebody who may write to
it.

A process that dies writing leaves a prefix of what it wrote, so whatever is incomplete at the end was never
synced, and nothing that it caused has left the process: it is cut off. Everything else that does not fit is
an error.
"""

import os
import secrets
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Self

from secfc.codes import code_of_write
from secfc.errors import StorageError

Buffer = bytes | bytearray | memoryview

_MAGIC = b"secfc records 1\n"
_KEY_BYTES = 32
_HEAD = struct.Struct("<Qc")
_NUMBER = struct.Struct("<Q")
_HEAD_TAG_BYTES = 8
_TAG_BYTES = 16
_PREFIX_BYTES = len(_MAGIC) + _KEY_BYTES
_FRAME_BYTES = _HEAD.size + _HEAD_TAG_BYTES + _TAG_BYTES
_OWNER_ONLY = 0o600


def write_all(descriptor: int, data: Buffer) -> None:
    """Write every byte; tests replace it to die in between."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class RecordFile:
    """An open file of records, locked against other processes.

    Made by `create` or `open`.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: Path, descriptor: int, key: bytes) -> None:
        self.path, self._descriptor, self._key = path, descriptor, key
        self._places: list[tuple[bytes, int, int]] = []  # kind, offset of the payload, length
        self._end = _PREFIX_BYTES

    def __repr__(self) -> str:
        return f"RecordFile({self.path.name!r}, records={len(self._places)})"

    @classmethod
    def create(cls, path: Path, records: list[tuple[bytes, bytes]]) -> Self:
        """A file that exists with these records or not at all; it takes the place of one that is there.

        Raises
        ------
        StorageError
            When it cannot be written.
        """
        draft = draft_of(path)
        key = secrets.token_bytes(_KEY_BYTES)
        with _storage_errors(path):
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
            file = cls(path, os.open(draft, flags, _OWNER_ONLY), key)
            try:
                file._lock()  # it never has its name unlocked
                write_all(file._descriptor, _MAGIC + key)
                for kind, payload in records:
                    file.append(kind, payload)
                file.sync()
                if sys.platform == "win32":
                    file.close()  # what is open cannot be renamed
                os.replace(draft, path)
                sync_folder(path.parent)
            except BaseException:
                file.close()
                raise
        return cls.open(path) if sys.platform == "win32" else file

    @classmethod
    def open(cls, path: Path) -> Self:
        """The file as it was left, without what is incomplete at its end.

        Raises
        ------
        StorageError
            When its bytes are not those that were written, or another process has it open.
        """
        with _storage_errors(path):
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            file = cls(path, descriptor, b"")
            try:
                file._lock()
                prefix = os.read(descriptor, _PREFIX_BYTES)
                if len(prefix) < _PREFIX_BYTES or not prefix.startswith(_MAGIC):
                    raise StorageError(f"{path}: it is no file of records")
                file._key = prefix[len(_MAGIC) :]
                file._scan(os.fstat(descriptor).st_size)
            except BaseException:
                file.close()
                raise
        return file

    def _lock(self) -> None:
        try:
            _lock(self._descriptor)
        except OSError:
            raise StorageError(f"{self.path}: another process has it open") from None

    def _scan(self, size: int) -> None:
        """Check every record; cut off what is incomplete at the end."""
        while self._end < size:
            number = len(self._places)
            head = self._read(self._end, _HEAD.size + _HEAD_TAG_BYTES)
            if len(head) < _HEAD.size + _HEAD_TAG_BYTES:
                break
            if self._tag(number, head[: _HEAD.size], b"", _HEAD_TAG_BYTES) != head[_HEAD.size :]:
                raise StorageError(f"{self.path}: record {number} is not as it was written")
            length, kind = _HEAD.unpack_from(head)
            start = self._end + len(head)
            if start + length + _TAG_BYTES > size:
                break
            payload = self._read(start, length)
            tag = self._read(start + length, _TAG_BYTES)
            if self._tag(number, head, payload, _TAG_BYTES) != tag:
                raise StorageError(f"{self.path}: record {number} is not as it was written")
            self._places.append((kind, start, length))
            self._end = start + length + _TAG_BYTES
        if not self._places:
            raise StorageError(f"{self.path}: its first record is incomplete")
        if self._end < size:
            os.ftruncate(self._descriptor, self._end)
            self.sync()
        os.lseek(self._descriptor, self._end, os.SEEK_SET)

    def _read(self, offset: int, size: int) -> bytes:
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        pieces = []
        while size and (piece := os.read(self._descriptor, size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _tag(self, number: int, head: Buffer, payload: Buffer, size: int) -> bytes:
        digest = blake2b(_NUMBER.pack(number), key=self._key, digest_size=size)
        digest.update(head)
        digest.update(payload)
        return digest.digest()

    def append(self, kind: bytes, payload: Buffer) -> None:
        """Write a record, not yet synced.

        Parameters
        ----------
        kind : bytes of length 1
        payload : bytes-like

        Raises
        ------
        StorageError
            When it cannot be written, as on a full disk.
        """
        number = len(self._places)
        head = _HEAD.pack(len(payload), kind)
        head += self._tag(number, head, b"", _HEAD_TAG_BYTES)
        with _storage_errors(self.path):
            write_all(self._descriptor, head)
            write_all(self._descriptor, payload)
            write_all(self._descriptor, self._tag(number, head, payload, _TAG_BYTES))
        self._places.append((kind, self._end + len(head), len(payload)))
        self._end += _FRAME_BYTES + len(payload)

    def sync(self) -> None:
        """Wait until everything that was appended is on the disk."""
        with _storage_errors(self.path):
            os.fsync(self._descriptor)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def identity(self) -> str:
        """What another file can name this one by: a digest of its key."""
        return blake2b(self._key, digest_size=_TAG_BYTES).hexdigest()

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._end

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """Kind and payload of the records that are here now, one after the other."""
        for kind, start, length in list(self._places):
            with _storage_errors(self.path):
                payload = self._read(start, length)
                os.lseek(self._descriptor, self._end, os.SEEK_SET)
            yield kind, payload

    def kinds(self) -> list[bytes]:
        """The kind of each record."""
        return [kind for kind, _, _ in self._places]

    def close(self) -> None:
        """Close the file, which stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Close and delete the file. Deletion does not wipe what the disk holds."""
        self.close()
        with _storage_errors(self.path):
            self.path.unlink(missing_ok=True)
            draft_of(self.path).unlink(missing_ok=True)


def hold(path: Path) -> int:
    """Lock a file, made if need be, readable by its owner only; the descriptor that holds the lock.

    Processes that inherit it hold the lock too, until all of them have ended.

    Raises
    ------
    StorageError
    """
    with _storage_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), _OWNER_ONLY)
        try:
            _lock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def in_use(path: Path) -> bool:
    """Whether a process has a file open and locked."""
    with _storage_errors(path):
        try:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            return False
    try:
        _lock(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def draft_of(path: Path) -> Path:
    """Where a file is until it is whole."""
    return path.with_name(path.name + ".draft")


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """Errors of the operating system as our own, with the path and without a value."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", code=code_of_write(error)) from None


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A byte far beyond the end: Windows locks the bytes themselves.
        os.lseek(descriptor, 1 << 62, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable; Windows has no way to, and no need."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
