"""Lagrange basis and decoding weights, against fractions and Python integers."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

from secfc.field.array_types import Floats
from secfc.field.primes import PRIMES
from secfc.lagrange.basis import decoding_weights, lagrange_basis
from secfc.lagrange.points import evaluation_points, recovery_threshold

MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]

laws = tries()
moduli = st.sampled_from([*MODULI, 8388593, 65537])


def integers(x: Floats, p: int) -> list[list[int]]:
    """Canonical Python integers of a matrix of reduced residues."""
    assert np.abs(x).max() <= p / 2 + 4
    return [[int(v) % p for v in row] for row in x]


def rational_basis(nodes: list[int], a: int, u: int, p: int) -> int:
    """L_u(a) in rational numbers, then modulo p."""
    value = Fraction(1)
    for v, node in enumerate(nodes):
        if v != u:
            value *= Fraction(a - node, nodes[u] - node)
    return value.numerator * pow(value.denominator, -1, p) % p


def evaluate(coefficients: list[int], x: int, p: int) -> int:
    value = 0
    for c in reversed(coefficients):
        value = (value * x + c) % p
    return value


def random_polynomial(length: int, p: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, p, length).tolist()


class TestLagrangeBasis:
    def test_line_through_two_nodes_is_as_computed_by_hand(self) -> None:
        # L_1(a) = (a - 2)/(1 - 2), L_2(a) = (a - 1)/(2 - 1): at a = 5 they are -3 and 4.
        assert lagrange_basis([1, 2], [5], P).tolist() == [[-3.0, 4.0]]

    @laws
    @given(
        points=st.lists(st.integers(-1000, 1000), min_size=2, max_size=12, unique=True),
        split=st.integers(1, 11),
        p=moduli,
    )
    def test_equals_the_rational_basis(self, points: list[int], split: int, p: int) -> None:
        nodes, at = points[:split], points[split:] or [5000]
        expected = [[rational_basis(nodes, a, u, p) for u in range(len(nodes))] for a in at]
        assert integers(lagrange_basis(nodes, at, p), p) == expected

    @pytest.mark.parametrize("p", [11, 13])
    def test_is_right_for_every_choice_of_nodes_at_a_tiny_prime(self, p: int) -> None:
        for nodes in combinations(range(p), 3):
            at = [a for a in range(p) if a not in nodes]
            expected = [[rational_basis(list(nodes), a, u, p) for u in range(3)] for a in at]
            assert integers(lagrange_basis(nodes, at, p), p) == expected

    def test_points_count_modulo_p(self) -> None:
        shifted = lagrange_basis([1 + P, 2 - P], [5 + 3 * P], P)
        assert shifted.tolist() == [[-3.0, 4.0]]

    def test_evaluation_at_a_node_is_refused(self) -> None:
        with pytest.raises(ValueError, match="an evaluation point is a node"):
            lagrange_basis([1, 2, 3], [4, 2], P)

    def test_equal_nodes_are_refused(self) -> None:
        with pytest.raises(ValueError, match="nodes are not distinct"):
            lagrange_basis([1, 2, 1], [4], P)


class TestDecodingWeights:
    def test_three_clients_are_as_computed_by_hand(self) -> None:
        # R = 3, ell = 1: the basis at beta = 3 over the nodes 0, 1, 2.
        assert decoding_weights(alpha=[0, 1, 2], beta=[3], p=P).tolist() == [1.0, -3.0, 3.0]

    @pytest.mark.parametrize("index", range(len(PRIMES)))
    @pytest.mark.parametrize(("n", "t", "ell"), [(14, 4, 2), (5, 1, 1), (12, 2, 3)])
    def test_weighted_sum_over_any_responders_is_the_sum_over_the_segments(
        self, index: int, n: int, t: int, ell: int
    ) -> None:
        p = MODULI[index]
        threshold = recovery_threshold(t, ell)
        points = evaluation_points(PRIMES[index], n=n, coded=ell + t)
        rng = np.random.default_rng(index)
        subsets = [range(threshold), range(n - threshold, n)]
        subsets += [rng.permutation(n)[:threshold].tolist() for _ in range(5)]
        for number, subset in enumerate(subsets):
            alpha = [points.alpha[j] for j in subset]
            phi = random_polynomial(threshold, p, seed=number)
            weights = decoding_weights(alpha=alpha, beta=points.beta[:ell], p=p)
            decoded = sum(int(w) * evaluate(phi, a, p) for w, a in zip(weights, alpha, strict=True))
            assert decoded % p == sum(evaluate(phi, b, p) for b in points.beta[:ell]) % p

    def test_one_degree_more_than_the_responders_determine_is_not_decoded(self) -> None:
        # phi = prod_j (x - alpha_j) vanishes at every responder, so any weights decode 0.
        alpha, beta = [10, 20, 30], [1, 2]

        def phi(x: int) -> int:
            return (x - 10) * (x - 20) * (x - 30) % P

        weights = decoding_weights(alpha=alpha, beta=beta, p=P)
        assert sum(int(w) * phi(a) for w, a in zip(weights, alpha, strict=True)) == 0
        assert sum(phi(b) for b in beta) % P != 0

    def test_thousand_responders_decode(self) -> None:
        ell, t = 3, 498
        threshold = recovery_threshold(t, ell)
        points = evaluation_points(PRIMES[0], n=threshold + 50, coded=ell + t)
        alpha = points.alpha[50:]
        phi = random_polynomial(threshold, P, seed=5)
        weights = decoding_weights(alpha=alpha, beta=points.beta[:ell], p=P)
        decoded = sum(int(w) * evaluate(phi, a, P) for w, a in zip(weights, alpha, strict=True))
        assert decoded % P == sum(evaluate(phi, b, P) for b in points.beta[:ell]) % P
