"""What is opened is the same for all before coins of its check are told: who lies tells no other number."""

import hashlib

import numpy as np
import pytest
from operations.own_net import dealt, parties_of, play

from secfc.errors import CheatError
from secfc.field.packing import from_bytes, to_bytes
from secfc.field.primes import primes_of
from secfc.operations.checking.check import settled
from secfc.operations.opening import MULTIPLES, nonzero
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared

LIAR, HONEST, ACCOMPLICE, NUMBERS = 3, 5, 6, 4
SIZE = MULTIPLES * NUMBERS


class Late:
    """Party 3 and the second evaluator, 6, open zeros of numbers that are not zero.

    With `adapts` the evaluator tells a holder when it knows a coin of the other one, and other numbers.
    """

    def __init__(self, *, adapts):
        self.adapts, self.told = adapts, []
        self.code = Codewords(n=3, t=1, ell=1, primes=primes_of(2))
        self.parties = parties_of(self.code, dealer=4, first=HONEST, second=ACCOMPLICE)
        self._first, self._shares, self._late = self.code.first_prime(), {}, []

    def carry(self, sender, recipient, place, data):
        if (place.tag, recipient) == ("share", ACCOMPLICE):  # before shares that the other one gets
            self._shares[sender] = from_bytes(data, (SIZE,), self._first.primes)
        if (sender, place.tag) == (LIAR, "share"):
            return to_bytes(self._forged(), self._first.primes)
        if place.tag == "opened":
            self.told.append((sender, bytes(data)))
        if self.adapts and (sender, recipient) == (ACCOMPLICE, 1) and (self._late or place.tag == "opened"):
            other = hashlib.sha256(to_bytes(np.ones((1, 1, SIZE)), self._first.primes)).digest()
            self._late.append((place, other if place.tag == "opened" else data))
            return None
        if (sender, recipient, place.tag) == (HONEST, ACCOMPLICE, "coin 0") and self._late:
            self.parties[1].inbox.put_all(ACCOMPLICE, self._late)
        return data

    def _forged(self):
        """Its share with which zeros are opened."""
        (p,) = self._first.primes
        to_segment = self._first.between((1, 2, LIAR), ())[0, 0].astype(np.int64)
        known = sum(int(to_segment[j - 1]) * self._shares[j][0].astype(np.int64) for j in (1, 2))
        return (-known % p * pow(int(to_segment[2]), -1, p) % p).reshape(1, -1).astype(np.float64)

    def run(self):
        shares = dealt(self.code, np.ones((len(self.code.primes), 1, NUMBERS)))

        def program(me):
            found = yield from nonzero(me, Shared(self.code.primes, (NUMBERS,), shares.get(me.number)))
            yield from settled(me)
            return found.tolist()

        play(self.parties, {j: program(me) for j, me in self.parties.items()}, carry=self.carry)


def test_what_an_evaluator_and_a_holder_open_is_told_to_all_and_then_found():
    late = Late(adapts=False)
    with pytest.raises(CheatError, match="what holders have sent does not agree"):
        late.run()
    zeros = bytes(3 * SIZE)
    assert set(late.told) == {(HONEST, zeros), (ACCOMPLICE, hashlib.sha256(zeros).digest())}


def test_an_evaluator_that_tells_a_holder_something_else_when_a_coin_is_known_is_found():
    with pytest.raises(CheatError, match=r"^opened: the evaluators told different numbers"):
        Late(adapts=True).run()
