"""A member's copies of deposits, in one file: a file of each cost more to write than all else of a deposit.

::

    file = of each owner, ascending: owner (4) | bytes (4) | certificate and deposit, as in the store

Nothing in it is trusted: a damaged file has no copy of some owners, or another one.
"""

import os
import secrets
import struct
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from secfc.agreement.files import OWNER_ONLY
from secfc.errors import AgreementError, StorageError
from secfc.journal.disk import sync_folder, write_errors

_RECORD = struct.Struct("<II")
_BUFFER = 1 << 20  # bytes that are read or written at a time
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_END = (1 << 32, b"")  # after all owners


def delete_drafts(folder: Path) -> None:
    """Delete the drafts of processes that were killed. One that is alive fails at the end."""
    for path in folder.glob("*~"):
        path.unlink(missing_ok=True)


def another_process(path: Path) -> AgreementError:
    """The error that another process of the site works on the same file."""
    return AgreementError(f"{path}: another process of this site changed it at the same time")


class NewCopies:
    """A new file of copies in a folder: a draft that `put` names. Without `put` it is deleted.

    Drafts of killed processes are deleted first. ParameterError if something cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._draft = folder, folder / f"{secrets.token_hex(8)}~"
        with write_errors(str(folder)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            delete_drafts(folder)
            self._file: BinaryIO = os.fdopen(os.open(self._draft, _NEW, OWNER_ONLY), "wb", _BUFFER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with write_errors(str(self._draft)):
            try:
                self._file.close()
            finally:
                self._draft.unlink(missing_ok=True)

    def add(self, owner: int, file: bytes) -> None:
        """Add an owner's file. Owners ascend."""
        with write_errors(str(self._draft)):
            self._file.write(_RECORD.pack(owner, len(file)) + file)

    def put(self, name: str) -> None:
        """Name the file, and replace the one of this name, if any. It is on the disk on return.

        AgreementError if another process of the site has begun a new file meanwhile.
        """
        with write_errors(str(self._folder)):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            try:
                os.replace(self._draft, self._folder / name)
            except FileNotFoundError:  # it has deleted the draft
                raise another_process(self._folder / name) from None
            sync_folder(self._folder)
            sync_folder(self._folder.parent)


def copies_in(path: Path, owners: Iterable[int], *, most: int) -> Iterator[tuple[int, bytes | None]]:
    """The copies of these owners, which ascend, of at most `most` bytes each. None where there is none.

    StorageError if the file cannot be read; where there is no file, there are no copies.
    """
    with closing(_records(path, most)) as records:
        found = next(records, _END)
        for owner in owners:
            while found[0] < owner:
                found = next(records, _END)
            yield owner, found[1] if found[0] == owner else None


def _records(path: Path, most: int) -> Generator[tuple[int, bytes]]:
    """Owners and copies, up to the first record that is not one."""
    before = 0
    try:
        with path.open("rb", _BUFFER) as file:
            while len(head := file.read(_RECORD.size)) == _RECORD.size:
                owner, size = _RECORD.unpack(head)
                if owner <= before or size > most or len(data := file.read(size)) < size:
                    return
                yield owner, data
                before = owner
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None
