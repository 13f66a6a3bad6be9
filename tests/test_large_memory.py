"""Memory of large messages is used again, but never while anything refers to it."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import secfc
from secfc import large_memory
from secfc.large_memory import LARGE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has large pages on request")


@pytest.fixture(autouse=True)
def pool():
    large_memory.release()
    yield
    large_memory.release()


def address(memory):
    return np.frombuffer(memory, dtype=np.uint8).ctypes.data


@pytest.mark.parametrize("size", [0, 1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE, 40 * LARGE + 17])
def test_memory_has_the_size_and_can_be_written(size):
    memory = large_memory.empty(size)
    memory[:] = bytes(range(256)) * (size // 256) + bytes(size % 256)
    assert memory.nbytes == len(memory) == size
    assert not memory.readonly


def test_dropped_memory_is_used_again():
    first = address(large_memory.empty(2 * LARGE))
    assert address(large_memory.empty(2 * LARGE)) == first
    assert address(large_memory.empty(2 * LARGE - 1000)) == first


@pytest.mark.parametrize(
    "refer",
    [
        lambda memory: memory[LARGE:],
        lambda memory: memory.toreadonly(),
        lambda memory: np.frombuffer(memory, dtype=np.uint8)[4:].reshape(4, -1)[1:],
        lambda memory: np.frombuffer(memory, dtype=np.float32)[:7],
        lambda memory: np.asarray(memory)[::2].T,
    ],
)
def test_memory_is_not_used_again_while_a_view_refers_to_it(refer):
    memory = large_memory.empty(2 * LARGE)
    memory[:] = b"\1" * len(memory)
    view = refer(memory)
    del memory
    gc.collect()
    others = [large_memory.empty(2 * LARGE) for _ in range(3)]
    for other in others:
        other[:] = bytes(len(other))
    assert (np.asarray(view).view(np.uint8) == 1).all()


def test_much_larger_memory_is_not_used_for_a_small_request():
    first = address(large_memory.empty(8 * LARGE))
    small = large_memory.empty(LARGE)
    assert address(small) != first
    assert address(large_memory.empty(8 * LARGE)) == first


@pytest.mark.parametrize("size", [4 * LARGE, 9 * LARGE], ids=["kept", "new"])
def test_kept_memory_is_bounded(monkeypatch, size):
    monkeypatch.setattr(large_memory, "_MOST_IDLE", 20 * LARGE)
    held = [large_memory.empty(4 * LARGE) for _ in range(12)]
    del held
    large_memory.empty(size)
    assert 0 < sum(one.size for one in large_memory._POOL._idle) <= 20 * LARGE + size + LARGE


def test_memory_that_is_in_use_at_a_release_is_not_kept_whatever_else_is_in_use():
    before, other = large_memory.empty(2 * LARGE), large_memory.empty(2 * LARGE)
    mapped = weakref.ref(np.asarray(before).base.obj)
    assert mapped() is not None
    large_memory.release()
    del before
    assert large_memory._POOL._idle == []
    assert mapped() is None
    other[0] = 1


def test_where_memory_is_missing_the_kept_is_given_back(monkeypatch):
    large_memory.empty(2 * LARGE)
    assert large_memory._POOL._idle

    def full(size):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(large_memory, "_new", full)
    assert len(large_memory.empty(8 * LARGE)) == 8 * LARGE
    assert large_memory._POOL._idle == []


def test_without_large_pages_numpy_gives_the_memory(monkeypatch):
    monkeypatch.delattr(large_memory.mmap, "MADV_HUGEPAGE")
    assert len(large_memory.empty(2 * LARGE)) == 2 * LARGE
    assert large_memory._POOL._idle == []


def test_a_system_that_refuses_large_pages(monkeypatch):
    def refused(*_, **__):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(large_memory.mmap, "mmap", refused)
    assert len(large_memory.empty(2 * LARGE)) == 2 * LARGE


def test_threads_never_share_memory():
    """Each thread writes its number to all its memory, and reads it again after others took memory."""
    wrong = []

    def work(number):
        for _ in range(40):
            mine = [np.frombuffer(large_memory.empty(LARGE + 4096), dtype=np.uint8) for _ in range(3)]
            for one in mine:
                one[::4096] = number
            if any((one[::4096] != number).any() for one in mine):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


@pytest.mark.parametrize(
    "options", [{"disclosure": "coded"}, {"disclosure": "labels"}, {"max_liars": 1}], ids=str
)
def test_runs_whose_messages_all_use_it_have_the_same_labels(options, monkeypatch):
    rows = np.random.default_rng(3).normal(size=(70, 3)).round(1)
    parties, call = np.array_split(rows, 7), {"k": 3, "t": 1, "ell": 1, "seed": 5} | options
    expected = secfc.run(parties, **call).labels
    monkeypatch.setattr(large_memory, "LARGE", 64)
    monkeypatch.setattr(large_memory, "_APART", 64)  # so that memory fits requests of similar sizes
    new = []
    mapped = large_memory._new
    monkeypatch.setattr(large_memory, "_new", lambda size: new.append(size) or mapped(size))
    taken = []
    monkeypatch.setattr(
        large_memory._POOL,
        "take",
        lambda size, take=large_memory._POOL.take: taken.append(size) or take(size),
    )
    found = secfc.run(parties, **call).labels
    assert len(taken) > 100
    assert len(new) < 0.7 * len(taken)
    assert all((one == other).all() for one, other in zip(found, expected, strict=True))
    assert large_memory._POOL._idle == []
