"""Which sets have rows, opened to everybody, and nothing else of the sizes."""

from collections.abc import Generator

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Labels
from secfc.kmeans.sets import set_sizes
from secfc.operations.nonzero import nonzero
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared


def plain_full(sets: Labels, k: int) -> tuple[int, ...]:
    """The numbers of the sets that have rows, in ascending order."""
    return tuple(np.flatnonzero(set_sizes(sets, k)).tolist())


def full_sets(me: Party, sets: Shared) -> Generator[None, None, tuple[int, ...]]:
    """The same of sets, shape (k, m). CheatError if no set has rows."""
    full = yield from nonzero(me, sets.sum(1))
    if not full.any():
        raise CheatError("no set has rows: a holder has sent wrong shares", code=Code.BAD_MESSAGE)
    return tuple(np.flatnonzero(full).tolist())
