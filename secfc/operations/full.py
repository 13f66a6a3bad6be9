"""Which sets have rows, opened to everybody, and nothing else of the sizes."""

from collections.abc import Generator

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Labels
from secfc.kmeans.sets import set_sizes
from secfc.operations.opening import opened
from secfc.operations.random_sharings import random_sharings
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared, joined


def plain_full(sets: Labels, k: int) -> tuple[int, ...]:
    """The numbers of the sets that have rows, in ascending order."""
    return tuple(np.flatnonzero(set_sizes(sets, k)).tolist())


def full_sets(me: Party, sets: Shared) -> Generator[None, None, tuple[int, ...]]:
    """The same of sets, shape (k, m).

    What is opened are two uniform multiples of the size, others for each segment and prime. A set with rows
    passes for an empty one only if all of these are 0, each independently with probability below 2**-23.
    CheatError if no set has rows.
    """
    k = sets.shape[0]
    random = yield from random_sharings(me, zeros=2 * k, alone=2 * k)
    sizes = sets.sum(1)
    multiples = yield from opened(me, joined([sizes, sizes], 0) * random.alone + random.zeros)
    full = multiples.any(axis=(0, 1)).reshape(2, k).any(axis=0)
    if not full.any():
        raise CheatError("no set has rows: a holder has sent wrong shares", code=Code.BAD_MESSAGE)
    me.note(np.packbits(full).tobytes())
    return tuple(np.flatnonzero(full).tolist())
