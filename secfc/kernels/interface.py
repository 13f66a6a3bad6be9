"""The interface of kernels: the array computations of a run, one prime at a time.

Residues modulo p are packed, three bytes each, or float64 *reduced* residues (|x| <= p/2 + 4); see
`secfc.field.residues`. Rows of the data are always the last axis, so a column is contiguous.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from secfc.field.array_types import Bools, Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels.threads import Threads

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The set of each row with the least quotient, as far as float64 can tell.

    Attributes
    ----------
    labels : ndarray of shape (rows,), int32
        Ties go to the lowest index.
    own : ndarray of shape (P, rows), float32
        The digits of D for this set.
    second : ndarray of shape (rows,), float64
        The least quotient of the other sets, inf if all others are empty.
    contested : ndarray of shape (rows,), bool
        Whether another quotient is within the tolerance of the least.
    largest : float
        The largest of all quotients, 0 if there are none.
    """

    labels: Labels = field(repr=False)
    own: Shares = field(repr=False)
    second: Floats = field(repr=False)
    contested: Bools = field(repr=False)
    largest: float = field(repr=False)


class Kernels(Protocol):
    """Array computations of clients and server. Arrays are C-contiguous.

    Implementations give bitwise equal results, except that a residue near +-p/2 has two reduced values.
    """

    name: str
    threads: Threads
    """The threads of the work that uses these kernels. Any of them may call any kernel."""

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        """Pack the shares ``basis @ values`` of every client to `out`, shape (n, width, 3 * rows).

        `values`, shape (ell + t, width, rows), are reduced: segments, then masks. `basis` is (n, ell + t).
        """

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        """Unpack shares of some rows, shape (P, width, 3 * rows), and add their squared norms.

        Columns [start, start + rows) of `shares`, shape (P, width + 1, m), are written: centred residues, and
        ``||x~||^2`` modulo each prime in the last row.
        """

    def set_sums(self, shares: Shares, sets: Labels, k: int) -> Floats:
        """Sum of the shares in each set, unreduced, shape (k, width + 1); -1 is no set.

        Exact: fewer than 2**29 terms below 2**24.
        """

    def weighted_sums(self, shares: Shares, weights: Floats, primes: tuple[int, ...]) -> Floats:
        """Sums over the rows of weight times share, reduced, shape (P, k, width + 1).

        Centred shares have shape (P, width + 1, m), reduced weights (P, k, m).
        """

    def move_rows(self, shares: Shares, rows: Ints, old: Labels, new: Labels, sums: Floats) -> None:
        """Update `set_sums` in place for rows that moved from set `old` to set `new`."""

    def prepare(self, matrices: Floats, constants: Floats) -> tuple[Floats, Floats]:
        """Prepare the arguments of `answer` for each prime: reduced, (P, k, width + 1) and (P, k)."""

    def answer(
        self,
        shares: Shares,
        rows: slice,
        matrix: Floats,
        constant: Floats,
        p: int,
        out: Bytes,
        first: int,
    ) -> None:
        """Pack ``constant + matrix @ shares[:, rows]`` modulo p to an answer about rows from `first` on.

        Shares have shape (width + 1, m), `out` (k, 3 * answered). `matrix` and `constant` are
        those of one prime from `prepare`.
        """

    def refused(self, packed: Bytes, primes: tuple[int, ...]) -> int:
        """Index of the first prime that some packed integer in its plane is not below; -1 if there is none.

        Planes, shape (P, ...), are contiguous.
        """

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        """Replace, in place, each word of 24 bits that is not below p by the next spare one that is.

        False if there are too few spare words. Some words are then still not below p.
        """

    def add_masks(self, packed: Bytes, masks: Bytes, p: int) -> None:
        """Add masks to packed residues, both of shape (3 * count,), modulo p, in place. All are below p."""

    def decode(
        self, answers: list[Bytes], weights: Floats, radix: MixedRadix, start: int, stop: int, out: Shares
    ) -> int:
        """Mixed-radix digits of the weighted sum of rows [start, stop) of R answers, if they are residues.

        Answers have shape (P, k, 3 * rows), reduced weights (P, R). The digits are written to `out`, shape
        (P, k, stop - start). The caller uses one buffer for many blocks, which saves page allocations.
        Returns the position of an answer with an integer that is not below its prime, or -1 if there is none.
        Only with -1 is `out` valid.
        """

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        """The weighted sum of all rows as packed residues, in the shape of an answer; else as `decode`."""

    def nearest(self, digits: Shares, radix: MixedRadix, sizes: Ints, tolerance: float) -> Compared:
        """The set with the least quotient D / |S_h|^2 for each row, of scaled squared distances D.

        `digits` are those of D, shape (P, k, rows). `sizes` are |S_h|, 0 for an empty set. Within the
        relative difference `tolerance` the order of two quotients is in doubt.
        """

    def doubled_bits(self, packed: Bytes, radix: MixedRadix, out: Words) -> None:
        """Bits of the mixed-radix digits of 2 x modulo Q.

        Canonical residues x have shape (P, columns, 3 * rows). `out` has shape (chunk, chunks, columns, W),
        64 W >= rows. Row j W + w is bit j of word w, and bits after the last row are 0. Digits and their bits
        go from high to low, `chunk` bits to a chunk. P divides `chunks`.
        """

    def leaf_products(self, bits: Words, start: int, out: Words) -> None:
        """Products of the bits of r over each nonempty set of places of a leaf.

        Bits have shape (c, words), the highest place first. Words [start, start + n) are multiplied. `out`
        has shape (2**c - 1, n).
        """

    def leaves(
        self, bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words
    ) -> None:
        """Write shares of [y < r] and [y = r] of leaves, shape (n,), from the bits of y.

        With n = not y: e = n ^ r and l = n r for each bit. The products are this evaluator's halves of
        `leaf_products`, with the same shapes. `first` is True for E0, which adds the public terms.
        """

    def gate_products(self, less: Words, equal: Words, size: int, out: Words) -> None:
        """Products of two or more masks of the wires of nodes that compare, or of ANDs.

        A node has s pairs of input wires (l, e), the highest first. Its output l is l_1 ^ e_1 (l_2 ^ e_2
        (...)), and its output e is the product of all e. So it needs the products of subsets of the e, and
        for each l_j those with subsets of e_1..e_{j-1}. An AND is a node without l.

        The masks of l and e have shape (s * nodes, W), node by node, s from 2 to 6. ANDs have no l. If there
        is one node, that of the lowest places, the last e may be missing: then its output e is not needed.
        `out` has shape (dealt, nodes, W) (`secfc.comparing.batch_plan.Group`).
        """

    def gates(
        self,
        deltas: tuple[Words, Words],
        halves: tuple[Words, Words],
        size: int,
        products: Words,
        first: bool,
        out: tuple[Words, Words],
    ) -> None:
        """Write shares of l and e of nodes that compare, or of ANDs, shape (nodes, W) or (0, W).

        `deltas` are opened wires l and e, in the order and shapes of `gate_products`. `halves` are this
        evaluator's halves of their masks, and `products` its halves of the products. `first` is True for E0.
        For ANDs only e is written, for a node without its last e only l.
        """

    def accept(self, words: NDArray[np.uint32], p: int, kept: Floats) -> int:
        """Write the words' low bits that are below p, minus (p - 1)/2, to `kept`. Returns how many."""
