"""Recovers the IDs of a sketch: a cell with one ID shows it, it is taken out of its other cells, and so on.

The peeling of Goodrich and Mitzenmacher (Invertible Bloom lookup tables, 2011), over a field.
"""

from collections.abc import Callable

import numpy as np

from secfc._arrays import Ints
from secfc.psu.prime import Elements, P, multiply, subtract
from secfc.psu.tokens import Tokens

_ROUNDS = 200
"""Far more than peeling needs: about log log of the cells, and a few tens near its threshold."""


def peel(cells: Elements, cells_of: Callable[[Tokens], Ints]) -> Tokens | None:
    """The tokens in a sketch, or None where some cells cannot be peeled.

    Parameters
    ----------
    cells : ndarray of shape (cells, 4), uint64
        Sums of c_e (1, u, v, u v); consumed.
    cells_of : callable
        Cells of tokens, shape (3, tokens).

    Notes
    -----
    A cell S with S_0 S_3 = S_1 S_2 and S_0 not 0 holds one token; one that holds more passes with 2 / p, and
    then its token would as a rule belong elsewhere.
    """
    found: list[Tokens] = []
    for _ in range(_ROUNDS):
        filled = cells.any(axis=1)
        if not filled.any():
            empty = np.empty(0, dtype=np.uint64)
            u, v = (
                np.concatenate([empty, *(getattr(tokens, name) for tokens in found)]) for name in ("u", "v")
            )
            return Tokens(u=u, v=v)
        pure = filled & (cells[:, 0] != 0)
        pure &= multiply(cells[:, 0], cells[:, 3]) == multiply(cells[:, 1], cells[:, 2])
        at = np.flatnonzero(pure)
        if at.size == 0:
            return None
        residues = cells[at, 0]
        scale = _inverses(residues)
        tokens = Tokens(u=multiply(cells[at, 1], scale), v=multiply(cells[at, 2], scale))
        home = cells_of(tokens)
        genuine = (home == at).any(axis=0)
        order = np.lexsort((tokens.v, tokens.u))
        order = order[genuine[order]]
        # A token may be alone in several of its cells: it is taken once.
        fresh = np.ones(order.size, dtype=bool)
        fresh[1:] = (np.diff(tokens.u[order]) != 0) | (np.diff(tokens.v[order]) != 0)
        keep = order[fresh]
        if keep.size == 0:
            return None
        taken = Tokens(u=tokens.u[keep], v=tokens.v[keep])
        found.append(taken)
        values = cells[at[keep]]
        for positions in home[:, keep]:
            _subtract_at(cells, positions, values)
    return None


def _subtract_at(cells: Elements, positions: Ints, values: Elements) -> None:
    """cells[positions[i]] -= values[i], also where a position comes more than once."""
    order = np.argsort(positions, kind="stable")
    positions, values = positions[order], values[order]
    while positions.size:
        once = np.ones(positions.size, dtype=bool)
        once[1:] = positions[1:] != positions[:-1]
        cells[positions[once]] = subtract(cells[positions[once]], values[once])
        positions, values = positions[~once], values[~once]


def _inverses(x: Elements) -> Elements:
    """Inverses of nonzero elements: x**(p - 2)."""
    result, exponent = np.ones_like(x), P - 2
    while exponent:
        if exponent & 1:
            result = multiply(result, x)
        x = multiply(x, x)
        exponent >>= 1
    return result
