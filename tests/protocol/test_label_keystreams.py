"""Each key that a dealer shares has one use, in one round and part, and exactly two holders."""

from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from support.sweeps import crossed
from support.wire import Wire

from secfc.comparing import question
from secfc.comparing.dealer_keys import Keys
from secfc.crypto import keystream
from secfc.errors import CheatError
from secfc.protocol.job.limits import Limits
from secfc.protocol.label_round import LabelRound
from secfc.protocol.labels import ClientLabels
from secfc.protocol.messages import Assignment
from secfc.protocol.states import State
from secfc.protocol.trio_round import TrioRound

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(6)
ROWS = [_RNG.normal(size=(m, 2)).round(2) for m in (4, 5, 6, 3, 4)]
COMPARERS = [(1, 2, 3), (4, 2, 5), (5, 4, 1), (1, 6, 7), (6, 7, 8)]
"""The dealer draws masks of its own answer if it is client 1, and deals them if it is another client."""


class Holders:
    """Which party derived which key for what, and how often a keystream began with it."""

    def __init__(self, monkeypatch):
        self.uses, self.begun, self._me = defaultdict(list), defaultdict(int), []
        derive = Keys.key
        holders = self

        def key(keys, purpose, index):
            derived = derive(keys, purpose, index)
            holders.uses[derived].append((holders._me[-1], keys._info, purpose, index))
            return derived

        def stream(algorithm, mode):
            holders.begun[algorithm.key] += 1
            return Cipher(algorithm, mode)

        keystream.faster_mode()  # measured once in a process, with a key that masks nothing
        monkeypatch.setattr(Keys, "key", key)
        monkeypatch.setattr(keystream, "Cipher", stream)
        made = TrioRound.__init__

        def make(one, context, *rest, **named):
            with self._at(context.number):
                made(one, context, *rest, **named)

        monkeypatch.setattr(TrioRound, "__init__", make)
        for kind, name in [(TrioRound, name) for name in ("begin", "leave", "take")] + [
            (LabelRound, "find_farthest"),
            (LabelRound, "find_best"),
            (LabelRound, "find_inertia"),
        ]:
            monkeypatch.setattr(kind, name, self._placed(getattr(kind, name)))

    @contextmanager
    def _at(self, client):
        self._me.append(client)
        yield
        self._me.pop()

    def _placed(self, real):
        def placed(one, *given):
            with self._at(one._me):
                return real(one, *given)

        return placed

    def check(self, dealer):
        """Each key has two holders, one of them the dealer, who use it in the same way."""
        for (one, *use), (two, *same) in self.uses.values():
            assert use == same
            assert dealer in (one, two)
        assert set(self.begun.values()) == {2}
        assert self.begun.keys() == self.uses.keys()
        for purpose, between in self.pairs.items():
            assert (between == {(dealer, dealer)}) == (purpose == "own"), purpose

    @property
    def pairs(self):
        """Holders of keys, by purpose."""
        found = defaultdict(set)
        for (one, _, purpose, _), (two, *_) in self.uses.values():
            found["own" if one == two else purpose].add(tuple(sorted((one, two))))
        return found


@pytest.fixture
def holders(monkeypatch):
    return Holders(monkeypatch)


def wired(comparers, **more):
    return Wire(ROWS, k=3, seed=0, disclosure="labels", comparers=comparers, **more)


