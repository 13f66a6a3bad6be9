"""Which shared numbers are not zero, opened to everybody, and nothing else of them."""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Bools
from secfc.operations.opening import opened
from secfc.protocol.parties.party import Party
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.shared import Shared, joined


def nonzero(me: Party, numbers: Shared) -> Generator[None, None, Bools]:
    """Of [x], shape (size,).

    What is opened are two uniform multiples of each number modulo the first prime, others for each segment. A
    number that is not 0 modulo this prime passes for 0 only if all of these are 0, each independently with
    probability below 2**-23. More is not opened: a comparer that lies can deal bits that differ by prime.
    """
    size = numbers.size
    random = yield from random_sharings(me, zeros=2 * size, alone=2 * size)
    multiples = yield from opened(me, joined([numbers, numbers], 0) * random.alone + random.zeros)
    found: Bools = np.logical_or.reduce(multiples.reshape(-1, size))
    me.note(np.packbits(found).tobytes())
    return found
