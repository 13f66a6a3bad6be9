"""Result files and folders: checked before a run starts, and written completely or not at all."""

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from secfc.errors import ParameterError, missing
from secfc.errors.codes import Code, code_of_write


def check_new_folder(option: str, out: Path) -> None:
    """Raise ParameterError, before a run starts, for a folder that is not empty or cannot be made."""
    with _looking(option, out):
        if out.exists() and not out.is_dir():
            raise ParameterError(f"{option}: {out} is a file; name a new folder")
        if os.path.ismount(out):  # the draft beside it is in another file system and cannot replace it
            raise _unwritable(option, out, "it is a mount point; name a new folder in it")
        _check_writable(option, out, near=next(one for one in out.absolute().parents if one.exists()))
        if out.exists() and any(out.iterdir()):
            raise ParameterError(f"{option}: {out} is not empty; name a new folder")


def check_new_file(option: str, path: Path | None) -> None:
    """Raise ParameterError, before a run starts, for a file that exists or cannot be made."""
    if path is None:
        return
    with _looking(option, path):
        if path.exists():
            raise ParameterError(f"{option}: {path} already exists; name a new file")
    check_file(option, path)


def keep_earlier(path: Path) -> None:
    """Give a result of an earlier run, if there is one, another name: `name.1.json`, then `name.2.json`."""
    if path.exists():
        names = (path.with_suffix(f".{number}{path.suffix}") for number in count(1))
        path.rename(next(name for name in names if not name.exists()))


NO_PAGE = "report: not possible for a run with a committee"


def check_report(path: Path | None, *, committee: bool = False, again: bool = False) -> None:
    """Raise ParameterError, before a run starts, if the report page cannot be written.

    `again` says that the page of an earlier run may be there: `keep_earlier` gives it another name.
    """
    if path is not None and committee:
        raise ParameterError(NO_PAGE)
    if path is not None and again:
        check_file("--report", path)
    else:
        check_new_file("--report", path)
    if path is not None and find_spec("jinja2") is None:
        raise missing("Jinja", "--report", "report")


def check_file(option: str, path: Path) -> None:
    """Raise ParameterError, before a run starts, for a file, new or existing, that cannot be written."""
    with _looking(option, path):
        if path.is_dir():
            raise ParameterError(f"{option}: {path} is a folder; name a file")
        if not path.absolute().parent.exists():
            raise _unwritable(option, path, f"there is no folder {path.parent}")
        _check_writable(option, path, near=path if path.exists() else path.absolute().parent)


@contextmanager
def _looking(option: str, path: Path) -> Iterator[None]:
    """Turn an OSError about a path, such as "name too long", into a ParameterError."""
    try:
        yield
    except OSError as error:
        raise _unwritable(option, path, error.strerror or "the system refuses it") from None


def _check_writable(option: str, path: Path, *, near: Path) -> None:
    """Check that the file itself, or the closest folder that exists, can be written to."""
    if near != path and not near.is_dir():
        raise _unwritable(option, path, f"{near} is no folder")
    if not os.access(near, os.W_OK):
        raise _unwritable(option, path, f"{near} may not be written to")
    if near.is_dir():
        os.rmdir(tempfile.mkdtemp(prefix=f".{path.name}-", dir=near))


def _unwritable(option: str, path: Path, why: str) -> ParameterError:
    return ParameterError(f"{option}: {path} cannot be written, {why}", code=Code.UNWRITABLE)


@contextmanager
def whole_folder(option: str, out: Path) -> Iterator[Path]:
    """A temporary folder that replaces an empty `out` at the end: a reader sees all files or none."""
    check_new_folder(option, out)
    target = out.absolute()
    try:
        with drafted(target, mode=0o777 & ~_umask()) as draft:
            yield draft
    except OSError as error:
        raise ParameterError(
            f"{option}: {out} cannot be written ({error.strerror})", code=code_of_write(error)
        ) from None


@contextmanager
def drafted(target: Path, *, mode: int = 0o700) -> Iterator[Path]:
    """A folder beside `target` that replaces it if the block succeeds, and is removed otherwise."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield draft
        draft.chmod(mode)
        os.replace(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that people can read."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def replace_text(path: Path, text: str) -> None:
    """Write a file and replace the existing one, if any; after a ParameterError it is unchanged."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        text = f"{path} cannot be written ({error.strerror})"
        raise ParameterError(text, code=code_of_write(error)) from None
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
