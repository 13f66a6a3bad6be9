"""Rows and words: row j W + w of a batch is bit j of word w."""

import numpy as np

from secfc.field.array_types import Bools
from secfc.kernels.interface import Words

STRIPS = 64
WORD_BYTES = 8


def words_of(rows: int) -> int:
    """W, words that hold a bit of each row."""
    return -(-rows // STRIPS)


def to_rows(words: Words, rows: int) -> Bools:
    """Bits of so many rows, shape (n, rows), from words of shape (n, W), without the padding."""
    count, width = words.shape
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8).reshape(count, width, 8)
    bits = np.unpackbits(octets.swapaxes(1, 2), axis=1, bitorder="little")
    return bits.reshape(count, STRIPS * width)[:, :rows].astype(np.bool_)
