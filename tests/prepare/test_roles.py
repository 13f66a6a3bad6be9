"""Parties of a preparation: one result for any order of messages; others are refused, nothing is shown."""

import random
import struct
import tracemalloc
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.sweeps import tries

import secfc
from secfc.crypto.channel import Sealed
from secfc.crypto.handshake import digest_of
from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.errors import AgreementError, CheatError, LimitError, MessageError, SealError
from secfc.prepare import Column, Schema
from secfc.prepare.opening_role import Preparer, Terms
from secfc.prepare.preparing_wire import decode, encode
from secfc.prepare.statistics import Contribution
from secfc.prepare.summation import Summation
from secfc.protocol.gathering import preparing_late
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import PREPARING, Complete, Deal, Hello, Holds, Introduce, Opening, Plan, Step
from secfc.protocol.messages import wire as encoding
from secfc.protocol.messages.accepted import Sizes
from secfc.protocol.messages.wire import envelope, header_of

searches = tries(0.5)


def picture(party):
    """Everything of a party that a message may change."""
    sums = party._summation
    return (
        (sums._dealers, sums._sum.tolist(), sorted(sums._opened), sums.totals),
        dict(party._holds),
        sorted(party._complete),
        dict(party._heard),
        sorted(party._introductions),
        sorted(party._early),
        sorted(party._channels),
        party._handshake is None,
        list(party._values),
        party.statistics,
    )


def refused(wire, message, text, error=MessageError):
    party = wire.parties[message.recipient]
    before = picture(party)
    with pytest.raises(error, match=text):
        party.receive(message)
    assert picture(party) == before


def test_each_party_sends_five_messages_to_each_other_whatever_it_holds(wire):
    few = [{"age": [1.0], "dose": [np.nan, 3.0]}, {"age": [2.0], "dose": [3.0]}, {"age": [9.0], "dose": [1]}]
    many = [{"age": np.full(900, 3.0 + j), "dose": np.full(900, 1.0)} for j in range(3)]
    sizes = []
    for values in (few, many):
        net = wire(values)
        net.run()
        heads = [(envelope(data), len(data)) for data in net.sent]
        sizes.append(sorted((one.sender, one.recipient, size) for one, size in heads))
    assert len(sizes[0]) == 3 * 2 * 5
    assert sizes[0] == sizes[1]
    # As docs/optional.md says, with two columns.
    assert sum(size for _, _, size in sizes[0]) == 3 * 2 * (473 + 91 * 2)


def test_introductions_tell_nothing_of_rows(wire):
    net = wire()
    for sender, recipient in net.pending():
        message = net.take(sender, recipient)
        assert isinstance(message, Introduce)
        assert message.introduction.rows == 0
        assert message.introduction.start == digest_of(None)


def test_a_schema_that_opens_nothing_ends_with_the_introductions(wire):
    net = wire([{}] * 3, columns=(Column(name="a", low=0, high=1),))
    net.run()
    assert [party.statistics for party in net.parties.values()] == [{}] * 3
    assert len(net.sent) == 6


def test_too_few_holders_end_it_at_every_party_before_any_value_is_shared(wire):
    values = [{"age": [1.0, 2.0], "dose": [1.0, 2.0]}, {"age": [3.0, 4.0], "dose": [np.nan, 5.0]}] * 2
    net = wire(values, smallest=2)
    refusals = []
    while links := net.pending():
        try:
            net.deliver(net.take(*links[0]))
        except LimitError as error:
            refusals.append(str(error))
    assert len(refusals) == 4
    assert all("column 'dose' 2" in one and "age" not in one for one in refusals)
    assert {type(decode(data)) for data in net.sent} == {Introduce, Holds}


def test_a_party_on_other_terms_is_named(wire):
    net = wire()
    schema = Schema(columns=(net.terms.schema.columns[0],))
    terms = Terms(n=3, t=1, schema=schema)
    roster = net.session.roster
    session = terms.session(run=net.session.run, roster=roster)
    party = Preparer(
        number=2,
        terms=terms,
        session=session,
        identity=net.identities[1],
        sums=[Contribution(count=0, numbers=(0, 0, 0))],
        masks=MaskSource(),
    )
    message = next(one for one in party.start() if one.recipient == 1)
    refused(net, message, "client 2: it prepares by another schema", AgreementError)


@pytest.mark.parametrize(
    "change", [{"n": 5}, {"t": 2, "n": 5}, {"schema": Schema(columns=(Column(name="b", low=0, high=1),))}]
)
def test_terms_that_differ_have_other_digests(change):
    given = {"n": 3, "t": 1, "schema": Schema(columns=(Column(name="a", low=0, high=1),))}
    assert Terms(**given).digest != Terms(**given | change).digest


