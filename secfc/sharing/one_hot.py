"""Opened sets of rows, one-hot, to labels."""

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Labels


def labels_of(bits: Floats) -> Labels:
    """The labels of rows, from bits of each segment, set and row, shape (ell, k, rows).

    CheatError unless each row is in exactly one set, the same in all segments.
    """
    if (bits > 1).any() or (bits.sum(axis=1) != 1).any() or (bits != bits[0]).any():
        raise CheatError("opened labels are not one-hot", code=Code.BAD_MESSAGE)
    labels: Labels = bits[0].argmax(axis=0).astype(np.int32)
    return labels
