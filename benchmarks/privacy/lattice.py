"""Lattice reduction with integers alone.

A. K. Lenstra, H. W. Lenstra and L. Lovasz, *Factoring polynomials with rational coefficients*, 1982.
"""

Vector = list[int]


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
