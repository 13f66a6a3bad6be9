"""The kernels as NumPy expressions, for small jobs and if nothing can be compiled."""

import numpy as np

from secfc.field.array_types import Floats, Ints, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE, pack, triples, unpack
from secfc.field.residues import BLOCK, centre, matmul, reduce, squared_norms
from secfc.kernels import gates as bitwise
from secfc.kernels.interface import Bytes, Compared, Words
from secfc.kernels.threads import ALONE, Threads

_BLOCK_ELEMENTS = 1 << 17
"""float64 elements in a block of rows: 1 MiB, about an L2 cache."""


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

    def refused(self, packed: Bytes, primes: tuple[int, ...]) -> int:
        """Index of the first prime that some packed integer in its plane is not below; -1 if there is none.

        Planes, shape (P, ...), are contiguous.
        """
        step = 3 * _BLOCK_ELEMENTS
        for at, (plane, p) in enumerate(zip(packed, primes, strict=True)):
            flat = plane.reshape(-1)
            if any((unpack(flat[low : low + step]) >= p).any() for low in range(0, flat.size, step)):
                return at
        return -1

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        """Replace, in place, each word of 24 bits that is not below p by the next spare one that is.

        False if there are too few spare words. Some words are then still not below p.
        """
        wanted, taken = np.flatnonzero(unpack(words) >= p), np.flatnonzero(unpack(spare) < p)
        taken = taken[: wanted.size]
        triples(words)[wanted[: taken.size]] = triples(spare)[taken]
        return taken.size == wanted.size

    def add_masks(self, packed: Bytes, masks: Bytes, p: int) -> None:
        """Add masks to packed residues, both of shape (3 * count,), modulo p, in place. All are below p."""
        step = 3 * _BLOCK_ELEMENTS
        for start in range(0, packed.size, step):
            part = slice(start, min(start + step, packed.size))
            packed[part] = pack(reduce(unpack(packed[part]) + unpack(masks[part]), p), p)

    def decode(
        self, answers: list[Bytes], weights: Floats, radix: MixedRadix, start: int, stop: int, out: Shares
    ) -> int:
        """Mixed-radix digits of the weighted sum of rows [start, stop) of R answers, if they are residues.

        Answers have shape (P, k, 3 * rows), reduced weights (P, R). The digits are written to `out`, shape
        (P, k, stop - start). The caller uses one buffer for many blocks, which saves page allocations.
        Returns the position of an answer with an integer that is not below its prime, or -1 if there is none.
        Only with -1 is `out` valid.
        """
        sums = np.empty(out.shape)
        refused = _weighed(answers, weights, radix.primes, slice(start, stop), sums)
        if refused < 0:
            out[...] = radix.digits(sums)
        return refused

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        """The weighted sum of all rows as packed residues, in the shape of an answer; else as `decode`."""
        count, k, octets = out.shape
        rows, step = octets // BYTES_PER_RESIDUE, max(1, _BLOCK_ELEMENTS // (count * k))
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            sums = np.empty((count, k, stop - start))
            refused = _weighed(answers, weights, primes, slice(start, stop), sums)
            if refused >= 0:
                return refused
            for plane, residues, p in zip(out, sums, primes, strict=True):
                plane[:, BYTES_PER_RESIDUE * start : BYTES_PER_RESIDUE * stop] = pack(residues, p)
        return -1

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


def _weighed(answers: list[Bytes], weights: Floats, primes: tuple[int, ...], rows: slice, out: Floats) -> int:
    """Reduced weighted sums of some rows; returns as `VectorisedKernels.decode`."""
    out[...] = 0.0
    modulo = np.array(primes)[:, np.newaxis, np.newaxis]
    for at, packed in enumerate(answers):
        residues = unpack(packed[:, :, BYTES_PER_RESIDUE * rows.start : BYTES_PER_RESIDUE * rows.stop])
        if not (residues < modulo).all():
            return at
        out += weights[:, at, np.newaxis, np.newaxis] * residues
        # A canonical residue times a weight is below 2**47; 63 of them and a remainder are below 2**53.
        if at % 63 == 62 or at == len(answers) - 1:
            for index, p in enumerate(primes):
                out[index] = reduce(out[index], p)
    return -1


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
