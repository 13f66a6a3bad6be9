"""Parties that lie or withhold while totals are opened: what they learn, and what the others get."""

from itertools import product

import numpy as np
import pytest

from secfc.crypto.channel import TAG_BYTES
from secfc.errors import CheatError, LimitError, MessageError, SealError
from secfc.prepare import Column
from secfc.prepare.preparing_wire import decode, encode
from secfc.protocol.messages import Complete, Deal, Holds, Opening

AGE = Column(name="age", low=0, high=120, scale="standardise")


def held(*counts):
    """Values of one column, with these numbers of rows at the parties."""
    rng = np.random.default_rng(7)
    return [{"age": rng.uniform(20, 80, count)} for count in counts]


def kinds(net, senders):
    return {type(decode(data)) for data in net.sent if decode(data).sender in senders}


def refusals(net, change=lambda message: message):
    """Deliver all messages after `change` (None: lost); return the error of each party."""
    errors = {}
    while links := net.pending():
        message = change(net.take(*links[0]))
        if message is None or message.recipient in errors:
            continue
        try:
            net.deliver(message)
        except (CheatError, LimitError, MessageError) as error:
            errors[message.recipient] = error
    return errors


# Parties that have values


@pytest.mark.parametrize("told", [3, 2, 255])
def test_who_says_that_it_is_several_holders_is_refused_before_a_value_is_dealt(wire, told):
    net = wire(held(1, 0, 10), columns=(AGE,), smallest=10)
    net.parties[3]._holds[3] = bytes([told])
    errors = refusals(net)
    for j in (1, 2):
        assert isinstance(errors[j], MessageError)
        assert str(errors[j]) == "Holds: from client 3, a byte that is neither 0 nor 1"
    assert not {Deal, Opening} & kinds(net, {1, 2})


def test_who_invents_values_is_one_holder_and_no_more(wire):
    net = wire(held(1, 10, 10), columns=(AGE,), smallest=10)
    errors = refusals(net)
    assert {type(error) for error in errors.values()} == {LimitError}
    assert str(errors[1]).endswith("column 'age' 2")
    assert not {Deal, Opening} & kinds(net, {1, 2, 3})


@pytest.mark.parametrize(("n", "t"), [(3, 1), (4, 1), (5, 2), (6, 2), (7, 3)])
def test_of_t_plus_two_holders_two_are_honest_whatever_t_liars_say(wire, n, t):
    """For all honest parties with values and all liars: nobody deals unless two honest ones have some."""
    net = wire(held(*[1] * n), columns=(AGE,), t=t)
    party = net.parties[1]
    for honest in product((0, 1), repeat=n - t):
        for lies in product((0, 1), repeat=t):
            party._holds = {j: bytes([bit]) for j, bit in enumerate((*honest, *lies), 1)}
            try:
                party._check_holders()
            except LimitError:
                continue
            assert sum(honest) >= 2


@pytest.mark.parametrize(
    ("third", "kind", "text"),
    [
        (0, LimitError, "parties with at least 2 values"),
        (4, CheatError, "client 1 reports other holders than client 2 received"),
    ],
)
def test_who_tells_parties_different_things_opens_nothing(wire, third, kind, text):
    net = wire(held(4, 4, third, 4), columns=(AGE,), smallest=2)

    def change(message):
        if isinstance(message, Holds) and (message.sender, message.recipient) == (4, 2):
            return net.resealed(message, b"\0")
        return message

    errors = refusals(net, change)
    assert isinstance(errors[2], kind)
    assert str(errors[2]).startswith(text)
    assert Opening not in kinds(net, {1, 2, 3})
    assert not any(net.parties[j].done for j in (1, 2, 3))