def test_a_roster_of_others_is_refused(wire):
    net = wire()
    with pytest.raises(secfc.ParameterError, match="roster: it has 2 clients, the terms have 3"):
        net.terms.session(run=bytes(16), roster=Roster(net.session.roster.keys[:2]))
    with pytest.raises(secfc.ParameterError, match="client 1: its identity is not the one pinned"):
        net.party(1, identity=Identity())
    with pytest.raises(secfc.ParameterError, match="sums: 0 were given, 2 columns are opened"):
        net.party(1, sums=[])


# Messages that must be refused


KINDS = (Introduce, Holds, Deal, Complete, Opening)
SEALED = KINDS[1:]


def reach(net, kind):
    """Run until this type of message from client 2 to client 1 is due; return it."""
    return net.run(until=lambda one: (type(one), one.sender, one.recipient) == (kind, 2, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_every_message_is_checked_before_it_is_used(wire, kind):
    net = wire()
    message = reach(net, kind)
    refused(net, replace(message, run=bytes(16)), "of another run")
    refused(net, replace(message, sender=4), "from party 4, the clients are 1 to 3")
    refused(net, replace(message, sender=0), "from party 0")
    refused(net, replace(message, round=message.round + 1), "out of turn")
    with pytest.raises(MessageError, match="for client 3, received by client 1"):
        net.parties[1].receive(replace(message, recipient=3))
    net.deliver(message)
    refused(net, message, "out of turn")  # a replay
    net.run()
    assert all(party.done for party in net.parties.values())
    refused(net, message, "out of turn")


@pytest.mark.parametrize("kind", SEALED)
def test_sealed_bytes_that_are_not_the_senders_for_this_place_are_refused(wire, kind):
    net = wire()
    message = reach(net, kind)
    sealed = bytes(message.sealed.payload)
    for at in (0, len(sealed) // 2, len(sealed) - 1):
        flipped = bytearray(sealed)
        flipped[at] ^= 1
        changed = replace(message, sealed=Sealed(payload=flipped))
        refused(net, changed, "was not sealed by it", SealError)
    for changed in (sealed[:-1], sealed + b"\0"):
        text = "sealed bytes from client 2, .* are needed"
        refused(net, replace(message, sealed=Sealed(payload=changed)), text)
    # A seal of client 2 for client 3, or of client 3 for client 1, in the same place.
    for data in [one for one in net.sent if not isinstance(decode(one), Introduce)]:
        other = decode(data)
        if len(other.sealed.payload) == len(sealed) and (other.sender, other.recipient) != (2, 1):
            refused(net, replace(message, sealed=other.sealed), "was not sealed by it", SealError)
    net.deliver(message)
    net.run()
    assert net.parties[1].done


def test_an_opening_that_overtakes_the_introductions_is_refused(wire):
    net = wire()
    late = {}
    while links := [link for link in net.pending() if link != (3, 1)]:
        message = net.take(*links[0])
        late[type(message), message.recipient] = message
        if message.recipient != 1 or message.sender == 3 or message.sender == 2:
            net.deliver(message)
    # Client 1 has no message of client 3. It keeps what client 2 holds, but no sum can be there yet.
    assert sorted(net.parties[1]._early) == [2]
    forged = Opening(run=net.session.run, sender=2, recipient=1, sealed=Sealed(payload=bytes(90 + 16)))
    refused(net, forged, "out of turn")
    net.run()
    assert all(party.done for party in net.parties.values())


def test_early_messages_that_do_not_open_count_as_not_sent(wire):
    net = wire()
    held = None
    while links := [link for link in net.pending() if link != (3, 1)]:
        message = net.take(*links[0])
        if isinstance(message, Holds) and (message.sender, message.recipient) == (2, 1):
            held = message
            message = replace(message, sealed=Sealed(payload=bytes(len(message.sealed.payload))))
        net.deliver(message)
    net.deliver(net.take(3, 1))
    assert net.parties[1]._heard[2] == 1
    net.deliver(held)
    net.run()
    assert all(party.done for party in net.parties.values())


def signed(net, number, **changes):
    """A client's introduction with changes, signed by the client."""
    one = replace(net.parties[number]._introductions[number], **changes)
    said = struct.pack("<HII", number, one.rows, one.smallest)
    said += one.start + one.weights + one.ephemeral + one.commitment
    head = b"secfc introduction 1" + net.session.run + net.session.agreement
    return replace(one, signature=net.identities[number - 1].sign(head + said))


def test_introductions_that_are_not_the_clients_are_refused(wire):
    net = wire()
    message = reach(net, Introduce)
    introduction = message.introduction
    mine = net.parties[3]._introductions[3]
    for forged in (
        replace(introduction, ephemeral=mine.ephemeral),
        replace(introduction, rows=1),
        replace(introduction, signature=mine.signature),
        mine,
    ):
        refused(net, replace(message, introduction=forged), "client 2: .* is not signed", SealError)
    refused(net, replace(message, introduction=signed(net, 2, rows=7)), "client 2 tells of rows")
    refused(net, replace(message, introduction=signed(net, 2, start=bytes(32))), "client 2 tells of rows")
    other = wire(run=bytes(16))
    foreign = reach(other, Introduce).introduction
    refused(net, replace(message, introduction=foreign), "is not signed", SealError)


def test_a_key_of_small_order_is_refused(wire):
    net = wire()
    net.deliver(net.take(2, 1))
    message = net.take(3, 1)
    small = signed(net, 3, ephemeral=bytes(32))
    refused(
        net, replace(message, introduction=small), "client 3: its ephemeral key shares no secret", SealError
    )
    net.deliver(message)
    net.run()
    assert net.parties[1].done


def test_clients_that_were_shown_different_introductions_open_nothing_of_each_other(wire):
    net = wire()
    twin = net.party(2)  # client 2 has two keys: one for client 1, one for client 3
    shown = next(one for one in twin.start() if one.recipient == 3)
    net.links[2, 3][0] = encode(shown)
    refusals = []
    while links := net.pending():
        try:
            net.deliver(net.take(*links[0]))
        except SealError as error:
            refusals.append(str(error))
    assert any("from client 1 was not sealed by it for client 3" in one for one in refusals)
    assert not all(party.done for party in net.parties.values())
    assert {type(decode(data)) for data in net.sent} == {Introduce, Holds}


@pytest.mark.parametrize("kind", [Holds, Deal, Opening])
def test_what_cannot_be_is_refused_though_sealed(wire, kind):
    net = wire()
    message = reach(net, kind)
    size = len(message.sealed.payload) - 16
    text = "neither 0 nor 1" if kind is Holds else "integers that are not below their prime"
    refused(net, net.resealed(message, b"\xff" * size), text)
    net.deliver(message)
    net.run()
    assert net.parties[1].done


def test_counts_that_no_party_can_hold_are_noticed(wire):
    net = wire()
    net.parties[2]._values = [1 << 100] * 6
    text = "column 'age': no values have the opened totals, .*; shares hide which client"
    with pytest.raises(CheatError, match=text):
        net.run()


@pytest.mark.parametrize("kind", [kind.__name__ for kind in PREPARING])
def test_who_holds_a_preparation_up_is_told_from_those_who_wait(wire, kind):
    net, carried = wire(n=4), Counter()
    while links := [link for link in net.pending() if (2, kind) != (link[0], name_of(net, link))]:
        message = net.take(*links[0])
        carried[type(message).__name__, *links[0]] += 1
        net.deliver(message)
    assert not all(party.done for party in net.parties.values())
    assert preparing_late((1, 2, 3, 4), n=4, carried=lambda *link: carried[link]) == (2,)


def name_of(net, link):
    return envelope(net.links[link][0]).kind


# Any message


def mutated(rng, data, seen):
    changed = bytearray(data)
    match rng.randrange(7):
        case 0:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        case 1:
            del changed[rng.randrange(len(changed)) :]
        case 2:
            changed += rng.randbytes(rng.randrange(1, 40))
        case 3:
            changed[4] = rng.randrange(20, 29)
        case 4:
            changed[25:29] = rng.randrange(2 ** rng.choice((2, 31))).to_bytes(4, "little")
        case 5:
            changed[29:] = rng.choice(seen)[29:]
        case 6:
            pass  # a replay
    return bytes(changed)


@searches
@example(seed=0, rate=0.0)
@example(seed=6236, rate=0.5)
@given(seed=st.integers(0, 10**9), rate=st.floats(0, 0.6))
def test_what_a_carrier_slips_in_changes_nothing(wire, seed, rate):
    clean, net, rng = wire(n=4), wire(n=4), random.Random(seed)
    clean.run()
    while links := net.pending():
        while rng.random() < rate:
            try:
                message = decode(mutated(rng, rng.choice(net.sent), net.sent))
            except MessageError:
                continue
            if message.recipient in net.parties:
                with suppress(MessageError, AgreementError):
                    net.deliver(message)
                    # It was due anyway, and came early.
                    due = net.links[message.sender, message.recipient]
                    if due and due[0] == encode(message):
                        due.popleft()
        links = net.pending()
        if not links:
            break
        message = net.take(*rng.choice(links))
        try:
            net.deliver(message)
        except MessageError:
            # Forged shares that came before all introductions can take the place of the true ones for a
            # while.
            if not net.parties[message.recipient]._channels:
                net.links[message.sender, message.recipient].appendleft(encode(message))
    for party in net.parties.values():
        assert party.statistics == clean.parties[1].statistics


@searches
@given(data=st.binary(max_size=250), head=st.integers(0, 60))
def test_any_bytes_decode_to_a_message_or_raise_the_one_error(wire, data, head):
    for real in (wire().sent[0], reach_bytes(wire())):
        for candidate in (data, bytes(real[:head]) + data):
            try:
                message = decode(candidate)
            except MessageError:
                continue
            assert encode(message) == candidate
            head = envelope(candidate)
            assert (head.kind, head.sender, head.recipient, head.round) == (
                type(message).__name__,
                message.sender,
                message.recipient,
                message.round,
            )


def reach_bytes(net):
    return encode(reach(net, Deal))


def test_a_message_that_is_too_large_is_not_read():
    tracemalloc.start()
    try:
        big = encode(Deal(run=bytes(16), sender=1, recipient=2, sealed=Sealed(payload=bytes(1 << 25))))
        tracemalloc.reset_peak()
        with pytest.raises(MessageError, match="oversized message: Deal of 33554461 bytes, at most"):
            decode(big)
        assert tracemalloc.get_traced_memory()[1] < (1 << 25) + (1 << 16)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [Hello, Plan, Step])
def test_a_message_of_a_run_is_none_of_a_preparation(kind):
    head = header_of(kind, run=bytes(16), sender=0, recipient=1, round_=0)
    with pytest.raises(MessageError, match=f"^{kind.__name__}: not a message of a preparation$"):
        decode(head + bytes(200))


@pytest.mark.parametrize("kind", PREPARING)
def test_a_message_of_a_preparation_is_none_of_a_run(kind):
    head = header_of(kind, run=bytes(16), sender=2, recipient=1, round_=0)
    sizes = Sizes(make_job(n=5, k=2, t=1, ell=1, d=3, bound=1.0, disclosure="coded"))
    with pytest.raises(MessageError, match=f"^{kind.__name__}: a message of a preparation"):
        encoding.decode(head + bytes(200), k=2, session=None, most=sizes.most_bytes)


# What is shown


def test_nothing_secret_shows(wire):
    net = wire(
        [{"age": [77.0], "dose": [33.0]}, {"age": [1.0], "dose": [2.0]}, {"age": [3.0], "dose": [4.0]}]
    )
    party = net.parties[1]
    secrets = [str(value) for value in party._values]
    message = reach(net, Deal)
    shown = [repr(party), repr(party._summation), repr(message), repr(party._channels), repr(party._early)]
    with pytest.raises(SealError) as caught:
        party.receive(replace(message, sealed=Sealed(payload=bytes(len(message.sealed.payload)))))
    shown.append(str(caught.value))
    for text in shown:
        assert not any(secret in text for secret in secrets if len(secret) > 2)
        assert repr(bytes(message.sealed.payload)) not in text


def test_values_are_forgotten_once_they_are_shared(wire):
    net = wire()
    net.run()
    assert all(party._values == [] for party in net.parties.values())
    assert all(party._handshake is None for party in net.parties.values())


def test_no_share_and_no_sum_passes_whoever_carries_the_messages(wire, monkeypatch):
    plain = []
    deal, tell = Summation.deal, Summation.open

    def listened_deal(self, values):
        shares = deal(self, values)
        plain.extend(shares.values())
        return shares

    def listened_open(self):
        plain.append(tell(self))
        return plain[-1]

    monkeypatch.setattr(Summation, "deal", listened_deal)
    monkeypatch.setattr(Summation, "open", listened_open)
    net = wire()
    net.run()
    assert len(plain) == 3 * (2 + 1)
    carried = b"|".join(net.sent)
    # Not even the residues of one prime.
    pieces = [payload[at : at + len(payload) // 5] for payload in plain for at in range(0, len(payload), 6)]
    assert not any(piece in carried for piece in pieces if len(piece) >= 6)
