"""Masks under which coded answers stay codewords: any R of them still decode, to D + r.

The dealer shares a key with each of R clients, the bearers, who add the residues rho_j that it gives to their
answers. R values at distinct points determine one polynomial rho of degree R - 1, which is that of the coded
distances phi. The dealer sends every spare client its rho(alpha_j). So all answers are values of phi + rho,
and what decodes them gives sum_u (phi + rho)(beta_u) = D + r. The dealer knows r = sum_j w_j rho_j before any
answer (docs/proofs.md, "Masked answers stay codewords").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from secfc.array_types import Floats
from secfc.comparing.keys import Keys
from secfc.errors import MessageError, ParameterError
from secfc.field.packing import PackedResidues, pack
from secfc.field.primes import PRIMES
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.keystream import ResidueStream
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points

PURPOSE = "answers"
"""Of the keys of masks, one for each prime."""

_BLOCK_ELEMENTS = 1 << 16
"""Masks combined at a time: of eight primes 4 MiB of float64."""


class BearerMasks:
    """A bearer's masks for the answer of one round, taken from start to end, once.

    Parameters
    ----------
    keys : Keys
        With the dealer.
    primes : sequence of int
    kernels : Kernels
    """

    def __init__(self, *, keys: Keys, primes: Sequence[int], kernels: Kernels) -> None:
        self._streams = [
            ResidueStream(keys.key(PURPOSE, index), p, kernels) for index, p in enumerate(primes)
        ]

    def __repr__(self) -> str:
        return f"BearerMasks(primes={len(self._streams)})"

    def add(self, residues: PackedResidues) -> None:
        """Add the next masks to a part of an answer, in place; the dealer deals for the same parts."""
        for plane, stream in zip(residues.planes(), self._streams, strict=True):
            stream.add(plane.reshape(-1))

    def next(self, shape: tuple[int, int, int]) -> PackedResidues:
        """The next masks themselves, for a part of this shape."""
        masks = PackedResidues.empty(shape)
        for plane, stream in zip(masks.planes(), self._streams, strict=True):
            stream.fill(plane.reshape(-1))
        return masks


def add_dealt(
    residues: PackedResidues, masks: PackedResidues, *, primes: Sequence[int], kernels: Kernels
) -> None:
    """Add the masks that the dealer sent a spare client to a part of its answer, in place.

    Raises
    ------
    MessageError
        They are of another shape, or no residues. The answer has not changed.
    """
    if masks.shape != residues.shape:
        raise MessageError(f"masks of shape {masks.shape} given, {residues.shape} needed")
    dealt = [plane.reshape(-1) for plane in masks.planes()]
    if not all(kernels.below(plane, p) for plane, p in zip(dealt, primes, strict=True)):
        raise MessageError("the dealer sent masks that are not below their prime")
    for plane, mask, p in zip(residues.planes(), dealt, primes, strict=True):
        # A copy: what was unsealed cannot be written to, and kernels take what can.
        kernels.add_masks(plane.reshape(-1), mask.copy()[np.newaxis], np.ones(1, dtype=np.int64), p)


@dataclass(frozen=True, kw_only=True)
class DealtMasks:
    """Masks of a part of all answers.

    Attributes
    ----------
    total : PackedResidues
        r, which the dealer keeps.
    spares : mapping from int to PackedResidues
        What each spare client is sent.
    """

    total: PackedResidues = field(repr=False)
    spares: Mapping[int, PackedResidues] = field(repr=False)


class MaskDealer:
    """The dealer's side of a round, part by part.

    Parameters
    ----------
    weights : callable
        Gives what answers of R clients, ascending, are multiplied by before they are added, (primes, R).
    n, ell, t : int
        Of the job.
    bearers : sequence of int
        R = 2 (ell + t) - 1 clients, ascending.
    spares : sequence of int
        The other clients that may answer.
    keys : mapping from int to Keys
        With each bearer; of a key of its own where the dealer is one.
    primes : sequence of int
        The first of `secfc.field.primes.PRIMES`.
    kernels : Kernels
    """

    def __init__(
        self,
        *,
        weights: Callable[[tuple[int, ...]], Floats],
        n: int,
        ell: int,
        t: int,
        bearers: Sequence[int],
        spares: Sequence[int],
        keys: Mapping[int, Keys],
        primes: Sequence[int],
        kernels: Kernels,
    ) -> None:
        needed = 2 * (ell + t) - 1
        if len({*bearers, *spares}) != len(bearers) + len(spares) or len(bearers) != needed:
            raise ParameterError(
                f"bearers: {needed} clients are needed, and no client twice; {len(bearers)} and "
                f"{len(spares)} spares were given"
            )
        self._bearers = [BearerMasks(keys=keys[client], primes=primes, kernels=kernels) for client in bearers]
        self._primes, self._spares, self._kernels = tuple(primes), tuple(spares), kernels
        self._weights = [weights(tuple(bearers))[: len(primes)]]
        if spares:
            self._weights += list(_at_spares(n, ell + t, bearers, spares, len(primes)))

    def __repr__(self) -> str:
        return f"MaskDealer(bearers={len(self._bearers)}, spares={len(self._spares)})"

    def deal(self, *, columns: int, rows: int) -> DealtMasks:
        """Masks of the next part of the answers, of so many columns and rows."""
        shape = (len(self._primes), columns, rows)
        drawn = [bearer.next(shape).planes() for bearer in self._bearers]
        total, *spares = [self._combined(drawn, weights, shape) for weights in self._weights]
        return DealtMasks(total=total, spares=dict(zip(self._spares, spares, strict=True)))

    def _combined(self, drawn: list[Bytes], weights: Floats, shape: tuple[int, int, int]) -> PackedResidues:
        """The weighted sum of the bearers' masks."""
        combined, refused = weighted_sum(
            drawn, weights, shape=shape, primes=self._primes, kernels=self._kernels
        )
        assert refused < 0  # the keystream gives residues
        return combined


