"""Shares in a memory-mapped file instead of memory."""

import os
import secrets
from pathlib import Path

import numpy as np

from secfc.agreement.logs.disk import write_all, write_errors
from secfc.errors import StorageError
from secfc.field.array_types import Shares
from secfc.sharing.rows import Allocate, in_memory

_OWNER_ONLY = 0o600
_BYTES = np.dtype(np.float32).itemsize
_PIECE_BYTES = 1 << 20


def allocator(storage: Path | None, *, name: str) -> Allocate:
    """Allocator of a client's shares: in memory, or in a file of its own in this folder.

    Only its owner can read the file. It has no name once it is open, so no file is left however the run ends.
    Its space is reserved when it is made.
    """
    if storage is None:
        return in_memory

    def in_file(shape: tuple[int, ...]) -> Shares:
        with write_errors(f"{name}: storage: {storage}", StorageError):
            return _in_file(storage / f"{secrets.token_hex(8)}.shares", shape)

    return in_file


def _in_file(path: Path, shape: tuple[int, ...]) -> Shares:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, _OWNER_ONLY), "r+b") as file:
        try:
            _reserve(file.fileno(), int(np.prod(shape)) * _BYTES)
            return np.asarray(np.memmap(file, dtype=np.float32, mode="r+", shape=shape))
        finally:
            path.unlink()


def _reserve(descriptor: int, size: int) -> None:
    """Reserve the disk space now. A full disk later would end the process without an error of ours."""
    if hasattr(os, "posix_fallocate") and size:
        os.posix_fallocate(descriptor, 0, size)
        return
    for left in range(max(size, _BYTES), 0, -_PIECE_BYTES):
        write_all(descriptor, bytes(min(left, _PIECE_BYTES)))
