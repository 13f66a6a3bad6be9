"""Shares that holders sent, of which some are wrong: what t of them can do with `max_liars` below t."""

import numpy as np
import pytest
from operations.own_net import dealt, parties_of

from secfc.errors import TooManyFaultsError
from secfc.field.packing import to_bytes
from secfc.field.primes import primes_of
from secfc.field.residues import canonical
from secfc.protocol.parties.inbox import Place
from secfc.protocol.parties.opened import noticing, opened_shares
from secfc.sharing.codewords import Codewords

CODE = Codewords(n=7, t=2, ell=1, primes=primes_of(1))


def opened_of(sent, came, *, max_liars):
    """What party 1 opens of shares that have come in this order, and whom it takes for liars."""
    me = parties_of(CODE, max_liars=max_liars)[1]

    def half():
        return (yield from opened_shares(me, "some", 1, wide=False, least=noticing(me)))

    steps = me.together([half()])
    next(steps)
    for holder in came:
        me.inbox.put(holder, Place(me.step, "some", me._seen_inside), to_bytes(sent[holder], CODE.primes))
        try:
            next(steps)
        except StopIteration as end:
            return end.value[0], me.liars
    return None


def test_two_wrong_shares_with_one_of_another_polynomial_do_not_pass_for_it():
    """With `max_liars` = 1 the one right share that is not on it was taken for the liar's."""
    sent = {
        j: canonical(one, p) for p in CODE.primes for j, one in dealt(CODE, np.full((1, 1, 1), 5.0)).items()
    }
    p, points = CODE.primes[0], CODE._points[0]
    vanishes = {
        j: (points.alpha[j - 1] - points.alpha[2]) * (points.alpha[j - 1] - points.alpha[3]) % p for j in sent
    }
    for liar in (1, 2):
        sent[liar] = (sent[liar] + vanishes[liar]) % p
    with pytest.raises(TooManyFaultsError):
        opened_of(sent, [1, 2, 3, 4, 5, 6, 7], max_liars=1)


def test_one_wrong_share_is_located_once_enough_have_come():
    sent = {
        j: canonical(one, p) for p in CODE.primes for j, one in dealt(CODE, np.full((1, 1, 1), 5.0)).items()
    }
    sent[2] = (sent[2] + 1) % CODE.primes[0]
    found, liars = opened_of(sent, [1, 2, 3, 4, 5, 6, 7], max_liars=1)
    assert found.tolist() == [[[5.0]]]
    assert liars == {2}
