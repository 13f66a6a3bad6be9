"""Evaluation points: distinct, disjoint, and as designed."""

from support.sweeps import every

from secfc.field.primes import PRIMES, Prime
from secfc.lagrange.basis import evaluation_points, order_of_root

each_prime = every("prime", PRIMES)

SIZES = [(1, 1), (3, 2), (4, 2), (5, 3), (11, 6), (16, 8), (17, 9), (2048, 1024), (2049, 1025), (4095, 2048)]
LARGEST = [(4096, 2), (4096, 2048), (4096, 4095), (4096, 4096)]
each_size = every(("n", "coded"), [*SIZES, *LARGEST])


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
@every(
    ("n", "coded", "order"),
    [
        (3, 2, 4),
        (2, 3, 4),
        (4, 2, 4),
        (5, 2, 8),
        (2, 5, 8),
        (8, 3, 8),
        (9, 3, 16),
        (11, 6, 16),
        (100, 7, 128),
    ],
)
def test_one_root_serves_clients_and_coded_values(prime: Prime, n: int, coded: int, order: int) -> None:
    p = prime.p
    points = evaluation_points(prime, n=n, coded=coded)
    omega = points.beta[1]
    assert pow(omega, order // 2, p) == p - 1
    assert points.beta == tuple(pow(omega, u, p) for u in range(coded))
    assert points.alpha == tuple(prime.generator * pow(omega, j, p) % p for j in range(n))


@each_prime
@each_size
def test_a_difference_of_points_depends_on_the_difference_of_their_numbers(
    prime: Prime, n: int, coded: int
) -> None:
    # alpha_j - beta_u = omega**u (g omega**(j - u) - 1), which makes encoding a cyclic convolution.
    p, g = prime.p, prime.generator
    points = evaluation_points(prime, n=n, coded=coded)
    omega = pow(g, (p - 1) // order_of_root(max(n, coded)), p)
    for j, u in [(0, 0), (n - 1, 0), (0, coded - 1), (n - 1, coded - 1), (n // 2, coded // 3)]:
        expected = pow(omega, u, p) * (g * pow(omega, j - u, p) - 1) % p
        assert (points.alpha[j] - points.beta[u]) % p == expected


def test_points_of_three_clients_are_as_computed_by_hand() -> None:
    # 7 generates modulo 16760833. i = 7**((p - 1)/4) has order 4, enough for three clients and two values.
    p, i = 16760833, pow(7, 16760832 // 4, 16760833)
    assert i * i % p == p - 1
    points = evaluation_points(PRIMES[0], n=3, coded=2)
    assert points.beta == (1, i)
    assert points.alpha == (7, 7 * i % p, p - 7)
