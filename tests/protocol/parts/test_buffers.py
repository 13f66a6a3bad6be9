"""Limits on what is buffered."""

import gc
import random
import weakref
from collections import Counter

import numpy as np
import pytest
from support.parts import MANY
from support.sweeps import crossed, sweep

from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import (
    SERVER,
    CodedDistances,
)
from secfc.protocol.phases.client_iterate import ClientIterate
from secfc.protocol.states import State

pytestmark = pytest.mark.questions


@pytest.mark.some(1)
@pytest.mark.parametrize(("rows", "seed"), crossed([1, 2, 3], sweep(range(6), keep=range(3)), together=1))
def test_the_server_never_holds_more_than_a_window_of_parts(wire, part_rows, rows, seed):
    part_rows(rows)
    net, chance, held = wire(MANY, k=4, t=2, seed=3), random.Random(seed), []

    def note():
        held.append(len(net.server.gathering._answers))
        per_client = Counter(j for part in net.server.gathering._answers.values() for j in part)
        assert max(per_client.values(), default=0) <= WINDOW
        return False

    net.run(until=note, choose=chance.choice)
    assert max(held) == WINDOW
    assert net.server.gathering._answers == {}


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(6))
def test_answers_of_a_client_are_never_more_than_a_window_ahead(many, seed):
    net, chance = many(t=2), random.Random(seed)

    def note():
        for number, client in net.clients.items():
            if isinstance(client.phase, ClientIterate) and client.phase.round == net.server.gathering.round:
                assert client.phase.sent <= net.server.gathering.head + WINDOW
            round_, part = net.server.gathering.expected[number]
            assert (round_, part) <= (net.server.gathering.round + 1, 0)
        return False

    net.run(until=note, choose=chance.choice)
    assert net.server.state is State.DONE


@pytest.mark.parametrize("seed", range(6))
def test_shares_of_a_client_are_never_more_than_a_window_ahead(many, seed):
    net, chance, ahead = many(), random.Random(seed), []

    def note():
        phases = [client.phase for client in net.clients.values()]
        sharing = [phase.held.sharing for phase in phases if hasattr(phase, "held")]
        slowest = min((one.announced for one in sharing), default=0) if len(sharing) == 5 else 0
        ahead.append(max((one.shared for one in sharing), default=0) - slowest)
        unread = Counter(link for link, mail in net.links.items() for _ in mail if SERVER not in link)
        assert max(unread.values(), default=0) <= WINDOW
        return net.server.state is State.ITERATE

    net.run(until=note, choose=chance.choice)
    assert max(ahead) <= WINDOW


def test_a_decoded_answers_memory_is_let_go(many):
    net = many()
    net.run(until=lambda: net.server.state is State.ITERATE)
    answers = []
    for sender in (2, 4, 5):
        answer = net.message(CodedDistances, sender=sender, recipient=SERVER)
        answers.append(weakref.ref(answer))
        net.server.receive(answer)
        del answer
    gc.collect()
    assert [answer() for answer in answers] == [None] * 3


def test_client_allocates_its_shares_once(many):
    net = many()
    asked_for = []

    def allocate(shape):
        asked_for.append(shape)
        return np.full(shape, np.nan, dtype=np.float32)

    net.replace_client(1, allocate=allocate)
    net.run()
    assert asked_for == [(net.job.residues(28), net.job.width + 1, 28)]
    assert net.clients[1].labels is not None
