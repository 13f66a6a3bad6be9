"""A full disk gives a StorageError that names party and argument, and leaves nothing half written."""

import errno
import mmap
import os

import numpy as np
import pytest

from secfc.drivers import storage
from secfc.errors import StorageError

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
TEXT = r"^north: storage: .*: No space left on device$"
SHAPE = 3, 5, 8


def full_from(call, monkeypatch, owner, name):
    """Have a system function fail from its call number `call` on (counted from 1)."""
    real, calls = getattr(owner, name), []

    def limited(*arguments, **named):
        calls.append(arguments)
        if len(calls) >= call:
            raise FULL
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, limited)


@pytest.mark.parametrize("step", ["open", "posix_fallocate", "memmap"])
def test_shares_that_do_not_fit_are_a_storage_error(monkeypatch, tmp_path, step):
    owner = storage.np if step == "memmap" else storage.os
    full_from(1, monkeypatch, owner, step)
    with pytest.raises(StorageError, match=TEXT):
        storage.allocator(tmp_path, name="north")(SHAPE)
    assert list(tmp_path.iterdir()) == []


def test_without_fallocate_space_is_taken_by_writing_it(monkeypatch, tmp_path):
    monkeypatch.delattr(storage.os, "posix_fallocate")
    shares = storage.allocator(tmp_path, name="north")(SHAPE)
    shares[:] = 1.0
    assert shares.sum() == np.prod(SHAPE)
    full_from(1, monkeypatch, storage, "write_all")
    with pytest.raises(StorageError, match=TEXT):
        storage.allocator(tmp_path, name="north")(SHAPE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fallocate", [True, False])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 100_001), (2, 3, 0)])
def test_the_space_of_a_file_is_taken_when_it_is_made(monkeypatch, tmp_path, fallocate, shape):
    """If pages of a memory map have no disk space, writing them ends the process (SIGBUS)."""
    if not fallocate:
        monkeypatch.delattr(storage.os, "posix_fallocate")
    blocks, real = [], mmap.mmap

    def mapped(descriptor, *arguments, **named):
        blocks.append(os.fstat(descriptor).st_blocks * 512)
        return real(descriptor, *arguments, **named)

    monkeypatch.setattr(mmap, "mmap", mapped)
    shares = storage.allocator(tmp_path, name="north")(shape)
    assert shares.shape == shape
    assert not blocks or blocks[0] >= 4 * np.prod(shape)
