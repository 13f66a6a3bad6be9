"""The kernels as compiled loops (Numba).

Loops check nothing. So an array's address is given to a loop only if the type of its elements, the number of
its axes and its order are the loop's, and shapes that belong together are compared.
"""

from dataclasses import replace
from functools import cache
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.field.array_types import Floats, Ints, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.kernels.gates import wires_of
from secfc.kernels.interface import Bytes, Compared, Words
from secfc.kernels.loading import loops
from secfc.kernels.threads import parts
from secfc.kernels.vectorised import VectorisedKernels, check_doubled

_FOUR = 4
_PAIR = 16  # as in secfc.kernels.blocks, which imports Numba

_PIECES = 2
"""Pieces for each thread in a loop. With more than one, faster threads can take work from a slow one."""

_FILES = "client_loops", "comparing_loops", "gate_loops", "residue_loops", "server_loops"
_loops = loops(*(f"secfc.kernels.{name}" for name in _FILES))
_read, _write = _loops.read, _loops.write

_U8, _U64 = np.dtype(np.uint8), np.dtype(np.uint64)
_I32, _I64 = np.dtype(np.int32), np.dtype(np.int64)
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


class CompiledKernels(VectorisedKernels):
    """The same, compiled."""

    name = "compiled"

    def store(self, packed: Bytes, primes: tuple[int, ...], shares: Shares, start: int) -> None:
        count, width, octets = packed.shape
        # The loop checks no bounds.
        if (
            shares.shape[:2] != (count, width + 1)
            or len(primes) != count
            or octets % 3
            or not 0 <= start <= shares.shape[2] - octets // 3
        ):
            raise ValueError("packed shares do not fit the memory for them")
        _loops.store(
            _read(packed, _U8, 3),
            count,
            width,
            octets // 3,
            _moduli(primes),
            _write(shares, _F32, 3),
            shares.shape[2],
            start,
        )

    def weighted_sums(self, shares: Shares, weights: Floats, p: int) -> Floats:
        columns, m = shares.shape
        if weights.shape[1] != m:
            raise ValueError("weights do not fit the shares")  # the loop checks no bounds
        sums = np.empty((weights.shape[0], columns))
        of_shares, of_weights = (_read(shares, _F32, 2), columns, m), (_read(weights, _F64, 2), len(weights))
        _loops.weighted_sums(*of_shares, *of_weights, p, _write(sums, _F64, 2))
        return sums

    def affine(
        self, shares: Shares, rows: slice, matrix: Floats, constant: Floats, p: int, out: Bytes
    ) -> None:
        (columns, m), k = shares.shape, len(matrix)
        start, stop = index(rows.start), index(rows.stop)  # NumPy's integers may wrap
        # The loop checks no bounds.
        if matrix.shape != (k, columns) or constant.shape != (k,):
            raise ValueError("matrix and constant do not fit the shares")
        if not 0 <= start <= stop <= m or out.shape != (k, 3 * (stop - start)):
            raise ValueError("rows do not fit the shares or the buffer")
        padded = np.zeros((-(-k // _FOUR) * _FOUR, columns + 1))
        padded[:k, :columns], padded[:k, columns] = matrix, constant
        matrix, constant = np.ascontiguousarray(padded[:, :columns]), np.ascontiguousarray(padded[:, columns])
        _loops.answer(
            _read(shares, _F32, 2),
            *shares.shape,
            start,
            stop,
            _read(matrix, _F64, 2),
            *matrix.shape,
            _read(constant, _F64, 1),
            p,
            _write(out, _U8, 2),
            *out.shape,
            start,
        )

    def refused(self, packed: Bytes, primes: tuple[int, ...]) -> int:
        if len(packed) != len(primes) or packed.shape[-1] % 3:
            raise ValueError("planes do not fit the primes, or are no words")  # the loop checks no bounds
        planes, size = packed.reshape(len(primes), -1), packed.size // 3
        several = self.threads.for_work(size)
        if several == 1:
            return int(
                _loops.refused(_read(planes, _U8, 2), len(primes), planes.shape[1] // 3, _moduli(primes))
            )

        def refused(item: tuple[int, slice]) -> bool:
            index, piece = item
            part, p = planes[index, piece], primes[index : index + 1]
            return int(_loops.refused(_read(part, _U8, 1), 1, part.size // 3, _moduli(p))) == 0

        pieces = parts(planes.shape[1], -(-_PIECES * several // len(primes)), multiple=3)
        items = [(index, piece) for index in range(len(primes)) for piece in pieces]
        wrong = self.threads.each(refused, items, size=size)
        return next((index for (index, _), one in zip(items, wrong, strict=True) if one), -1)

    def redraw(self, words: Bytes, spare: Bytes, p: int) -> bool:
        if words.size % 3 or spare.size % 3:
            raise ValueError("three bytes are a word")  # the loop checks no bounds
        return bool(
            _loops.redraw(_write(words, _U8, 1), words.size, _read(spare, _U8, 1), spare.size, p) >= 0
        )

    def add_masks(self, packed: Bytes, masks: Bytes, p: int) -> None:
        if masks.size != packed.size or packed.size % 3:
            raise ValueError("masks do not fit the residues")
        _loops.add_masks(_write(packed, _U8, 1), packed.size, _read(masks, _U8, 1), p)

    def decode(
        self, answers: list[Bytes], weights: Floats, radix: MixedRadix, start: int, stop: int, out: Shares
    ) -> int:
        start, stop = index(start), index(stop)
        primes, rows = radix.primes, stop - start
        shape, addresses = _addresses(answers, weights, primes)
        if not 0 <= 3 * start <= 3 * stop <= shape[2]:
            raise ValueError("rows do not fit the answers")
        if out.shape != (len(primes), shape[1], rows) or len(primes) != shape[0]:
            raise ValueError("the buffer or the primes do not fit the answers")
        if radix.inverses.shape != 2 * (len(primes),):
            raise ValueError("the digits do not fit the primes")
        if not _loops.decode(
            _read(addresses, _U64, 1),
            _read(_canonical(weights, primes), _F64, 2),
            len(answers),
            _moduli(primes),
            _read(radix.inverses, _F64, 2),
            shape[2] // 3,
            start,
            _write(out, _F32, 3),
            *out.shape,
        ):
            return super().decode(answers, weights, radix, start, stop, out)  # it says whose
        done = rows // _PAIR * _PAIR
        if done == rows:
            return -1
        return super().decode(answers, weights, radix, start + done, stop, out[:, :, done:])

    def weigh(self, answers: list[Bytes], weights: Floats, primes: tuple[int, ...], out: Bytes) -> int:
        shape, addresses = _addresses(answers, weights, primes)
        if out.shape != shape or len(primes) != shape[0]:
            raise ValueError("the buffer or the primes do not fit the answers")
        size = len(answers) * out.size // 3
        canonical = _canonical(weights, primes)

        def weigh(columns: slice) -> bool:
            return bool(
                _loops.weigh(
                    _read(addresses, _U64, 1),
                    _read(canonical, _F64, 2),
                    len(answers),
                    _moduli(primes),
                    columns.start,
                    columns.stop,
                    _write(out, _U8, 3),
                    *shape[:2],
                    shape[2] // 3,
                )
            )

        if shape[2] >= 3 * _PAIR:
            columns = parts(shape[0] * shape[1], _PIECES * self.threads.for_work(size))
            if all(self.threads.each(weigh, columns, size=size)):
                return -1
        return super().weigh(answers, weights, primes, out)  # finds the wrong answer

    def nearest(self, digits: Shares, radix: MixedRadix, sizes: Ints, tolerance: float) -> Compared:
        count, k, rows = digits.shape
        if count != len(radix.primes) or k != sizes.size or not k:
            raise ValueError("digits do not fit the primes or the sets")  # the loop checks no bounds
        found = Compared(
            labels=np.empty(rows, dtype=np.int32),
            own=np.empty((count, rows), dtype=np.float32),
            second=np.empty(rows),
            contested=np.empty(rows, dtype=np.bool_),
            largest=0.0,
        )
        largest = _loops.nearest(
            _read(digits, _F32, 3),
            *digits.shape,
            _read(np.array(radix.radices, dtype=np.float64), _F64, 1),
            _read(sizes.astype(np.float64) ** 2, _F64, 1),
            1 + tolerance,
            _write(found.labels, _I32, 1),
            _write(found.own, _F32, 2),
            _write(found.second, _F64, 1),
            _write(found.contested.view(np.uint8), _U8, 1),
        )
        return replace(found, largest=float(largest))

    def doubled_bits(self, packed: Bytes, radix: MixedRadix, out: Words) -> None:
        check_doubled(packed, radix, out)  # the loop checks no bounds
        count, columns, octets = packed.shape
        chunk, chunks, _, words = out.shape
        if radix.inverses.shape != (count, count):
            raise ValueError("the digits do not fit the primes")
        _loops.doubled_bits(
            _read(packed, _U8, 3),
            columns,
            octets // 3,
            _moduli(radix.primes),
            _read(radix.inverses, _F64, 2),
            count,
            _write(out, _U64, 4),
            chunk,
            chunks,
            words,
        )

    def leaf_products(self, bits: Words, start: int, out: Words) -> None:
        _check_leaves(bits, start, out)
        _loops.leaf_products(_read(bits, _U64, 2), *bits.shape, start, _write(out, _U64, 2), out.shape[1])

    def leaves(
        self, bits: Words, start: int, products: Words, first: bool, less: Words, equal: Words
    ) -> None:
        _check_leaves(bits, start, products)
        if not less.shape == equal.shape == products.shape[1:]:
            raise ValueError("shares do not fit the products")
        _loops.leaves(
            _read(bits, _U64, 2),
            *bits.shape,
            start,
            _read(products, _U64, 2),
            first,
            _write(less, _U64, 1),
            _write(equal, _U64, 1),
            less.size,
        )

    def gate_products(self, less: Words, equal: Words, size: int, out: Words) -> None:
        nodes, count = _check_gates(less, equal, size, out)
        _loops.gate_products(
            _read(less, _U64, 2),
            less.shape[0],
            _read(equal, _U64, 2),
            *equal.shape,
            size,
            nodes,
            count,
            _write(out, _U64, 3),
            out.shape[0],
        )

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
        shapes = (0, products.shape[2]), products.shape[1:]
        less, equal = (one.shape for one in out)
        if not all(fits) or less != shapes[deltas[0].shape[0] > 0] or equal not in shapes:
            raise ValueError("halves or shares do not fit the wires")
        _loops.gates(
            _read(deltas[0], _U64, 2),
            _read(halves[0], _U64, 2),
            deltas[0].shape[0],
            _read(deltas[1], _U64, 2),
            _read(halves[1], _U64, 2),
            *deltas[1].shape,
            size,
            nodes,
            count,
            _read(products, _U64, 3),
            products.shape[0],
            first,
            _write(out[0], _U64, 2),
            out[0].shape[0],
            _write(out[1], _U64, 2),
            out[1].shape[0],
        )


@cache
def _modulo(primes: tuple[int, ...]) -> Ints:
    """The first primes as loops take them."""
    return np.array(primes, dtype=np.int64)


@cache
def _moduli(primes: tuple[int, ...]) -> Any:
    """Their address."""
    return _read(_modulo(primes), _I64, 1)


def _canonical(weights: Floats, primes: tuple[int, ...]) -> Floats:
    """Reduced weights, shape (P, R), in [0, p)."""
    return np.where(weights < 0, weights + _modulo(primes)[:, np.newaxis], weights)


def _addresses(
    answers: list[Bytes], weights: Floats, primes: tuple[int, ...]
) -> tuple[tuple[int, ...], NDArray[np.uint64]]:
    """The shape of all answers, and their addresses. The caller must keep `answers`; loops check nothing."""
    shape = answers[0].shape
    for packed in answers:
        _read(packed, _U8, 3)
        if packed.shape != shape or shape[2] % 3:
            raise ValueError("answers must be words, and of one shape")
    if weights.shape != (len(primes), len(answers)):
        raise ValueError("weights do not fit the answers")
    begins = [packed.__array_interface__["data"][0] for packed in answers]
    return shape, np.array(begins, dtype=np.uint64)


def _check_leaves(bits: Words, start: int, products: Words) -> None:
    """The same for bits and products."""
    chunk, words = bits.shape
    if products.shape[0] != (1 << chunk) - 1 or not 0 <= start <= start + products.shape[1] <= words:
        raise ValueError("products do not fit the bits")


def _check_gates(less: Words, equal: Words, size: int, products: Words) -> tuple[int, int]:
    """The same for gates. Returns the number of nodes, and of wires e of each."""
    nodes, count = wires_of(size, equal)
    entries = (1 << count) - 1 - count + ((1 << size) - 1 - size if less.shape[0] else 0)
    if products.shape != (entries, nodes, equal.shape[1]) or count < size - 1 or (count < size and nodes > 1):
        raise ValueError("products do not fit the wires")
    if less.shape not in {(0, equal.shape[1]), (nodes * size, equal.shape[1])}:
        raise ValueError("wires do not fit each other")
    return nodes, count
