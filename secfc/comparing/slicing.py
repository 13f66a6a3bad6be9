"""Rows and words: row j W + w of a batch is bit j of word w."""

import numpy as np

from secfc._arrays import Bools
from secfc.comparing.gates import Words

STRIPS = 64


def words_of(rows: int) -> int:
    """W, words that hold a bit of each row."""
    return -(-rows // STRIPS)


def to_words(bits: Bools) -> Words:
    """Bits of rows as words, the last ones padded with zeros.

    Parameters
    ----------
    bits : ndarray of shape (n, rows), bool

    Returns
    -------
    ndarray of shape (n, W), uint64
    """
    count, rows = bits.shape
    words = words_of(rows)
    whole = np.zeros((count, STRIPS * words), dtype=np.bool_)
    whole[:, :rows] = bits
    octets = np.packbits(whole.reshape(count, STRIPS, words), axis=1, bitorder="little").swapaxes(1, 2)
    return np.ascontiguousarray(octets).view("<u8")[..., 0].astype(np.uint64, copy=False)


def to_rows(words: Words, rows: int) -> Bools:
    """What `to_words` made of so many rows, shape (n, rows); padding is dropped."""
    count, width = words.shape
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8).reshape(count, width, 8)
    bits = np.unpackbits(octets.swapaxes(1, 2), axis=1, bitorder="little")
    return bits.reshape(count, STRIPS * width)[:, :rows].astype(np.bool_)
