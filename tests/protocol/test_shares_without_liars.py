"""With disclosure "labels", shares are checked even at max_liars=0: a run ends; nobody alone is accused."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from support.wire import UnionWire, Wire

from secfc.errors import MessageError, SealError, TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.protocol.messages import Assignment, Dispute, Echo, Report, Share
from secfc.protocol.messages.wire import envelope
from secfc.protocol.states import State
from secfc.sharing.dealing import NOT_READ

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(5)
FIVE = [_RNG.normal(size=(m, 2)).round(2) for m in (3, 4, 2, 5, 3)]
"""Five clients. With t = ell = 1 shares of three clients are not all free, so one check is possible."""

CLIENTS = (1, 2, 3, 4, 5)
THREE = FIVE[:3]


def labelled(rows=FIVE, **more):
    return Wire(rows, **{"disclosure": "labels", "seed": 1} | more)


def asked(message):
    """Fail at a question: the run should have ended before it."""
    return pytest.fail("asked") if isinstance(message, Assignment) else False


def not_asked(net):
    return net.run(drop=asked)


@pytest.mark.some(14)
@pytest.mark.parametrize(("dealer", "victim"), list(permutations(CLIENTS, 2)))
@pytest.mark.parametrize("by", [1, 1 << 20])
def test_a_share_on_no_polynomial_ends_the_run_and_names_its_dealer_and_who_differs(dealer, victim, by):
    net = labelled()
    net.deal_badly(dealer, (victim,), by=by)
    text = (
        rf"^part 0 of the shares that client {dealer} dealt is not on a polynomial, according to the "
        rf"clients' reports; the report of {victim} differs from the others: client {dealer} dealt wrong "
        rf"shares or a report is wrong, and with max_liars=0 no client may lie$"
    )
    with pytest.raises(TooManyFaultsError, match=text) as caught:
        not_asked(net)
    assert caught.value.clients == tuple(sorted({dealer, victim}))


@pytest.mark.parametrize("dealer", [1, 2, 3])
@pytest.mark.parametrize("victims", [(1,), (2,), (3,), (1, 3)])
def test_three_clients_show_whose_shares_are_bad_and_nothing_of_who_lies(dealer, victims):
    net = labelled(THREE)
    net.deal_badly(dealer, victims)
    text = rf"^part 0 of the shares that client {dealer} dealt .*, according to the clients' reports: "
    with pytest.raises(TooManyFaultsError, match=text) as caught:
        not_asked(net)
    assert caught.value.clients == (dealer,)


@pytest.mark.parametrize("rows", [1, 2])
def test_one_wrong_entry_of_a_later_part_is_found(part_rows, rows):
    part_rows(rows)
    net = labelled()
    net.deal_badly(4, (2,), part=2, at=1)
    with pytest.raises(TooManyFaultsError, match=r"^part 2 of the shares that client 4 dealt"):
        not_asked(net)


@pytest.mark.parametrize("liar", CLIENTS)
def test_a_wrong_report_leaves_open_who_lies_and_nobody_shows_a_share(liar):
    net, about = labelled(), liar % 5 + 1
    net.lie_about(liar, {about})
    text = rf"the report of {liar} differs from the others: client {about} dealt wrong shares or a report is"
    with pytest.raises(TooManyFaultsError, match=text):
        net.run(drop=lambda message: pytest.fail("asked") if isinstance(message, Dispute) else asked(message))


def test_who_says_that_it_cannot_read_a_share_is_refused():
    net = labelled()
    report = net.hold(Report, recipient=0, sender=3)
    residues = PackedResidues(shape=report.residues.shape, payload=bytearray(report.residues.payload))
    residues.planes()[..., 3:6] = list(NOT_READ.to_bytes(3, "little"))
    with pytest.raises(MessageError, match=r"^Report: a residue from client 3 is not below its prime"):
        net.deliver(replace(report, residues=residues))


def test_a_share_that_cannot_be_read_is_refused_and_nobody_goes_on_without_it():
    net = labelled()
    share = net.hold(Share, recipient=2, sender=4)
    with pytest.raises(SealError, match="client 4"):
        net.deliver(replace(share, sealed=net.seal(4, 2, 1, bytes(len(share.sealed.payload) - 16))))
    assert net.clients[2].unreadable(envelope(net.encode(share))) == []
    assert net.clients[2].needs("Share", 4)


@pytest.mark.parametrize("forged", [bytes(96), bytes(range(96))])
def test_a_seed_that_the_server_did_not_sign_ends_the_run_for_who_waits_for_it(forged):
    net = labelled()
    echo = net.hold(Echo, recipient=2, sender=4)
    assert net.clients[2].needs("Echo", 4)
    text = "Echo: client 4 shows a seed for check 0 that the server did not sign"
    with pytest.raises(SealError, match=text):
        net.deliver(replace(echo, sealed=net.seal(4, 2, 0, forged, b"echo")))


def test_once_a_question_is_asked_nobody_needs_an_echo():
    net = labelled()
    net.run(until=lambda: net.clients[2].phase.state is State.ITERATE and net.server.state is State.ITERATE)
    net.run()
    assert not net.clients[2].needs("Echo", 4)


@pytest.mark.parametrize("dealer", CLIENTS)
def test_rows_of_a_union_are_checked_part_by_part(part_rows, dealer):
    part_rows(4)
    net = UnionWire(FIVE, disclosure="labels", seed=1)
    net.deal_badly(dealer, (dealer % 5 + 1,), part=1)
    with pytest.raises(TooManyFaultsError, match=rf"^part 1 of the shares that client {dealer} dealt"):
        not_asked(net)
