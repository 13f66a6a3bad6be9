"""The values of coins to which an evaluator is bound (`secfc.operations.checking.coins`)."""

import hashlib
from dataclasses import dataclass, field

from secfc.crypto.randomness import MaskSource

VALUE = 32
TOSSES = 12
"""Most coins of a check."""


@dataclass(kw_only=True)
class Coins:
    """`anchors` are public, by evaluator. `values` are an evaluator's own, in the order of the coins."""

    anchors: dict[int, bytes] = field(repr=False)
    values: list[bytes] = field(repr=False)


def chain(masks: MaskSource) -> tuple[bytes, list[bytes]]:
    """An anchor, and the values that lead to it."""
    values = [masks.octets(VALUE)]
    for _ in range(TOSSES - 1):
        values.append(hashlib.sha256(values[-1]).digest())
    values.reverse()
    return hashlib.sha256(values[0]).digest(), values
