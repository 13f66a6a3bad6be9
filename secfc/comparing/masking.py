"""Masks under which coded answers stay codewords: any R of them still decode, to D + r.

The dealer shares a key with each of R clients, the bearers. Bearer j adds the residues rho_j of its keystream
to its answer. R values determine one polynomial rho of degree R - 1, the degree of the coded distances phi.
The dealer sends every other client, a spare, its rho(alpha_j). So all answers are values of phi + rho, and
decode to sum_u (phi + rho)(beta_u) = D + r. The dealer knows r = sum_j w_j rho_j before any answer
(docs/proofs.md, "Masked answers stay codewords").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

import numpy as np

from secfc.comparing.dealer_keys import Keys
from secfc.crypto.keystream import ResidueStream
from secfc.errors import MessageError, ParameterError
from secfc.field.array_types import Floats
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points

PURPOSE = "answers"
"""Purpose of the keys of masks, one key for each part."""

DecodingWeights = Callable[[tuple[int, ...]], Floats]
"""Gives the weights of the answers of R clients, ascending, in the decoded sum: shape (primes, R)."""


class BearerMasks:
    """A bearer's masks for the answer of one round. It uses them in order, once."""

    def __init__(self, *, keys: Keys, primes: Sequence[int], kernels: Kernels) -> None:
        self._keys, self._primes, self._kernels, self._parts = keys, tuple(primes), kernels, 0

    def __repr__(self) -> str:
        return f"BearerMasks(primes={len(self._primes)})"

    def add(self, residues: PackedResidues) -> None:
        """Add the next masks to a part of an answer, in place. The dealer deals for the same parts."""
        self._stream().add(residues.planes(), self._primes)

    def next(self, shape: tuple[int, int, int]) -> PackedResidues:
        """The next masks, for a part of this shape."""
        masks = PackedResidues.empty(shape)
        self._stream().fill(masks.planes(), self._primes)
        return masks

    def _stream(self) -> ResidueStream:
        self._parts += 1
        return ResidueStream(self._keys.key(PURPOSE, self._parts - 1), self._kernels)


def add_dealt(
    residues: PackedResidues, masks: PackedResidues, *, primes: Sequence[int], kernels: Kernels
) -> None:
    """Add the masks that the dealer sent a spare client to a part of its answer, in place.

    MessageError if their shape differs or they are no residues. The answer is then unchanged.
    """
    if masks.shape != residues.shape:
        raise MessageError(f"masks of shape {masks.shape} given, {residues.shape} needed")
    if kernels.refused(masks.planes(), tuple(primes)) >= 0:
        raise MessageError("the dealer sent masks that are not below their prime")
    add_residues(residues.planes(), masks.planes(), primes, kernels)


def add_residues(packed: Bytes, more: Bytes, primes: Sequence[int], kernels: Kernels) -> None:
    """Add packed residues modulo each prime, (P, c, 3 * n), in place."""
    for plane, other, p in zip(packed, more, primes, strict=True):
        kernels.add_masks(plane.reshape(-1), other.reshape(-1), p)


@dataclass(frozen=True, kw_only=True)
class DealtMasks:
    """Masks of a part of all answers: r, which the dealer keeps, and the masks for each spare client."""

    total: PackedResidues = field(repr=False)
    spares: Mapping[int, PackedResidues] = field(repr=False)


class MaskDealer:
    """The dealer's side of a round, part by part.

    Bearers are R = 2 (ell + t) - 1 clients, ascending. Spares are the other clients that may answer. `keys`
    has the keys with each bearer. A dealer that is a bearer uses a key of its own. The primes are the first
    of `PRIMES`.
    """

    def __init__(
        self,
        *,
        weights: DecodingWeights,
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
        self._numbers, self._weights = tuple(bearers), weights
        self._at_spares: list[Floats] = []
        if spares:
            self._at_spares = _at_spares(n, ell + t, tuple(bearers), tuple(spares), len(primes))

    def __repr__(self) -> str:
        return f"MaskDealer(bearers={len(self._bearers)}, spares={len(self._spares)})"

    def deal(self, *, columns: int, rows: int, weights: DecodingWeights | None = None) -> DealtMasks:
        """Masks of the next part of the answers, with so many columns and rows.

        `weights` replaces the weights of the constructor if other clients decode this part.
        """
        shape = (len(self._primes), columns, rows)
        drawn = self._kernels.threads.each(
            lambda bearer: bearer.next(shape).planes(),
            self._bearers,
            size=len(self._bearers) * prod(shape),
        )
        decoding = (weights or self._weights)(self._numbers)[: len(self._primes)]
        combined = [PackedResidues.empty(shape) for _ in (decoding, *self._at_spares)]
        for one, factors in zip(combined, (decoding, *self._at_spares), strict=True):
            refused = self._kernels.weigh(drawn, factors, self._primes, one.planes())
            assert refused < 0  # the keystream gives residues
        total, *spares = combined
        return DealtMasks(total=total, spares=dict(zip(self._spares, spares, strict=True)))


@lru_cache(maxsize=8)
def _at_spares(
    n: int, coded: int, bearers: tuple[int, ...], spares: tuple[int, ...], primes: int
) -> list[Floats]:
    """Weights of the bearers' masks in each spare client's mask, each (P, R), the same in most rounds."""
    found = np.empty((len(spares), primes, len(bearers)))
    for index, prime in enumerate(PRIMES[:primes]):
        alpha = evaluation_points(prime, n=n, coded=coded).alpha
        found[:, index] = lagrange_basis(
            [alpha[client - 1] for client in bearers], [alpha[client - 1] for client in spares], prime.p
        )
    return list(found)
