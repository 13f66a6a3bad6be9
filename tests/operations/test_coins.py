"""Coins of checks: nobody shows two of one, and nobody chooses one when the other value is known."""

import numpy as np
import pytest
from operations.own_net import parties_of, play, shared_rows

from secfc.errors import CheatError
from secfc.field.primes import primes_of
from secfc.operations.checking import coins
from secfc.operations.checking.check import settled
from secfc.operations.reduction import norms_of, reduced
from secfc.sharing.codewords import Codewords

SECOND = 3  # the evaluator that lies


def tossed(monkeypatch, carry, *, checks=1):
    """The seeds of all coins by party, and how the run ended, if it did not go on to its end."""
    seeds, real = {}, coins.Tosses.toss

    def toss(self):
        found = yield from real(self)
        seeds.setdefault(self._me.number, []).append(found.seed)
        return found

    class Tossed(coins.Tossed):
        def __init__(self, seed, primes):
            super().__init__(seed, primes)
            self.seed = seed

    monkeypatch.setattr(coins.Tosses, "toss", toss)
    monkeypatch.setattr(coins, "Tossed", Tossed)
    code = Codewords(n=3, t=1, ell=1, primes=primes_of(2))
    parties = parties_of(code)
    rows = shared_rows(code, np.arange(12).reshape(6, 2), parties)

    def program(me):
        found = yield from norms_of(me, rows[me.number])
        yield from settled(me)
        for _ in range(checks - 1):
            yield from reduced(me, found * found)
            yield from settled(me)

    try:
        play(parties, {j: program(me) for j, me in parties.items()}, carry=carry)
    except CheatError as error:
        return seeds, str(error)
    return seeds, None


def other_anchor(recipients):
    """The second evaluator tells some parties another anchor of the next check than others."""

    def carry(sender, recipient, place, data):
        if (sender, place.tag) == (SECOND, "coin 0") and recipient in recipients:
            return bytes(data)[:32] + bytes(32)
        return data

    return carry


def test_all_toss_the_same_coins_and_each_is_another(monkeypatch):
    seeds, error = tossed(monkeypatch, lambda sender, recipient, place, data: data, checks=3)
    assert error is None
    assert seeds.keys() == {0, 1, 2, 3}
    assert len({tuple(of_party) for of_party in seeds.values()}) == 1
    assert len(set(seeds[0])) == len(seeds[0]) == 6


@pytest.mark.parametrize("recipients", [{1}, {2}, {0, 1}, {0, 1, 2}], ids=str)
def test_the_next_anchor_changes_no_coin_of_the_present_check(monkeypatch, recipients):
    """It is chosen when the other's value is known. With it a liar would choose coins, or show two."""
    seeds, error = tossed(monkeypatch, other_anchor(recipients))
    assert error is None
    assert len({tuple(of_party) for of_party in seeds.values()}) == 1


def test_different_anchors_end_the_run_before_the_next_coin(monkeypatch):
    seeds, error = tossed(monkeypatch, other_anchor({1}), checks=2)
    assert "saw other numbers opened" in error
    assert {len(of_party) for of_party in seeds.values()} == {2}


def test_another_value_than_it_was_bound_to_names_the_evaluator(monkeypatch):
    def carry(sender, recipient, place, data):
        return bytes(32) if (sender, recipient, place.tag) == (SECOND, 1, "coin 1") else data

    assert "party 3 told another value of a coin" in tossed(monkeypatch, carry)[1]
