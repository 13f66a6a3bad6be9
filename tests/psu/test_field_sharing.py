"""Shares over the union's field: opening and hiding."""

from itertools import combinations
from math import prod

import galois
import numpy as np
import pytest
from support.union import random_elements

from secfc.crypto.randomness import MaskSource
from secfc.psu.field_sharing import Sharing
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import P, add, elements, multiply

GF = galois.GF(P, primitive_element=37, verify=False)
SIZES = [(3, 1, 1), (5, 1, 2), (7, 2, 1), (11, 4, 2), (12, 4, 2)]
sizes = pytest.mark.parametrize(("n", "t", "ell"), SIZES)


def sharing(n: int, t: int, ell: int, kernels: UnionKernels | None = None) -> Sharing:
    return Sharing(n=n, t=t, ell=ell, kernels=kernels or UnionKernels())


def rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(GF(matrix.astype(object).tolist())))


@sizes
def test_a_product_plus_a_random_zero_opens_to_the_product(
    n: int, t: int, ell: int, kernels: UnionKernels
) -> None:
    shared = sharing(n, t, ell, kernels)
    a, b = random_elements((ell, 5), 1), random_elements((ell, 5), 2)
    masks = MaskSource()
    shares = add(
        multiply(shared.deal(shared.masked(a, masks)), shared.deal(shared.masked(b, masks))),
        shared.deal_zeros(masks.wide((shared.responders - ell, 5))),
    )
    for clients in [range(1, shared.responders + 1), range(n, n - shared.responders, -1)]:
        opened = shared.open([shares[j - 1] for j in clients], list(clients))
        assert (opened == multiply(a, b)).all()


@sizes
def test_the_masks_of_any_t_shares_have_full_rank(n: int, t: int, ell: int) -> None:
    # With zero values, shares are masks times a matrix. Full rank makes t of them uniform.
    basis = sharing(n, t, ell)._basis
    for clients in list(combinations(range(n), t))[:60]:
        assert rank(basis[list(clients), ell:]) == t


@sizes
def test_every_polynomial_that_hides_zeros_can_be_drawn_even_given_t_of_its_shares(
    n: int, t: int, ell: int
) -> None:
    shared = sharing(n, t, ell)
    basis = shared._vanishing
    free = shared.responders - ell
    assert rank(basis) == free == basis.shape[1]  # all of degree 2 (ell + t - 1) with zeros at ell points
    zeros = shared.deal_zeros(MaskSource().wide((free, 3)))
    clients = list(range(1, shared.responders + 1))
    assert not shared.open(list(zeros[: shared.responders]), clients).any()
    for held in list(combinations(range(n), t))[:30]:
        assert rank(basis[list(held)]) == t  # t shares leave free - t dimensions


@sizes
def test_any_n_minus_t_columns_of_the_mixing_are_invertible(n: int, t: int, ell: int) -> None:
    mixing = sharing(n, t, ell).mixing
    for honest in list(combinations(range(n), n - t))[:60]:
        assert rank(mixing[:, list(honest)]) == n - t


def test_no_honest_client_is_named_whatever_t_clients_open() -> None:
    # With t = 2 and R + 2 clients, two false shares can lie on a polynomial with all others but one.
    shared = sharing(7, 2, 1)
    word = np.zeros(7, dtype=np.uint64)
    value = elements([prod_of(shared, j) for j in range(1, 8)])
    word[:2] = value[:2]
    assert (value[2:6] == 0).all()
    assert shared.misfits(word.reshape(7, 1), range(1, 8)) is None


def prod_of(shared: Sharing, client: int) -> int:
    """At a client: the polynomial that is 0 at clients 3 to 6."""
    x = shared.alpha[client - 1]
    return prod(x - a for a in shared.alpha[2:6])


def test_too_few_clients_or_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="4 clients cannot open products with t=1, ell=2"):
        sharing(4, 1, 2)
    with pytest.raises(ValueError, match="2 shares open no product, 3 do"):
        sharing(3, 1, 1).open([random_elements((1,), 1)] * 2, [1, 2])
