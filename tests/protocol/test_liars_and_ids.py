"""Liars with membership privacy: parts are checked before the shares of all clients are added up.

A bad dealer ends the run and is named, because no client can be left out. A client that lies about the shares
it got, or in an iteration, is excluded, and the result is right.
"""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.sweeps import crossed, sweep
from support.wire import UnionWire

from secfc.errors import MessageError, TooManyFaultsError
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Challenge,
    CodedDistances,
    Continue,
    Echo,
    Evidence,
    MaskedAnswer,
    Ready,
    Report,
    Share,
)
from secfc.protocol.states import State

_RNG = np.random.default_rng(3)
SEVEN = [_RNG.normal(size=(m, 2)).round(2) + 4 * (m % 2) for m in (3, 2, 4, 3, 2, 1, 3)]
"""Seven clients, R = 5 with t = 1, ell = 2, so one liar is tolerated."""
ROWS = 18
ROWS_OF_A_PART = 4
PARTS = 5

CLIENTS = sweep(range(1, 8), keep=(1, 4, 7))


@pytest.fixture(autouse=True)
def small_parts(part_rows):
    part_rows(ROWS_OF_A_PART)


def union(rows=SEVEN, **more):
    return UnionWire(rows, **{"t": 1, "ell": 2, "max_liars": 1, "seed": 2} | more)


def nine(**more):
    """R = 5, so two liars are tolerated."""
    return union([*SEVEN, np.array([[1.5, 2.0]]), np.array([[0.5, -1.0], [2.5, 3.0]])], max_liars=2, **more)


def lie(net, liar):
    """Run with all answers of a client wrong."""
    while links := net.pending():
        message = net.take(links[0])
        if isinstance(message, CodedDistances) and message.sender == liar:
            message = net.altered(message, first=5)
        if isinstance(message, MaskedAnswer) and message.sender == liar:
            message = net.wrong(message)
        net.deliver(message)


def as_exact_lloyd(net):
    """The server's labels are those of Lloyd's algorithm from its start, by hand on the union's rows."""
    rows = np.empty((net.server.layout.m, 2))
    for number, part in enumerate(net.rows, 1):
        rows[net.clients[number].union_rows] = part
    best = net.server.outcome
    sets = best.start
    for _ in range(best.n_iter + 1):
        centres = np.array([rows[sets == h].mean(axis=0) for h in range(net.job.k)])
        sets = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return sets.tolist() == best.labels.tolist()


class TestInTheIteration:
    @pytest.mark.some(1)
    @pytest.mark.parametrize(
        ("liar", "more"),
        crossed([1, 4, 7], [{}, {"disclosure": "labels", "comparers": (8, 9, 10)}]),
        ids=str,
    )
    def test_a_liar_is_named_and_the_result_is_right(self, liar, more):
        net = union(**more)
        lie(net, liar)
        assert liar != 1 or net.server.faults.liars == (1,)
        assert net.server.state is State.DONE
        assert net.server.faults.liars in ((liar,), ())  # the others may have been enough
        assert net.server.faults.left_out == net.server.faults.cheats == ()
        assert as_exact_lloyd(net)
        assert all(client.labels is not None for client in net.clients.values())


class TestBadDealers:
    @pytest.mark.parametrize(("client", "part"), crossed(CLIENTS, [0, 1, PARTS - 1], together=1))
    @pytest.mark.questions
    def test_every_client_that_deals_one_wrong_residue_of_one_row_ends_the_run_by_name(self, client, part):
        victim = client % 7 + 1
        net = union()
        net.deal_badly(client, (victim,), at=part % 2, part=part)
        with pytest.raises(
            TooManyFaultsError,
            match=f"lied about shares: client {client}: the share that it signed for client {victim} ",
        ):
            net.run()
        assert net.server.faults.cheats == (client,)
        assert net.server.outcome is None
        assert net.server.progress.round == 0  # no question was asked

    @pytest.mark.questions
    def test_a_dealer_that_gave_all_others_another_row_than_it_kept_is_excluded(self):
        net = union()
        net.deal_badly(2, (1, 3, 4, 5, 6, 7))
        net.run()
        assert net.server.faults.cheats == net.server.faults.liars == (2,)
        assert "it disputes its own shares" in net.server.gathering.liars[2]

    @pytest.mark.questions
    def test_the_error_says_what_a_new_run_without_the_dealer_would_show(self):
        net = union()
        net.deal_badly(2, (3,))
        with pytest.raises(TooManyFaultsError, match="the union of the new run would show how many rows"):
            net.run()

    @pytest.mark.questions
    def test_deviations_of_two_dealers_that_cancel_in_the_sum_are_found_all_the_same(self):
        net = nine()
        net.deal_badly(1, (5,))
        net.deal_badly(2, (5,), by=-1)
        with pytest.raises(TooManyFaultsError, match=r"client 1: the share .* client 2: the share "):
            net.run()


