"""Files that are never overwritten, and files of secrets."""

import base64
import binascii
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from secfc.agreement.logs.disk import sync_folder, write_errors
from secfc.errors import ParameterError, need_unix
from secfc.tables.toml_file import read_text

OWNER_ONLY = 0o600  # mode of a file that holds a secret
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def write_new(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file that must not exist yet. A process that is killed leaves no part of it at the path."""
    with write_errors(str(path)):
        _write(path, data, mode, _give_name)


def replace_secret(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read in place of the existing one, if any; OSError if it fails."""
    _write(path, data, OWNER_ONLY, os.replace)
    sync_folder(path.parent)


def _write(path: Path, data: bytes, mode: int, give_name: Callable[[Path, Path], None]) -> None:
    need_unix(str(path))
    draft = path.with_name(f"{path.name}-{secrets.token_hex(4)}~")
    try:
        with os.fdopen(os.open(draft, _NEW, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        give_name(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _give_name(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except OSError:  # there is a file, or the file system has no links
        if os.path.lexists(path):
            raise ParameterError(f"{path}: it exists and is left as it is; name another file") from None
        os.replace(draft, path)


def numbers_in(folder: Path, suffix: str = "") -> list[int]:
    """Numbers that files in a folder are named by, ascending; none where there is no folder."""
    names = (path.name.removesuffix(suffix) for path in folder.glob(f"*{suffix}"))
    return sorted(int(name) for name in names if name.isdecimal())


def of_base64(text: str, size: int, *, kind: str = "") -> bytes | None:
    """Decode `size` bytes from base64 after the prefix `kind`; None for any other text."""
    try:
        data = base64.b64decode(text.removeprefix(kind), validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) == size and kind + base64.b64encode(data).decode() == text else None


def read_private_text(path: Path, *, what: str) -> str:
    """A text file that only its owner may read; errors call it `what`, such as "a private key"."""
    need_unix(f"{path}: {what}")
    text = read_text(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        raise ParameterError(
            f"{path}: {what} that others may read (mode {mode:04o}); chmod 600 and, if anybody else has "
            f"had access, make a new one"
        )
    return text