@pytest.mark.parametrize("kind", [Holds, Complete])
def test_who_says_otherwise_after_an_error_has_ended_the_preparation_is_refused(wire, kind):
    """Client 3 first says what ends the preparation for client 1, then what would have let it continue."""
    net = wire(held(4, 4, 4), columns=(AGE,), smallest=2)
    message = net.take(3, 1) if net.links[3, 1] else None
    while type(message) is not kind or (message.sender, message.recipient) != (3, 1):
        if message is not None:
            net.deliver(message)
        links = [link for link in net.pending() if link != (3, 1)] or net.pending()
        message = net.take(*links[0])
    wrong = net.resealed(message, bytes(len(message.sealed.payload) - TAG_BYTES))
    with pytest.raises((LimitError, CheatError)):
        net.deliver(wrong)
    with pytest.raises(MessageError, match=r"from client 3, after the preparation has ended$"):
        net.deliver(message)
    assert Opening not in kinds(net, {1})


# Parties that wait for the others' sums


def test_who_lacks_shares_and_says_otherwise_is_not_waited_for_by_honest_parties_alone(wire):
    """If an honest party's shares are withheld, it is not complete. A liar can claim it only for itself."""
    net = wire(n=4, t=1)
    seen = []

    def change(message):
        seen.append((type(message), message.sender))
        return None if (type(message), message.sender, message.recipient) == (Deal, 4, 3) else message

    refusals(net, change)
    assert (Complete, 3) not in seen
    assert Opening not in kinds(net, {1, 2, 3, 4})


@pytest.mark.parametrize(("n", "t"), [(3, 1), (4, 1), (5, 2), (7, 2)])
def test_who_holds_back_its_sum_has_the_totals_alone(wire, n, t):
    """The promise ends here: the party reads what all would have read, and cannot change it any more."""
    clean, net = wire(n=n, t=t), wire(n=n, t=t)
    clean.run()
    refusals(net, lambda one: None if isinstance(one, Opening) and one.sender == n else one)
    assert [j for j, party in net.parties.items() if party.done] == [n]
    assert net.parties[n].statistics == clean.parties[1].statistics


@pytest.mark.parametrize("n", [3, 4, 5])
def test_who_has_seen_all_sums_can_no_longer_change_what_they_add_up_to(wire, n):
    net = wire(n=n)

    def change(message):
        wrong = isinstance(message, Opening) and message.sender == n
        return net.resealed(message, bytes(90)) if wrong else message

    errors = refusals(net, change)
    assert set(errors) == set(range(1, n))
    assert all(isinstance(error, CheatError) for error in errors.values())


# Parties that deal wrong shares


def test_a_wrong_share_makes_its_recipient_s_sum_wrong_and_does_not_convict_it(wire):
    net = wire(n=5, t=1)

    def change(message):
        if isinstance(message, Deal) and (message.sender, message.recipient) == (4, 2):
            return net.resealed(message, bytes(90))
        return message

    errors = refusals(net, change)
    told = [str(error) for j, error in errors.items() if j != 2]
    assert told
    for text in told:
        assert "client 2 is: it sent a wrong sum, or a client dealt it a wrong share" in text


# Messages of earlier preparations


def test_nothing_of_an_earlier_preparation_with_the_same_run_identifier_is_taken(wire):
    """A client's key is fresh in each preparation, so its old introduction opens none of its old messages."""
    net = wire()
    old = list(net.sent)
    while links := net.pending():
        net.deliver(net.take(*links[0]))
    old = [data for data in net.sent if decode(data).sender == 2 and decode(data).recipient == 1]
    again = wire()
    again.terms, again.session, again.identities = net.terms, net.session, net.identities
    again.parties = {j: again.party(j) for j in (1, 2, 3)}
    one = again.parties[1]
    again.sent.clear()
    again.links.clear()
    again.post(one.start())
    again.post([message for message in again.parties[3].start() if message.recipient == 1])
    introduce, *sealed = map(decode, old)
    one.receive(introduce)  # it is client 2's, and signed for this run
    again.post(one.receive(again.take(3, 1)))
    assert {type(message) for message in sealed} == {Holds, Deal, Complete, Opening}
    with pytest.raises(SealError, match=r"prepare holds: .* from client 2 was not sealed by it"):
        one.receive(sealed[0])
    for message in sealed[1:]:
        with pytest.raises(MessageError, match="out of turn"):
            one.receive(message)
    assert not {Deal, Opening} & {type(decode(data)) for data in again.sent}
    assert encode(introduce) in old
