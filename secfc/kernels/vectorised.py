"""The kernels as NumPy expressions, for small jobs and if nothing can be compiled."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE, pack, triples, unpack
from secfc.field.residues import BLOCK, centre, matmul, reduce, squared_norms
from secfc.kernels import gates as bitwise
from secfc.kernels.interface import Bytes, Compared, Words
from secfc.kernels.threads import ALONE, Threads

_BLOCK_ELEMENTS = 1 << 17
"""float64 elements in a block of rows: 1 MiB, about an L2 cache."""

_WEIGHED = 1 << 15
"""Residues that are added up at a time: 256 KiB of float64."""

MOST_WEIGHED = 60
"""Integers below 2**24 times reduced weights between reductions: 60 products and a rest are below 2**53."""


class VectorisedKernels:
    """The array computations of a run, one prime at a time, in NumPy.

    `CompiledKernels` gives bitwise the same, except that a residue near +-p/2 has two reduced values.

    Residues modulo p are packed, three bytes each, or float64 *reduced* residues (|x| <= p/2 + 4); see
    `secfc.field.residues`. Rows of the data are always the last axis, so a column is contiguous. Arrays are
    C-contiguous. Any of `threads` may call any kernel.
    """

    name = "numpy"

    def __init__(self, threads: Threads = ALONE) -> None:
        self.threads = threads

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        """Pack the shares ``basis @ values`` of every client to `out`, shape (n, width, 3 * rows).

        `values`, shape (ell + t, width, rows), are reduced: segments, then masks. `basis` is (n, ell + t).
        """
        rows = values.astype(np.float32).reshape(len(values), -1)  # exact, since they are below 2**24
        nothing = np.zeros(len(basis))
        self.affine(rows, slice(0, rows.shape[1]), basis, nothing, p, out.reshape(len(basis), -1))

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        """Unpack shares of some rows, shape (P, width, 3 * rows), and add their squared norms.

        Columns [start, start + rows) of `shares`, shape (P, width + 1, m), are written: centred residues, and
        ``||x~||^2`` modulo each prime in the last row.
        """
        for plane, p, held in zip(packed, primes, shares, strict=True):
            residues = centre(unpack(plane), p)
            stop = start + residues.shape[1]
            held[:-1, start:stop] = residues
            held[-1, start:stop] = squared_norms(residues, p)

    def weighted_sums(self, shares: Shares, weights: Floats, p: int) -> Floats:
        """Sums over the rows of weight times share, reduced, shape (k, width + 1).

        Reduced shares have shape (width + 1, m), reduced weights (k, m).
        """
        sums = np.zeros((weights.shape[0], shares.shape[0]))
        for start in range(0, shares.shape[1], BLOCK):
            part = slice(start, start + BLOCK)
            sums += reduce(weights[:, part] @ shares[:, part].T.astype(np.float64), p)
        return reduce(sums, p)

    def moved_sums(self, shares: Shares, before: Labels, after: Labels, k: int, p: int) -> Floats:
        """Sums of shares by set `after`, less those by set `before`, reduced, shape (k, width + 1).

        Reduced shares have shape (width + 1, m), labels (m,), int32, -1 for no set. Only rows that moved are
        read.
        """
        moved, sets = (before != after).nonzero()[0], np.arange(k)[:, np.newaxis]
        sums, step = np.zeros((k, shares.shape[0])), max(1, _BLOCK_ELEMENTS // max(k, shares.shape[0]))
        for low in range(0, moved.size, step):
            rows = moved[low : low + step]
            change = (after[rows] == sets).astype(np.float64) - (before[rows] == sets)
            sums += self.weighted_sums(shares.take(rows, axis=1), change, p)
        return reduce(sums, p)

    def affine(
        self, shares: Shares, rows: slice, matrix: Floats, constant: Floats, p: int, out: Bytes
    ) -> None:
        """Pack ``constant + matrix @ shares[:, rows]`` modulo p to `out`, shape (k, 3 * rows).

        Shares, shape (width + 1, m), the matrix, (k, width + 1), and the constant, (k,), are reduced.
        """
        step = max(1, _BLOCK_ELEMENTS // max(shares.shape[0], matrix.shape[0]))
        for low in range(rows.start, rows.stop, step):
            high = min(low + step, rows.stop)
            product = matmul(matrix, shares[:, low:high].astype(np.float64), p)
            product += constant[:, np.newaxis]
            out[:, 3 * (low - rows.start) : 3 * (high - rows.start)] = pack(reduce(product, p), p)

    def refused(self, packed: Bytes, primes: tuple[int, ...]) -> bool:
        """Whether some packed integer is not below the prime of its plane.

        Planes, shape (P, ...), are contiguous.
        """
        step = 3 * _BLOCK_ELEMENTS
        return any(
            self._beyond(plane.reshape(-1)[low : low + step], p).size
            for plane, p in zip(packed, primes, strict=True)
            for low in range(0, plane.size, step)
        )

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        """Replace, in place, each word of 24 bits that is not below p by the next spare one that is.

        False if there are too few spare words. Some words are then still not below p.
        """
        wanted = self._beyond(words, p)
        taken = np.flatnonzero(unpack(spare) < p)[: wanted.size]
        triples(words)[wanted[: taken.size]] = triples(spare)[taken]
        return taken.size == wanted.size

    def add_masks(self, packed: Bytes, masks: Bytes, p: int) -> None:
        """Add masks to packed residues, both of shape (3 * count,), modulo p, in place. All are below p."""
        step = 3 * _BLOCK_ELEMENTS
        for start in range(0, packed.size, step):
            part = slice(start, min(start + step, packed.size))
            packed[part] = pack(reduce(unpack(packed[part]) + unpack(masks[part]), p), p)

    def residues(self, packed: Bytes, primes: tuple[int, ...]) -> Floats | None:
        """Centred residues, shape (P, ..., rows), of packed ones. None if some is not below its prime."""
        if self.refused(packed, primes):
            return None
        return np.stack([centre(unpack(plane), p) for plane, p in zip(packed, primes, strict=True)])

    def add_pairs(self, weights: Floats, values: Sequence[Bytes], p: int, packed: Bytes) -> None:
        """Add ``sum_t w_ta v_tb - w_tb v_ta`` of pairs a < b to packed residues below p, in place.

        Weights, shape (T, k), T = 1 or 2, are below 2**25 in magnitude. Values are T arrays of residues
        below p, packed, (k, 3 * rows) or longer rows, of which the ends do not count. The residues of pairs
        are (pairs, 3 * rows).
        """
        both = [unpack(one[:, : packed.shape[1]]) for one in values]
        for of_pair, (a, b) in zip(packed, combinations(range(weights.shape[1]), 2), strict=True):
            total = unpack(of_pair)
            for own, x in zip(weights, both, strict=True):
                total += own[a] * x[b] - own[b] * x[a]
            of_pair[...] = pack(reduce(total, p), p)

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        """Write the weighted sum of R answers, as packed residues, if they are residues.

        Answers and `out` have shape (P, k, 3 * rows), reduced weights (P, R). Returns the position of an
        answer with an integer that is not below its prime, or -1 if there is none. Only with -1 is `out`
        valid.
        """
        if (
            any(one.shape != out.shape for one in answers)
            or weights.shape != (len(primes), len(answers))
            or len(primes) != len(out)
            or out.shape[2] % BYTES_PER_RESIDUE
        ):
            raise ValueError("answers or weights do not fit the primes or the buffer, or are no words")

        def of_prime(at: int) -> int:
            target, p = out[at].reshape(-1), primes[at]
            planes = [packed[at].reshape(-1) for packed in answers]
            for low in range(0, target.size, 3 * _WEIGHED):
                part = slice(low, min(low + 3 * _WEIGHED, target.size))
                some = [plane[part] for plane in planes]
                if self._weigh(some, weights[at], p, target[part]) >= p:
                    return next(j for j, one in enumerate(some) if self._beyond(one, p).size)
            return -1

        return max(self.threads.each(of_prime, range(len(primes)), size=len(answers) * out.size // 3))

    def digits(self, packed: Bytes, radix: MixedRadix) -> Shares:
        """Mixed-radix digits of integers with these packed residues, (P, k, 3 * rows): shape (P, k, rows)."""
        return radix.digits(unpack(packed))

    def nearest(self, digits: Shares, radix: MixedRadix, sizes: Ints, tolerance: float) -> Compared:
        """The set with the least quotient D / |S_h|^2 for each row, of scaled squared distances D.

        `digits` are those of D, shape (P, k, rows). `sizes` are |S_h|, 0 for an empty set. Within the
        relative difference `tolerance` the order of two quotients is in doubt.
        """
        every = np.arange(digits.shape[2])
        value = radix.quotients(digits, sizes)
        labels = value.argmin(axis=0).astype(np.int32)
        best = value[labels, every]
        largest = float(value[sizes > 0].max(initial=0.0))
        value[labels, every] = np.inf
        second = value.min(axis=0)
        return Compared(
            labels=labels,
            own=digits[:, labels, every],
            second=second,
            contested=second <= best * (1 + tolerance),
            largest=largest,
        )

    def doubled_bits(self, packed: Bytes, radix: MixedRadix, out: Words) -> None:
        """Bits of the mixed-radix digits of 2 x modulo Q.

        Canonical residues x have shape (P, columns, 3 * rows). `out` has shape (chunk, chunks, columns, W),
        64 W >= rows. Row j W + w is bit j of word w, and bits after the last row are 0. Digits and their bits
        go from high to low, `chunk` bits to a chunk. P divides `chunks`.
        """
        check_doubled(packed, radix, out)
        chunk, chunks, columns, words = out.shape
        x, count = unpack(packed), len(radix.primes)
        whole = np.zeros((count, columns, 64 * words), dtype="<u4")
        whole[..., : x.shape[2]] = radix.digits(2 * x)
        places = chunk * chunks // count
        strips = np.ascontiguousarray(whole.reshape(-1, columns, 64, words).swapaxes(2, 3))
        for q, digit in enumerate(strips[::-1]):
            for place in range(places):
                bits = (digit & np.uint32(1 << places - 1 - place)) != 0
                group = q * (places // chunk) + place // chunk
                out[place % chunk, group] = np.packbits(bits, axis=2, bitorder="little").view("<u8")[..., 0]

    leaf_products = staticmethod(bitwise.leaf_products)
    leaves = staticmethod(bitwise.leaves)
    gate_products = staticmethod(bitwise.gate_products)
    gates = staticmethod(bitwise.gates)

    def _beyond(self, words: Bytes, p: int) -> Ints:
        """Places of the words of 24 bits that are not below p."""
        return np.flatnonzero(unpack(words) >= p)

    def _weigh(self, planes: list[Bytes], weights: Floats, p: int, out: Bytes) -> int:
        """Pack the weighted sum of integers modulo p, and return the largest of the integers."""
        total, largest = np.zeros(out.size // BYTES_PER_RESIDUE), 0
        for j, (packed, weight) in enumerate(zip(planes, weights, strict=True), start=1):
            integers = unpack(packed)
            total += weight * integers
            largest = max(largest, int(integers.max()))
            if j % MOST_WEIGHED == 0:
                total = reduce(total, p)
        out[...] = pack(reduce(total, p), p)
        return largest


def check_doubled(packed: Bytes, radix: MixedRadix, out: Words) -> None:
    """Refuse arrays that do not fit together, since the compiled loop checks no bounds."""
    (count, columns, octets), (chunk, chunks, width, words) = packed.shape, out.shape
    if count != len(radix.primes) or octets % BYTES_PER_RESIDUE:
        raise ValueError("residues do not fit the primes, or are no words")
    places = chunk * chunks // count
    if columns != width or 64 * words < octets // BYTES_PER_RESIDUE or chunks % count or places > 32:
        raise ValueError("the buffer does not fit the residues")
    if max(radix.primes) >> places:
        raise ValueError("digits are longer than their places")
