"""Lagrange shares over the union's field, jointly random values, and the opening of products.

As in secfc.lagrange, a sharing of ell values is a polynomial of degree ell + t - 1 that has these values at
beta_1..beta_ell and is random otherwise. Client j's share is its value at alpha_j. A product of two such
polynomials has degree 2 (ell + t - 1). A jointly random polynomial of that degree that vanishes at
beta_1..beta_ell is added. The sum is random except for the products, and R = 2 (ell + t) - 1 shares open it.

Jointly random sharings: every client deals one, and n - t combinations of the n by a Vandermonde matrix are
used. They are random to any t clients, since the other n - t columns of the matrix are invertible (Damgard
and Nielsen, Scalable and unconditionally secure multiparty computation, CRYPTO 2007).
"""

from collections.abc import Sequence
from functools import cached_property
from math import prod
from operator import mul

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.lagrange.basis import basis_residues, recovery_threshold
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import Elements, P, elements, multiply, total


class Sharing:
    """Sharing among n >= 2 (ell + t) - 1 clients, of which t may collude, with ell values in a sharing."""

    def __init__(self, *, n: int, t: int, ell: int, kernels: UnionKernels) -> None:
        if n < recovery_threshold(t, ell):
            raise ValueError(f"{n} clients cannot open products with t={t}, ell={ell}")
        self.n, self.t, self.ell = n, t, ell
        self.responders = recovery_threshold(t, ell)
        self.beta = range(1, ell + t + 1)
        self.alpha = range(ell + t + 1, ell + t + n + 1)
        self._kernels = kernels

    @cached_property
    def _basis(self) -> Elements:
        return elements(basis_residues(self.beta, self.alpha, P))

    @cached_property
    def _vanishing(self) -> Elements:
        """Values at alpha of x**i prod_{u <= ell} (x - beta_u), i < ell + 2 t - 1."""
        rows = []
        for a in self.alpha:
            value = prod(a - b for b in self.beta[: self.ell])
            rows.append([value * pow(a, i, P) for i in range(self.responders - self.ell)])
        return elements(rows)

    @cached_property
    def mixing(self) -> Elements:
        """Vandermonde matrix of shape (n - t, n). Column j has the weights of client j + 1's sharing."""
        return elements([[pow(a, r, P) for a in self.alpha] for r in range(self.n - self.t)])

    def batches(self, values: int) -> int:
        """How many sharings every client deals to get this many jointly random ones."""
        return -(-values // (self.n - self.t))

    def masked(self, values: Elements, masks: MaskSource) -> Elements:
        """Polynomials of degree ell + t - 1 by their values, shape (ell, N), and masks at the beta."""
        return np.concatenate([values, masks.wide((self.t, values.shape[1]))])

    def deal(self, polynomials: Elements, client: int | None = None) -> Elements:
        """All clients' shares, shape (n, N), of polynomials, shape (ell + t, N). Or one client's, (1, N)."""
        return self._kernels.matmul(_rows(self._basis, client), polynomials)

    def deal_zeros(self, polynomials: Elements, client: int | None = None) -> Elements:
        """The same of sharings of zeros with double degree: uniform coefficients, shape (R - ell, N)."""
        return self._kernels.matmul(_rows(self._vanishing, client), polynomials)

    def open(self, shares: Sequence[Elements], clients: Sequence[int]) -> Elements:
        """The values, shape (ell, N), from `responders` clients' shares of shape (N,)."""
        if len(clients) != self.responders:
            raise ValueError(f"{len(clients)} shares open no product, {self.responders} do")
        nodes = [self.alpha[j - 1] for j in clients]
        weights = elements(basis_residues(nodes, self.beta[: self.ell], P))
        return self._kernels.matmul(weights, np.stack(shares))

    def misfits(self, shares: Sequence[Elements], clients: Sequence[int]) -> tuple[int, ...] | None:
        """Clients whose shares, of shape (N,) each, do not lie on one polynomial with the others' shares.

        () if all fit, or if there are no more than `responders` shares. Wrong shares fit with probability
        2**-61, since only a random combination of the N values is tested. None if too many shares do not fit
        to tell which ones: another polynomial that t wrong shares are chosen for has to differ in more.
        """
        if len(clients) <= self.responders:
            return ()
        weights = MaskSource().wide(shares[0].shape)
        word = [total(multiply(share, weights)) for share in shares]
        nodes = [self.alpha[j - 1] for j in clients]
        basis = basis_residues(nodes[: self.responders], nodes[self.responders :], P)
        expected = [sum(map(mul, row, word)) % P for row in basis]
        if expected == word[self.responders :]:
            return ()
        wrong = ReedSolomon(points=nodes, dimension=self.responders, p=P).errors(word)
        if wrong is None or len(wrong) > len(clients) - self.responders - self.t:
            return None
        return tuple(clients[i] for i in wrong)


def _rows(matrix: Elements, client: int | None) -> Elements:
    return matrix if client is None else matrix[client - 1 : client]