class TestLyingRecipients:
    @pytest.mark.some(1)
    @pytest.mark.parametrize(
        ("client", "about"), crossed(CLIENTS, [{1}, {4}, {1, 2, 3, 4, 5, 6, 7}], together=1), ids=str
    )
    @pytest.mark.questions
    def test_a_client_that_lies_in_its_reports_is_excluded_and_the_result_is_right(self, client, about):
        net = union()
        net.lie_about(client, about)
        net.run()
        assert net.server.faults.liars == net.server.faults.cheats == (client,)
        assert net.server.faults.left_out == ()
        assert as_exact_lloyd(net)
        assert all(one.labels is not None for one in net.clients.values())

    @pytest.mark.questions
    def test_who_disputes_and_shows_nothing_ends_the_run_at_the_deadline(self):
        net = union()
        net.lie_about(3, {1})
        net.run(drop=lambda message: isinstance(message, Evidence))
        assert net.server.awaited == (3,)
        with pytest.raises(TooManyFaultsError, match="client 3 is absent"):
            net.server.absent(3)


class TestSeeds:
    """Reports of one part about two seeds would give the server a combination of a dealer's rows."""

    @pytest.mark.questions
    def test_a_seed_for_a_part_that_is_not_complete_or_not_the_next_is_refused(self, refuses):
        net = union()
        share = net.hold(Share, recipient=2, sender=1)
        early = Challenge(run=share.run, sender=SERVER, recipient=2, round=1, seed=bytes(32))
        refuses(
            net.clients[2], early, MessageError, "^Challenge: number 1 when 0 came and 0 parts are complete"
        )
        net.deliver(share)
        challenge = net.hold(Challenge, recipient=2)
        for number in (0, 2, 3):
            refuses(net.clients[2], replace(challenge, round=number), MessageError, "^Challenge: number")
        net.deliver(challenge)
        refuses(net.clients[2], challenge, MessageError, "^Challenge: number 1 when 1 came")

    @pytest.mark.questions
    def test_echoes_out_of_turn_cut_or_of_this_client_are_refused(self, refuses):
        net = union()
        echo = net.hold(Echo, recipient=2, sender=1)
        for number in (0, 2, 9):
            refuses(net.clients[2], replace(echo, round=number), MessageError, "^Echo: of challenge")
        for payload in (echo.sealed.payload[:-1], bytes(echo.sealed.payload) + b"0"):
            cut = replace(echo, sealed=type(echo.sealed)(payload=payload))
            refuses(net.clients[2], cut, MessageError, "^Echo: .* sealed bytes")
        flipped = bytes([echo.sealed.payload[0] ^ 1]) + bytes(echo.sealed.payload[1:])
        refuses(
            net.clients[2], replace(echo, sealed=type(echo.sealed)(payload=flipped)), MessageError, "client 1"
        )
        net.deliver(echo)
        refuses(
            net.clients[2], echo, MessageError, "^Echo: of challenge 1 from client 1, challenge 2 is next"
        )


