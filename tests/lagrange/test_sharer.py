"""Rows to packed shares for all clients: `Sharer` compared with its parts and with recovery."""

import numpy as np
import pytest

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats
from secfc.field.fixed_point import quantise
from secfc.field.packing import PackedResidues, packed_bytes, unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.field.residues import centre, matmul, reduce
from secfc.kernels import Kernels
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharer import Sharer
from secfc.lagrange.sharing import share, split
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import make_job

KEY = bytes(range(32))
SCHEMES = [(3, 1, 1), (5, 1, 2), (5, 2, 1), (11, 4, 2), (9, 1, 4), (12, 3, 3)]
"""(n, t, ell)"""

each_scheme = pytest.mark.parametrize(("n", "t", "ell"), SCHEMES)
each_kernels = pytest.mark.parametrize(
    "kernels", [VectorisedKernels(), CompiledKernels()], ids=lambda kernels: kernels.name
)


def job_of(n: int, t: int, ell: int, d: int = 5, precision: int = 32) -> Job:
    return make_job(n=n, k=2, t=t, ell=ell, d=d, bound=8.0, precision=precision, disclosure="coded")


def sharer_of(job: Job, primes: int, kernels: Kernels, key: bytes = KEY) -> Sharer:
    return Sharer(job=job, primes=primes_of(primes), masks=MaskSource(key), kernels=kernels)


def rows_of(m: int, d: int = 5) -> Floats:
    return np.random.default_rng(m).uniform(-3, 3, (m, d))


def plane(packed: list[PackedResidues], index: int) -> Floats:
    """Canonical shares modulo one prime, shape (n, width, rows)."""
    return np.stack([unpack(one.planes()[index]) for one in packed])


@each_kernels
@each_scheme
def test_shares_are_those_of_the_segments_and_the_masks(n: int, t: int, ell: int, kernels: Kernels) -> None:
    job, rows = job_of(n, t, ell), rows_of(7)
    packed = sharer_of(job, 3, kernels).share(rows)
    assert [one.shape for one in packed] == [(3, job.width, 7)] * n
    masks = MaskSource(KEY)
    for index, prime in enumerate(PRIMES[:3]):
        p = prime.p
        points = evaluation_points(prime, n=n, coded=ell + t)
        segments = reduce(split(quantise(rows, job.unit), ell), p)
        shares = share(
            segments,
            masks.uniform(p, (t, job.width, 7)),
            lagrange_basis(points.beta, points.alpha, p),
            p,
        )
        assert np.array_equal(plane(packed, index), shares % p)


@each_kernels
def test_equal_blocks_of_rows_are_masked_differently(kernels: Kernels) -> None:
    sharer, rows = sharer_of(job_of(5, 2, 1), 2, kernels), rows_of(50)
    one, other = sharer.share(rows), sharer.share(rows)
    for x, y in zip(one, other, strict=True):
        assert (unpack(x.planes()) == unpack(y.planes())).mean() < 0.05


@each_kernels
def test_blocks_go_on_in_the_keystream(kernels: Kernels) -> None:
    # The second block's shares are those of a source that has already drawn the masks of the first block.
    job, rows = job_of(5, 2, 1), rows_of(9)
    sharer = sharer_of(job, 2, kernels)
    sharer.share(rows[:4])
    second = sharer.share(rows[4:])
    masks = MaskSource(KEY)
    for p in primes_of(2):
        masks.uniform(p, (2, 5, 4))
    again = Sharer(job=job, primes=primes_of(2), masks=masks, kernels=kernels).share(rows[4:])
    assert [bytes(x.payload) for x in second] == [bytes(x.payload) for x in again]


@each_kernels
@each_scheme
def test_dealing_makes_the_shares_of_sharing(n: int, t: int, ell: int, kernels: Kernels) -> None:
    job, rows = job_of(n, t, ell), rows_of(7)
    shared = sharer_of(job, 3, kernels).share(rows)
    dealt = sharer_of(job, 3, kernels).deal(rows, 0)
    assert [own.tobytes() for own in dealt] == [bytes(one.payload) for one in shared]


@each_scheme
def test_what_dealing_covers_with_lies_on_polynomials_that_are_uniform(n: int, t: int, ell: int) -> None:
    """Covers take drawn values at ell + t points, so that many covers differ in all of them."""
    job, size = job_of(n, t, ell), packed_bytes((1, job_of(n, t, ell).width, 7))
    covers = unpack(sharer_of(job, 1, VectorisedKernels()).deal(rows_of(7), 4)[:, size:])
    p, points = PRIMES[0].p, evaluation_points(PRIMES[0], n=n, coded=ell + t)
    first = covers[: ell + t]
    basis = lagrange_basis(points.alpha[: ell + t], points.alpha[ell + t :], p)
    assert np.array_equal(matmul(basis, centre(first, p), p) % p, covers[ell + t :])
    assert all(len(set(values)) == 4 for values in first.tolist())


@each_kernels
def test_no_rows_give_empty_shares_and_draw_no_mask(kernels: Kernels) -> None:
    job = job_of(5, 2, 1)
    masks = MaskSource(KEY)
    packed = Sharer(job=job, primes=primes_of(2), masks=masks, kernels=kernels).share(np.zeros((0, 5)))
    assert [one.shape for one in packed] == [(2, 5, 0)] * 5
    p = PRIMES[0].p
    assert np.array_equal(masks.uniform(p, (9,)), MaskSource(KEY).uniform(p, (9,)))


@each_kernels
def test_rows_are_left_alone_in_any_memory_order(kernels: Kernels) -> None:
    rows = rows_of(9)
    before = rows.copy()
    payloads = {
        b"".join(bytes(one.payload) for one in sharer_of(job_of(5, 2, 1), 2, kernels).share(order))
        for order in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=1)[:, ::2])
    }
    assert len(payloads) == 1
    assert np.array_equal(rows, before)


def test_repr_shows_only_the_scheme() -> None:
    assert repr(sharer_of(job_of(5, 2, 1), 2, VectorisedKernels())) == "Sharer(n=5, t=2, ell=1)"
