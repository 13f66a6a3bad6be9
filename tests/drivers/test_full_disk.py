"""A full disk gives a StorageError that names party and argument, and leaves nothing half written."""

import errno
import mmap
import os
from dataclasses import replace

import numpy as np
import pytest

from secfc.drivers import storage
from secfc.drivers.in_process import run_in_process
from secfc.errors import StorageError

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
TEXT = r"^parties\[1\]: storage: .*: No space left on device$"


@pytest.fixture
def stored(setup_of, tmp_path):
    return replace(setup_of(counts=(5, 4, 3)), storage=tmp_path)


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
def test_in_one_process_shares_that_do_not_fit_are_a_storage_error(stored, monkeypatch, tmp_path, step):
    owner = storage.np if step == "memmap" else storage.os
    full_from(2, monkeypatch, owner, step)
    with pytest.raises(StorageError, match=TEXT):
        run_in_process(stored)
    assert list(tmp_path.iterdir()) == []


def test_without_fallocate_space_is_taken_by_writing_it(stored, monkeypatch, tmp_path):
    expected = run_in_process(replace(stored, storage=None))
    monkeypatch.delattr(storage.os, "posix_fallocate")
    for mine, theirs in zip(run_in_process(stored).labels, expected.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    full_from(2, monkeypatch, storage, "write_all")
    with pytest.raises(StorageError, match=TEXT):
        run_in_process(stored)
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
