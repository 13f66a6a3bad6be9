"""The store of deposits, holdings and sealed labels: a folder, or a URL of object storage.

A store is not trusted: readers check the signature or seal of each file. A store can lose files, and can see
who wrote which size and when.
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from secfc.agreement.logs.disk import write_all
from secfc.errors import ParameterError, StorageError, missing, need_unix
from secfc.errors.codes import Code

_KINDS = {"s3": "s3fs", "gs": "gcsfs", "abfs": "adlfs"}
"""Kinds of URLs, and the library that fsspec imports for each. Others are refused: not all name a store."""

_NAMES = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*"
"""A path without root, drive, "..", link to a home, escape or backslash, on any system and in any URL."""

_BESIDE = re.compile(_NAMES)
_URL = re.compile(rf"({'|'.join(_KINDS)})://({_NAMES})")
_POSSIBLE = ", ".join(f"{kind}://" for kind in _KINDS)

_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW"))
"""Flags against pipes and links to other files, which anyone who may write to the folder can leave there."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FOLDER = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_DIRECTORY"))

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*", re.ASCII)
T = TypeVar("T")


def checked_store(where: str) -> str:
    """Return the store that a job states; ParameterError unless all can find it, and it leads nowhere else.

    The text does not quote it: a URL may contain a password.
    """
    if _BESIDE.fullmatch(where) or _URL.fullmatch(where):
        return where
    if "@" in where or "?" in where:
        raise ParameterError("a URL without user and password is needed")
    raise ParameterError(
        f"a folder beside the job file or a URL of {_POSSIBLE} is possible; each part of its path has "
        "letters, digits, '.', '_' and '-', and begins with a letter or digit"
    )


def store_of(where: str, folder: Path) -> str:
    """The URL of a store, or the path of a folder, relative to `folder`."""
    return where if _URL.fullmatch(where) else str(folder / where)


class Store:
    """Small files by path, written completely. StorageError, with the path, if one cannot be read or written.

    `where` is a result of `store_of`.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        url = _URL.fullmatch(where)
        self._files: _Folder | _Remote = _Folder(Path(where)) if url is None else _Remote(url)

    def write(self, path: str, data: bytes) -> None:
        """Write a file and replace the existing one, if any."""
        self._tried(path, lambda: self._files.write(path, data))

    def read(self, path: str, *, most: int) -> bytes | None:
        """The bytes of a file, None if there is none; StorageError if there are more than `most`."""
        found = self.head(path, most + 1)
        if found is not None and len(found) > most:
            raise StorageError(f"{self._where}/{path}: more than {most} bytes")
        return found

    def head(self, path: str, size: int) -> bytes | None:
        """The first bytes of a file, at most `size`; None if there is none."""
        return self._tried(path, lambda: self._files.read(path, size))

    def names(self, path: str, wanted: Callable[[str], object] = _PART.fullmatch) -> list[str]:
        """Names of files and folders in a folder, in no order. Those that are not wanted take no memory."""
        return self._tried(path, lambda: [one for one in self._files.names(path) if wanted(one)])

    def _tried(self, path: str, act: Callable[[], T]) -> T:
        if not all(map(_PART.fullmatch, path.split("/"))):
            raise ParameterError(f"{self._where}: {path!a} is no path of a file in a store")
        try:
            return act()
        except ParameterError:  # a library is missing
            raise
        except OSError as error:
            why = error.strerror or type(error).__name__
        except Exception as error:  # from the library of this kind of store; its text may quote secrets
            why = type(error).__name__
        raise StorageError(f"{self._where}/{path}: {why}", code=Code.STORAGE) from None


class _Folder:
    """Files on this machine.

    Whoever may write to the folder can replace a folder in it by a link at any time. So each is opened
    relative to the one above, and no link is followed.
    """

    def __init__(self, root: Path) -> None:
        need_unix(f"store: {root}")
        self._root = root

    def write(self, path: str, data: bytes) -> None:
        folder, _, name = path.rpartition("/")
        draft = f"{name}-{secrets.token_hex(4)}~"  # `names` ignores it due to the ~
        self._root.mkdir(parents=True, exist_ok=True)
        with self._folder(folder, make=True) as at:
            try:
                descriptor = os.open(draft, _NEW, 0o666, dir_fd=at)
                try:
                    write_all(descriptor, data)
                finally:
                    os.close(descriptor)
                os.replace(draft, name, src_dir_fd=at, dst_dir_fd=at)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=at)

    def read(self, path: str, most: int) -> bytes | None:
        folder, _, name = path.rpartition("/")
        try:
            with self._folder(folder) as at:
                descriptor = os.open(name, _READ, dir_fd=at)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe would block the reader
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no file")
        with os.fdopen(descriptor, "rb") as file:
            return file.read(most)

    def names(self, path: str) -> Iterator[str]:
        try:
            with self._folder(path) as at, os.scandir(at) as found:
                yield from (one.name for one in found)
        except FileNotFoundError:
            return

    @contextmanager
    def _folder(self, path: str, *, make: bool = False) -> Iterator[int]:
        """The descriptor of a folder of this one."""
        at = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in filter(None, path.split("/")):
                above, at = at, self._opened(part, at, make=make)
                os.close(above)
            yield at
        finally:
            os.close(at)

    def _opened(self, name: str, above: int, *, make: bool) -> int:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=above)
        try:
            return os.open(name, _FOLDER, dir_fd=above)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise OSError(error.errno, "a link or a file is in the way") from None
            raise


class _Remote:
    def __init__(self, url: re.Match[str]) -> None:
        self._kind, self._root = url.groups()

    @cached_property
    def _files(self) -> Any:
        """The library's object. Its errors may quote secrets, and a run that goes on needs no store."""
        try:
            import fsspec  # noqa: PLC0415 - an extra
        except ImportError:
            raise missing("fsspec", "owners.store", "stores") from None
        try:
            return fsspec.filesystem(self._kind)
        except ImportError:
            library = _KINDS[self._kind]
            raise ParameterError(
                f"owners.store: fsspec needs {library} for {self._kind}://, pip install {library}"
            ) from None

    def write(self, path: str, data: bytes) -> None:
        self._files.pipe_file(f"{self._root}/{path}", data)

    def read(self, path: str, most: int) -> bytes | None:
        try:
            found = self._files.cat_file(f"{self._root}/{path}", start=0, end=most)
        except FileNotFoundError:
            return None
        return bytes(found)

    def names(self, path: str) -> Iterator[str]:
        self._files.invalidate_cache()  # others may have written since
        try:
            found = self._files.ls(f"{self._root}/{path}", detail=False)
        except FileNotFoundError:
            return
        yield from (str(one).rstrip("/").rsplit("/", 1)[-1] for one in found)
