"""Gates in both kernels: shares of the wires' values with any masks; and products in one order."""

import numpy as np
import pytest
from support.kernel_samples import BOTH, COMPILED, Guarded, each_kernels
from support.sweeps import every

from secfc.comparing.batch_plan import Group
from secfc.kernels import Kernels

WIDTHS = [1, 63, 64, 65, 200]
SIZES = [2, 3, 4, 5, 6]


def words(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


def guarded(*shape: int) -> Guarded:
    return Guarded(shape, np.uint64)


class Gate:
    """Wires of nodes, or ANDs, opened under masks whose products are shared.

    Parameters
    ----------
    size, nodes, width : int
    compares : bool
    last : bool
        The only node has one wire e less.
    """

    def __init__(
        self, size: int, nodes: int, width: int, *, compares: bool = True, last: bool = False
    ) -> None:
        rng = np.random.default_rng(size + 10 * nodes + width)
        group = Group(offset=0, count=nodes, size=size, last=last)
        self.size, self.width, self.nodes = size, width, nodes
        rows = nodes * size if compares else 0, nodes * size - last
        self.wires = tuple(words(rng, count, width) for count in rows)
        self.masks = tuple(words(rng, count, width) for count in rows)
        self.halves = tuple(words(rng, count, width) for count in rows)
        self.dealt = group.dealt if compares else group.dealt_and
        self.products = words(rng, self.dealt, nodes, width)
        self.outputs = (nodes if compares else 0), 0 if last else nodes

    def shares(self, dealer: Kernels, kernels: Kernels) -> list[list[np.ndarray]]:
        """Shares of l and e, of E0 and E1."""
        whole, found = guarded(self.dealt, self.nodes, self.width), []
        dealer.gate_products(*self.masks, self.size, whole.array)
        deltas = tuple(x ^ mask for x, mask in zip(self.wires, self.masks, strict=True))
        others = tuple(half ^ mask for half, mask in zip(self.halves, self.masks, strict=True))
        for first, halves, products in (
            (True, self.halves, self.products),
            (False, others, self.products ^ whole.check()),
        ):
            out = [guarded(count, self.width) for count in self.outputs]
            kernels.gates(deltas, halves, self.size, products, first, (out[0].array, out[1].array))
            found.append([one.check() for one in out])
        return found

    def expected(self) -> list[np.ndarray]:
        """l and e of the nodes, by their definition."""
        less, equal = ([wires[i :: self.size] for i in range(self.size)] for wires in self.wires)
        total = np.zeros((self.nodes, self.width), dtype=np.uint64)
        whole = ~total
        for j in reversed(range(self.size)):
            if self.outputs[0]:
                total = less[j] ^ (equal[j] & total) if equal[j].size else less[j]
            if self.outputs[1]:
                whole = whole & equal[j]
        return [total[: self.outputs[0]], whole[: self.outputs[1]]]


CASES = [
    *(Gate(size, nodes, width) for size in SIZES for nodes in (1, 3) for width in WIDTHS),
    *(Gate(size, 1, width, last=True) for size in SIZES for width in WIDTHS),
    *(Gate(size, nodes, width, compares=False) for size in SIZES for nodes in (1, 3) for width in WIDTHS),
]


@every("gate", CASES)
def test_shares_of_gates_add_up_to_what_the_wires_say(gate: Gate) -> None:
    found = [gate.shares(dealer, kernels) for dealer, kernels in (BOTH, BOTH[::-1])]
    for one, other in zip(*found[0], strict=True):
        assert one.shape == other.shape
    for first, second in zip(*found, strict=True):
        assert all(map(np.array_equal, first, second))
    both = [one ^ other for one, other in zip(*found[0], strict=True)]
    assert all(map(np.array_equal, both, gate.expected()))


@every("width", WIDTHS)
@every("chunk", [1, 2, 3, 4, 5, 6])
@each_kernels
def test_shares_of_leaves_add_up_to_less_and_equal(kernels: Kernels, chunk: int, width: int) -> None:
    rng, start = np.random.default_rng(chunk + width), 5
    y, r = words(rng, chunk, width + 9), words(rng, chunk, width + 9)
    r[:, ::2] = y[:, ::2]  # equal, but where the next word is
    products, found = guarded((1 << chunk) - 1, width), []
    kernels.leaf_products(r, start, products.array)
    half = words(rng, (1 << chunk) - 1, width)
    before = y.copy()
    for first, own in ((True, half), (False, half ^ products.check())):
        out = guarded(width), guarded(width)
        kernels.leaves(y, start, own, first, out[0].array, out[1].array)
        found.append([one.check() for one in out])
    assert np.array_equal(y, before)
    less, equal = (one ^ other for one, other in zip(*found, strict=True))
    part = slice(start, start + width)
    expected, same = np.zeros(width, dtype=np.uint64), ~np.zeros(width, dtype=np.uint64)
    for a, b in zip(y[:, part], r[:, part], strict=True):
        expected |= same & ~a & b
        same &= ~(a ^ b)
    assert np.array_equal(less, expected)
    assert np.array_equal(equal, same)


def test_both_forms_deal_the_same_products_of_leaves() -> None:
    bits = words(np.random.default_rng(1), 4, 150)
    found = [np.empty((15, 100), dtype=np.uint64) for _ in BOTH]
    for kernels, out in zip(BOTH, found, strict=True):
        kernels.leaf_products(bits, 20, out)
    assert np.array_equal(*found)
    assert np.array_equal(found[0][4], bits[0, 20:120] & bits[2, 20:120])  # places 1 and 3 of four


class TestRefusals:
    @pytest.mark.parametrize(("start", "shape"), [(0, (6, 10)), (1, (7, 10)), (-1, (7, 5))])
    def test_leaves_beyond_the_bits(self, start: int, shape: tuple[int, int]) -> None:
        bits, products = np.zeros((3, 10), dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
        with pytest.raises(ValueError, match="do not fit the bits"):
            COMPILED.leaf_products(bits, start, products)
        less = np.zeros(shape[1], dtype=np.uint64)
        with pytest.raises(ValueError, match="do not fit the bits"):
            COMPILED.leaves(bits, start, products, True, less, less)

    def test_shares_of_another_size(self) -> None:
        bits, less = np.zeros((1, 10), dtype=np.uint64), np.zeros(9, dtype=np.uint64)
        with pytest.raises(ValueError, match="do not fit the products"):
            COMPILED.leaves(bits, 0, bits, True, less, less)

    @pytest.mark.parametrize(
        ("rows", "dealt"),
        [((4, 4), (1, 2, 9)), ((4, 4), (2, 1, 9)), ((6, 4), (2, 2, 9)), ((4, 3), (2, 2, 9))],
    )
    def test_wires_or_products_of_another_number(self, rows: tuple[int, int], dealt: tuple[int, ...]) -> None:
        less, equal = (np.zeros((count, 9), dtype=np.uint64) for count in rows)
        products, out = np.zeros(dealt, dtype=np.uint64), np.zeros((2, 9), dtype=np.uint64)
        with pytest.raises(ValueError, match="do not fit"):
            COMPILED.gate_products(less, equal, 2, products)
        with pytest.raises(ValueError, match="do not fit"):
            COMPILED.gates((less, equal), (less, equal), 2, products, True, (out, out))

    def test_halves_or_outputs_of_another_shape(self) -> None:
        wires, products = np.zeros((4, 9), dtype=np.uint64), np.zeros((2, 2, 9), dtype=np.uint64)
        out, short = np.zeros((2, 9), dtype=np.uint64), np.zeros((1, 9), dtype=np.uint64)
        for halves, outs in (((wires, out), (out, out)), ((wires, wires), (out, short))):
            with pytest.raises(ValueError, match="halves or shares do not fit"):
                COMPILED.gates((wires, wires), halves, 2, products, True, outs)
