"""Decoding of distances from answers: weights of responders, and errors for values that are no residues."""

import threading
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from secfc.errors import MessageError
from secfc.field.array_types import Floats, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.primes import PRIMES, Prime
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.lagrange.basis import decoding_weights
from secfc.lagrange.fast import WEIGHTS_FROM, fast_decoding_weights
from secfc.lagrange.points import evaluation_points
from secfc.protocol.job.job import Job

BLOCK_ELEMENTS = 1 << 18
"""Distances decoded at a time. Their digits, 4 bytes for each prime, exceed an L2 cache of 1 MiB, but memory
is read in longer pieces than with smaller blocks, and less time is spent in Python."""

_WEIGHTS_KEPT = 64
"""Sets of responders whose weights are kept. Stragglers change the set, so memory must be bounded."""


class ResidueError(MessageError):
    """An answer has an integer that is not below its prime."""

    def __init__(self, *, client: int, p: int) -> None:
        super().__init__(f"CodedDistances: a residue from client {client} is not below its prime {p}")
        self.client = client


def residue_error(
    kernels: Kernels, client: int, answer: Bytes, start: int, stop: int, primes: tuple[int, ...]
) -> ResidueError:
    """The error for an answer, (P, k, 3 * rows), with a value that is no residue in rows [start, stop)."""
    found = answer[:, :, BYTES_PER_RESIDUE * start : BYTES_PER_RESIDUE * stop]
    return ResidueError(client=client, p=primes[kernels.refused(np.ascontiguousarray(found), primes)])


def points_of(job: Job, prime: Prime, clients: Sequence[int]) -> tuple[list[int], list[int]]:
    """The points alpha of these clients, and beta of the segments."""
    points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
    return [points.alpha[j - 1] for j in clients], list(points.beta[: job.ell])


class Weights:
    """The decoding weights w_j of responders, computed once for each set of them (docs/protocol.md, eq. 7).

    They decode one segment, counted from 0, or the sum over all.
    """

    def __init__(self, job: Job, segment: int | None = None) -> None:
        self._job, self._segment = job, segment
        self._known: dict[tuple[int, ...], Floats] = {}

    def of(self, responders: tuple[int, ...]) -> Floats:
        """Weights of R clients, ascending, for every prime: reduced residues, shape (primes, R)."""
        if responders not in self._known:
            if len(self._known) >= _WEIGHTS_KEPT:
                self._known.clear()
            self._known[responders] = np.array([self._modulo(prime, responders) for prime in PRIMES])
        return self._known[responders]

    def _modulo(self, prime: Prime, responders: tuple[int, ...]) -> Floats:
        job, segment = self._job, self._segment
        if len(responders) >= WEIGHTS_FROM and segment is None:
            coded = job.ell + job.t
            return fast_decoding_weights(prime, n=job.n, coded=coded, ell=job.ell, responders=responders)
        alpha, beta = points_of(job, prime, responders)
        return decoding_weights(alpha=alpha, beta=beta if segment is None else [beta[segment]], p=prime.p)


class Decoder:
    """Decodes scaled squared distances from R clients' answers."""

    def __init__(self, job: Job, kernels: Kernels) -> None:
        self._weights, self._kernels = Weights(job), kernels
        self._buffers = threading.local()

    def decode(self, answers: Mapping[int, Bytes], start: int, stop: int, radix: MixedRadix) -> Shares:
        """``D_{i,h} = sum_j w_j phi_{i,h}(alpha_j)`` modulo the primes' product (docs/protocol.md, eq. 7).

        `answers` are exactly R packed answers, (P, k, 3 * rows). Returns mixed-radix digits of rows `start`
        to `stop`, (P, k, stop - start), in a buffer that this thread's next call overwrites.
        """
        responders = tuple(sorted(answers))
        primes, weights = radix.primes, self._weights.of(responders)
        k = answers[responders[0]].shape[1]
        shape = (len(primes), k, stop - start)
        held: Shares | None = getattr(self._buffers, "held", None)
        if held is None or held.size < prod(shape):
            self._buffers.held = held = np.empty(prod(shape), dtype=np.float32)
        decoded = held[: prod(shape)].reshape(shape)
        planes = [answers[client] for client in responders]
        bad = self._kernels.decode(planes, weights[: len(primes)], radix, start, stop, decoded)
        if bad >= 0:
            raise residue_error(self._kernels, responders[bad], planes[bad], start, stop, primes)
        return decoded
