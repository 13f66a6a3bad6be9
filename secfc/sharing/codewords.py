"""Sharings of vectors modulo each prime: [x] of degree l + t - 1, and <x> of twice that degree.

Holder j has a polynomial's value at alpha_j. Its values at beta_1, ..., beta_l are the segments of x. A
product of two values of [x] and [y] is a value of <x y>, and the sum of two sharings is a sharing of the sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError, SecFCError
from secfc.field.array_types import Floats
from secfc.field.fixed_point import quantise
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.primes import PRIMES, Prime
from secfc.field.residues import canonical, matmul, reduce
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.lagrange.basis import EvaluationPoints, evaluation_points, lagrange_basis
from secfc.lagrange.reed_solomon import ReedSolomon

_COMBINATIONS = 2
"""Combinations of a prime's columns: two leave a wrong share unnoticed with probability p**-2."""


def segment_width(d: int, ell: int) -> int:
    """Columns of a segment, ceil(d / ell). The last segment is padded with zeros."""
    return -(-d // ell)


def split(rows: Floats, ell: int) -> Floats:
    """The ell segments of rows (m, d), shape (ell, ceil(d / ell), m), padded with zeros at the end.

    Zeros add nothing to a squared distance.
    """
    m, d = rows.shape
    width = segment_width(d, ell)
    padded = np.zeros((ell * width, m))
    padded[:d] = rows.T
    return padded.reshape(ell, width, m)


@dataclass(frozen=True, kw_only=True)
class Codewords:
    """The codewords of n holders with `ell` segments and t masks, modulo the first P primes.

    Arrays of shares have the primes first, shape (P, ...), and are reduced residues.
    """

    n: int
    t: int
    ell: int
    primes: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.n < self.wide:
            raise ParameterError(
                f"n: at least 2 (ell + t) - 1 = {self.wide} holders are needed, not {self.n}"
            )

    @property
    def narrow(self) -> int:
        """Values that determine [x], ell + t."""
        return self.ell + self.t

    @property
    def wide(self) -> int:
        """Values that determine <x>, R = 2 (ell + t) - 1."""
        return 2 * self.narrow - 1

    def segments(self, rows: Floats, unit: Fraction) -> Floats:
        """Those of rows, shape (m, d), divided by the unit and rounded: shape (P, ell, width * m)."""
        whole = split(quantise(rows, unit), self.ell).reshape(1, self.ell, -1)
        return reduce(whole, self.moduli)

    def deal(self, values: Floats, kernels: Kernels, out: Bytes | None = None) -> Bytes:
        """Packed shares for all holders, shape (n, P, 3 * size), of segments and then masks.

        There are t masks for [x], R - ell for <x>: `values` have shape (P, ell + masks, size). Masks are
        uniform and used once. The polynomial is that of least degree through the segments, plus a multiple of
        prod (x - beta_u) whose factor has the masks as coefficients. So it is uniform among those with these
        segments. The shares are written to `out`, by default a new array.
        """
        return self._dealt(values, kernels, 0, out)

    def deal_zeros(self, masks: Floats, kernels: Kernels, out: Bytes | None = None) -> Bytes:
        """The same of <0>, from R - ell masks, shape (P, R - ell, size)."""
        return self._dealt(masks, kernels, self.ell, out)

    def _dealt(self, values: Floats, kernels: Kernels, first: int, out: Bytes | None) -> Bytes:
        _, count, size = values.shape
        if out is None:
            out = np.empty((self.n, len(self.primes), BYTES_PER_RESIDUE * size), dtype=np.uint8)
        matrices, found = np.ascontiguousarray(self._dealing[:, :, first : first + count]), out

        def encoded(at: int) -> None:
            shares = np.empty((self.n, 1, BYTES_PER_RESIDUE * size), dtype=np.uint8)
            kernels.encode(values[at][:, np.newaxis], matrices[at], self.primes[at], shares)
            found[:, at] = shares[:, 0]

        kernels.threads.each(encoded, range(len(self.primes)), size=len(self.primes) * self.n * size)
        return out

    def at_holder(self, holder: int, values: Floats, *, zeros: bool) -> Floats:
        """A holder's shares, shape (P, 1, size), of segments and masks, or with `zeros` of masks alone."""
        first = self.ell if zeros else 0
        weights = self._dealing[:, holder - 1 : holder, first : first + values.shape[1]]
        return matmul(weights, reduce(values, self.moduli), self.moduli)

    def public(self, segments: Floats, holder: int) -> Floats:
        """A holder's share, shape (P, size), of public segments, shape (P, ell, size)."""
        return matmul(self._dealing[:, holder - 1 : holder, : self.ell], segments, self.moduli)[:, 0]

    def open(self, shares: Mapping[int, Floats], *, wide: bool) -> Floats:
        """The segments, canonical, shape (P, ell, size), of right shares, by holder."""
        first = self._first(shares, wide=wide)
        known = reduce(np.stack([shares[j] for j in first], axis=1), self.moduli)
        return canonical(matmul(self.between(first, ()), known, self.moduli), self.moduli)

    def contains(self, shares: Mapping[int, Floats], masks: MaskSource, *, wide: bool) -> bool:
        """Whether all shares lie on polynomials, by random combinations of what is expected and given.

        If one does not, this is noticed but for a probability of p**-2 for each prime.
        """
        first = self._first(shares, wide=wide)
        spare = tuple(j for j in sorted(shares) if j not in first)
        if not spare:
            return True
        words = self._combined(shares, masks)
        known, given = words[:, : len(first)], words[:, len(first) :]
        expected = matmul(self.between(first, spare), known, self.moduli)
        return not reduce(expected - given, self.moduli).any()

    def wrong(
        self, shares: Mapping[int, Floats], masks: MaskSource, *, wide: bool, most: int
    ) -> set[int] | None:
        """Holders whose shares are wrong. None if no set of at most `most` holders explains them."""
        holders, found = sorted(shares), set[int]()
        for points, p, words in zip(self._points, self.primes, self._combined(shares, masks), strict=True):
            nodes = [points.alpha[j - 1] for j in holders]
            code = ReedSolomon(points=nodes, dimension=self.wide if wide else self.narrow, p=p)
            of_prime = code.wrong(words)
            if of_prime is None:
                return None
            found.update(holders[at] for at in of_prime)
        return found if len(found) <= most else None

    def _first(self, shares: Mapping[int, Floats], *, wide: bool) -> tuple[int, ...]:
        needed = self.wide if wide else self.narrow
        if len(shares) < needed:
            raise SecFCError(f"{len(shares)} shares are too few, {needed} are needed")
        return tuple(sorted(shares)[:needed])

    def _combined(self, shares: Mapping[int, Floats], masks: MaskSource) -> Floats:
        """Secret combinations of all columns, shape (P, holders, combinations), holders ascending."""
        size = next(iter(shares.values())).shape[1]
        drawn = np.stack([masks.uniform(p, (size, _COMBINATIONS)) for p in self.primes])
        words = np.stack([shares[j] for j in sorted(shares)], axis=1)
        return matmul(reduce(words, self.moduli), drawn, self.moduli)

    def first_prime(self) -> "Codewords":
        """The same codewords modulo the first prime alone."""
        return replace(self, primes=self.primes[:1])

    def weights(self, holders: tuple[int, ...]) -> Floats:
        """Weights of the shares of R holders in the sum of the segments of <x>, shape (P, R)."""
        return reduce(self.between(holders, ()).sum(axis=1), self.moduli[..., 0])

    @cached_property
    def moduli(self) -> Floats:
        """The primes, shape (P, 1, 1)."""
        return np.array(self.primes, dtype=np.float64)[:, np.newaxis, np.newaxis]

    @cached_property
    def _points(self) -> list[EvaluationPoints]:
        return [evaluation_points(prime, n=self.n, coded=self.narrow) for prime in PRIMES[: len(self.primes)]]

    @cached_property
    def _bases(self) -> dict[tuple[tuple[int, ...], tuple[int, ...]], Floats]:
        return {}

    def between(self, holders: tuple[int, ...], others: tuple[int, ...]) -> Floats:
        """From the shares of holders to those of others, or to the segments: shape (P, others, holders)."""
        if (holders, others) not in self._bases:
            self._bases[holders, others] = np.stack(
                [
                    lagrange_basis(
                        [points.alpha[j - 1] for j in holders],
                        [points.alpha[j - 1] for j in others] or points.beta[: self.ell],
                        p,
                    )
                    for points, p in zip(self._points, self.primes, strict=True)
                ]
            )
        return self._bases[holders, others]

    @cached_property
    def _dealing(self) -> Floats:
        """From segments and masks to shares, modulo each prime: shape (P, n, R)."""
        return _dealing_matrices(PRIMES[: len(self.primes)], self.n, self.ell, self.narrow)


@lru_cache(maxsize=16)
def _dealing_matrices(primes: tuple[Prime, ...], n: int, ell: int, coded: int) -> Floats:
    """Computed once for all parties of a process, and for all their codewords modulo the first prime."""
    points = [evaluation_points(prime, n=n, coded=coded) for prime in primes]
    masks = 2 * coded - 1 - ell
    every = zip(points, primes, strict=True)
    return np.stack([dealing_matrix(one, prime.p, ell=ell, masks=masks) for one, prime in every])


def dealing_matrix(points: EvaluationPoints, p: int, *, ell: int, masks: int) -> Floats:
    """From segments and masks to shares modulo a prime: reduced residues, shape (n, ell + masks)."""
    beta, powers = points.beta[:ell], np.empty((len(points.alpha), masks))
    for at, a in enumerate(points.alpha):
        zeros = prod(a - b for b in beta)  # 0 at every beta
        powers[at] = [zeros * pow(a, i, p) % p for i in range(masks)]
    return np.concatenate([lagrange_basis(beta, points.alpha, p), reduce(powers, p)], axis=1)
