"""A log of one run in an SQLite database: a header, then entries in order.

Entries are on the disk when `commit` returns. The database has a write-ahead log and is synced at every
commit (`synchronous=FULL`). If the process is killed, everything that was not committed is lost as a whole.

Each entry has a BLAKE2b tag under a key that is in the same file. The tag finds bytes that changed on the
disk. It does not stop an attacker who can write to the file.
"""

import json
import os
import secrets
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from secfc.agreement.logs.disk import make_folder
from secfc.errors import StorageError
from secfc.errors.codes import Code, code_of_write
from secfc.version import VERSION

_KEY_BYTES = 32
_TAG_BYTES = 16
_OWNER_ONLY = 0o600
_BESIDE = ("-wal", "-shm", "-journal")  # suffixes of SQLite's other files in the same folder
_HEADER = "header"
_PLACE = struct.Struct("<qiqI")  # index, client, number, bytes of the kind

_TABLES = """
CREATE TABLE header (key BLOB NOT NULL, text BLOB NOT NULL, tag BLOB NOT NULL);
CREATE TABLE entries (
    at INTEGER PRIMARY KEY, kind TEXT NOT NULL, client INTEGER NOT NULL, number INTEGER NOT NULL,
    body BLOB NOT NULL, tag BLOB NOT NULL
);
"""


class InUseError(StorageError):
    """Another process has the log open."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One entry. The writer defines the meaning of its fields."""

    kind: str
    client: int = 0
    number: int = 0
    body: bytes = field(default=b"", repr=False)


