"""Nothing is opened that depends on what was not checked, or what one evaluator has not accepted."""

from types import SimpleNamespace

import numpy as np
import pytest
from operations.own_net import dealt, parties_of, play
from simulator.altered import KINDS, honest, played, setup_of

from secfc.errors import CheatError
from secfc.field.primes import primes_of
from secfc.operations.reduction import reduced
from secfc.protocol.parties.party import Party
from secfc.protocol.program.whose_rows import labels_of_rows
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared

OPENED = {"share", "tables", "mask", "bits", "labels", "sizes", "sums", "described"}
"""Tags of letters with which something is opened."""

HIDDEN = {
    *("piece", "root", "roots", "refused", "refusals", "value", "turned", "all turned"),
    *("hidden", "hidden opened", "answer", "decoded", "gates", "half", "part", "product", "has bits"),
    *("anchor", "coin", "fold", "fold 0 opened", "line", "offsets", "accepted", "opened"),
}
"""Those of all others: dealt, under masks, coins, or what evaluators make of shares with which something is
opened. Numbers at the end of a tag are left out."""


@pytest.mark.parametrize("kind", KINDS)
def test_each_opening_of_a_job_begins_with_nothing_unchecked(monkeypatch, kind):
    """What is reduced beside an opening has no value yet."""
    real, early, tags = Party.send, [], set()

    def send(me, recipient, tag, data):
        tags.add(tag)
        claims, answers = me.unchecked
        if tag in OPENED and (answers or any(claim.value is not None for claim in claims)):
            early.append((me.step, tag))
        real(me, recipient, tag, data)

    monkeypatch.setattr(Party, "send", send)
    assert played(setup_of(("three", kind))).outcome is not None
    assert not early
    assert {tag.rstrip("0123456789 ") for tag in tags} <= OPENED | HIDDEN


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_opened_after_a_check_that_an_evaluator_cannot_end(monkeypatch, kind):
    """It lacks a share of the line, and all that follows from its sender. No share is spare."""
    job, real = ("three", kind), Party.send
    lines = [one.step for one in honest(job)[1] if (one.sender, one.tag) == (1, "line")]
    for number, step in enumerate(lines[-1::-4]):

        def send(me, recipient, tag, data, lost=(1, 2 + number % 2), step=step):
            withheld = me.step > step or (me.step, tag) == (step, "line")
            if (me.number, recipient) != lost or not withheld:
                real(me, recipient, tag, data)

        monkeypatch.setattr(Party, "send", send)
        told = played(setup_of(job))
        assert told.is_stuck
        assert not [tag for _, at, tag, *_ in told.sent if at >= step and tag in OPENED | {"opened"}]


def test_labels_of_deposits_are_kept_when_all_was_checked():
    """Nothing is opened after them that would be checked before."""
    code, deposits = Codewords(n=3, t=1, ell=1, primes=primes_of(2)), SimpleNamespace(deposited=True)
    parties, shares = parties_of(code), dealt(code, np.ones((len(code.primes), 1, 2)))

    def program(me):
        bits = Shared(code.primes, (1, 2), None if not me.holds else shares[me.number].reshape(-1, 1, 2))
        yield from reduced(me, bits * bits)
        yield from labels_of_rows(me, bits, SimpleNamespace(covers=None, layout=deposits), most=2)

    def carry(sender, recipient, place, data):
        return bytes(len(data)) if (sender, place.tag) == (1, "hidden") else data

    with pytest.raises(CheatError, match="what holders have sent does not agree"):
        play(parties, {j: program(me) for j, me in parties.items()}, carry=carry)
