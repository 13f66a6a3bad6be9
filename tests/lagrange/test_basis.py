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
from secfc.lagrange.basis import lagrange_basis

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