def weighted_sum(
    packed: list[Bytes],
    weights: Floats,
    *,
    shape: tuple[int, int, int],
    primes: Sequence[int],
    kernels: Kernels,
) -> tuple[PackedResidues, int]:
    """Residues of one shape, times a weight each modulo each prime, added up; canonical.

    Parameters
    ----------
    packed : list of R ndarrays of shape (P, k, 3 * rows), uint8
    weights : ndarray of shape (P, R), float64
        Reduced residues.
    shape : tuple of three ints
        (P, k, rows).
    primes : sequence of P ints
    kernels : Kernels

    Returns
    -------
    tuple of PackedResidues and int
        The sum; and which of the R is not below a prime, -1 if all are.
    """
    _, columns, rows = shape
    combined = PackedResidues.empty(shape)
    planes, step = combined.planes(), max(1, _BLOCK_ELEMENTS // columns)
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        sums = np.empty((shape[0], columns, stop - start))
        refused = kernels.decode(packed, weights, tuple(primes), start, stop, sums)
        if refused >= 0:
            return combined, refused
        for plane, residues, p in zip(planes, sums, primes, strict=True):
            plane[:, 3 * start : 3 * stop] = pack(residues, p)
    return combined, -1


def _at_spares(n: int, coded: int, bearers: Sequence[int], spares: Sequence[int], primes: int) -> Floats:
    """Weights of the bearers' masks in each spare client's, shape (spares, P, R)."""
    found = np.empty((len(spares), primes, len(bearers)))
    for index, prime in enumerate(PRIMES[:primes]):
        alpha = evaluation_points(prime, n=n, coded=coded).alpha
        found[:, index] = lagrange_basis(
            [alpha[client - 1] for client in bearers], [alpha[client - 1] for client in spares], prime.p
        )
    return found
