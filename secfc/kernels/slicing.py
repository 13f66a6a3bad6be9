"""Rows and words: row j W + w of a batch is bit j of word w."""

import numpy as np

from secfc.field.array_types import Bools, Labels
from secfc.kernels.interface import Words

STRIPS = 64
WORD_BYTES = 8


def words_of(rows: int) -> int:
    """W, words that hold a bit of each row."""
    return -(-rows // STRIPS)


def at_most(values: Labels, count: int) -> Words:
    """Words of [value <= j] for j below `count`, padded with zeros, shape (count, W), for values >= 0."""
    words = words_of(values.size)
    whole = np.full(STRIPS * words, count, dtype=np.int32)  # padding: above every j
    whole[: values.size] = values
    strips = np.ascontiguousarray(whole.reshape(STRIPS, words).T)
    bits = strips <= np.arange(count, dtype=np.int32)[:, np.newaxis, np.newaxis]
    return np.packbits(bits, axis=2, bitorder="little").view("<u8")[..., 0].astype(np.uint64, copy=False)


def to_rows(words: Words, rows: int) -> Bools:
    """Bits of so many rows, shape (n, rows), from words of shape (n, W), without the padding."""
    count, width = words.shape
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8).reshape(count, width, 8)
    bits = np.unpackbits(octets.swapaxes(1, 2), axis=1, bitorder="little")
    return bits.reshape(count, STRIPS * width)[:, :rows].astype(np.bool_)
