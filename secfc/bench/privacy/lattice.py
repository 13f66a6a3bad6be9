"""Small integers from a few linear equations modulo Q: what coalitions larger than t can do with theirs.

Rows are small integers (33 bits at the default precision) and the modulus Q is large (95 bits with four
primes), so one equation may already have a single small solution. Lattice reduction finds it: A. K. Lenstra,
H. W. Lenstra and L. Lovasz, *Factoring polynomials with rational coefficients*, 1982; L. Babai, *On Lovasz'
lattice reduction and the nearest lattice point problem*, 1986.
"""

from collections.abc import Sequence
from fractions import Fraction

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
        """The solution near zero that Babai's nearest plane finds, for one right-hand side."""
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
    """Reduced row echelon form modulo Q with its pivots; every pivot met must be invertible."""
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
    """LLL with delta = 3/4, in rationals: dimensions here are below ten."""
    basis = [list(vector) for vector in basis]
    at, orthogonal = 1, _gram_schmidt(basis)
    while at < len(basis):
        for j in range(at - 1, -1, -1):
            factor = round(_dot(basis[at], orthogonal[j]) / _dot(orthogonal[j], orthogonal[j]))
            if factor:
                basis[at] = [x - factor * y for x, y in zip(basis[at], basis[j], strict=True)]
        orthogonal = _gram_schmidt(basis)
        before, now = orthogonal[at - 1], orthogonal[at]
        mu = _dot(basis[at], before) / _dot(before, before)
        if _dot(now, now) >= (Fraction(3, 4) - mu**2) * _dot(before, before):
            at += 1
        else:
            basis[at - 1], basis[at] = basis[at], basis[at - 1]
            orthogonal = _gram_schmidt(basis)
            at = max(1, at - 1)
    return basis