class TestOrder:
    @pytest.mark.questions
    def test_the_server_asks_for_a_part_when_the_one_two_before_is_checked(self):
        net, reported = union(), {}
        while links := net.pending():
            message = net.take(links[0])
            if isinstance(message, Report):
                reported.setdefault(message.round, set()).add(message.sender)
            if isinstance(message, Continue) and message.round == 0:
                assert len(reported[message.part - 1]) == 7  # reports of part p have the round p + 1
            net.deliver(message)
        assert sorted(reported) == list(range(1, PARTS + 1))

    def test_no_more_than_two_parts_are_kept_apart(self):
        net, most = union(), 0
        while links := net.pending():
            net.deliver(net.take(links[0]))
            for client in net.clients.values():
                held = getattr(client.phase, "held", None)
                most = max(most, len(held.sharing._testimonies) if held else 0)
        assert most <= 3  # two, and those of the next one before this client was asked for it

    @pytest.mark.questions
    def test_parts_that_come_too_early_are_refused(self, refuses):
        net = union()
        net.hold(Challenge, recipient=2)
        client = net.clients[2]
        client.phase.held.sharing.received[1] = 4
        share = net.message(Share, sender=1, recipient=2, at=(0, 4))
        refuses(client, share, MessageError, "^Share: part 4 from client 1 too early")

    @pytest.mark.questions
    def test_a_question_before_all_parts_are_checked_is_refused(self, refuses):
        net = union()
        net.run(
            until=lambda: net.clients[2].state is State.ITERATE,
            drop=lambda message: isinstance(message, Challenge) and message.recipient == 2 and _late(message),
        )
        sets = np.arange(ROWS, dtype=np.int32) % 2
        early = Assignment(run=net.server.run, sender=SERVER, recipient=2, round=1, sets=sets)
        refuses(net.clients[2], early, MessageError, "^part . of the shares was not checked")

    @pytest.mark.questions
    def test_the_next_part_before_a_check_is_refused(self, refuses):
        net = union()
        challenge = net.hold(Challenge, recipient=2)
        early = Continue(run=challenge.run, sender=SERVER, recipient=2, round=0, part=2)
        refuses(net.clients[2], early, MessageError, "^part 0 of the shares was not checked")

    @pytest.mark.questions
    def test_reports_and_evidence_on_no_open_check_are_refused(self, refuses):
        net = union()
        report = net.hold(Report, recipient=SERVER)
        for number in (0, 3, 99):
            refuses(net.server, replace(report, round=number), MessageError, "^Report: .* which is not open")
        evidence = Evidence(
            run=report.run,
            sender=2,
            recipient=SERVER,
            round=7,
            dealer=3,
            part=6,
            payload=b"",
            signature=bytes(64),
        )
        refuses(net.server, evidence, MessageError, "^Evidence: .* which is not open")
        net.deliver(report)
        refuses(net.server, report, MessageError, "^Report: a second one")

    @pytest.mark.questions
    def test_who_is_awaited_is_who_is_behind(self):
        for what, client in (
            (
                lambda message: isinstance(message, Share) and message.sender == 1 and message.recipient == 5,
                5,
            ),
            (lambda one: isinstance(one, Report) and one.sender == 6, 6),
            (lambda one: isinstance(one, Ready) and one.sender == 3 and one.part > 0, 3),
        ):
            net = union()
            net.run(drop=what)
            assert net.server.awaited == (client,)


def _late(message):
    """Whether it concerns the last parts, which are all dealt."""
    return message.round >= PARTS - 1


def test_reports_and_shares_of_t_clients_are_equally_likely_whoever_holds_a_row():
    """Exhaustive modulo 5, ell = t = 1, two dealers, one coefficient: the view of the server and a client."""
    p, r, alpha = 5, 3, 4

    def line(at_0, at_1):
        """The value at alpha of the line through (0, at_0) and (1, at_1)."""
        return (at_0 + (at_1 - at_0) * alpha) % p

    def view(x, mask, cover):
        return line(x, mask), line(*cover), (cover[0] + r * x) % p, (cover[1] + r * mask) % p

    def views(first, second):
        seen = Counter()
        for one, other, *covers in product(range(p), repeat=6):
            seen[view(first, one, covers[:2]), view(second, other, covers[2:])] += 1
        return seen

    assert views(2, 0) == views(0, 2) == views(0, 0)
