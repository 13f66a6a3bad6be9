"""Coins that both evaluators toss within a check. Nobody can choose one, and nobody can show two.

Each evaluator is bound to the values of its coins before the check: each value is the hash of the next, and
everybody knows the hash of the first, its anchor. So there is one value for each coin. What follows from a
coin depends on these values alone: an evaluator chooses its next anchor when it knows the other's value, and
may tell parties different ones, which they find in the next step. An evaluator tells it
when all is there that the coin must not influence. One of both evaluators is honest, or at least not in a
coalition with the other, so its value is new to all who could still choose something.
"""

import hashlib
from collections.abc import Generator
from math import prod

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.protocol.parties.coins import VALUE, Coins, chain
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party


def anchored(me: Party) -> Generator[None, None, None]:
    """Tell everybody the first anchors, unless this was done."""
    if me.coins is None:
        (told,) = yield from me.together([_anchoring(me)])
        me.note(told)


def _anchoring(me: Party) -> Half:
    values = list[bytes]()
    if me.evaluates:
        anchor, values = chain(me.masks)
        me.tell("anchor", anchor)
    told = yield Wait("anchor", me.roles.evaluators, VALUE)
    anchors = {evaluator: bytes(data) for evaluator, data in told.items()}
    me.coins = Coins(anchors=anchors, values=values)
    return b"".join(anchors.values())


class Tosses:
    """The coins of one check, one after another. The first is told with the anchors of the next check.

    `told` is all that was told. What is tossed does not depend on the anchors in it.
    """

    def __init__(self, me: Party) -> None:
        assert me.coins is not None
        self._me, self._coins, self._number = me, me.coins, 0
        self._last = dict(me.coins.anchors)
        self._values = b""  # those of the coins so far
        self.told = b""

    def toss(self) -> Half:
        """A source of what follows from the next coin. CheatError for a value to which nobody was bound."""
        me, tag, first = self._me, f"coin {self._number}", self._number == 0
        if me.evaluates:
            value = self._coins.values[self._number]
            if first:
                anchor, self._next = chain(me.masks)
                value += anchor
            me.tell(tag, value)
        told = yield Wait(tag, me.roles.evaluators, 2 * VALUE if first else VALUE)
        for evaluator, data in told.items():
            value, anchor = bytes(data[:VALUE]), bytes(data[VALUE:])
            if hashlib.sha256(value).digest() != self._last[evaluator]:
                text = f"party {evaluator} told another value of a coin than it was bound to"
                raise CheatError(text, code=Code.BAD_MESSAGE, clients=[evaluator])
            self._last[evaluator] = value
            self._values += value
            self.told += value + anchor
            if first:
                self._coins.anchors[evaluator] = anchor
        self._number += 1
        place = me.seen + me.step.to_bytes(4)
        return Tossed(hashlib.sha256(b"secfc check 1" + place + self._values).digest(), me.code.primes)

    def end(self) -> None:
        """Note what was told."""
        if self._me.evaluates:
            self._coins.values = self._next
        self._me.note(self.told)


class Tossed:
    """What follows from a coin: coefficients and points."""

    def __init__(self, seed: bytes, primes: tuple[int, ...]) -> None:
        self._source, self._primes = MaskSource(seed), primes

    def residues(self, shape: tuple[int, ...]) -> Floats:
        """Integers, shape (1, *shape), the same modulo all primes: each of 2^23, at random, is as likely."""
        words = np.frombuffer(self._source.octets(4 * prod(shape)), dtype="<u4") >> 9
        found: Floats = words.astype(np.float64).reshape(1, *shape)
        found -= 1 << 22
        return found

    def points(self, count: int, least: int) -> Floats:
        """Integers from `least` to `least` + 2^23 - 1, shape (P, count), the same modulo all primes."""
        found: Floats = np.broadcast_to(self.residues((count,)), (len(self._primes), count))
        return found + (1 << 22) + least
