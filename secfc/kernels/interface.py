"""What a set of kernels offers: the array work of a run, one prime at a time.

Residues modulo p come packed, three bytes each, or as float64 *reduced* residues (|x| <= p/2 + 4); see
`secfc.field.residues`. Rows of the data are the last axis everywhere, so that a column is contiguous.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from secfc.array_types import Bools, Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.threads import Threads

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class EncodingTransform:
    """Encoding as after * (cyclic convolution of before * values), by transforms of length `order`.

    `before` has shape (ell + t,), `after` (n,). `spectrum`, of shape (order,), is the transform of what is
    convolved with, divided by the order, in bit-reversed order. `roots` are powers of the root of unity,
    shape (order / 2,), and `inverse_roots` those of its inverse.
    """

    before: Floats
    spectrum: Floats
    after: Floats
    roots: Floats
    inverse_roots: Floats


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Which weighted differences are taken.

    `columns` are those compared, shape (c,), in the order that decides ties; `weights` the centred residues
    of 2 w, shape (P, c). `first` and `second`, of shape (pairs,), are slots, first < second; or -1
    and a slot.
    """

    columns: Ints = field(repr=False)
    weights: Floats = field(repr=False)
    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    radix: MixedRadix


class Kernels(Protocol):
    """Array work of clients and server; arrays are C-contiguous.

    Implementations give equal results: equal bits, but for reduced residues near +-p/2, where two stand for
    the same residue.
    """

    name: str
    transform_gain: int
    """Encoding by transform is faster from ell + t = this many times log2(n) on."""

    threads: Threads
    """Those of the work that these kernels are for. Any of them may call any kernel."""

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        """Pack the shares ``basis @ values`` of every client to `out`, shape (n, width, 3 * rows).

        Values, of shape (ell + t, width, rows), are reduced: segments, then masks; basis (n, ell + t).
        """

    def encode_by_transform(self, values: Floats, transform: EncodingTransform, p: int, out: Bytes) -> None:
        """`encode` for many clients, as a cyclic convolution; shapes likewise."""

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        """Unpack shares of some rows, shape (P, width, 3 * rows), and add their squared norms.

        Columns [start, start + rows) of `shares`, shape (P, width + 1, m), are written: centred residues, and
        ``||x~||^2`` modulo each prime in the last row.
        """

    def set_sums(self, shares: Shares, sets: Labels, k: int) -> Floats:
        """Sum of the shares in each set, unreduced, shape (k, width + 1); -1 is no set.

        Exact: fewer than 2**29 terms below 2**24.
        """

    def move_rows(self, shares: Shares, rows: Ints, old: Labels, new: Labels, sums: Floats) -> None:
        """Update `set_sums` in place for rows that moved from set `old` to set `new`."""

    def prepare(self, matrices: Floats, constants: Floats) -> tuple[Floats, Floats]:
        """What `answer` takes of each prime for many blocks: reduced, (P, k, width + 1) and (P, k)."""

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

        Shares have shape (width + 1, m), `out` (k, 3 * answered); matrix and constant are a prime's of
        `prepare`.
        """

    def refused(self, packed: Bytes, primes: tuple[int, ...]) -> int:
        """Index of the first prime that some packed integer in its plane is not below; -1 if there is none.

        Planes, shape (P, ...), are contiguous.
        """

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        """Replace, in place, each word of 24 bits that is not below p by the next spare one that is.

        False where the spare words are too few: some words are still not below p then.
        """

    def add_masks(self, packed: Bytes, masks: Bytes, signs: Ints, p: int) -> None:
        """Add ``signs @ masks`` to packed residues, shape (3 * count,), modulo p, in place.

        Masks have shape (c, 3 * count), c < 2**12; further columns are not read. All residues are below p,
        signs are 1 or -1.
        """

    def decode(
        self,
        answers: list[Bytes],
        weights: Floats,
        primes: tuple[int, ...],
        start: int,
        stop: int,
        out: Floats,
    ) -> int:
        """Weighted sum of rows [start, stop) of R answers, reduced, if they are residues.

        Answers have shape (P, k, 3 * rows), reduced weights (P, R). `out`, of shape (P, k, stop - start), is
        written: one buffer for many blocks saves the system new pages for each. Returns the position of an
        answer with an integer that is not below its prime, or -1 if there is none; `out` holds the sum only
        then.
        """

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        """`decode` of all rows to packed canonical residues, of the shape of an answer."""

    def combine(self, packed: Bytes, coefficients: Floats, p: int, out: Floats) -> bool:
        """Linear combinations of an answer's residues, reduced, if they are residues modulo p.

        The answer has shape (k, 3 * rows), centred coefficients (c, k * rows), `out` (c,). False when an
        integer is not below p; `out` holds the combinations only when it is True.
        """

    def nearest(
        self, residues: Floats, radix: MixedRadix, sizes: Ints, tolerance: float
    ) -> tuple[Floats, Floats, Labels, Bools]:
        """Digits, quotients, argmin and doubt for scaled squared distances.

        Takes reduced residues of D, shape (P, k, rows), which may be overwritten; |S_h|, 0 for an empty set;
        and the relative difference below which the order of two quotients is in doubt.

        Returns
        -------
        digits : ndarray of shape (P, k, rows), float64
            Mixed-radix digits of D (undefined for empty sets).
        value : ndarray of shape (k, rows), float64
            D / |S_h|^2, inf for empty sets; valid until the next call.
        labels : ndarray of shape (rows,), int32
            Set of least value, the lowest index among equals.
        contested : ndarray of shape (rows,), bool
            Whether another value is within the tolerance of the least.
        """

    def difference_bits(
        self, packed: Bytes, start: int, question: Differences, own: Labels, out: Words
    ) -> None:
        """Bits of the mixed-radix digits of 2 (w_a x_b - w_b x_a) modulo Q, for pairs (a, b) of slots.

        A row's slots are the columns but its own: slot s is column s + [own <= s]. Where first is -1, in all
        pairs or none, they are of the own column and a slot, in the order of the columns: a < b always.
        `own`, of shape (rows,), is an index among the columns compared; their number where a row has none.

        Canonical residues x have shape (P, k, 3 * m), and rows [start, start + rows) are compared. `out` has
        shape (chunk, chunks, pairs, W), 64 W >= rows, and row j W + w is bit j of word w, 0 behind the last
        row. Bits of a digit go from the highest to the lowest, digits from the highest to the lowest, `chunk`
        bits to a chunk, and P divides `chunks`.
        """

    def leaf_products(self, bits: Words, start: int, out: Words) -> None:
        """Products of the bits of r in every place of each nonempty set of places of a leaf.

        Bits have shape (c, words), of the highest place first; words [start, start + n) are multiplied. `out`
        has shape (2**c - 1, n).
        """

    def leaves(
        self, bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words
    ) -> None:
        """Write shares of [y < r] and [y = r] of leaves, shape (n,), from the bits of y.

        With n = not y: e = n ^ r and l = n r for each bit. The products are this evaluator's halves of
        `leaf_products`, shapes likewise. `first` is E0, which adds what both know.
        """

    def gate_products(self, less: Words, equal: Words, size: int, out: Words) -> None:
        """Products of two or more masks of the wires of nodes that compare, or of ANDs.

        A node takes s pairs of wires (l, e), from the highest. Its l is l_1 ^ e_1 (l_2 ^ e_2 (...)), its e is
        the product of all e. So it takes the products of subsets of the e, and for each l_j those with
        subsets of e_1..e_{j-1}. An AND is a node without l.

        The masks of l and e have shape (s * nodes, W), node by node, s from 2 to 6; of ANDs no l. Of one
        node, that of the lowest places, e may be without the last: whether all are equal is asked of
        nobody then. `out` has shape (dealt, nodes, W) (`secfc.comparing.widths.Group`).
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

        `deltas` are opened wires l and e, in the order and shapes of `gate_products`; `halves` this
        evaluator's halves of their masks, `products` those of the products. `first` is E0. Of ANDs e alone is
        written, of a node without its last e l alone.
        """

    def accept(self, words: NDArray[np.uint32], p: int, kept: Floats) -> int:
        """Write the words' low bits that are below p to `kept`, minus (p - 1)/2; how many there were."""
