"""The kernels as compiled loops (Numba)."""

from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from secfc.array_types import Floats, Ints, Labels, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels import client_loops, comparing_loops, gate_loops, residue_loops, server_loops
from secfc.kernels.blocks import PAIR
from secfc.kernels.gates import wires_of
from secfc.kernels.interface import Bytes, Compared, Differences, EncodingTransform, Words
from secfc.kernels.vectorised import VectorisedKernels, check_differences
from secfc.threads import ALONE, Threads, parts

_FOUR = 4

_PIECES = 2
"""Pieces for each thread in a loop. With more than one, faster threads can take work from a slow one."""


class CompiledKernels:
    """`secfc.kernels.interface.Kernels`, compiled."""

    name = "compiled"
    transform_gain = 18  # measured: even at ell + t = 128 of 256 clients (python -m benchmarks crossover)

    def __init__(self, threads: Threads = ALONE) -> None:
        self.threads = threads
        self._small = VectorisedKernels(threads)

    def encode(self, values: Floats, basis: Floats, p: int, out: Bytes) -> None:
        padded = _padded(basis)

        def encode(columns: slice) -> None:
            client_loops.encode(values, padded, p, columns.start, columns.stop, out)

        columns = parts(values.shape[1], _PIECES * self.threads.for_work(values.size))
        self.threads.each(encode, columns, size=values.size)

    def encode_by_transform(self, values: Floats, transform: EncodingTransform, p: int, out: Bytes) -> None:
        def encode(columns: slice) -> None:
            client_loops.encode_by_transform(
                values,
                transform.before,
                transform.spectrum,
                transform.after,
                transform.roots,
                transform.inverse_roots,
                p,
                columns.start,
                columns.stop,
                out,
            )

        columns = parts(values.shape[1], _PIECES * self.threads.for_work(values.size))
        self.threads.each(encode, columns, size=values.size)

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        count, width, octets = packed.shape
        # The loop checks no bounds.
        if shares.shape[:2] != (count, width + 1) or not 0 <= start <= shares.shape[2] - octets // 3:
            raise ValueError("packed shares do not fit the memory for them")
        client_loops.store(packed, _modulo(primes), shares, start)

    def set_sums(self, shares: Shares, sets: Labels, k: int) -> Floats:
        sums = np.zeros((k, shares.shape[0]))
        client_loops.set_sums(shares, sets, sums)
        return sums

    def move_rows(self, shares: Shares, rows: Ints, old: Labels, new: Labels, sums: Floats) -> None:
        client_loops.move_rows(shares, rows, old, new, sums)

    def prepare(self, matrices: Floats, constants: Floats) -> tuple[Floats, Floats]:
        # Both are padded with zeros to multiples of four.
        padded = _padded(matrices)
        behind = np.zeros(padded.shape[:2])
        behind[:, : constants.shape[1]] = constants
        return padded, behind

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
        k, columns = matrix.shape
        # The loop checks no bounds: it would read beyond the end of a matrix that was not prepared.
        if k % _FOUR or columns % _FOUR or constant.shape != (k,) or columns < shares.shape[0]:
            raise ValueError("matrix and constant must be prepared for these shares")
        if (
            not 0 <= first <= rows.start <= rows.stop <= shares.shape[1]
            or not out.shape[0] <= k
            or not out.shape[1] >= 3 * (rows.stop - first)
        ):
            raise ValueError("rows do not fit the shares or the buffer")
        client_loops.answer(shares, rows.start, rows.stop, matrix, constant, p, out, first)

    def refused(self, packed: Bytes, primes: tuple[int, ...]) -> int:
        if len(packed) != len(primes):
            raise ValueError("planes do not fit the primes")  # the loop checks no bounds
        planes, modulo, size = packed.reshape(len(primes), -1), _modulo(primes), packed.size // 3
        several = self.threads.for_work(size)
        if several == 1:
            return int(residue_loops.refused(planes, modulo))

        def refused(item: tuple[int, slice]) -> bool:
            index, piece = item
            return bool(
                residue_loops.refused(planes[index : index + 1, piece], modulo[index : index + 1]) == 0
            )

        pieces = parts(planes.shape[1], -(-_PIECES * several // len(primes)), multiple=3)
        items = [(index, piece) for index in range(len(primes)) for piece in pieces]
        found = self.threads.each(refused, items, size=size)
        return next((index for (index, _), one in zip(items, found, strict=True) if one), -1)

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        if words.size % 3 or spare.size % 3:
            raise ValueError("three bytes are a word")  # the loop checks no bounds
        return bool(residue_loops.redraw(words, spare, p))

    def add_drawn(self, packed: Bytes, words: Bytes, spare: Bytes, p: int) -> int:
        if words.size != packed.size or words.size % 3 or spare.size % 3:
            raise ValueError("words or spare words do not fit the residues")
        return int(residue_loops.add_drawn(packed, words, spare, p))

    def add_masks(self, packed: Bytes, masks: Bytes, signs: Ints, p: int) -> None:
        if masks.shape[0] != signs.size or masks.shape[1] < packed.size or packed.size % 3:
            raise ValueError("masks or signs do not fit the residues")
        client_loops.add_masks(packed, masks, signs, p)

    def decode(
        self, answers: list[Bytes], weights: Floats, radix: MixedRadix, start: int, stop: int, out: Shares
    ) -> int:
        primes, rows = radix.primes, stop - start
        shape, addresses = _addresses(answers, weights, primes)
        if not 0 <= 3 * start <= 3 * stop <= shape[2]:
            raise ValueError("rows do not fit the answers")
        if out.shape != (len(primes), shape[1], rows) or len(primes) != shape[0]:
            raise ValueError("the buffer or the primes do not fit the answers")
        canonical = _canonical(weights, primes)
        if not server_loops.decode(
            addresses, canonical, _modulo(primes), radix.inverses, shape[2] // 3, start, out
        ):
            return self._small.decode(answers, weights, radix, start, stop, out)  # it says whose
        done = rows // PAIR * PAIR
        if done == rows:
            return -1
        return self._small.decode(answers, weights, radix, start + done, stop, out[:, :, done:])

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        shape, addresses = _addresses(answers, weights, primes)
        if out.shape != shape or len(primes) != shape[0]:
            raise ValueError("the buffer or the primes do not fit the answers")
        modulo, size = _modulo(primes), len(answers) * out.size // 3
        canonical = _canonical(weights, primes)

        def weigh(columns: slice) -> bool:
            return bool(server_loops.weigh(addresses, canonical, modulo, columns.start, columns.stop, out))

        if shape[2] >= 3 * PAIR:
            columns = parts(shape[0] * shape[1], _PIECES * self.threads.for_work(size))
            if all(self.threads.each(weigh, columns, size=size)):
                return -1
        return self._small.weigh(answers, weights, primes, out)  # finds the wrong answer

    def combine(self, packed: Bytes, coefficients: Floats, p: int, out: Floats) -> bool:
        k, stride = packed.shape
        # The loop checks no bounds.
        if 3 * coefficients.shape[1] != k * stride or out.shape != coefficients.shape[:1]:
            raise ValueError("coefficients or buffer do not fit the answer")
        return bool(server_loops.combine(packed, coefficients, p, out))

    def nearest(self, digits: Shares, radix: MixedRadix, sizes: Ints, tolerance: float) -> Compared:
        count, k, rows = digits.shape
        if count != len(radix.primes) or k != sizes.size:
            raise ValueError("digits do not fit the primes or the sets")  # the loop checks no bounds
        found = Compared(
            labels=np.empty(rows, dtype=np.int32),
            own=np.empty((count, rows), dtype=np.float32),
            second=np.empty(rows),
            contested=np.empty(rows, dtype=np.bool_),
            largest=0.0,
        )
        largest = server_loops.nearest(
            digits,
            np.array(radix.radices, dtype=np.float64),
            sizes.astype(np.float64) ** 2,
            1 + tolerance,
            found.labels,
            found.own,
            found.second,
            found.contested,
        )
        return replace(found, largest=float(largest))

    def difference_bits(
        self, packed: Bytes, start: int, question: Differences, own: Labels, out: Words
    ) -> None:
        check_differences(packed, start, question, own, out)  # the loop checks no bounds
        comparing_loops.difference_bits(
            packed,
            start,
            question.columns,
            own,
            question.first,
            question.second,
            question.weights,
            _modulo(question.radix.primes),
            question.radix.inverses,
            out,
        )

    def leaf_products(self, bits: Words, start: int, out: Words) -> None:
        _check_leaves(bits, start, out)
        gate_loops.leaf_products(bits, start, out)

    def leaves(
        self, bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words
    ) -> None:
        _check_leaves(bits, start, products)
        if not less.shape == equal.shape == products.shape[1:]:
            raise ValueError("shares do not fit the products")
        gate_loops.leaves(bits, start, products, first, less, equal)

    def gate_products(self, less: Words, equal: Words, size: int, out: Words) -> None:
        nodes, count = _check_gates(less, equal, size, out)
        gate_loops.gate_products(less, equal, size, nodes, count, out)

    def gates(
        self,
        deltas: tuple[Words, Words],
        halves: tuple[Words, Words],
        size: int,
        products: Words,
        first: bool,
        out: tuple[Words, Words],
    ) -> None:
        nodes, count = _check_gates(*deltas, size, products)
        fits = [one.shape == half.shape for one, half in zip(deltas, halves, strict=True)]
        shapes = [(0, products.shape[2]), products.shape[1:]]
        if not all(fits) or any(one.shape not in shapes for one in out):
            raise ValueError("halves or shares do not fit the wires")
        gate_loops.gates(*deltas, *halves, size, nodes, count, products, first, *out)

    def accept(self, words: NDArray[np.uint32], p: int, kept: Floats) -> int:
        return int(residue_loops.accept(words, (1 << p.bit_length()) - 1, p, kept))


@cache
def _modulo(primes: tuple[int, ...]) -> Ints:
    """The first primes as loops take them."""
    return np.array(primes, dtype=np.int64)


def _canonical(weights: Floats, primes: tuple[int, ...]) -> Floats:
    """Reduced weights, shape (P, R), in [0, p)."""
    return np.where(weights < 0, weights + _modulo(primes)[:, np.newaxis], weights)


def _addresses(
    answers: list[Bytes], weights: Floats, primes: tuple[int, ...]
) -> tuple[tuple[int, ...], NDArray[np.uint64]]:
    """The shape of all answers, and their addresses. The caller must keep `answers`; loops check nothing."""
    shape = answers[0].shape
    if any(packed.shape != shape or not packed.flags.c_contiguous for packed in answers):
        raise ValueError("answers must be contiguous and of one shape")
    if weights.shape != (len(primes), len(answers)):
        raise ValueError("weights do not fit the answers")
    begins = [packed.__array_interface__["data"][0] for packed in answers]
    return shape, np.array(begins, dtype=np.uint64)


def _check_leaves(bits: Words, start: int, products: Words) -> None:
    """Refuse arrays that do not fit together, since the loops check no bounds."""
    chunk, words = bits.shape
    if products.shape[0] != (1 << chunk) - 1 or not 0 <= start <= start + products.shape[1] <= words:
        raise ValueError("products do not fit the bits")


def _check_gates(less: Words, equal: Words, size: int, products: Words) -> tuple[int, int]:
    """The same for gates. Returns the number of nodes, and of wires e of each."""
    nodes, count = wires_of(size, equal)
    entries = (1 << count) - 1 - count + ((1 << size) - 1 - size if less.shape[0] else 0)
    if products.shape != (entries, nodes, equal.shape[1]) or (count < size and nodes > 1):
        raise ValueError("products do not fit the wires")
    if less.shape not in {(0, equal.shape[1]), (nodes * size, equal.shape[1])}:
        raise ValueError("wires do not fit each other")
    return nodes, count


def _padded(matrix: Floats) -> Floats:
    """The matrix, or each of several, padded with zeros to multiples of four, in C order."""
    *several, rows, columns = matrix.shape
    padded = np.zeros((*several, -(-rows // _FOUR) * _FOUR, -(-columns // _FOUR) * _FOUR))
    padded[..., :rows, :columns] = matrix
    return padded
