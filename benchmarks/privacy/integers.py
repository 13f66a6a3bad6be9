"""Rows as integers: what the server learns because distances are exact.

Distances determine the rows up to a rigid motion (benchmarks.privacy.geometry). But rows are integers in
steps of the quantisation, and distances are exact. So the server has the exact inner products of differences
of rows. These differences generate a lattice. Usually it is all of Z^d, or only multiples of a number in a
column whose values are such multiples. In few dimensions lattice reduction finds the orthogonal basis of a
rotated Z^d, which is the columns in an unknown order and direction. Every difference of two values of a
column is then known, in the data's own units. (The lattice isomorphism problem for Z^n; I. Haviv and O.
Regev, *On the lattice isomorphism problem*, arXiv:1311.0366, bound its cost in many dimensions.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt, lcm

import numpy as np

from benchmarks.privacy.lattice import lll
from benchmarks.privacy.rows import EXACT, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Bools, Floats, Objects
from secfc.field.fixed_point import quantise


@dataclass(frozen=True)
class ExactShape:
    """Exact inner products of rows' differences to row 0, expressed by d of these differences.

    Parameters
    ----------
    products : ndarray of shape (d, d), dtype object
        Inner products of the d chosen differences.
    combinations : ndarray of shape (m - 1, d), dtype object
        Row i's difference to row 0 (i from 1) is this combination of the chosen ones / `denominator`.
    denominator : int
    """

    products: Objects
    combinations: Objects
    denominator: int


def exact_shape(watched: Watched) -> ExactShape | None:
    """The shape of all rows from the decoded distances, or None while centres do not span all d columns.

    Let x_0 be a row and mu_0 a centre. ``G_{ic} = <x_i - x_0, mu_c - mu_0>`` is a sum of four distances. Let
    Y be d differences of rows whose lines of G are independent, on d independent columns. Every difference is
    T Y, with T known from G. So every centre's difference is K Y, since a centre is a mean of known rows.
    Then ``G = (Y Y^T) K^T`` gives Y Y^T. Below, column c of G is multiplied by 2 s_0**2 s_c**2: an integer.
    """
    d, (sets, sizes, exact) = watched.job.d, centres_asked(watched)
    if len(sizes) <= d:
        return None
    delta = (exact - exact[0])[1:]
    g = delta[:, :1] * sizes[1:] ** 2 - delta[:, 1:] * sizes[0] ** 2
    whole = lcm(*(Fraction(one).denominator for one in g.flat))  # differences of distances are fractions
    g = np.array([int(one * whole) for one in g.flat], dtype=object).reshape(g.shape)
    chosen = _independent(np.array(g / (sizes[1:] ** 2 * sizes[0] ** 2), dtype=np.float64), d)
    if chosen is None:
        return None
    rows, columns = chosen
    corner = g[np.ix_(rows, columns)]
    inverse, denominator = _inverse(corner)
    combinations, denominator = _lowest(g[:, columns] @ inverse, denominator)
    sums = sets[:, 1:].astype(object) @ combinations
    k_of = [
        (sizes[0] * sums[c + 1] - sizes[c + 1] * sums[0]) * (2 * sizes[0] * sizes[c + 1]) for c in columns
    ]
    turned, over = _inverse(np.array(k_of, dtype=object).T)
    products = corner @ turned * denominator // (over * whole)
    if (products != products.T).any() or (np.diag(products) <= 0).any():
        return None  # impossible for distances
    return ExactShape(products, combinations, denominator)


def columns_of(watched: Watched) -> Objects | None:
    """Every row minus row 0, in the columns' own steps, in an unknown order and direction of columns.

    Returns
    -------
    ndarray of shape (m, d), dtype object, or None
        None if the shape is not known, or if reduction ends with a basis that is not orthogonal.
    """
    shape = exact_shape(watched)
    return None if shape is None else columns_in(shape)


def shape_of_pairs(distances: Objects, d: int) -> ExactShape | None:
    """The shape of rows of d independent columns from all their squared distances, shape (m, m)."""
    first = distances[0, 1:]
    inner = (first[:, np.newaxis] + first - distances[1:, 1:]) // 2
    chosen = _independent(inner.astype(np.float64), d)
    if chosen is None:
        return None
    products = inner[np.ix_(chosen[0], chosen[0])]
    inverse, denominator = _inverse(products)
    combinations, denominator = _lowest(inner[:, chosen[0]] @ inverse, denominator)
    return ExactShape(products, combinations, denominator)


def columns_in(shape: ExactShape) -> Objects | None:
    """The same of a shape."""
    basis, denominator = _lattice_basis(shape)
    products = basis @ shape.products @ basis.T // denominator**2
    if (products - np.diag(np.diag(products))).any():
        return None
    lengths = [isqrt(one) for one in np.diag(products)]
    if any(one**2 != square for one, square in zip(lengths, np.diag(products), strict=True)):
        return None
    inverse, over = _inverse(basis)
    found = shape.combinations @ inverse * denominator // (over * shape.denominator)
    return np.concatenate(
        [np.zeros((1, len(lengths)), dtype=object), found * np.array(lengths, dtype=object)]
    )


def _lattice_basis(shape: ExactShape) -> tuple[Objects, int]:
    """A reduced basis of the lattice of all differences, as combinations of the chosen ones over an integer.

    Dependent vectors are reduced under ``big * <x, y>`` plus the inner product of their coefficients, so that
    relations come first. Rows that the basis does not generate are added.
    """
    d, over = len(shape.products), shape.denominator
    basis, missing = np.eye(d, dtype=np.int64).astype(object) * over, shape.combinations
    while True:
        inverse, denominator = _inverse(basis)
        missing = missing[(missing @ inverse % denominator).any(axis=1)]
        if not len(missing):
            return basis, over
        together = np.concatenate([basis, missing[:d]])
        products = together @ shape.products @ together.T // over**2
        bits = max(int(one).bit_length() for one in products.flat)
        # A relation among d + e vectors of b / 2 bits has coefficients of about d b / (2 e) bits.
        big = 1 << (bits * d // (len(together) - d) + 2 * len(together) + 40)
        kept = lll((products * big + np.eye(len(together), dtype=np.int64)).tolist())[-d:]
        basis = np.array(kept, dtype=object) @ together
        reduced = lll((basis @ shape.products @ basis.T // over**2).tolist())
        basis = np.array(reduced, dtype=object) @ basis


def centres_asked(watched: Watched) -> tuple[Bools, Objects, Objects]:
    """The distinct sets of all questions, (c, m), their sizes (c,) and exact D (m, c)."""
    found: dict[bytes, tuple[Bools, Objects]] = {}
    for sets, exact in zip(watched.server.questions, watched.server.exact, strict=True):
        for h in range(watched.job.k):
            if (sets == h).any():
                found.setdefault((sets == h).tobytes(), (sets == h, exact[:, h]))
    asked = np.array([one for one, _ in found.values()])
    return asked, asked.sum(axis=1).astype(object), np.array([one for _, one in found.values()]).T


def _independent(g: Floats, d: int) -> tuple[list[int], list[int]] | None:
    """Choose d independent lines and columns by elimination with full pivoting; None if there are fewer."""
    rest, rows, columns = g.copy(), list[int](), list[int]()
    floor = 1e-12 * np.abs(g).max(initial=0.0)
    for _ in range(d):
        i, c = divmod(int(np.abs(rest).argmax()), rest.shape[1])
        if abs(rest[i, c]) <= floor:
            return None
        rows.append(i)
        columns.append(c)
        rest = rest - np.outer(rest[:, c] / rest[i, c], rest[i])
    return rows, columns


def _inverse(matrix: Objects) -> tuple[Objects, int]:
    """The inverse of a regular integer matrix, as integers over a common denominator."""
    n = len(matrix)
    rows = [
        [Fraction(one) for one in line] + [Fraction(int(i == j)) for j in range(n)]
        for i, line in enumerate(matrix.tolist())
    ]
    for column in range(n):
        found = next(i for i in range(column, n) if rows[i][column])
        rows[column], rows[found] = rows[found], rows[column]
        scale = 1 / rows[column][column]
        rows[column] = [one * scale for one in rows[column]]
        for i, line in enumerate(rows):
            if i != column and (factor := line[column]):
                rows[i] = [a - factor * b for a, b in zip(line, rows[column], strict=True)]
    denominator = lcm(*(one.denominator for line in rows for one in line[n:]))
    return np.array(
        [[int(one * denominator) for one in line[n:]] for line in rows], dtype=object
    ), denominator


def _lowest(numerators: Objects, denominator: int) -> tuple[Objects, int]:
    shared = gcd(denominator, *numerators.flat)
    return numerators // shared, denominator // shared


def true_integers(watched: Watched) -> Objects:
    """The rows as they are shared, (m, d)."""
    return quantise(watched.rows, watched.job.unit).astype(np.int64).astype(object)


def up_to_order_and_sign(found: Objects | None, true: Objects) -> float:
    """Fraction of the true columns whose differences are found, in either direction."""
    if found is None:
        return 0.0
    columns = {tuple(one) for one in found.T} | {tuple(-one) for one in found.T}
    return float(np.mean([tuple(one) in columns for one in (true - true[0]).T]))


def oriented(found: Objects, sums: Sequence[tuple[Objects, Objects]]) -> tuple[Objects, list[int]]:
    """Columns in their order and direction, from some known weighted sums of the rows.

    Parameters
    ----------
    found : ndarray of shape (m, d), dtype object
        From `columns_of`.
    sums : sequence of (weights, value)
        Integer weights of shape (m,), and the weighted sum of the rows, shape (d,). All have the same total
        weight. The first one places row 0. A sum may be a known row, or follow from an opened centre.

    Returns
    -------
    ndarray of shape (m, d), dtype object, and the columns that are known
        Other columns are 0.
    """
    (weights, value), *others = sums
    total = int(weights.sum())
    out, known = np.zeros_like(found), list[int]()
    seen = [other_weights @ found - weights @ found for other_weights, _ in others]
    given = [other_value - value for _, other_value in others]
    for j in range(found.shape[1]):
        target = tuple(line[j] for line in given)
        fits = [
            (c, sign)
            for c in range(found.shape[1])
            for sign in (1, -1)
            if target == tuple(sign * line[c] for line in seen)
        ]
        if len(fits) == 1:  # two fit if a difference is 0
            c, sign = fits[0]
            out[:, j] = sign * found[:, c]
            out[:, j] += (value[j] - weights @ out[:, j]) // total
            known.append(j)
    return out, known


def from_distances(watched: Watched, *, attack: str, swept: str, value: float) -> AttackRow:
    """Attack c on exact distances: columns that the server finds up to order, direction and shift."""
    found, d = columns_of(watched), watched.job.d
    rounds = len(watched.server.questions)
    return EXACT.row(
        up_to_order_and_sign(found, true_integers(watched)),
        job=watched.job,
        m=len(watched.rows),
        attack=attack,
        adversary="server",
        swept=swept,
        value=value,
        note=f"up to the order, direction and shift of columns; {len(centres_asked(watched)[1])} centres in "
        f"{rounds} rounds, d + 1 = {d + 1}",
    )


def placed_by_rows(found: Objects | None, true: Objects, count: int) -> float:
    """Fraction of the values of other rows that are found exactly if the first `count` rows are known."""
    if found is None:
        return 0.0
    identity = np.eye(len(true), dtype=np.int64).astype(object)
    placed, known = oriented(found, [(identity[i], true[i]) for i in range(count)])
    return float((placed[count:, known] == true[count:, known]).sum()) / true[count:].size


def with_known_rows(watched: Watched, counts: list[int]) -> list[AttackRow]:
    """Attack d on exact distances: the values of all parties if a client sends the server this many rows."""
    found, true = columns_of(watched), true_integers(watched)
    return [
        EXACT.row(
            placed_by_rows(found, true, count),
            job=watched.job,
            m=len(true),
            attack="d-integers",
            adversary="server + client",
            swept="known rows",
            value=count,
            note="values of everybody else, exactly",
        )
        for count in counts
    ]
