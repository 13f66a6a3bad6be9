"""Bytes that a coalition receives in whole runs are distributed alike if all that it may learn is the same.

Two data sets have the same rows and labels of the coalition, the same rounds and the same empty sets. What
the coalition draws, alone or with another party, is the same in all runs: so a bit that only the coalition
could unmask differs as well. What others draw is not.
"""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from operations import own_net
from operations.own_net import Net, ended
from scipy.stats import chi2
from support.sweeps import slow

from secfc.crypto.randomness import MaskSource
from secfc.field.packing import pack
from secfc.kmeans.plain import Plain
from secfc.kmeans.program import lloyd
from secfc.operations import nearest, reduction, signs
from secfc.protocol.parties.inbox import Place, Wait
from secfc.protocol.parties.party import Party
from secfc.protocol.parties.random_sharings import random_sharings

K, M = 3, 15
START = (np.arange(M) % K).astype(np.int32)
RUNS = 26
"""So many of each data set show that a message of one byte is always the same, but another in the other."""

FALSE_ALARM = 1e-9
"""Probability, over all seeds, that bytes of the same distribution differ. The outcome for these is fixed."""


class Noted(Plain):
    """Notes what everybody learns."""

    def __init__(self, rows):
        super().__init__(rows.astype(object), START, np.ones(M, dtype=np.int64), K)
        self.told, self.moved = [], False

    def means(self, *given):
        found = yield from super().means(*given)
        self.told += [found.full, found.same]
        return found

    def refill(self, *given):
        found, self.moved = yield from super().refill(*given)
        self.told.append(self.moved)
        return found, self.moved

    def moved_below(self, *given):
        self.told.append((yield from super().moved_below(*given)))
        return self.told[-1]


def data_sets(party, *, moved):
    """Two that are the same to a party but have many other labels. `moved`: rows move to an empty set."""
    own, found = slice(5 * party - 5, 5 * party), {}
    for seed in range(1000):
        rows = np.random.default_rng(seed).integers(-2, 3, (M, 1))
        rows[own] = [[-1], [0], [2], [1], [0]]
        noted = Noted(rows)
        labels = ended(lloyd(noted, k=K, max_iter=1, fewest=1)).labels
        first, others = found.setdefault((str(noted.told), labels[own].tobytes()), (rows, labels))
        if noted.moved == moved and (others != labels).sum() > M / 3:
            return first, rows
    raise AssertionError


def received(rows, coalition, seed, *, deposited=False):
    """How often each half of a byte has each value in the messages that a coalition receives in all runs.

    Of rows that were `deposited` also in the shares of final labels that it keeps; nobody is sent labels.
    """
    rng, counts = np.random.default_rng(seed), defaultdict(lambda: np.zeros((2, 16)))

    def carry(sender, recipient, place, data):
        if recipient in coalition:
            octets = np.frombuffer(data, dtype=np.uint8)
            of_message = counts[place.step, place.tag, sender, recipient]
            of_message += [np.bincount(half, minlength=16) for half in (octets & 15, octets >> 4)]
        return data

    def kept(me, sets, owned):
        if me.number in coalition and me.holds:
            data = pack(sets.residues[0], me.code.primes[0])
            carry(me.number, me.number, Place(0, "kept", b""), data.tobytes())
        return None
        yield

    for _ in range(RUNS):
        with pytest.MonkeyPatch.context() as patch:
            if deposited:
                patch.setattr(own_net, "to_owners", kept)
            patch.setattr(own_net.os, "urandom", rng.bytes)
            patch.setattr(Party, "note", lambda me, opened: None)  # or keys follow from what is opened
            net, own = Net(rows, START, K, max_iter=1), np.random.default_rng(0)
            for j, me in net.parties.items():
                me.transcript = bytes(32)
                for other in me.secrets:
                    if {j, other} & coalition:
                        me.secrets[other] = bytes([*sorted((j, other))]) * 16
                if j in coalition:
                    me.masks = MaskSource(own.bytes(32))
            net.run(carry=carry)
    return counts


def differing(party, *, moved=False, deposited=False):
    """Tags of messages to a party, or to the coordinator, whose bytes are distributed otherwise."""
    sets = data_sets(party, moved=moved)
    one, other = (received(rows, {0, party}, seed, deposited=deposited) for seed, rows in enumerate(sets))
    assert one.keys() == other.keys()
    found = set()
    for message, first in one.items():
        both, apart = first + other[message], first - other[message]
        chi = (apart**2 / np.maximum(both, 1)).sum(axis=1)
        freedom = np.maximum((both > 0).sum(axis=1) - 1, 1)
        if (chi > chi2.isf(FALSE_ALARM / (2 * len(one)), freedom)).any():
            found.add(message[1])
    return found


@pytest.mark.parametrize("party", [1, slow(2), slow(3)])
def test_the_bytes_that_a_holder_and_comparer_receives_are_distributed_alike(party):
    assert not differing(party, moved=True)


@pytest.mark.parametrize("party", [1, slow(2), slow(3)])
def test_the_bytes_that_a_member_receives_and_keeps_of_deposits_are_distributed_alike(party):
    assert not differing(party, moved=True, deposited=True)


def test_delta_at_a_dealer_that_is_a_holder_would_be_noticed(monkeypatch):
    real = signs.shared_bits

    def told(me, bits):
        if me.evaluates:
            me.send(me.roles.dealer, "delta", np.packbits(bits.held).tobytes())
        if me.deals:
            yield Wait("delta", me.roles.evaluators, -(-bits.outputs * bits.rows // 8))

    def shared_bits(me, bits):
        yield from me.together([told(me, bits)])
        return (yield from real(me, bits))

    monkeypatch.setattr(nearest, "shared_bits", shared_bits)
    assert differing(1) == {"delta"}


def test_a_reduction_without_masks_would_be_noticed(monkeypatch):
    def zeros(me, *, twins):
        found = yield from random_sharings(me, twins=twins)
        return replace(found, narrow=found.narrow * 0, wide=found.wide * 0)

    monkeypatch.setattr(reduction, "random_sharings", zeros)
    assert differing(1) == {"hidden opened"}
