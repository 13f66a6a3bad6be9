"""A folder of results that appears whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from secfc.errors import ParameterError


def check_new_folder(out: Path) -> None:
    """Raise ParameterError, before anything runs, unless a folder can be made here."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ParameterError(f"--out: {out} already holds something; name a new folder")
    parent = next(folder for folder in out.absolute().parents if folder.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
        raise ParameterError(f"--out: {out}: nothing can be made in {parent}")


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A draft to write to, beside `out`, that is renamed to it at the end: a reader sees all or nothing."""
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        yield draft
        draft.chmod(0o777 & ~_umask())
        os.replace(draft, out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
