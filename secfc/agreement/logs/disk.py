"""Disk operations for logs and results: folders for their owner only, whole writes, durable names."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from secfc.errors import ParameterError, SecFCError, StorageError
from secfc.errors.codes import code_of_write

Buffer = bytes | bytearray | memoryview

_OWNER_ONLY = 0o700


@contextmanager
def write_errors(what: str, kind: type[SecFCError] = ParameterError) -> Iterator[None]:
    """Turn an OSError of a write into an error of ours, with `what` was written and the system's reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror}", code=code_of_write(error)) from None


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, if needed. StorageError if it cannot be made."""
    with write_errors(str(folder), StorageError):
        folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)


def write_all(descriptor: int, data: Buffer) -> None:
    """Write every byte."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
