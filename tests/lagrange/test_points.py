"""Evaluation points: distinct, disjoint, and where the design says they are."""

import pytest

from secfc.field.primes import PRIMES, TWO_ADIC_ORDER, Prime
from secfc.lagrange.points import evaluation_points

each_prime = pytest.mark.parametrize("prime", PRIMES, ids=lambda prime: str(prime.p))

SIZES = [(1, 1), (3, 2), (4, 2), (5, 3), (11, 6), (16, 8), (17, 9), (2048, 1024), (2049, 1025), (4095, 2048)]
LARGEST = [(4096, 2), (4096, 2048), (4096, 4095), (4096, 4096)]
each_size = pytest.mark.parametrize(("n", "coded"), [*SIZES, *LARGEST])


@each_prime
@each_size
def test_all_points_are_distinct(prime: Prime, n: int, coded: int) -> None:
    points = evaluation_points(prime, n=n, coded=coded)
    assert len({*points.alpha, *points.beta}) == n + coded


@each_prime
@each_size
def test_there_is_one_alpha_a_client_and_one_beta_a_segment_or_mask(prime: Prime, n: int, coded: int) -> None:
    points = evaluation_points(prime, n=n, coded=coded)
    assert (len(points.alpha), len(points.beta)) == (n, coded)


@each_prime
def test_points_are_canonical_residues(prime: Prime) -> None:
    points = evaluation_points(prime, n=4096, coded=4096)
    assert all(0 < x < prime.p for x in (*points.alpha, *points.beta))


@each_prime
def test_betas_are_roots_of_unity_and_alphas_lie_in_the_coset(prime: Prime) -> None:
    p = prime.p
    points = evaluation_points(prime, n=100, coded=100)
    coset = pow(prime.generator, TWO_ADIC_ORDER, p)
    assert coset != 1
    assert {pow(x, TWO_ADIC_ORDER, p) for x in points.beta} == {1}
    assert {pow(x, TWO_ADIC_ORDER, p) for x in points.alpha} == {coset}


@each_prime
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9])
def test_roots_have_the_least_power_of_two_order_that_suffices(prime: Prime, count: int) -> None:
    p = prime.p
    order = next(1 << a for a in range(13) if 1 << a >= count)
    points = evaluation_points(prime, n=count, coded=count)
    ratio = points.beta[1] if count > 1 else 1
    assert pow(ratio, order, p) == 1
    assert order == 1 or pow(ratio, order // 2, p) == p - 1
    assert points.beta == tuple(pow(ratio, u, p) for u in range(count))
    assert points.alpha == tuple(prime.generator * x % p for x in points.beta)


def test_points_of_three_clients_are_as_computed_by_hand() -> None:
    # 7 generates modulo 16760833; -1 has order 2 and i = 7**((p - 1)/4) order 4.
    p, i = 16760833, pow(7, 16760832 // 4, 16760833)
    assert i * i % p == p - 1
    points = evaluation_points(PRIMES[0], n=3, coded=2)
    assert points.beta == (1, p - 1)
    assert points.alpha == (7, 7 * i % p, p - 7)


def test_points_do_not_change_from_call_to_call() -> None:
    assert evaluation_points(PRIMES[3], n=11, coded=6) == evaluation_points(PRIMES[3], n=11, coded=6)
