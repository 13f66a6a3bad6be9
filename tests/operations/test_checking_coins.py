"""Coins of checks: each evaluator is bound to its values, tells everybody the same, and uses a value once."""

import hashlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from operations.own_net import dealt, parties_of, play
from simulator.kills import KILLS
from support.restarting import Restarting
from support.setups import make

from secfc.errors import CheatError
from secfc.field.primes import primes_of
from secfc.operations.checking import check
from secfc.operations.checking.check import settled
from secfc.operations.reduction import reduced
from secfc.protocol.parties import random_sharings
from secfc.protocol.parties.coins import VALUE
from secfc.protocol.parties.party import Party
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared

CHECKS = 3
CODE = Codewords(n=3, t=1, ell=1, primes=primes_of(1))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(random_sharings, "LEAST", 64)
    monkeypatch.setattr(check, "_LEAST", 64)


def checked(carry):
    """Parties that check some products, one after another, with all letters: what was sent, by sender."""
    parties, numbers = parties_of(CODE), np.arange(1.0, 6.0).reshape(1, 1, 5)
    shares, sent = dealt(CODE, numbers), []

    def program(me):
        for _ in range(CHECKS):
            own = Shared(CODE.primes, (5,), shares.get(me.number))
            yield from reduced(me, own * own)
            yield from settled(me)

    def carried(sender, recipient, place, data):
        changed = carry(sender, recipient, place, bytes(data))
        sent.append((place.step, place.tag, sender, recipient, changed))
        return changed

    error = None
    try:
        play(parties, {j: program(me) for j, me in parties.items()}, carry=carried)
    except CheatError as found:
        error = found
    return error, sent


def unchanged(sender, recipient, place, data):
    return data


@pytest.mark.parametrize("coin", ["coin 0", "coin 1"])
@pytest.mark.parametrize("evaluator", [2, 3])
@pytest.mark.parametrize("recipients", [(0, 1, 2, 3), (1,)], ids=["all", "one"])
def test_another_value_than_the_bound_one_is_refused_and_names_the_evaluator(coin, evaluator, recipients):
    def carry(sender, recipient, place, data):
        lies = place.tag == coin and sender == evaluator and recipient in recipients
        return bytes([data[0] ^ 1]) + data[1:] if lies else data

    error, sent = checked(carry)
    assert str(error) == f"party {evaluator} told another value of a coin than it was bound to"
    assert error.clients == (evaluator,)
    told = {sender for _, tag, sender, *_ in sent if tag == "line"}
    assert told.isdisjoint({*recipients} - {evaluator})  # who was told it sends no line


@pytest.mark.parametrize(("evaluator", "recipient"), [(2, 0), (2, 1), (2, 3), (3, 0), (3, 1), (3, 2)])
def test_different_first_anchors_end_the_run_before_a_line_is_sent(evaluator, recipient):
    def carry(sender, to, place, data):
        return bytes(VALUE) if (sender, to, place.tag) == (evaluator, recipient, "anchor") else data

    error, sent = checked(carry)
    assert isinstance(error, CheatError)
    assert not any(tag == "line" for _, tag, *_ in sent)


def test_coins_are_a_chain_to_which_the_anchor_binds_and_no_value_is_used_twice():
    error, sent = checked(unchanged)
    assert error is None
    for evaluator in (2, 3):
        told = {(step, tag): data for step, tag, sender, to, data in sent
                if sender == evaluator and to == 0 and tag.startswith(("anchor", "coin"))}  # fmt: skip
        assert len(told) == 1 + 2 * CHECKS
        values = Counter(data[at : at + VALUE] for data in told.values() for at in range(0, len(data), VALUE))
        assert max(values.values()) == 1
        anchors = [data[-VALUE:] for (_, tag), data in told.items() if tag != "coin 1"]
        coins = [data[:VALUE] for (_, tag), data in told.items() if tag == "coin 0"]
        assert [sha(one) for one in coins] == anchors[:-1]
        later = [data for (_, tag), data in told.items() if tag == "coin 1"]
        assert [sha(one) for one in later] == coins
        for one, other in pairwise(sorted(told)):
            assert one < other


def sha(data):
    return hashlib.sha256(data).digest()


def test_after_a_restart_from_a_log_the_same_values_are_told(tmp_path, clock, monkeypatch):
    told, repeated, send = {}, set(), Party.send

    def sends(me, recipient, tag, data):
        if tag.startswith(("anchor", "coin")):
            place = me.number, me.step, tag, recipient
            repeated.update([place] if place in told else [])
            assert told.setdefault(place, data) == data
        send(me, recipient, tag, data)

    monkeypatch.setattr(Party, "send", sends)
    setup = make((3, 4, 2), d=3, precision=32, salt=bytes(16), disclosure="labels", starts=True, k=2)
    plan = {at: KILLS[at // 5 % len(KILLS)] for at in range(1, 200, 5)}
    assert Restarting(setup, tmp_path, plan).run() > 1
    assert {tag for *_, tag, _ in repeated} >= {"anchor", "coin 0", "coin 1"}
    values = {(sender, data[at : at + VALUE]) for (sender, *_), data in told.items()
              for at in range(0, len(data), VALUE)}  # fmt: skip
    places = {place[:3] for place in told}
    assert len(values) == sum(1 + (tag == "coin 0") for *_, tag in places)  # none is used twice
