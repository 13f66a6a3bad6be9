"""Work in threads: the same bytes as without, errors once, and no thread is left."""

import os
import threading
from hashlib import sha256
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import secfc
from secfc.crypto import handshake
from secfc.crypto.identity import Identity
from secfc.drivers import in_process
from secfc.drivers.setup import Setup
from secfc.kernels import threads
from secfc.kernels.threads import Threads, cores, parts
from secfc.operations.beginning import in_range
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.psu.compiled import CompiledUnionKernels
from secfc.psu.prime import P

COUNTS = (1, 2, 5)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = {*threading.enumerate()}  # a library may have started some in another test
    yield
    assert {*threading.enumerate()} == before


@pytest.fixture
def small_pieces(monkeypatch):
    """A few rows are enough work for several threads, in many pieces."""
    monkeypatch.setattr(threads, "LEAST", 1)
    for module, name, value in (
        (in_process, "LEAST", 1),
        (in_range, "_BLOCK_ROWS", 32),
    ):
        monkeypatch.setattr(module, name, value)


def drawn(number):
    """The next output of the generator of a repeated run."""
    return lambda size: sha256(next(number).to_bytes(8)).digest()[:size]


def run_again(job, rows, *, many, patch):
    """Labels and the digest of every message of a run with fixed randomness."""
    draw, sent, encode = drawn(count()), [], in_process.encode
    ephemeral = SimpleNamespace(
        generate=lambda: X25519PrivateKey.from_private_bytes(draw(32)),
        from_private_bytes=X25519PrivateKey.from_private_bytes,
    )

    def encoded(message, **given):
        data = encode(message, **given)
        sent.append((type(message).__name__, sha256(data).hexdigest()))
        return data

    patch.setattr(os, "urandom", draw)
    patch.setattr(in_process, "Identity", lambda key: Identity(key or draw(32)))
    patch.setattr(in_process, "secrets", SimpleNamespace(token_bytes=draw))
    patch.setattr(in_process, "encode", encoded)
    patch.setattr(handshake, "X25519PrivateKey", ephemeral)
    names = [f"client {j}" for j in range(1, job.n + 1)]
    setup = Setup(job=job, rows=rows, starts=None, names=names, limits=Limits(), threads=many)
    outcome = in_process.run_in_process(setup)
    return [part.tolist() for part in outcome.labels], sent


@pytest.mark.some(1)
@pytest.mark.parametrize("kernels", ["compiled", "numpy"])
@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_any_number_of_threads_gives_the_same_labels_and_the_same_bytes(
    disclosure, kernels, small_pieces, monkeypatch
):
    monkeypatch.setenv("SECFC_KERNELS", kernels)
    rows = np.random.default_rng(1).normal(size=(420, 9)) * 3
    job = make_job(
        n=5,
        k=4,
        t=1,
        ell=2,
        d=9,
        bound=40.0,
        seed=3,
        max_iter=4,
        disclosure=disclosure,
        comparers=(1, 6, 7) if disclosure == "labels" else (),
    )
    found = []
    for many in COUNTS:
        with pytest.MonkeyPatch.context() as patch:
            found.append(run_again(job, np.array_split(rows, 5), many=many, patch=patch))
    assert len(found[0][1]) > 50
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_kernels_of_a_union_give_equal_values(small_pieces):
    rng = np.random.default_rng(6)
    a, x, weights = (rng.integers(P, size=shape, dtype=np.uint64) for shape in ((3, 4), (4, 77), (31, 4)))
    series = rng.integers(P, size=(31, 9), dtype=np.uint64)
    alone, many = CompiledUnionKernels(), CompiledUnionKernels(Threads(5))
    assert np.array_equal(alone.matmul(a, x), many.matmul(a, x))
    assert np.array_equal(alone.correlate(series, weights, 6), many.correlate(series, weights, 6))
    for one, other in zip(alone.poles(series[:, :8], 4), many.poles(series[:, :8], 4), strict=True):
        assert np.array_equal(one, other)


class TestThreads:
    def test_results_come_in_the_order_of_the_items(self):
        found = Threads(3).each(lambda item: item * item, range(50), size=1 << 30)
        assert found == [item * item for item in range(50)]

    def test_several_threads_work_at_the_same_time(self):
        meeting = threading.Barrier(3, timeout=60)
        Threads(3).each(lambda _: meeting.wait(), range(3), size=1 << 30)

    def test_no_thread_is_left_and_none_is_started_for_little_work(self):
        seen = set()

        def work(_):
            seen.add(threading.get_ident())

        Threads(4).each(work, range(100), size=threads.LEAST)
        assert seen == {threading.get_ident()}
        Threads(4).each(work, range(100), size=1 << 30)

    def test_work_within_work_starts_no_more_threads(self):
        some, counted = Threads(2), []

        def outer(_):
            here = threading.get_ident()
            assert some.for_work(1 << 30) == 1
            some.each(lambda _: counted.append(threading.get_ident() == here), range(5), size=1 << 30)

        some.each(outer, range(4), size=1 << 30)
        assert counted == [True] * 20
        assert some.for_work(1 << 30) == 2

    def test_the_first_error_is_raised_once_and_the_rest_is_left_out(self):
        begun = []

        def work(item):
            begun.append(item)
            if item >= 10:
                raise ValueError(item)

        with pytest.raises(ValueError, match="10") as raised:
            Threads(3).each(work, range(10_000), size=1 << 30)
        assert raised.value.args == (10,)
        assert len(begun) < 10_000

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
    def test_a_forked_process_starts_threads_of_its_own(self):
        some = Threads(3)
        some.each(abs, range(10), size=1 << 30)
        child = os.fork()
        if not child:
            meeting = threading.Barrier(3, timeout=60)
            try:
                some.each(lambda _: meeting.wait(), range(3), size=1 << 30)
                os._exit(0 if threading.active_count() == 1 else 2)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0

    def test_cores_are_shared_and_there_is_one_at_least(self):
        assert cores() >= 1
        assert cores(10_000) == 1

    @pytest.mark.parametrize(
        ("length", "pieces", "multiple"), [(0, 3, 1), (10, 3, 1), (10, 3, 8), (7, 20, 1)]
    )
    def test_pieces_cover_everything_once(self, length, pieces, multiple):
        found = parts(length, pieces, multiple=multiple)
        assert [at for one in found for at in range(one.start, one.stop)] == list(range(length))
        assert len(found) <= pieces
        assert all(one.start % multiple == 0 for one in found)


@pytest.mark.parametrize("given", [0, -1, 1.5, "2", True, 1025])
def test_a_number_of_threads_that_cannot_be_is_refused(given):
    with pytest.raises(secfc.ParameterError, match="threads: None or an integer from 1 to 1024"):
        secfc.run([[[0.0]], [[1.0]], [[2.0]]], 2, t=1, ell=1, threads=given)
