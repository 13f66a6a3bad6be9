"""A client accepts only what the server signed for its agreement, run, recipient and place."""

from dataclasses import replace

import pytest

from secfc.crypto.identity import Identity, Roster
from secfc.errors import MessageError, ParameterError, SealError, SecFCError
from secfc.protocol.messages import SERVER, Plan, StepNotice
from secfc.protocol.messages import wire as encoding
from secfc.protocol.messages.wire import Signer
from secfc.version import PROTOCOL

ROWS = [[[0.0], [0.5]], [[9.0], [9.5], [8.0]], [[0.2], [7.0]]]


def assert_refused(net, data):
    with pytest.raises(SealError, match="the server: its message is not signed for this run"):
        net.decode(data)


@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_a_client_cannot_ask_in_the_servers_name(wire, disclosure):
    net, plain = wire(ROWS, disclosure=disclosure), wire(ROWS, disclosure=disclosure)
    message = net.hold(StepNotice, recipient=1)
    attacked = replace(message, data=bytes(message.data)[::-1])
    stranger = Signer(
        replace(net.session, roster=Roster(net.session.roster.keys, (key := Identity()).public)), key
    )
    assert_refused(net, encoding.encode(attacked, k=2, signer=stranger))
    real = net.encode(message)
    assert_refused(net, net.encode(attacked)[:-64] + real[-64:])  # the signature of another body
    assert_refused(net, real[:-64] + bytes(64))
    with pytest.raises(MessageError):
        net.decode(real[:-64])
    net.deliver(message)
    net.run()
    plain.run()
    assert net.labels() == plain.labels()


def test_another_partys_key_does_not_sign_for_the_server(wire):
    net = wire(ROWS)
    message = net.hold(Plan, recipient=1)
    with pytest.raises(ParameterError, match="roster: the server and client 2 have the same key"):
        Roster(net.session.roster.keys, net.session.roster.keys[1])
    with pytest.raises(ParameterError, match=r"^server: its identity is not the one pinned"):
        Signer(net.session, net.identities[1])
    signer = Signer(net.session, net.coordinator)
    signer._identity = net.identities[1]
    assert_refused(net, encoding.encode(message, k=2, signer=signer))


def test_every_field_of_the_header_but_the_recipient_is_signed(wire):
    net = wire(ROWS)
    message = net.hold(Plan, recipient=1)
    for at in {*range(5, 29)} - {*range(23, 25)}:  # run, sender and round
        changed = bytearray(net.encode(message))
        changed[at] ^= 1
        assert_refused(net, bytes(changed))


def test_what_the_server_sends_to_all_alike_has_one_signature(wire):
    net = wire(ROWS)
    first = net.hold(Plan, recipient=1)
    for message in (first, StepNotice(run=first.run, sender=SERVER, recipient=1, round=1, data=b"")):
        signatures = {bytes(net.encode(replace(message, recipient=j)))[-64:] for j in (1, 2, 3)}
        assert len(signatures) == 1


def test_messages_of_another_run_recipient_or_time_are_refused(wire, refuses):
    first = wire(ROWS)
    old = first.decode(first.encode(first.hold(StepNotice, recipient=1)))
    replayed = first.encode(replace(old, run=bytes(16)))
    assert_refused(first, bytes(replayed[:5]) + old.run + bytes(replayed[21:]))
    refuses(first.clients[2], old, MessageError, "for party 1, received by party 2")
    first.deliver(old)
    refuses(first.clients[1], old, MessageError, "party 0 sent what it has sent before")


def test_a_server_message_cannot_be_sent_without_a_signer(wire):
    net = wire(ROWS)
    message = StepNotice(run=net.session.run, sender=SERVER, recipient=1, data=b"")
    with pytest.raises(SecFCError, match="the server signs its messages"):
        encoding.encode(message, k=2)


def test_parties_of_different_versions_do_not_run_together(wire, monkeypatch):
    """The error names the client and both versions. Their agreements differ, too."""
    net = wire(ROWS)
    hello = bytes(net.links[1, SERVER][0][1])
    older = hello[:3] + str(PROTOCOL - 1).encode() + hello[4:]
    with pytest.raises(MessageError, match=f"of version {PROTOCOL - 1} of the protocol; this"):
        net.decode(older)
    ours = net.job.session(net.session.roster, bytes(16)).agreement
    monkeypatch.setattr("secfc.protocol.job.job.PROTOCOL_BYTES", (PROTOCOL - 1).to_bytes(2, "little"))
    assert net.job.session(net.session.roster, bytes(16)).agreement != ours
