"""Which sets have rows, opened to everybody, and nothing else of the sizes."""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Labels
from secfc.kmeans.sets import set_sizes
from secfc.operations.opening import opened
from secfc.operations.random_sharings import random_sharings
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared


def plain_full(sets: Labels, k: int) -> tuple[int, ...]:
    """The numbers of the sets that have rows, in ascending order."""
    return tuple(np.flatnonzero(set_sizes(sets, k)).tolist())


def full_sets(me: Party, sets: Shared) -> Generator[None, None, tuple[int, ...]]:
    """The same of sets, shape (k, m).

    What is opened is a uniform multiple of the size, another for each segment and prime. A set with rows
    passes for an empty one only if all of these are 0, each independently with probability below 2**-23.
    """
    k = sets.shape[0]
    random = yield from random_sharings(me, zeros=k, alone=k)
    multiples = yield from opened(me, sets.sum(1) * random.alone + random.zeros)
    full = multiples.any(axis=(0, 1))
    me.note(np.packbits(full).tobytes())
    return tuple(np.flatnonzero(full).tolist())
