"""Sums and sizes of sets, weighted if rows have weights.

Opens nothing but what `reduced` opens.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from secfc.field.array_types import Ints, Labels, Objects
from secfc.operations.reduction import reduced
from secfc.protocol.parties.party import Party
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


@dataclass(frozen=True, kw_only=True)
class PlainSums:
    """Sums of the rows in each set, shape (k, d), and of their weights, shape (k,), as Python integers.

    `full` are the numbers of the sets that have rows, in ascending order.
    """

    sums: Objects = field(repr=False)
    sizes: Objects = field(repr=False)
    full: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Shares of the sums, shape (k, width), of the sizes, shape (k,), and of their products, shape (k, k).

    `full` is public.
    """

    sums: Shared
    sizes: Shared
    products: Shared
    full: tuple[int, ...]


def plain_sums(rows: Objects, sets: Labels, full: tuple[int, ...], weights: Ints, *, k: int) -> PlainSums:
    """The same of quantised rows, shape (m, d), and of public sets; a row counts as often as its weight."""
    each = weights.astype(object)
    sums = np.stack([(rows * each[:, np.newaxis])[sets == h].sum(axis=0) for h in range(k)])
    sizes = np.array([each[sets == h].sum() for h in range(k)], dtype=object)
    return PlainSums(sums=sums.astype(object), sizes=sizes, full=full)


def sums_of(
    me: Party, sets: Shared, rows: Rows, full: tuple[int, ...], weights: Ints
) -> Generator[None, None, Sums]:
    """Of sets, shape (k, m), and rows, with public weights, shape (m,)."""
    products = products_of(sets, rows, weights)
    return sums_in((yield from reduced(me, products)), sets, rows, full, weights)


def products_of(sets: Shared, rows: Rows, weights: Ints) -> Shared:
    """What is to be reduced: sums, and products of sizes."""
    weighted = _weighted(sets, weights)
    sizes, (first, second) = weighted.sum(1), np.triu_indices(sets.shape[0])
    return joined([rows.sums(weighted).reshape(-1), sizes[first] * sizes[second]], 0)


def sums_in(reduced: Shared, sets: Shared, rows: Rows, full: tuple[int, ...], weights: Ints) -> Sums:
    """The sums in what was reduced."""
    k, width = sets.shape[0], rows.width
    first, second = np.triu_indices(k)
    number = np.empty((k, k), dtype=np.int64)
    number[first, second] = number[second, first] = np.arange(first.size)
    sums, products = reduced[: k * width].reshape(k, width), reduced[k * width :]
    return Sums(sums=sums, sizes=_weighted(sets, weights).sum(1), products=products[number], full=full)


def _weighted(sets: Shared, weights: Ints) -> Shared:
    return sets if (weights == 1).all() else sets * weights