class RunLog:
    """An open log, readable only by its owner and locked against other processes: `begin` or `resume` it."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.path, self._database = path, database
        # The caller's header, with its secrets, and "version" of secfc and "began", in UTC.
        self.header: dict[str, Any] = {}
        self._key = b""
        self._next = 0

    @classmethod
    def begin(cls, path: Path, header: dict[str, Any]) -> Self:
        """A new log with a header for JSON. StorageError if it cannot be written, as on a full disk."""
        make_folder(path.parent)
        with _storage_errors(path):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY))
            log = cls(path, _connect(path))
            with log._closed_after_error():
                began = datetime.now(UTC).isoformat(timespec="seconds")
                log._key = secrets.token_bytes(_KEY_BYTES)
                log.header = {"version": VERSION, "began": began} | header
                log._database.executescript(f"BEGIN EXCLUSIVE; {_TABLES}")
                text = json.dumps(log.header).encode()
                row = log._key, text, log._tag(-1, Entry(kind=_HEADER, body=text))
                log._database.execute("INSERT INTO header VALUES (?, ?, ?)", row)
                log.commit()
        return log

    @classmethod
    def resume(cls, path: Path) -> Self | None:
        """The log of a run that was begun. None if there is no file, or a file without a header.

        A file without a header is deleted: its writer was killed at once. Raises InUseError if another
        process has the file open, StorageError if it was changed or is of another version of secfc.
        """
        log = cls._opened(path)
        if log is None:
            return None
        if not log.header:
            log.remove()
            return None
        with _storage_errors(path), log._closed_after_error():
            for _ in log.entries():
                pass  # the loop checks each entry
            log.commit()
        return log

    @classmethod
    def header_of(cls, path: Path) -> dict[str, Any] | None:
        """The header of a log that no process has open. A file without one stays: it may be new."""
        log = cls._opened(path)
        if log is None:
            return None
        log.close()
        return log.header or None

    @classmethod
    def _opened(cls, path: Path) -> Self | None:
        """The log, with its header read, in a transaction. Its header is empty if it has none."""
        if not path.exists():
            return None
        with _storage_errors(path):
            log = cls(path, _connect(path))
            with log._closed_after_error():
                log._database.execute("BEGIN EXCLUSIVE")
                log._read_header()
        return log

    @contextmanager
    def _closed_after_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _read_header(self) -> None:
        """Read the header, unless the file's writer was killed before it had written one."""
        if not self._database.execute("SELECT name FROM sqlite_master WHERE name = 'entries'").fetchall():
            return
        rows = self._database.execute("SELECT key, text, tag FROM header").fetchall()
        if len(rows) != 1:
            raise StorageError(f"{self.path}: it has no header")
        self._key, text, tag = rows[0]
        if tag != self._tag(-1, Entry(kind=_HEADER, body=text)):
            raise StorageError(f"{self.path}: its header is not as it was written")
        self.header = json.loads(text)
        if self.header["version"] != VERSION:
            raise StorageError(
                f"{self.path}: it was written by version {self.header['version']}, this is "
                f"{VERSION}; continue with that version, or delete the file"
            )
        (last,) = self._database.execute("SELECT max(at) FROM entries").fetchone()
        self._next = 0 if last is None else last + 1

    def append(self, entry: Entry) -> None:
        """Write an entry. It is on the disk after `commit`."""
        tag = self._tag(self._next, entry)
        row = self._next, entry.kind, entry.client, entry.number, entry.body, tag
        with _storage_errors(self.path):
            self._database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
        self._next += 1

    def commit(self) -> None:
        """Wait until everything that was appended is on the disk."""
        with _storage_errors(self.path):
            if self._database.in_transaction:
                self._database.execute("COMMIT")
            self._database.execute("BEGIN")

    def entries(self, only: str | None = None) -> Iterator[Entry]:
        """Entries in order, by default of all kinds. StorageError if one was changed."""
        with _storage_errors(self.path):
            rows = self._database.execute(
                "SELECT at, kind, client, number, body, tag FROM entries WHERE ? IN (kind, '') ORDER BY at",
                (only or "",),
            )
            for at, kind, client, number, body, tag in rows:
                entry = Entry(kind=kind, client=client, number=number, body=bytes(body))
                if self._tag(at, entry) != tag:
                    raise StorageError(f"{self.path}: entry {at} is not as it was written")
                yield entry

    def has(self, kind: str) -> bool:
        """Whether there is an entry of a kind."""
        with _storage_errors(self.path):
            found = self._database.execute("SELECT 1 FROM entries WHERE kind = ? LIMIT 1", (kind,))
            return bool(found.fetchall())

    def close(self) -> None:
        """Close the file and keep it. Entries that were not committed are lost."""
        with suppress(sqlite3.Error):
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
        self._database.close()

    def remove(self) -> None:
        """Close and delete the files. Deletion does not wipe the disk."""
        self.close()
        delete(self.path)

    def _tag(self, at: int, entry: Entry) -> bytes:
        kind = entry.kind.encode()
        digest = blake2b(
            _PLACE.pack(at, entry.client, entry.number, len(kind)), key=self._key, digest_size=_TAG_BYTES
        )
        digest.update(kind)
        digest.update(entry.body)
        return digest.digest()


def delete(path: Path) -> None:
    """Delete a log that no process has open. Deletion does not wipe the disk."""
    for one in (path, *(path.with_name(path.name + end) for end in _BESIDE)):
        with suppress(OSError):
            one.unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    # The first transaction locks the file until it is closed. Then SQLite makes no file of shared memory.
    database = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
    except sqlite3.Error:
        database.close()
        raise
    return database


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system and of SQLite into ours, with the path and without a value."""
    try:
        yield
    except (TypeError, ValueError, struct.error):
        raise StorageError(f"{path}: it is not as it was written") from None
    except FileExistsError:
        raise StorageError(f"{path}: there is a log already") from None
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", code=code_of_write(error)) from None
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise InUseError(f"{path}: another process has it open") from None
        full = code == sqlite3.SQLITE_FULL
        name = getattr(error, "sqlite_errorname", "an error of SQLite")
        raise StorageError(f"{path}: {name}", code=Code.DISK_FULL if full else Code.STORAGE) from None
