"""From a client's rows to packed shares for all clients: quantise, split, mask, encode, pack."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from math import log2
from typing import Protocol

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats, Objects
from secfc.field.fixed_point import quantise
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues
from secfc.field.primes import PRIMES, Prime
from secfc.field.residues import reduce
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.kernels.threads import Turns, parts
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.fast import encoding_transform
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import split

_AT_ONCE = 1 << 23
"""Values, of eight bytes, that are encoded modulo all primes at once."""

_QUANTISED = 10
"""Residues whose work takes as long as quantising a value and writing it to its segment, 10 ns."""

_ENCODED = 8
"""The same for making a value to encode, and encoding it: 4 to 13 ns with compiled kernels."""


@lru_cache(maxsize=len(PRIMES))
def _basis(prime: Prime, n: int, coded: int) -> Floats:
    """The encoding matrix, the same for all clients of one process."""
    points = evaluation_points(prime, n=n, coded=coded)
    basis = lagrange_basis(points.beta, points.alpha, prime.p)
    basis.flags.writeable = False
    return basis


class Cut(Protocol):
    """How rows are cut, coded and scaled: what a sharer reads of a job."""

    @property
    def n(self) -> int:
        """Number of clients."""

    @property
    def t(self) -> int:
        """Number of masks of a residue."""

    @property
    def ell(self) -> int:
        """Number of segments of a row."""

    @property
    def width(self) -> int:
        """Columns of a segment."""

    @property
    def unit(self) -> Fraction:
        """The unit of the integers, in the data's units."""


class Sharer:
    """Makes shares of blocks of rows, modulo the first primes of `secfc.field.primes`.

    `masks` gives t masks for each row, column of a segment, and prime. No mask is used twice.
    """

    def __init__(self, *, job: Cut, primes: tuple[int, ...], masks: MaskSource, kernels: Kernels) -> None:
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
        segments, threads = np.empty((job.ell, job.width, b)), self._kernels.threads
        several = threads.for_work(segments.size)

        def cut(piece: slice) -> None:
            segments[..., piece] = split(quantise(rows[piece], job.unit), job.ell)

        work = _QUANTISED * segments.size
        threads.each(cut, parts(b, threads.for_work(work)), size=work)
        columns = segments.reshape(job.ell * job.width, b)
        pieces = parts(len(columns), several)

        def fill(values: Floats, p: int, turn: Callable[[], Turns]) -> None:
            reduced = values[: job.ell].reshape(len(columns), b + more)

            def put(piece: slice) -> None:
                reduced[piece, :b] = reduce(columns[piece], p)

            threads.each(put, pieces, size=columns.size)
            if noise is not None:
                residues = split((noise % p).astype(np.float64), job.ell)
                reduced[:, b:] = reduce(residues.reshape(len(columns), more), p)
            with turn():
                masks = self._masks.uniform(p, (job.t, job.width, b + more), self._kernels)
            values[job.ell :] = masks

        return self._encoded(fill, job.width, b + more)

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

    def _encoded(
        self, fill: Callable[[Floats, int, Callable[[], Turns]], None], width: int, rows: int
    ) -> list[PackedResidues]:
        """Every client's shares of segments and masks, modulo each prime.

        `fill` writes these, shape (ell + t, width, rows), modulo a prime, and draws masks in its turn. Up to
        `_AT_ONCE` of them, threads take primes, else pieces of the work for one prime.
        """
        n, shape, threads = self._job.n, (len(self._primes), width, rows), self._kernels.threads
        size = BYTES_PER_RESIDUE * width * rows
        # Each with memory of its own: one that is kept does not keep the others.
        shares = [np.empty(len(self._primes) * size, dtype=np.uint8).data for _ in range(n)]
        coded, work, turns = self._job.ell + self._job.t, n * width * rows, Turns()
        clients, free = parts(n, threads.for_work(work)), list[tuple[Floats, Bytes]]()

        def encode(index: int) -> None:
            p = self._primes[index]
            try:
                values, out = free.pop()
            except IndexError:  # all buffers are used by other threads
                values = np.empty((coded, width, rows))
                out = np.empty((n, width, BYTES_PER_RESIDUE * rows), dtype=np.uint8)
            fill(values, p, partial(turns.take, index))
            self._encoders[index](values, p, out)
            first, end, packed = index * size, (index + 1) * size, out.reshape(-1).data

            def put(some: slice) -> None:
                for j in range(some.start, some.stop):
                    shares[j][first:end] = packed[j * size : (j + 1) * size]

            threads.each(put, clients, size=work)
            free.append((values, out))

        values = len(self._primes) * coded * width * rows
        work_of_all = _ENCODED * values if values <= _AT_ONCE else 0
        threads.each(encode, range(len(self._primes)), size=work_of_all, turns=turns)
        return [PackedResidues(shape=shape, payload=one) for one in shares]
