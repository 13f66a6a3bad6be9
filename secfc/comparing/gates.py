"""Gates on bit-sliced wires: what the dealer multiplies and what an evaluator computes locally.

Bits are rows of 64-bit words; every operation is a bitwise one of whole arrays. A wire x is known to both
evaluators as Delta = x ^ lambda, and each holds a half of its mask lambda, which the dealer knows. So a
product of wires is the sum over subsets S of prod_{i not in S} Delta_i lambda_S, and the dealer deals XOR
shares of the products lambda_S (Patra et al., *ABY2.0*, USENIX Security 2021). With public bits for Delta and
secret bits for lambda it is a leaf.

A table holds an array of words for each subset, in the order of its bit mask: bit i is wire i, wires go from
the highest place to the lowest, and the empty product is 1.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def multiply(table: Words, masks: Sequence[Words]) -> None:
    """Write the products of every subset of some masks.

    Parameters
    ----------
    table : ndarray of shape (2**s, ...), uint64
    masks : sequence of s ndarrays of shape (...), uint64
    """
    table[0] = ONES
    for i, mask in enumerate(masks):
        np.bitwise_and(table[: 1 << i], mask, out=table[1 << i : 2 << i])


def fold(table: Words, delta: Words, wire: int) -> Words:
    """Take the wire of highest index out of a table: its share of x_wire times each product, in place.

    Parameters
    ----------
    table : ndarray of shape (2**(wire + 1), ...), uint64
        Overwritten.
    delta : ndarray, uint64
    wire : int

    Returns
    -------
    ndarray of shape (2**wire, ...), uint64
        The first half.
    """
    half = 1 << wire
    low: Words = table[:half]
    low &= delta
    low ^= table[half : 2 * half]
    return low


def conjunction(table: Words, deltas: Sequence[Words]) -> Words:
    """Share of the AND of wires, from shares of the products of their masks; `table` is overwritten."""
    for wire in reversed(range(len(deltas))):
        table = fold(table, deltas[wire], wire)
    share: Words = table[0]
    return share


def products_dealt(table: Words, count: int) -> Iterator[Words]:
    """Where a table of `count` masks has products of two or more, in the order in which they are dealt."""
    for wire in range(1, count):
        yield table[(1 << wire) + 1 : 2 << wire]


class NodeTables:
    """Products of masks of nodes that compare: each takes s pairs of wires (l, e), from the highest.

    A node's l is l_1 ^ e_1 (l_2 ^ e_2 (...)), its e the product of all e. It takes the products of subsets of
    the e, and for each l_j those with subsets of e_1..e_{j-1}.

    Parameters
    ----------
    memory : ndarray of shape (words(size), ...), uint64
    size : int
        s.
    last : bool
        The last e is not a wire.
    """

    def __init__(self, memory: Words, size: int, *, last: bool) -> None:
        self.size, self.equals = size, size - 1 if last else size
        first = 1 << self.equals
        self.equal = memory[:first]
        self.less = [memory[first + (1 << j) - 1 : first + (2 << j) - 1] for j in range(size)]

    @staticmethod
    def entries(size: int, *, last: bool) -> int:
        """Arrays of the tables of a node."""
        return (1 << (size - 1 if last else size)) + (1 << size) - 1

    def multiply(self, less: Sequence[Words], equal: Sequence[Words]) -> None:
        """Write all products of the masks of l and e."""
        multiply(self.equal, equal)
        for j, mask in enumerate(less):
            np.bitwise_and(self.equal[: 1 << j], mask, out=self.less[j])

    def dealt(self) -> Iterator[Words]:
        """Where products of two or more are, in the order in which they are dealt; each is contiguous."""
        yield from products_dealt(self.equal, self.equals)
        for j in range(1, self.size):
            yield self.less[j][1:]

    def put_halves(self, less: Sequence[Words], equal: Sequence[Words], one: np.uint64) -> None:
        """Write an evaluator's halves of the masks, and of 1."""
        self.equal[0] = one
        for i, half in enumerate(equal):
            self.equal[1 << i] = half
        for j, half in enumerate(less):
            self.less[j][0] = half

    def evaluate(
        self, less: Sequence[Words], equal: Sequence[Words], spare: Words
    ) -> tuple[Words, Words | None]:
        """Shares of the nodes' l and e (None of the last), from Delta of their wires; tables are overwritten.

        Parameters
        ----------
        less, equal : sequences of ndarrays, uint64
        spare : ndarray of the shape of the largest of the tables, uint64
        """
        for j, delta in enumerate(less):
            part = spare[: 1 << j]
            np.bitwise_and(self.equal[: 1 << j], delta, out=part)
            self.less[j] ^= part
        total = self.less[-1]
        for j in reversed(range(self.size - 1)):
            below = fold(total, equal[j], j)
            total = self.less[j]
            total ^= below
        if self.equals < self.size:
            return total[0], None
        return total[0], conjunction(self.equal, equal)


def leaf(table: Words, bits: Sequence[Words], spare: Words, less: Words, equal: Words) -> None:
    """Shares of [y < r] and [y = r] of chunks, from shares of the products of the bits of r.

    With n = not y: e = n ^ r and l = n r for each bit.

    Parameters
    ----------
    table : ndarray of shape (2**c, words), uint64
        Overwritten.
    bits : sequence of c ndarrays of shape (words,), uint64
        n, from the highest place.
    spare : ndarray of shape (2**c, words), uint64
        Overwritten.
    less, equal : ndarray of shape (words,), uint64
        Written.
    """
    total = spare[1 << (len(bits) - 1) :]
    np.bitwise_and(table[1 << (len(bits) - 1) :], bits[-1], out=total)
    for j in reversed(range(len(bits) - 1)):
        # What is left of the lower places has products of the bits up to j.
        below = fold(total, bits[j], j)
        total = spare[1 << j : 2 << j] if j else spare[1:2]
        np.bitwise_and(table[1 << j : 2 << j], bits[j], out=total)
        total ^= below
    less[...] = total[0]
    equal[...] = conjunction(table, bits)