@pytest.mark.some(1)
@pytest.mark.parametrize(("comparers", "part", "few"), crossed(COMPARERS, [3, 30], [-1, 1 << 14]))
def test_no_key_is_for_two_uses(holders, monkeypatch, part_rows, comparers, part, few):
    monkeypatch.setattr(question, "FEW", few)
    part_rows(part)
    net, (dealer, first, second) = wired(comparers), comparers
    net.run()
    assert net.server.state is State.DONE
    holders.check(dealer)
    rounds, parts = net.server.gathering.round, -(-net.m // part)
    assert rounds >= 4
    between = {tuple(sorted((dealer, first)))}
    assert holders.pairs["pairs products"] == between
    # With few rows all sets are compared at once.
    assert holders.pairs["champion products"] == (between if few < 0 else set())
    assert holders.pairs["pairs wires"] == {tuple(sorted((dealer, one))) for one in (first, second)}
    assert holders.pairs["answers"] == {tuple(sorted((dealer, j))) for j in (1, 2, 3) if j != dealer}
    # Keys of the comparison belong to a round and a part. Those of answers have a number for each part.
    champions = {
        tuple(info for _, info, *_ in use) for use in holders.uses.values() if use[0][2] == "champion wires"
    }
    assert len(champions) == (parts * (rounds - 1) if few < 0 else 0)
    answers = {use[0][1] for use in holders.uses.values() if use[0][2] == "answers"}
    assert len(answers) == 1 + rounds  # the first proves that rows are within the bound


@pytest.mark.some(1)
@pytest.mark.parametrize(("comparers", "part"), crossed(COMPARERS, [3, 30], together=1))
def test_no_key_of_a_start_by_k_means_plus_plus_is_for_two_uses(holders, part_rows, comparers, part):
    part_rows(part)
    net, (dealer, first, second) = wired(comparers, init="k-means++"), comparers
    net.run()
    assert net.server.state is State.DONE
    holders.check(dealer)
    parts, both = -(-net.m // part), {tuple(sorted((dealer, one))) for one in (first, second)}
    assert holders.pairs["nearer masks"] == both
    assert holders.pairs["least wires"] == both
    assert holders.pairs["drawn 0 wires"] == both
    # Minima of three questions except the first, by part; a candidate of each; draws after all but the last.
    for purpose, count in (("nearer wires", 2 * parts), ("least wires", 3), ("drawn 0 wires", 2)):
        assert len({uses[0][1] for uses in holders.uses.values() if uses[0][2] == purpose}) == count


@pytest.mark.parametrize(("comparers", "n_init"), crossed(COMPARERS, [1, 3], together=1))
def test_the_inertia_is_opened_with_one_key_that_nothing_else_uses(holders, comparers, n_init):
    more = {"reveal_inertia": True, "limits": Limits(reveal_inertia=True)}
    net, (dealer, first, _) = wired(comparers, n_init=n_init, **more), comparers
    net.run()
    assert net.server.outcome.opened > 0
    found = [uses for uses in holders.uses.values() if uses[0][2] == "inertia shares"]
    assert [[one[0] for one in uses] for uses in found] in ([[dealer, first]], [[first, dealer]])
    assert all(uses[0][1:] == uses[1][1:] for uses in found)
    # At the end of a start, masks of answers are drawn again with the same values. None of them is sent
    # again.
    again = {uses[0][2] for uses in holders.uses.values() if len(uses) > 2}
    assert again == {"answers"}


def test_rows_moved_to_emptied_clusters_are_found_with_keys_of_their_own(holders):
    """The dealer draws the masks of answers again with the same values, because it keeps no part's masks."""
    rng = np.random.default_rng(9)
    rows = [rng.integers(-3, 4, size=(m, 1)).astype(float) for m in (2, 3, 1, 2, 2)]
    net = Wire(rows, k=5, seed=0, precision=8, disclosure="labels", comparers=(4, 2, 5))
    net.run()
    again = [uses for uses in holders.uses.values() if len(uses) != 2]
    assert again
    for (one, *use), (two, *same), (three, *third) in again:
        assert use == same == third
        assert use[1] == "answers"
        assert sorted((one, two, three)) == sorted((4, 4, min(one, two, three)))
    found = [uses for uses in holders.uses.values() if "farthest" in uses[0][2]]
    assert found
    assert all(len(uses) == 2 for uses in found)


@pytest.mark.some(1)
@pytest.mark.parametrize("comparers", COMPARERS)
def test_two_runs_of_the_same_rows_and_seed_have_no_key_in_common(holders, comparers):
    wired(comparers).run()
    before = set(holders.uses)
    assert before
    holders.uses.clear()
    holders.begun.clear()
    wired(comparers).run()
    assert not before & holders.uses.keys()
    holders.check(comparers[0])


@pytest.mark.some(2)
@pytest.mark.parametrize("what", ["sets", "draws"])
def test_clients_that_were_asked_other_things_have_no_key_in_common(holders, monkeypatch, what):
    """Even if they accepted questions that do not follow from the seed."""
    check = ClientLabels._check_first

    def unchecked(labels, *given):
        if labels._number not in (1, 3):
            check(labels, *given)

    monkeypatch.setattr(ClientLabels, "_check_first", unchecked)
    net = wired((4, 2, 5), init="random" if what == "sets" else "k-means++")
    for client in (1, 3):
        question = net.hold(Assignment, recipient=client)
        given = {"sets": np.roll(question.sets, client), "draws": (client, *question.draws[1:])}
        net.deliver(replace(question, **{what: given[what]}))
    with suppress(CheatError):  # labels and rows of noise are in no set, or impossible
        net.run()
    found = [info for (_, info, purpose, _), *_ in holders.uses.values() if purpose == "answers"]
    _, answers, *_ = dict.fromkeys(found)  # after those that prove that rows are in range
    alone = {uses[0][0] for uses in holders.uses.values() if uses[0][1] == answers and len(uses) == 1}
    assert alone == {1, 3, 4}  # they and the dealer, of the first round's answers
