"""Wrong copies of every message of a run are delivered before it: all are refused and change nothing."""

import random
from collections import Counter

import numpy as np
import pytest
from support.sweeps import sweep
from support.wire import UnionWire

from secfc.errors import MessageError
from secfc.protocol.messages import (
    KINDS,
    SERVER,
    Hello,
    Plan,
    Step,
    StepNotice,
    StepReport,
)
from secfc.protocol.states import State

_RNG = np.random.default_rng(5)
FIVE = [_RNG.normal(size=(m, 2)).round(2) + m for m in (3, 2, 4, 3, 2)]
BODY = 29
"""Position at which a message's body begins."""

AUTHENTIC = Hello | Plan | Step | StepNotice
"""Sealed or signed, so no flipped bit of the body is accepted. The first 4 bytes of some are the part."""

ENDS = {"truncated", "longer", "a flipped bit", *(f"from {sender}" for sender in (1, 2, 3, 4, 5))}
"""Errors of a step with a right header that cannot be opened. They end the run by the sender's name."""


@pytest.fixture(params=["coded", "labels", "membership"])
def run(request, wire):
    """A run of five clients, in each variant that adds types of messages."""
    match request.param:
        case "coded":
            return wire(FIVE, max_liars=1)
        case "labels":
            return wire(FIVE, disclosure="labels", comparers=(2, 5, 3))
    return UnionWire(FIVE, max_liars=1)


def wrong(rng, message, data):
    """Bytes that no recipient accepts when it waits for `message`, each with its error."""
    yield "another run", _changed(data, 5 + rng.randrange(16), 1 << rng.randrange(8))
    for sender in {0, 1, 5, 6, 65535} - {message.sender, message.recipient}:
        if isinstance(message, AUTHENTIC) or (sender == SERVER) != (message.sender == SERVER) or sender > 5:
            yield f"from {sender}", data[:21] + sender.to_bytes(2, "little") + data[23:]
    yield "for another", data[:23] + ((message.recipient + 1) % 6).to_bytes(2, "little") + data[25:]
    yield "truncated", data[: rng.randrange(len(data))]
    yield "longer", data + rng.randbytes(rng.randrange(1, 9))
    yield "another format", _changed(data, rng.randrange(4), 1 << rng.randrange(8))
    yield "no type", data[:4] + bytes([rng.randrange(len(KINDS), 256)]) + data[5:]
    if not isinstance(message, Step | StepReport):  # there it is for costs alone
        yield "a late round", data[:25] + (2**32 - 1).to_bytes(4, "little") + data[BODY:]
    if isinstance(message, AUTHENTIC):
        for _ in range(3):
            at = rng.randrange(BODY * 8, len(data) * 8)
            yield "a flipped bit", _changed(data, at // 8, 1 << at % 8)


def _changed(data, at, bits):
    changed = bytearray(data)
    changed[at] ^= bits
    return bytes(changed)


def refused(net, pictured, role, data, *, before):
    """Whether these bytes are refused with MessageError, and the role is the same as in the picture."""
    try:
        message = net.decode(data)
        role.receive(message)
    except MessageError:
        assert pictured(role) == before
        return True
    return False


def is_late(message, role):
    """Whether the recipient drops the message unread, because it needs it no more."""
    return isinstance(message, Step | StepReport | StepNotice) and role.state is State.DONE


def held(role):
    """What a role keeps of steps to come."""
    steps = role._steps
    return repr(steps and steps.me.inbox._held)


most = pytest.mark.parametrize("most", sweep((2, 10**6), keep=(2,)), ids=("two of a type", "all"))


@pytest.mark.some(1)
@most
def test_wrong_copies_of_every_message_are_refused_and_change_nothing(run, pictured, most):
    """Checks `most` messages of each type to each recipient."""
    rng, net, kinds = random.Random(7), run, Counter()
    while links := net.pending():
        message = net.take(links[0])
        data, role = bytes(net.encode(message)), net.role(message.recipient)
        kinds[type(message), message.recipient] += 1
        copies, before = (), None
        if kinds[type(message), message.recipient] <= most:
            copies, before = wrong(rng, message, data), pictured(role)
        for what, changed in copies:
            if (
                message.recipient in net.server.faults.left_out
                or message.sender in net.server.faults.left_out
            ):
                continue  # messages of such a client are dropped
            if is_late(message, role):
                continue
            assert refused(net, pictured, role, changed, before=before), (type(message).__name__, what)
        net.deliver(message)
    assert net.server.state is State.DONE
    assert {Hello, Plan, Step, StepReport, StepNotice} <= {kind for kind, _ in kinds}


@pytest.mark.some(1)
@most
def test_what_was_delivered_is_refused_when_it_comes_again(run, pictured, most):
    """Repeats `most` messages of each type to each recipient, and after each one any other."""
    rng, net, seen, kinds = random.Random(8), run, [], Counter()
    while links := net.pending():
        message = net.take(links[0])
        data, role = bytes(net.encode(message)), net.role(message.recipient)
        net.deliver(message)
        seen.append((message, data))
        kinds[type(message), message.recipient] += 1
        if kinds[type(message), message.recipient] > most:
            continue
        for old, again in (seen[-1], rng.choice(seen)):
            if {old.sender, old.recipient} & set(net.server.faults.left_out):
                continue
            role = net.role(old.recipient)
            before, held_before = pictured(role), held(role)
            if not refused(net, pictured, role, again, before=before):
                # Enough others were there before it: what comes late of a step that is over is dropped.
                assert isinstance(old, Step | StepReport | StepNotice)
                assert held(role) == held_before


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", range(4))
def test_messages_of_a_twin_run_are_refused(wire, pictured, seed):
    """The other run has the same parties, job and seed. Its messages are not valid in this one."""
    rng, net = random.Random(seed), wire(FIVE, max_liars=1)
    other = wire(FIVE, max_liars=1)
    foreign = []
    while links := other.pending():
        message = other.take(rng.choice(links))
        foreign.append(message)
        other.deliver(message)
    sealed = [one for one in foreign if isinstance(one, Hello | Plan | Step | StepNotice)]
    while links := net.pending():
        message = net.take(rng.choice(links))
        for one in rng.sample(sealed, 3):
            role = net.role(one.recipient)
            if isinstance(one, Step) and role.state is not State.ITERATE:
                continue  # it is kept unread until the plan, or dropped at the end
            assert refused(net, pictured, role, bytes(other.encode(one)), before=pictured(role))
        net.deliver(message)
    assert net.server.state is State.DONE
