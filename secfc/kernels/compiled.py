"""The kernels as compiled loops (Numba).

Numba refuses arrays of another type, number of axes or order. Loops check nothing else. So shapes that belong
together are compared here.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from operator import index

import numpy as np

from secfc.field import residues
from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels.gates import wires_of
from secfc.kernels.interface import Bytes, Compared, Words
from secfc.kernels.loading import loops
from secfc.kernels.threads import parts
from secfc.kernels.vectorised import MOST_WEIGHED, VectorisedKernels, check_doubled

_FOUR = 4

_loops, _gates = loops("secfc.kernels.loops"), loops("secfc.kernels.gate_loops")
residues.LOOPS.append(_loops)


class CompiledKernels(VectorisedKernels):
    """The same, compiled."""

    name = "compiled"

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        count, width, octets = packed.shape
        if (
            shares.shape[:2] != (count, width + 1)
            or len(primes) != count
            or octets % 3
            or not 0 <= start <= shares.shape[2] - octets // 3
        ):
            raise ValueError("packed shares do not fit the memory for them")
        _loops.store(packed, _moduli(primes), shares, start)

    def weighted_sums(self, shares: Shares, weights: Floats, p: int) -> Floats:
        if weights.shape[1] != shares.shape[1]:
            raise ValueError("weights do not fit the shares")
        sums = np.empty((weights.shape[0], shares.shape[0]))
        _loops.weighted_sums(shares, weights, p, sums)
        return sums

    def moved_sums(self, shares: Shares, before: Labels, after: Labels, k: int, p: int) -> Floats:
        if not before.size == after.size == shares.shape[1]:
            raise ValueError("labels do not fit the shares")
        if after.size and not all(-1 <= one.min() <= one.max() < k for one in (before, after)):
            raise ValueError("labels do not fit the sets")
        sums = np.empty((k, shares.shape[0]))
        _loops.moved_sums(shares, before, after, sums)
        return residues.reduce(sums, p)

    def affine(
        self, shares: Shares, rows: slice, matrix: Floats, constant: Floats, p: int, out: Bytes
    ) -> None:
        (columns, m), k = shares.shape, len(matrix)
        start, stop = index(rows.start), index(rows.stop)  # NumPy's integers may wrap
        if matrix.shape != (k, columns) or constant.shape != (k,):
            raise ValueError("matrix and constant do not fit the shares")
        if not 0 <= start <= stop <= m or out.shape != (k, 3 * (stop - start)):
            raise ValueError("rows do not fit the shares or the buffer")
        padded = np.zeros((-(-k // _FOUR) * _FOUR, -(-columns // _FOUR) * _FOUR))
        padded[:k, :columns] = matrix
        behind = np.zeros(len(padded))
        behind[:k] = constant
        _loops.affine(shares, start, padded, behind, p, out)

    def add_masks(self, packed: Bytes, masks: Bytes, p: int) -> None:
        if masks.size != packed.size or packed.size % 3:
            raise ValueError("masks do not fit the residues")
        _loops.add_masks(packed, masks, p)

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        return bool(_loops.redraw(words, spare, p))

    def residues(self, packed: Bytes, primes: tuple[int, ...]) -> Floats | None:
        if len(packed) != len(primes) or packed.shape[-1] % 3:
            raise ValueError("residues do not fit the primes, or are no words")
        found = np.empty((*packed.shape[:-1], packed.shape[-1] // 3))
        planes, rows = packed.reshape(len(primes), -1), found.reshape(len(primes), -1)

        def of_prime(at: int) -> bool:
            return bool(_loops.residues(planes[at], primes[at], rows[at]))

        return found if all(self.threads.each(of_prime, range(len(primes)), size=found.size)) else None

    def add_pairs(self, weights: Floats, values: Sequence[Bytes], p: int, packed: Bytes) -> None:
        count, k = weights.shape
        short = any(len(one) != k or one.shape[1] < packed.shape[1] for one in values)
        if not count == len(values) <= 2 or short or packed.shape[0] != k * (k - 1) // 2:
            raise ValueError("values or residues do not fit the weights")
        _loops.add_pairs(weights, values[0], values[-1], p, packed)

    def digits(self, packed: Bytes, radix: MixedRadix) -> Shares:
        count, columns, octets = packed.shape
        if count != len(radix.primes) or octets % 3:
            raise ValueError("residues do not fit the primes, or are no words")
        out = np.empty((count, columns, octets // 3), dtype=np.float32)
        _loops.digits(np.ascontiguousarray(packed), _moduli(radix.primes), radix.factors, out)
        return out

    def nearest(self, digits: Shares, radix: MixedRadix, sizes: Ints, tolerance: float) -> Compared:
        count, k, rows = digits.shape
        if count != len(radix.primes) or k != sizes.size or not k:
            raise ValueError("digits do not fit the primes or the sets")
        found = Compared(
            labels=np.empty(rows, dtype=np.int32),
            own=np.empty((count, rows), dtype=np.float32),
            second=np.empty(rows),
            contested=np.empty(rows, dtype=np.bool_),
            largest=0.0,
        )
        largest = _loops.nearest(
            digits,
            np.array(radix.radices, dtype=np.float64),
            sizes.astype(np.float64) ** 2,
            1 + tolerance,
            found.labels,
            found.own,
            found.second,
            found.contested.view(np.uint8),
        )
        return replace(found, largest=largest)

    def doubled_bits(self, packed: Bytes, radix: MixedRadix, out: Words) -> None:
        check_doubled(packed, radix, out)

        def of_columns(some: slice) -> None:
            own = np.ascontiguousarray(packed[:, some])
            _loops.doubled_bits(own, _moduli(radix.primes), radix.factors, some.start, out)

        self._shared(of_columns, packed.shape[1], packed.size // 3)

    def leaf_products(self, bits: Words, start: int, out: Words) -> None:
        _check_leaves(bits, start, out)
        _gates.leaf_products(bits, start, out)

    def leaves(
        self, bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words
    ) -> None:
        _check_leaves(bits, start, products)
        if not less.shape == equal.shape == products.shape[1:]:
            raise ValueError("shares do not fit the products")
        _gates.leaves(bits, start, products, first, less, equal)

    def gate_products(self, less: Words, equal: Words, size: int, out: Words) -> None:
        count = _check_gates(less, equal, size, out)

        def of_nodes(some: slice) -> None:
            _gates.gate_products(less, equal, size, count, some.start, some.stop, out)

        self._shared(of_nodes, out.shape[1], out.size)

    def gates(
        self,
        deltas: tuple[Words, Words],
        halves: tuple[Words, Words],
        size: int,
        products: Words,
        first: bool,
        out: tuple[Words, Words],
    ) -> None:
        count = _check_gates(*deltas, size, products)
        fits = [one.shape == half.shape for one, half in zip(deltas, halves, strict=True)]
        shapes = (0, products.shape[2]), products.shape[1:]
        less, equal = (one.shape for one in out)
        if not all(fits) or less != shapes[deltas[0].shape[0] > 0] or equal not in shapes:
            raise ValueError("halves or shares do not fit the wires")

        def of_nodes(some: slice) -> None:
            _gates.gates(*deltas, *halves, size, count, some.start, some.stop, products, first, *out)

        self._shared(of_nodes, products.shape[1], products.size)

    def _shared(self, work: Callable[[slice], None], count: int, size: int) -> None:
        """Work on so many equal parts, of this size together, by several threads."""
        self.threads.each(work, parts(count, self.threads.for_work(size)), size=size)

    def _beyond(self, words: Bytes, p: int) -> Ints:
        found = np.empty(words.size // 3, dtype=np.int64)
        return found[: _loops.beyond(words, p, found)]

    def _weigh(self, planes: list[Bytes], weights: Floats, p: int, out: Bytes) -> int:
        total, largest = np.zeros(out.size // 3), 0
        for j in range(0, len(planes), _FOUR):
            four, factors = planes[j : j + _FOUR], np.zeros(_FOUR)
            factors[: len(four)] = weights[j : j + _FOUR]
            four += four[:1] * (_FOUR - len(four))
            largest = max(largest, int(_loops.add_weighted(*four, factors, total)))
            if j % MOST_WEIGHED >= MOST_WEIGHED - _FOUR:
                total = residues.reduce(total, p)
        _loops.pack_totals(total, p, out)
        return largest


@cache
def _moduli(primes: tuple[int, ...]) -> Ints:
    """Primes as loops take them."""
    return np.array(primes, dtype=np.int64)


def _check_leaves(bits: Words, start: int, products: Words) -> None:
    """Refuse bits and products that do not fit together, since the loops check no bounds."""
    chunk, words = bits.shape
    if products.shape[0] != (1 << chunk) - 1 or not 0 <= start <= start + products.shape[1] <= words:
        raise ValueError("products do not fit the bits")


def _check_gates(less: Words, equal: Words, size: int, products: Words) -> int:
    """The same for gates. Returns the number of wires e of each node."""
    nodes, count = wires_of(size, equal)
    entries = (1 << count) - 1 - count + ((1 << size) - 1 - size if less.shape[0] else 0)
    if products.shape != (entries, nodes, equal.shape[1]) or count < size - 1 or (count < size and nodes > 1):
        raise ValueError("products do not fit the wires")
    if less.shape not in {(0, equal.shape[1]), (nodes * size, equal.shape[1])}:
        raise ValueError("wires do not fit each other")
    return count
