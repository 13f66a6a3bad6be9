"""Sums of squares over clusters: shares of zero that hide the rest of their polynomial, and decoding.

A client's squared shares, summed over a cluster, are a value of ``sum_{i in S_h} f_i**2``, of degree
2(ell + t - 1) = R - 1. That polynomial would reveal more than the wanted sums of squares, its values at the
beta. So each client with rows deals a uniform polynomial of that degree that is zero at beta_1 .. beta_ell,
and shares of these are added (docs/protocol.md, "Spreads by consent").
"""

from collections.abc import Mapping
from fractions import Fraction
from math import isclose

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import TooManyFaultsError
from secfc.field.array_types import Floats, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import matmul, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.protocol.answers.consistency import code_of
from secfc.protocol.answers.decoding import points_of
from secfc.protocol.job.job import Job
from secfc.protocol.messages import Finish

_OPENED_ERROR = 2.0**-51
"""Relative error of an inertia that the trio opened, and of the float that it is compared with."""


def deal_zeros(job: Job, *, primes: tuple[int, ...], masks: MaskSource) -> list[PackedResidues]:
    """Shares of uniform polynomials of degree below R that are zero at beta_1 .. beta_ell.

    Entry j - 1, (P, width, k), is for client j alone. There is one polynomial for each column, cluster and
    prime. Such a polynomial is determined by its values at R - ell more points, here those of the first
    clients. It is uniform if these values are.
    """
    free, size = job.threshold - job.ell, job.width * job.k
    packed = [PackedResidues.empty((len(primes), job.width, job.k)) for _ in range(job.n)]
    for index, p in enumerate(primes):
        alpha, beta = points_of(job, PRIMES[index], range(1, job.n + 1))
        values = np.empty((job.n, size))
        values[:free] = masks.uniform(p, (free, size))
        if free < job.n:
            # The zeros at the beta contribute nothing.
            basis = lagrange_basis([*beta, *alpha[:free]], alpha[free:], p)[:, job.ell :]
            values[free:] = matmul(np.ascontiguousarray(basis), values[:free], p)
        for share, residues in zip(values, packed, strict=True):
            residues.planes()[index] = pack(share.reshape(job.width, job.k), p)
    return packed


def add_residues(terms: list[PackedResidues], primes: tuple[int, ...]) -> PackedResidues:
    """The sum of one or more arrays of residues, all of shape (P, width, k)."""
    total = PackedResidues.empty(terms[0].shape)
    for index, p in enumerate(primes):
        # At most 4096 terms below 2**24.
        added = np.zeros(total.shape[1:])
        for term in terms:
            added += unpack(term.planes()[index])
        total.planes()[index] = pack(reduce(added, p), p)
    return total


def decode_squares(shares: Mapping[int, Floats], *, job: Job, primes: tuple[int, ...]) -> list[list[int]]:
    """Sums of squares, d lists of k integers from 0 to Q - 1, from shares of them.

    `shares`, (P, width, k) by client, are canonical residues of at least R clients. TooManyFaultsError when
    they lie on no polynomial. Of N shares up to N - R wrong ones are always noticed.
    """
    clients = sorted(shares)
    residues = np.empty((len(primes), job.ell * job.width, job.k))
    for index, p in enumerate(primes):
        alpha, beta = points_of(job, PRIMES[index], clients)
        words = reduce(np.array([shares[j][index] for j in clients]).reshape(len(clients), -1), p)
        if not code_of(job, index, clients, dimension=job.threshold).contains(words):
            raise TooManyFaultsError(
                f"spreads: shares of clients {', '.join(map(str, clients))} do not agree: some client's is "
                f"wrong"
            )
        first = slice(job.threshold)
        basis = lagrange_basis(alpha[first], beta, p)
        residues[index] = matmul(basis, words[first], p).reshape(job.ell * job.width, job.k)
    radix = MixedRadix(primes)
    return [[int(one) for one in line] for line in radix.integers(radix.digits(residues[:, : job.d]))]


def check_inertia(
    sums: list[list[int]], squares: list[list[int]], *, job: Job, sizes: Ints, result: Finish
) -> None:
    """Compare the inertia from sums and sums of squares with that of the result, which is from distances.

    Both are equal if the result has converged and every cluster has rows. Otherwise the result's inertia is
    about other centres, and not smaller. It is from exact distances, correctly rounded, or was opened.
    TooManyFaultsError when the two contradict each other.
    """
    assert result.inertia is not None  # spreads imply it
    within = Fraction(0)
    for h in np.flatnonzero(sizes).tolist():
        within += sum(line[h] for line in squares)
        within -= Fraction(sum(line[h] ** 2 for line in sums), int(sizes[h]))
    found = job.in_data_units(within)
    same = isclose(found, result.inertia, rel_tol=_OPENED_ERROR if job.opens_inertia else 0.0)
    own = result.converged and sizes.all()
    if not same and (found > result.inertia or own):
        raise TooManyFaultsError(
            "spreads: the inertia by sums of squares differs from that by distances: some client's "
            "share or answer is wrong"
        )
