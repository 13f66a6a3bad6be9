"""Both kernels, the sizes and residues to test them with, and memory that detects writes out of bounds."""

from math import prod

import numpy as np
from support.sweeps import every, tries

from secfc.field.array_types import Floats
from secfc.field.primes import PRIMES
from secfc.kernels import loops
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels

NUMPY, COMPILED = VectorisedKernels(), CompiledKernels()
BOTH = (NUMPY, COMPILED)
MODULI = [prime.p for prime in PRIMES]
P = MODULI[0]
laws = tries()


def around(*blocks: int) -> list[int]:
    return [edge for block in blocks for edge in (block - 1, block, block + 1)]


ROWS = sorted({1, 7, 8, 9, 255, 256, 257, 511, 513, *around(loops.PRODUCT, 2 * loops.PRODUCT)})
LONG_ROWS = [*ROWS, *around(loops.LONG, 2 * loops.LONG)]
COLUMNS = [1, 2, 3, 4, 5, 126, 127, 128, 129, 130, 257]
CLUSTERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 17]
FILLS = ["plus", "minus", "either", "anything"]

each_kernels = every("kernels", BOTH)
each_modulus = every("p", MODULI)
fills = every("fill", FILLS)
some_moduli = every("p", [MODULI[0], MODULI[-1]])


def reduced(fill: str, shape: tuple[int, ...], p: int, seed: int = 0) -> Floats:
    """Reduced residues: the largest, even and odd, with one sign or with both; or any.

    Primes are 1 modulo 4096. So sums of products of equal large residues would end in zero bits and be exact
    far beyond 2**53.
    """
    top, rng = (p + 8) // 2, np.random.default_rng(seed)
    if fill == "anything":
        return rng.integers(-top, top + 1, shape).astype(np.float64)
    largest = rng.choice([top, top - 1], shape).astype(np.float64)
    return largest * {"plus": 1.0, "minus": -1.0, "either": rng.choice([-1.0, 1.0], shape)}[fill]


def canonicals(fill: str, shape: tuple[int, ...], p: int, seed: int = 0) -> Floats:
    """Canonical residues: the largest, zeros, those next to p/2, or any."""
    rng = np.random.default_rng(seed)
    if fill == "either":
        return rng.choice([0, 1, p // 2 - 1, p // 2, p // 2 + 1, p - 2, p - 1], shape).astype(np.float64)
    return {
        "plus": lambda: rng.choice([p - 1.0, p - 2.0], shape),
        "minus": lambda: rng.choice([p // 2, p // 2 + 1.0, p // 2 + 2.0], shape),
        "anything": lambda: rng.integers(0, p, shape).astype(np.float64),
    }[fill]()


def integers(x: Floats) -> np.ndarray:
    """As int64, which can hold 257 products of residues (2**54) and the sum of 2**29 residues (2**53)."""
    assert np.array_equal(x, np.rint(x))
    return x.astype(np.int64)


class Guarded:
    """Memory to fill, between bytes that must not change, because compiled loops check no bounds."""

    def __init__(self, shape: tuple[int, ...], dtype: type = np.uint8) -> None:
        self._size = prod(shape) * np.dtype(dtype).itemsize
        self._memory = np.full(self._size + 512, 0xA5, dtype=np.uint8)
        self.array = self._memory[256 : 256 + self._size].view(dtype).reshape(shape)

    def check(self) -> np.ndarray:
        assert (self._memory[:256] == 0xA5).all()
        assert (self._memory[256 + self._size :] == 0xA5).all()
        return self.array


def congruent(x: Floats, expected: np.ndarray, p: int) -> bool:
    """Whether reduced residues are those of the expected integers."""
    assert np.abs(x).max(initial=0.0) <= p / 2 + 4
    return not ((integers(x) - expected) % p).any()
