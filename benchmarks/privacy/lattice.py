"""Find small integers from a few linear equations modulo Q, as coalitions larger than t can do.

Rows are small integers (33 bits at the default precision), and the modulus Q is large (95 bits with four
primes). So one equation may already have a single small solution. Lattice reduction finds it: A. K. Lenstra,
H. W. Lenstra and L. Lovasz, *Factoring polynomials with rational coefficients*, 1982; L. Babai, *On Lovasz'
lattice reduction and the nearest lattice point problem*, 1986.
"""

from collections.abc import Sequence
from fractions import Fraction
from operator import mul

Vector = list[int]


class SmallSolutions:
    """Finds the small x with ``coefficients @ x = values`` modulo Q.

    Parameters
    ----------
    coefficients : list of c lists of ell ints
        The equations, the same for every right-hand side.
    modulus : int
        Q, odd.
    """

    def __init__(self, coefficients: list[Vector], modulus: int) -> None:
        self._coefficients, self._modulus = coefficients, modulus
        self._pivots, self._solved = _echelon(coefficients, modulus)
        self._basis = _reduced(self._homogeneous())
        self._orthogonal = _gram_schmidt(self._basis)

    def _homogeneous(self) -> list[Vector]:
        """A basis of the lattice of x with coefficients @ x = 0 modulo Q."""
        ell = len(self._coefficients[0])
        basis = []
        for column in range(ell):
            vector = [0] * ell
            if column in self._pivots:
                vector[column] = self._modulus
            else:
                vector[column] = 1
                for pivot, row in zip(self._pivots, self._solved, strict=True):
                    vector[pivot] = -row[column] % self._modulus
            basis.append(vector)
        return basis

    def solve(self, values: Vector) -> Vector:
        """The solution near zero for one right-hand side, by Babai's nearest plane algorithm."""
        ell = len(self._coefficients[0])
        _, solved = _echelon(
            [[*row, value] for row, value in zip(self._coefficients, values, strict=True)],
            self._modulus,
            columns=ell,
        )
        rest = [0] * ell
        for pivot, row in zip(self._pivots, solved, strict=True):
            rest[pivot] = row[ell]
        for vector, direction in zip(reversed(self._basis), reversed(self._orthogonal), strict=True):
            nearest = round(Fraction(_dot(rest, direction)) / _dot(direction, direction))
            rest = [a - nearest * b for a, b in zip(rest, vector, strict=True)]
        return rest


def _echelon(rows: list[Vector], modulus: int, columns: int | None = None) -> tuple[list[int], list[Vector]]:
    """Reduced row echelon form modulo Q with its pivots. Every pivot must be invertible."""
    rows, pivots = [list(row) for row in rows], list[int]()
    for column in range(columns or len(rows[0])):
        at = len(pivots)
        if at == len(rows):
            break
        found = next((i for i in range(at, len(rows)) if rows[i][column] % modulus), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        scale = pow(rows[at][column], -1, modulus)
        rows[at] = [x * scale % modulus for x in rows[at]]
        for i, row in enumerate(rows):
            if i != at and row[column]:
                rows[i] = [(x - row[column] * y) % modulus for x, y in zip(row, rows[at], strict=True)]
        pivots.append(column)
    return pivots, rows[: len(pivots)]


def _dot(a: Sequence[Fraction | int], b: Sequence[Fraction | int]) -> Fraction:
    return sum((Fraction(x) * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _gram_schmidt(basis: list[Vector]) -> list[list[Fraction]]:
    orthogonal: list[list[Fraction]] = []
    for vector in basis:
        rest = [Fraction(x) for x in vector]
        for other in orthogonal:
            factor = _dot(vector, other) / _dot(other, other)
            rest = [x - factor * y for x, y in zip(rest, other, strict=True)]
        orthogonal.append(rest)
    return orthogonal


def _reduced(basis: list[Vector]) -> list[Vector]:
    gram = [[sum(map(mul, a, b)) for b in basis] for a in basis]
    columns = list(zip(*basis, strict=True))
    return [[sum(map(mul, row, column)) for column in columns] for row in lll(gram)]


def lll(gram: list[Vector]) -> list[Vector]:
    """A reduced basis from the inner products of a basis, as combinations of it (LLL, delta = 0.999).

    It uses only integers, as in B. M. M. de Weger, *Algorithms for Diophantine equations*.

    Parameters
    ----------
    gram : list of n lists of n ints
        Positive definite.

    Returns
    -------
    list of n lists of n ints
        Row i has the coefficients of vector i of the reduced basis.
    """
    return _Reduction(gram).run()


class _Reduction:
    """LLL with de Weger's names: `d` are leading minors, `lam` the numerators of the orthogonalisation."""

    def __init__(self, gram: list[Vector]) -> None:
        n = len(gram)
        self.h = [[int(i == j) for j in range(n)] for i in range(n)]
        self.lam = [[0] * n for _ in range(n)]
        self.d = [1] + [0] * n  # d[i + 1] is the minor of the first i + 1 vectors
        self.gram = gram

    def run(self) -> list[Vector]:
        n, at, known = len(self.gram), 0, -1
        while at < n:
            if at > known:
                known = at
                self._orthogonalise(at)
            if at == 0:
                at = 1
                continue
            self._reduce(at, at - 1)
            d, lam = self.d, self.lam[at][at - 1]
            if 1000 * d[at + 1] * d[at - 1] < 999 * d[at] ** 2 - 1000 * lam**2:
                self._swap(at, known)
                at = max(1, at - 1)
                continue
            for other in range(at - 2, -1, -1):
                self._reduce(at, other)
            at += 1
        return self.h

    def _orthogonalise(self, at: int) -> None:
        # Vectors from `at` on are still the given ones.
        for j in range(at + 1):
            u = sum(c * self.gram[i][at] for i, c in enumerate(self.h[j]) if c)
            for i in range(j):
                u = (self.d[i + 1] * u - self.lam[at][i] * self.lam[j][i]) // self.d[i]
            if j < at:
                self.lam[at][j] = u
            else:
                self.d[at + 1] = u

    def _reduce(self, at: int, other: int) -> None:
        lam, d = self.lam, self.d[other + 1]
        if 2 * abs(lam[at][other]) <= d:
            return
        q = (2 * lam[at][other] + d) // (2 * d)
        self.h[at] = [a - q * b for a, b in zip(self.h[at], self.h[other], strict=True)]
        lam[at][other] -= q * d
        for i in range(other):
            lam[at][i] -= q * lam[other][i]

    def _swap(self, at: int, known: int) -> None:
        h, lam, d = self.h, self.lam, self.d
        h[at], h[at - 1] = h[at - 1], h[at]
        for j in range(at - 1):
            lam[at][j], lam[at - 1][j] = lam[at - 1][j], lam[at][j]
        mu = lam[at][at - 1]
        minor = (d[at - 1] * d[at + 1] + mu**2) // d[at]
        for i in range(at + 1, known + 1):
            below = lam[i][at]
            lam[i][at] = (d[at + 1] * lam[i][at - 1] - mu * below) // d[at]
            lam[i][at - 1] = (minor * below + mu * lam[i][at]) // d[at + 1]
        d[at] = minor
