"""The rank of a matrix of residues."""

from collections.abc import Iterable


def rank(matrix: Iterable[Iterable[int]], p: int) -> int:
    """Rank modulo p by Gaussian elimination on Python integers."""
    rows, found = [[int(x) % p for x in row] for row in matrix], 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        inverse = pow(rows[found][column], -1, p)
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] * inverse % p
            rows[i] = [(x - factor * y) % p for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found
