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

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class EncodingTransform:
    """Encoding as after * (cyclic convolution of before * values), by transforms of length `order`.

    Attributes
    ----------
    before : ndarray of shape (ell + t,), float64
    spectrum : ndarray of shape (order,), float64
        Transform of what is convolved with, divided by the order, in bit-reversed order.
    after : ndarray of shape (n,), float64
    roots, inverse_roots : ndarray of shape (order / 2,), float64
        Powers of the root of unity and of its inverse.
    """

    before: Floats
    spectrum: Floats
    after: Floats
    roots: Floats
    inverse_roots: Floats


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Which weighted differences are taken.

    Attributes
    ----------
    columns : ndarray of shape (c,), int64
        Columns compared, in the order that decides ties.
    weights : ndarray of shape (P, c), float64
        Centred residues of 2 w.
    first, second : ndarray of shape (pairs,), int64
        Slots, first < second; or -1 and a slot.
    radix : MixedRadix
    """

    columns: Ints = field(repr=False)
    weights: Floats = field(repr=False)
    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    radix: MixedRadix


class Kernels(Protocol):
    """Array work of clients and server.

    Implementations give equal results: equal bits, but for reduced residues near +-p/2, where two stand for
    the same residue.
    """

    name: str
    transform_gain: int
    """Encoding by transform is faster from ell + t = this many times log2(n) on."""

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        """Pack the shares ``basis @ values`` of every client.

        Parameters
        ----------
        values : ndarray of shape (ell + t, width, rows), float64
            Reduced residues: segments, then masks.
        basis : ndarray of shape (n, ell + t), float64
        p : int
        out : ndarray of shape (n, width, 3 * rows), uint8
        """

    def encode_by_transform(self, values: Floats, transform: EncodingTransform, p: int, out: Bytes) -> None:
        """`encode` for many clients, as a cyclic convolution.

        Parameters
        ----------
        values : ndarray of shape (ell + t, width, rows), float64
        transform : EncodingTransform
        p : int
        out : ndarray of shape (n, width, 3 * rows), uint8
        """

    def store(self, packed: Bytes, p: int, shares: Shares, start: int) -> None:
        """Unpack shares of some rows, and add their squared norms.

        Parameters
        ----------
        packed : ndarray of shape (width, 3 * rows), uint8
        p : int
        shares : ndarray of shape (width + 1, m), float32
            Columns [start, start + rows) are written: centred residues, and ``||x~||^2`` modulo p in the
            last row.
        start : int
        """

    def set_sums(self, shares: Shares, sets: Labels, k: int) -> Floats:
        """Sum of the shares in each set, unreduced, shape (k, width + 1); -1 is no set.

        Exact: fewer than 2**29 terms below 2**24.
        """

    def move_rows(self, shares: Shares, rows: Ints, old: Labels, new: Labels, sums: Floats) -> None:
        """Update `set_sums` in place for rows that moved from set `old` to set `new`."""

    def prepare(self, matrix: Floats, constant: Floats) -> tuple[Floats, Floats]:
        """What `answer` takes for this matrix and constant, for many blocks of rows.

        Parameters
        ----------
        matrix : ndarray of shape (k, width + 1), float64
            Reduced residues.
        constant : ndarray of shape (k,), float64
            Reduced residues.
        """

    def answer(
        self, shares: Shares, start: int, stop: int, matrix: Floats, constant: Floats, p: int, out: Bytes
    ) -> None:
        """Pack ``constant + matrix @ shares[:, start:stop]`` modulo p.

        Parameters
        ----------
        shares : ndarray of shape (width + 1, m), float32
        matrix, constant : ndarray
            Of `prepare`.
        out : ndarray of shape (k, 3 * (stop - start)), uint8
        """

    def below(self, packed: Bytes, p: int) -> bool:
        """Whether every packed integer is below p (one-dimensional input)."""

    def redraw(self, words: Bytes, count: int, p: int) -> bool:
        """Replace, in place, each of the first words that is not below p by the next spare word that is.

        Parameters
        ----------
        words : ndarray of shape (3 * (count + spare),), uint8
            Words of 24 bits.
        count : int
        p : int

        Returns
        -------
        bool
            Whether there were enough spare words; if not, some of the first words are still not below p.
        """

    def add_masks(self, packed: Bytes, masks: Bytes, signs: Ints, p: int) -> None:
        """Add ``signs @ masks`` to packed residues, modulo p, in place.

        Parameters
        ----------
        packed : ndarray of shape (3 * count,), uint8
            Residues below p.
        masks : ndarray of shape (c, 3 * count) or more columns, uint8
            Residues below p, c < 2**12. What stands beyond 3 * count is not read.
        signs : ndarray of shape (c,), int64
            1 or -1.
        p : int
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
        """Weighted sum of answers, reduced, if they are residues.

        Parameters
        ----------
        answers : list of R ndarrays of shape (P, k, 3 * rows), uint8
        weights : ndarray of shape (P, R), float64
            Reduced residues.
        primes : tuple of P ints
        start, stop : int
            Rows to decode.
        out : ndarray of shape (P, k, stop - start), float64
            Written; one buffer for many blocks saves the system new pages for each.

        Returns
        -------
        int
            Position of an answer with an integer that is not below its prime, or -1 if there is none; `out`
            holds the sum only then.
        """

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        """Weighted sum of answers, packed, if they are residues.

        Parameters
        ----------
        answers, weights, primes
            As `decode` takes them.
        out : ndarray of the shape of an answer, uint8
            Written: canonical residues.

        Returns
        -------
        int
            As `decode`.
        """

    def combine(self, packed: Bytes, coefficients: Floats, p: int, out: Floats) -> bool:
        """Linear combinations of an answer's residues, reduced, if they are residues modulo p.

        Parameters
        ----------
        packed : ndarray of shape (k, 3 * rows), uint8
        coefficients : ndarray of shape (c, k * rows), float64
            Centred residues.
        p : int
        out : ndarray of shape (c,), float64
            Written.

        Returns
        -------
        bool
            False when an integer is not below p; `out` holds the combinations only when it is True.
        """

    def nearest(
        self, residues: Floats, radix: MixedRadix, sizes: Ints, tolerance: float
    ) -> tuple[Floats, Floats, Labels, Bools]:
        """Digits, quotients, argmin and doubt for scaled squared distances.

        Parameters
        ----------
        residues : ndarray of shape (P, k, rows), float64
            Reduced residues of D; may be overwritten.
        radix : MixedRadix
        sizes : ndarray of shape (k,), int64
            |S_h|, 0 for an empty set.
        tolerance : float
            Relative difference below which the order of two quotients is in doubt.

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
        self,
        packed: Bytes,
        start: int,
        question: Differences,
        own: Labels,
        out: NDArray[np.uint64],
    ) -> None:
        """Bits of the mixed-radix digits of 2 (w_a x_b - w_b x_a) modulo Q, for pairs (a, b) of slots.

        A row's slots are the columns but its own: slot s is column s + [own <= s]. Where first is -1, in all
        pairs or none, they are of the own column and a slot, in the order of the columns: a < b always.

        Parameters
        ----------
        packed : ndarray of shape (P, k, 3 * m), uint8
            Canonical residues x.
        start : int
            Rows [start, start + rows) are compared.
        question : Differences
        own : ndarray of shape (rows,), int32
            The own column, as its index among the columns compared; their number where a row has none.
        out : ndarray of shape (chunk, chunks, pairs, W), uint64
            Written: rows are 64 W at least, and row j W + w is bit j of word w, 0 behind the last row. Bits
            of a digit go from the highest to the lowest, digits from the highest to the lowest, `chunk` bits
            to a chunk, and P divides `chunks`.
        """

    def leaf_products(self, bits: Words, start: int, out: Words) -> None:
        """Products of the bits of r in every place of each nonempty set of places of a leaf.

        Parameters
        ----------
        bits : ndarray of shape (c, words), uint64
            Of the highest place first.
        start : int
            Words [start, start + n) are multiplied.
        out : ndarray of shape (2**c - 1, n), uint64
            Written.
        """

    def leaves(
        self, bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words
    ) -> None:
        """Shares of [y < r] and [y = r] of leaves, from shares of the products of the bits of r.

        With n = not y: e = n ^ r and l = n r for each bit.

        Parameters
        ----------
        bits : ndarray of shape (c, words), uint64
            Of y, likewise.
        start : int
        products : ndarray of shape (2**c - 1, n), uint64
            This evaluator's halves of `leaf_products`.
        first : bool
            Whether this is E0, which adds what both know.
        less, equal : ndarray of shape (n,), uint64
            Written.
        """

    def gate_products(self, less: Words, equal: Words, size: int, out: Words) -> None:
        """Products of two or more masks of the wires of nodes that compare, or of ANDs.

        A node takes s pairs of wires (l, e), from the highest. Its l is l_1 ^ e_1 (l_2 ^ e_2 (...)), its e is
        the product of all e. So it takes the products of subsets of the e, and for each l_j those with
        subsets of e_1..e_{j-1}. An AND is a node without l.

        Parameters
        ----------
        less, equal : ndarray of shape (s * nodes, W), uint64
            Masks of l and e, node by node; of ANDs no l. Of one node, that of the lowest places, e may be
            without the last: whether all are equal is asked of nobody then.
        size : int
            s, 2 to 6.
        out : ndarray of shape (dealt, nodes, W), uint64
            Written (`secfc.comparing.widths.Group`).
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
        """Shares of l and e of nodes that compare, or of ANDs.

        Parameters
        ----------
        deltas : tuple of two ndarrays, uint64
            Opened wires l and e, in the order and shapes of `gate_products`.
        halves : tuple of two ndarrays, uint64
            This evaluator's halves of their masks, likewise.
        size : int
        products : ndarray of shape (dealt, nodes, W), uint64
            This evaluator's halves of `gate_products`.
        first : bool
            Whether this is E0, which adds what both know.
        out : tuple of two ndarrays of shape (nodes, W) or (0, W), uint64
            Written: of ANDs e alone, of a node without its last e l alone.
        """

    def accept(self, words: NDArray[np.uint32], p: int, kept: Floats) -> int:
        """Write the words' low bits that are below p to `kept`, minus (p - 1)/2; how many there were."""
