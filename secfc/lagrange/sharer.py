"""From a client's rows to packed shares for all clients: quantise, split, mask, encode, pack."""

from collections.abc import Callable
from functools import lru_cache
from math import log2

import numpy as np

from secfc.array_types import Floats, Objects
from secfc.field.fixed_point import quantise
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues
from secfc.field.primes import PRIMES, Prime
from secfc.field.residues import reduce
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.fast import encoding_transform
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import split
from secfc.params import Job
from secfc.randomness import MaskSource
from secfc.threads import parts


@lru_cache(maxsize=len(PRIMES))
def _basis(prime: Prime, n: int, coded: int) -> Floats:
    """The encoding matrix, the same for all clients of one process."""
    points = evaluation_points(prime, n=n, coded=coded)
    basis = lagrange_basis(points.beta, points.alpha, prime.p)
    basis.flags.writeable = False
    return basis


class Sharer:
    """Makes shares of blocks of rows, modulo the first primes of `secfc.field.primes`.

    `masks` gives t masks for each row, column of a segment, and prime. No mask is used twice.
    """

    def __init__(self, *, job: Job, primes: tuple[int, ...], masks: MaskSource, kernels: Kernels) -> None:
        self._job, self._primes, self._masks, self._kernels = job, primes, masks, kernels
        self._encoders = [self._encoder(prime) for prime in PRIMES[: len(primes)]]

    def __repr__(self) -> str:
        return f"Sharer(n={self._job.n}, t={self._job.t}, ell={self._job.ell})"

    def _encoder(self, prime: Prime) -> Callable[[Floats, int, Bytes], None]:
        """A function from values to packed shares: by matrix, or by transform for many clients."""
        n, coded, kernels = self._job.n, self._job.ell + self._job.t, self._kernels
        if coded > kernels.transform_gain * log2(n):
            transform = encoding_transform(prime, n=n, coded=coded)
            return lambda values, p, out: kernels.encode_by_transform(values, transform, p, out)
        basis = _basis(prime, n, coded)
        return lambda values, p, out: kernels.encode(values, basis, p, out)

    def share(self, rows: Floats, noise: Objects | None = None) -> list[PackedResidues]:
        """Shares of rows (b, d), each of shape (P, width, b). Entry j - 1 is for client j only.

        `noise`, (c, d), are integers of any size that are shared after the rows, of shape (P, width, b + c).
        """
        job, b, more = self._job, rows.shape[0], 0 if noise is None else len(noise)
        segments = split(quantise(rows, job.unit), job.ell)
        values = np.empty((job.ell + job.t, job.width, b + more))
        columns, threads = segments.reshape(job.ell * job.width, b), self._kernels.threads
        reduced = values[: job.ell].reshape(len(columns), b + more)
        pieces = parts(len(columns), threads.for_work(columns.size))

        def coded(p: int) -> Floats:
            def put(piece: slice) -> None:
                reduced[piece, :b] = reduce(columns[piece], p)

            threads.each(put, pieces, size=columns.size)
            if noise is not None:
                residues = split((noise % p).astype(np.float64), job.ell)
                reduced[:, b:] = reduce(residues.reshape(len(columns), more), p)
            values[job.ell :] = self._masks.uniform(p, (job.t, job.width, b + more), self._kernels)
            return values

        return self._encoded(coded, job.width, b + more)

    def cover(self, count: int) -> list[PackedResidues]:
        """Every client's shares, shape (P, count, 1), of uniformly random polynomials."""
        shape = self._job.ell + self._job.t, count, 1
        return self._encoded(lambda p: self._masks.uniform(p, shape), count, 1)

    def deal(self, rows: Floats, covers: int) -> Bytes:
        """The packed results of `share` and `cover`, concatenated for each client: (n, bytes).

        It is for few rows: one call of a kernel encodes all of them modulo a prime.
        """
        job, size = self._job, self._job.width * rows.shape[0]
        segments = split(quantise(rows, job.unit), job.ell).reshape(job.ell, size)
        values = np.empty((job.ell + job.t, 1, size + covers))
        out = np.empty((job.n, 1, BYTES_PER_RESIDUE * (size + covers)), dtype=np.uint8)
        end, hidden = BYTES_PER_RESIDUE * size, job.t * size
        dealt = np.empty((job.n, len(self._primes) * out.shape[2]), dtype=np.uint8)
        shares, ends = np.split(dealt, [len(self._primes) * end], axis=1)
        for index, p in enumerate(self._primes):
            masks = self._masks.uniform(p, (hidden + len(values) * covers,), self._kernels)
            values[: job.ell, 0, :size] = reduce(segments, p)
            values[job.ell :, 0, :size] = masks[:hidden].reshape(job.t, size)
            values[:, 0, size:] = masks[hidden:].reshape(len(values), covers)
            self._encoders[index](values, p, out)
            shares[:, index * end : (index + 1) * end] = out[:, 0, :end]
            ends[:, index * (out.shape[2] - end) : (index + 1) * (out.shape[2] - end)] = out[:, 0, end:]
        return dealt

    def _encoded(self, coded: Callable[[int], Floats], width: int, rows: int) -> list[PackedResidues]:
        """Every client's shares of segments and masks, shape (ell + t, width, rows), modulo each prime."""
        n, shape = self._job.n, (len(self._primes), width, rows)
        # Each with memory of its own: one that is kept does not keep the others.
        shares = [np.empty((*shape[:2], BYTES_PER_RESIDUE * rows), dtype=np.uint8) for _ in range(n)]
        out = np.empty((n, width, BYTES_PER_RESIDUE * rows), dtype=np.uint8)
        pieces = parts(n, self._kernels.threads.for_work(out.size // BYTES_PER_RESIDUE))
        for index, p in enumerate(self._primes):
            self._encoders[index](coded(p), p, out)

            def put(clients: slice, index: int = index) -> None:
                for share, packed in zip(shares[clients], out[clients], strict=True):
                    share[index] = packed

            self._kernels.threads.each(put, pieces, size=out.size // BYTES_PER_RESIDUE)
        return [PackedResidues(shape=shape, payload=one.reshape(-1).data) for one in shares]
