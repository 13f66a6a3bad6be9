"""What is opened is the same for all before coins of its check are told: a liar tells no other number."""

import hashlib

import numpy as np
import pytest
from operations.own_net import dealt, parties_of, play

from secfc.errors import CheatError
from secfc.field.packing import from_bytes, to_bytes
from secfc.field.primes import primes_of
from secfc.operations.checking.check import COMBINATIONS, settled
from secfc.operations.checking.coins import Tossed
from secfc.operations.opening import MULTIPLES, nonzero
from secfc.protocol.parties.coins import VALUE
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared

LIAR, EVALUATORS, NUMBERS = 3, (5, 6), 4
SIZE = MULTIPLES * NUMBERS
FORGED = np.arange(0, SIZE, NUMBERS)  # the multiples of the first number


class Late:
    """Party 3 opens zeros of a number that is not zero, to holders when it knows the coin of the check.

    They are told others of the other numbers, with which the combinations of all are right.
    """

    def __init__(self):
        self.code = Codewords(n=3, t=1, ell=1, primes=primes_of(2))
        self.p, self.parties = self.code.primes[0], parties_of(self.code, dealer=4, first=5, second=6)
        self._shares, self._coins, self._places, self._told = {}, {}, {}, False
        liar, real = self.parties[LIAR], self.parties[LIAR].send

        def send(recipient, tag, data):
            if tag != "share":
                real(recipient, tag, data)
            elif recipient == LIAR:
                self._shares[LIAR] = from_bytes(data, (SIZE,), self.code.primes[:1])
                self._tell_if_known()

        liar.send = send

    def carry(self, sender, recipient, place, data):
        if place.tag == "share":
            self._places[recipient] = place  # with what the recipient has seen
            if recipient == LIAR:
                self._shares[sender] = from_bytes(data, (SIZE,), self.code.primes[:1])
            self._tell_if_known()
        if (place.tag, recipient) == ("coin 0", 0):
            self._coins[sender], self._at = bytes(data)[:VALUE], place
            if len(self._coins) == len(EVALUATORS):  # both have gone on, holders have not
                self._put((1, 2, LIAR), self._adapted())
        return data

    def _tell_if_known(self):
        everywhere = self._places.keys() == self.parties.keys()
        if everywhere and len(self._shares) == self.code.n and not self._told:
            self._told = True
            self._right = self.code.first_prime().open(self._shares, wide=True)[0, 0].astype(np.int64)
            forged = self._right.copy()
            forged[FORGED] = 0
            self._put((0, 4, 5, 6), forged)

    def _put(self, recipients, values):
        """Its share with which these are opened."""
        to_segment = self.code.first_prime().between((1, 2, LIAR), ())[0, 0].astype(np.int64)
        known = sum(
            int(w) * self._shares[j][0].astype(np.int64) for w, j in zip(to_segment, (1, 2), strict=False)
        )
        share = (values - known) % self.p * pow(int(to_segment[2]), -1, self.p) % self.p
        data = to_bytes(share.reshape(1, -1).astype(np.float64), self.code.primes[:1])
        for one in recipients:
            self.parties[one].inbox.put(LIAR, self._places[one], data)

    def _adapted(self):
        values = b"".join(self._coins[one] for one in EVALUATORS)
        seed = hashlib.sha256(b"secfc check 1" + self._at.seen + self._at.step.to_bytes(4) + values).digest()
        factors = Tossed(seed, self.code.primes).residues((COMBINATIONS, SIZE))[0].astype(np.int64) % self.p
        free = [at for at in range(SIZE) if at not in FORGED][:COMBINATIONS]
        told = self._right.copy()
        told[FORGED] = 0
        missing = (factors[:, FORGED] * self._right[FORGED] % self.p).sum(axis=1) % self.p
        told[free] = (told[free] + solved(factors[:, free], missing, self.p)) % self.p
        return told


def solved(matrix, right, p):
    """X with matrix x = right modulo p, by Cramer's rule."""

    def determinant(of):
        (a, b, c), (d, e, f), (g, h, i) = [[int(x) for x in row] for row in of]
        return (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)) % p

    columns = []
    for at in range(len(right)):
        one = matrix.copy()
        one[:, at] = right
        columns.append(determinant(one) * pow(determinant(matrix), -1, p) % p)
    return np.array(columns)


def test_who_was_told_other_numbers_takes_no_coin():
    late = Late()
    shares = dealt(late.code, np.tile(np.arange(1.0, 1 + NUMBERS), (len(late.code.primes), 1, 1)))

    def program(me):
        found = yield from nonzero(me, Shared(late.code.primes, (NUMBERS,), shares.get(me.number)))
        yield from settled(me)
        return found.tolist()

    with pytest.raises(CheatError, match="saw other numbers opened"):
        play(late.parties, {j: program(me) for j, me in late.parties.items()}, carry=late.carry)
