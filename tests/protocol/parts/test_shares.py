"""Parts of shares out of turn or too early, and being ready."""

import gc
import weakref
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.parts import MANY, ending, sharing

from secfc.crypto.channel import TAG_BYTES
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import (
    SERVER,
    CodedDistances,
    Plan,
    Ready,
    Share,
)
from secfc.protocol.phases import server_iterate
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

# Parts of shares out of turn


@pytest.mark.parametrize("part", [1, 2, 4, 5, 2**32 - 1])
def test_a_skipped_part_of_shares_is_refused(many, refuses, part):
    net = many()
    client = sharing(net)
    share = replace(net.message(Share, sender=2, recipient=1), part=part)
    refuses(client, share, MessageError, f"^Share: part {part} from client 2, expected part 0$")


def test_a_part_beyond_the_last_is_refused(many, refuses):
    net = many()
    client = sharing(net)
    for _ in range(3):
        share = net.message(Share, sender=4, recipient=1)
        client.receive(share)
    text = "^Share: part 3 from client 4, which has no rows for it$"
    refuses(client, replace(share, part=3), MessageError, text)
    empty = net.message(Share, sender=4, recipient=1)
    assert (empty.part, len(empty.sealed.payload)) == (3, TAG_BYTES)
    refuses(client, empty, MessageError, text)


def test_a_share_of_a_client_without_rows_is_refused(many, refuses):
    net = many()
    client = sharing(net)
    share = net.message(Share, sender=3, recipient=1)
    assert len(share.sealed.payload) == TAG_BYTES
    refuses(client, share, MessageError, "^Share: part 0 from client 3, which has no rows for it$")


def with_a_bad_answer(net, part, *, again):
    """Run with a wrong residue in client 1's answer in round 1; return how often that was refused.

    What client 1 has sent since is refused too. `again` sends all of that again, correctly.
    """
    sent, refused, spoilt = [], 0, False

    def deliver(message):
        nonlocal refused, spoilt
        mine = isinstance(message, CodedDistances) and message.sender == 1
        if mine and (message.round, message.part) >= (1, part):
            sent.append(message)
        if mine and (message.round, message.part) == (1, part) and not spoilt:
            spoilt = True
            octets = bytearray(message.residues.payload)
            octets[-3:] = b"\xff\xff\xff"
            message = replace(message, residues=PackedResidues(shape=message.residues.shape, payload=octets))
        try:
            net.deliver(message)
        except MessageError as error:
            if str(error).startswith("CodedDistances: a residue from client 1 is not below its prime"):
                refused += 1
                for one in sent if again else ():
                    net.deliver(one)
            elif not mine:
                raise
        return True

    net.run(drop=deliver)
    return refused


@pytest.mark.parametrize("rows", [2, 7, 28])
def test_a_bad_answer_counts_no_near_tie_twice(wire, monkeypatch, part_rows, rows):
    part_rows(rows)
    monkeypatch.setattr(server_iterate, "BLOCK_ELEMENTS", 4)  # one row is decoded at a time, the bad one last
    ties = [np.ones_like(part) for part in MANY]
    whole = ending(wire(ties, k=4, seed=3))
    assert whole[3] > 0
    net = wire(ties, k=4, seed=3)
    assert with_a_bad_answer(net, 0, again=False) == 1
    assert ending(net) == whole


# Early shares


def early(net, sender, part):
    """A Share for client 1 that overtakes its Plan."""
    return net.message(Share, sender=sender, recipient=1, at=(0, part))


def test_a_window_of_early_shares_is_kept_of_each_sender(many, refuses):
    net = many()
    plan = net.hold(Plan, recipient=1)
    client = net.clients[1]
    for part in range(WINDOW):
        for sender in (2, 4, 5):
            assert client.receive(early(net, sender, part)) == []
    for sender in (2, 4, 5):
        for part in range(WINDOW + 2):
            text = f"^Share: part {part} from client {sender} out of turn$"
            refuses(client, early(net, sender, part), MessageError, text)
    caused = client.receive(plan)
    shares = [(Share, 0)] * 4 + [(Share, 1)] * 4
    assert [(type(m), m.part) for m in caused] == [*shares, (Ready, 0), (Ready, 1)]
    assert client.phase.held.sharing.received == {2: 2, 3: 0, 4: 2, 5: 2}


@pytest.mark.parametrize("part", [1, 2, 5, 2**32 - 1])
def test_an_early_share_that_skips_a_part_is_refused(many, refuses, part):
    net = many()
    net.hold(Plan, recipient=1)
    share = replace(early(net, 2, 0), part=part)
    refuses(net.clients[1], share, MessageError, f"^Share: part {part} from client 2 out of turn$")


def test_an_early_share_of_a_client_without_rows_counts_as_not_sent(many):
    net = many()
    plan = net.hold(Plan, recipient=1)
    net.clients[1].receive(early(net, 3, 0))
    net.deliver(plan)
    assert net.clients[1].phase.held.sharing.received[3] == 0


def test_a_second_early_share_beyond_its_senders_last_counts_as_not_sent(wire, part_rows):
    part_rows(2)
    net = wire([[[0.0]] * 5, [[1.0]] * 2, [[2.0]] * 5])
    plan = net.hold(Plan, recipient=1)
    for part in (0, 1):
        net.clients[1].receive(early(net, 2, part))
    net.deliver(plan)
    assert net.clients[1].phase.held.sharing.received[2] == 1


def test_a_client_keeps_no_more_than_a_window_of_early_shares_for_each_sender(many):
    net = many()
    plan = net.hold(Plan, recipient=1)
    kept, early = [0], weakref.ref(net.clients[1].phase.early_shares)

    def note():
        held = net.clients[1].phase.early_shares.held
        kept.append(max(Counter(one.sender for one in held).values(), default=0))
        return False

    # No client gets a Continue before client 1 is ready, and it cannot be ready without its Plan.
    net.run(until=note)
    assert net.server.state is State.SHARE
    assert max(kept) == WINDOW
    net.deliver(plan)
    net.run()
    assert net.clients[1].state is State.DONE
    gc.collect()
    assert early() is None


# Ready


@pytest.mark.parametrize("part", [1, 4, 5, 2**32 - 1])
def test_a_ready_that_skips_a_part_is_refused(many, refuses, part):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    ready = net.message(Ready, sender=2, recipient=SERVER, at=(0, part))
    text = f"^Ready: part {part} from client 2, which is at part 0 of 5$"
    refuses(net.server, ready, MessageError, text)


def test_every_ready_is_refused_a_second_time_and_there_is_none_beyond_the_last(many, refuses):
    net = many()
    net.run(until=lambda: net.server.state is State.SHARE)
    for part in range(5):
        ready = net.message(Ready, sender=2, recipient=SERVER)
        net.server.receive(ready)
        text = f"^Ready: part {part} from client 2, which is at part {part + 1} of 5$"
        refuses(net.server, ready, MessageError, text)
    beyond = net.message(Ready, sender=2, recipient=SERVER, at=(0, 5))
    refuses(net.server, beyond, MessageError, "^Ready: part 5 from client 2, which is at part 5 of 5$")
