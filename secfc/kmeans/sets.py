"""Sets of rows as one label a row: -1 for a row in no set."""

import numpy as np

from secfc.array_types import Ints, Labels


def set_sizes(sets: Labels, k: int) -> Ints:
    """Rows of each set, shape (k,); rows with label -1 are in none."""
    return np.bincount(sets + 1, minlength=k + 1)[1:].astype(np.int64)


def asked_about(sizes: Ints) -> int:
    """How many sets an answer is about: up to the last with a row, since the others have no centre."""
    return int(sizes.nonzero()[0][-1]) + 1
