"""Shared random numbers that nobody knows: each bit is one of the dealer xor one of the evaluators.

Opens nothing. No two of those who compare may collude, so every number is uniform for each of them, also if
it does not draw its own bits at random. The bits are under masks like those that a comparison finds, and
become shares in the same way. One that lies there can share a number that is not below 2**32. Then other
rows are drawn, as if it lied in a comparison of the draw; so no check is made.
"""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Bools
from secfc.kmeans.bounds import DRAW_BITS
from secfc.operations.signs import HiddenBits, shared_bits
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.shared import Shared

_PHASE = "draws"
_OCTETS = DRAW_BITS // 8
_WORD_BITS = 64


def plain_numbers(count: int, repeated: np.random.Generator) -> list[int]:
    """The numbers of a simulation that is repeated: the dealer's bits come first, then the evaluators'."""
    halves = [np.frombuffer(repeated.bytes(_OCTETS * count), dtype=f">u{_OCTETS}") for _ in range(2)]
    return [one ^ other for one, other in zip(*(half.tolist() for half in halves), strict=True)]


def random_numbers(
    me: Party, count: int, repeated: np.random.Generator | None = None
) -> Generator[None, None, Shared]:
    """[rho], shape (count,), each uniform below 2**DRAW_BITS, the same in all segments.

    In a simulation that is `repeated`, all bits come from a generator, in the same state at all parties.
    """
    halves = []
    if repeated is not None:
        dealer, evaluators = (repeated.bytes(_OCTETS * count) for _ in range(2))
        if me.number in me.roles.comparers:
            halves.append(_given(dealer if me.deals else evaluators))
    elif me.deals:
        halves.append(_given(me.masks.octets(_OCTETS * count)))
    elif me.evaluates:
        halves.append(_evaluator(me, count))
    found = yield from me.together(halves)
    held: Bools | None = found[0].reshape(count, DRAW_BITS) if found else None
    bits = yield from shared_bits(me, HiddenBits(outputs=count, rows=DRAW_BITS, held=held))
    return (bits * (1 << np.arange(DRAW_BITS)[::-1])).sum(1)


def _given(octets: bytes) -> Half:
    return np.unpackbits(np.frombuffer(octets, dtype=np.uint8)).astype(np.bool_)
    yield


def _evaluator(me: Party, count: int) -> Half:
    """Bits from a key that both evaluators share."""
    first, second = me.roles.evaluators
    words = np.empty(-(-DRAW_BITS * count // _WORD_BITS), dtype=np.uint64)
    me.keys(second if me.number == first else first, _PHASE).bits(_PHASE, 0).fill(words)
    return (yield from _given(words.tobytes()[: _OCTETS * count]))
