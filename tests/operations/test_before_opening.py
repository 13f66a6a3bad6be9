"""Nothing is opened that depends on what was not checked, or what one evaluator has not accepted."""

from types import SimpleNamespace

import numpy as np
import pytest
from operations.own_net import Net, StuckError, dealt, parties_of, play

from secfc.errors import CheatError
from secfc.field.primes import primes_of
from secfc.operations import sums
from secfc.operations.opening import below
from secfc.operations.reduction import reduced
from secfc.protocol.program.whose_rows import labels_of_rows
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared


@pytest.mark.parametrize("evaluator", [2, 3])
def test_masks_of_bits_are_told_only_when_both_evaluators_have_accepted(evaluator):
    """Of a liar the other one hears nothing that agrees, and the liar learns no bit."""
    code, tags = Codewords(n=3, t=1, ell=1, primes=primes_of(2)), set()
    parties, shares = parties_of(code), dealt(code, np.ones((len(code.primes), 1, 2)))

    def program(me):
        numbers = Shared(code.primes, (2,), shares.get(me.number))
        return (yield from below(me, (yield from reduced(me, numbers * numbers)), [1, 2]))

    def carry(sender, recipient, place, data):
        tags.add(place.tag)
        return None if (recipient, place.tag) == (evaluator, "line") else data

    with pytest.raises(StuckError):
        play(parties, {j: program(me) for j, me in parties.items()}, carry=carry)
    assert "line" in tags
    assert tags.isdisjoint({"mask", "bits"})


@pytest.mark.parametrize("start", [[0, 0, 1, 1], None], ids=["refilled", "drawn"])
def test_flags_are_opened_of_sets_that_were_checked(monkeypatch, start):
    """Rows that move to an empty set, and rows that are drawn, are in sets by products."""
    real, calls, rows = sums.random_sharings, [], np.array([[0], [2], [0], [2]])

    def noted(me, **counts):
        calls.append([len(one) for one in me.unchecked])
        return real(me, **counts)

    net = Net(rows, start if start is None else np.array(start, dtype=np.int32), 2)
    monkeypatch.setattr(sums, "random_sharings", noted)
    net.run()
    assert len(calls) > len(net.parties)
    assert calls == [[0, 0]] * len(calls)


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
