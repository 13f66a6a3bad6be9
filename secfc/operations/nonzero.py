"""Which shared numbers are not zero, opened to everybody, and nothing else of them."""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Bools
from secfc.operations.opening import opening
from secfc.protocol.parties.party import Half, Party
from secfc.protocol.parties.random_sharings import Sharings, random_sharings
from secfc.sharing.shared import Shared, joined

MULTIPLES = 2
"""Uniform multiples that are opened of each number."""


def nonzero(me: Party, numbers: Shared) -> Generator[None, None, Bools]:
    """Of [x], shape (size,), or of vectors, shape (size, width), which have a number that is not zero.

    What is opened are two uniform multiples of each number, or of each vector, modulo the first prime, others
    for each segment. A multiple of a vector is the sum of uniform multiples of its numbers. What is not 0
    modulo this prime passes for 0 only if all of these are 0, each independently with probability below
    2**-23. More is not opened: a comparer that lies can deal bits that differ by prime.
    """
    vectors = numbers.reshape(numbers.shape[0], -1)
    count = MULTIPLES * numbers.size
    random = yield from random_sharings(me, zeros=MULTIPLES * vectors.shape[0], alone=count)
    found: list[Bools] = yield from me.together([testing(me, [vectors], random)])
    return found[0]


def testing(me: Party, vectors: list[Shared], random: Sharings) -> Half:
    """The same as a half of a step, of vectors of several widths.

    `random` has two of `alone` for each number, and two of `zeros` for each vector.
    """
    at, multiples = 0, list[Shared]()
    alone = random.alone.modulo_first()
    for one in vectors:
        size, width = one.shape
        numbers = one.modulo_first().reshape(1, size, width)
        factors = alone[at : at + MULTIPLES * size * width].reshape(MULTIPLES, size, width)
        multiples.append((numbers * factors).sum(2))
        at += factors.size
    hidden = joined(multiples, 1).reshape(-1) + random.zeros.modulo_first()
    opened = yield from opening(me, hidden)
    found: Bools = opened.reshape(me.code.ell * MULTIPLES, -1).any(axis=0)
    me.note(np.packbits(found).tobytes())
    return found
