"""The first bits of an inertia, opened to everybody.

Opens of each score its first `KEPT` bits and the number of bits after them, and nothing else. Numbers are
compared with public ones: first with all powers of 2, then eight bits at a time.
"""

from collections.abc import Generator, Sequence

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.kmeans.score import KEPT
from secfc.operations.opening import below
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared, joined

_BITS = 8
"""Bits that are opened at a time, by 255 comparisons of each number."""


def opened_first_bits(me: Party, scores: Sequence[Shared], *, most: int) -> Generator[None, None, list[int]]:
    """Of each [X], shape (1,), whose segments are to be added up: what `first_bits` gives. 0 <= X <= most."""
    powers = [1 << bit for bit in range(most.bit_length())]
    lengths = yield from _reached(me, scores, [powers] * len(scores))
    found = [1 << length >> 1 for length in lengths]
    unknown = [max(0, length - 1) for length in lengths]  # bits at the end of each
    zeros = [max(0, length - KEPT) for length in lengths]
    while unknown != zeros:
        after = [max(end, bits - _BITS) for end, bits in zip(zeros, unknown, strict=True)]
        limits = [
            range(one + (1 << bits), one + (1 << before), 1 << bits)
            for one, before, bits in zip(found, unknown, after, strict=True)
        ]
        counts = yield from _reached(me, scores, limits)
        found = [one + (count << bits) for one, count, bits in zip(found, counts, after, strict=True)]
        unknown = after
    return found


def _reached(
    me: Party, scores: Sequence[Shared], limits: Sequence[Sequence[int]]
) -> Generator[None, None, list[int]]:
    """How many of its ascending limits each score reaches."""
    of = np.repeat(np.arange(len(scores)), [len(own) for own in limits])
    every = me.constant([limit for own in limits for limit in own])
    is_below = yield from below(me, joined(list(scores), 0)[of] - every, [0] * of.size)
    counts = []
    for one in range(len(scores)):
        own = np.array(is_below)[of == one]
        if (own[:-1] > own[1:]).any():
            raise CheatError("a number is below a limit and not below a larger one", code=Code.BAD_MESSAGE)
        counts.append(int(np.count_nonzero(~own)))
    return counts
