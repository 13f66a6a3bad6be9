"""A server that gives clients different seeds for the check of shares gets no report from any of them."""

import hashlib
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from support.sweeps import sweep

from secfc.crypto.identity import Identity, Roster
from secfc.errors import CheatError, MessageError, SealError, TooManyFaultsError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.protocol.contradiction import Contradiction
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SERVER, Assignment, Challenge, Continue, Dispute, Echo, Report
from secfc.protocol.phases import client_identify
from secfc.protocol.shown import shown
from secfc.protocol.states import State
from secfc.protocol.witness import quorum
from secfc.sharing.dealing import coefficients_of, columns_of, covers_of

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(6)
SIXTEEN = [_RNG.normal(size=(1, 6)).round(3) for _ in range(16)]
"""Sixteen clients with one row each; R = 3 with t=1, ell=1."""
SEVEN = [_RNG.normal(size=(m, 3)).round(2) for m in (3, 4, 2, 5, 0, 3, 4)]
"""Seven clients; R = 5 with t=1, ell=2, so one liar is tolerated."""


def seed_of(group):
    return bytes([group + 1]) * 32


def challenged(net, group_of):
    """When all clients hold everything, give each the seed of its group; return the messages that follow."""
    net.run(until=lambda: net.server.state is State.CHECK)
    while links := net.pending():
        message = net.take(links[0])
        if isinstance(message, Challenge):
            message = replace(message, seed=seed_of(group_of(message.recipient)))
            yield from net.clients[message.recipient].receive(net.decode(net.encode(message)))


def relayed(net, messages, passes):
    """Deliver the echoes that may pass; return reports that leave clients, and who detects the server."""
    reports, found = [], set()
    for message in messages:
        if isinstance(message, Report):
            reports.append(message)
        elif passes(message) and message.recipient not in found:
            try:
                reports += net.clients[message.recipient].receive(message)
            except CheatError:
                found.add(message.recipient)
    return reports, found


def solved(equations, p):
    """The solution of linear equations modulo a prime; each is a list of coefficients and the value."""
    rows, count = [[int(x) % p for x in line] for line in equations], len(equations[0]) - 1
    for at in range(count):
        pivot = next(i for i in range(at, len(rows)) if rows[i][at])
        rows[at], rows[pivot] = rows[pivot], rows[at]
        inverse = pow(rows[at][at], -1, p)
        rows[at] = [x * inverse % p for x in rows[at]]
        for i, line in enumerate(rows):
            if i != at and line[at]:
                rows[i] = [(x - line[at] * y) % p for x, y in zip(line, rows[at], strict=True)]
    assert not any(any(line) for line in rows[count:])  # more equations than unknowns: they agree
    return [line[-1] for line in rows[:count]]


def row_of(net, reports, dealer):
    """A dealer's one row, in integers, from reports of pairs of clients about a seed each.

    A pair's reports determine a polynomial, whose value at beta is cover + sum r x. The covers are the same
    for every seed. So each pair except one gives as many equations about x as there are covers.
    """
    job, primes = net.job, primes_of(net.job.residues(net.m))
    columns = columns_of(Layout(tuple(len(part) for part in net.rows)), net.parts())
    transcript, count, at = net.transcript, covers_of(job), columns.index((dealer, 0))
    by_client = {report.sender: unpack(report.residues.planes())[:, :, at] for report in reports}
    sources = {group: coefficients_of(transcript, seed_of(group), columns[0]) for group in range(8)}
    read = np.empty((len(primes), job.width, 1))
    for index, p in enumerate(primes):
        points, equations = evaluation_points(PRIMES[index], n=job.n, coded=2), []
        for group in range(8):
            pair = 2 * group + 1, 2 * group + 2
            basis = lagrange_basis([points.alpha[j - 1] for j in pair], points.beta[:1], p)[0]
            coefficients = sources[group].uniform(p, (count, job.width, len(columns)))[..., at]
            for b in range(count):
                value = sum(int(w) * int(by_client[j][index, b]) for w, j in zip(basis, pair, strict=True))
                cover = [int(other == b) for other in range(count)]
                equations.append([*cover, *coefficients[b].astype(int).tolist(), value])
        read[index, :, 0] = solved(equations, p)[count:]
    radix = MixedRadix(primes)
    modulus = radix.radices[-1] * primes[-1]
    values = [int(x) for x in radix.integers(radix.digits(read)).reshape(-1)]
    return [x - modulus if 2 * x > modulus else x for x in values]


def test_clients_that_report_at_once_let_the_server_read_a_row_alone(wire, monkeypatch):
    monkeypatch.setattr(client_identify, "quorum", lambda job, planned: 1)
    net = wire(SIXTEEN, max_liars=1)
    reports, _ = relayed(net, list(challenged(net, lambda j: (j - 1) // 2)), lambda message: False)
    for dealer in (1, 9):
        expected = np.rint(np.ldexp(SIXTEEN[dealer - 1][0], net.job.exponent)).astype(int).tolist()
        assert row_of(net, reports, dealer) == expected


def of_a_pair(message):
    return (message.sender - 1) // 2 == (message.recipient - 1) // 2


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("passes", "found"),
    [(lambda message: True, 16), (of_a_pair, 0), (lambda message: False, 0)],
    ids=["all echoes", "a pair's echoes", "no echo"],
)
def test_pairs_with_a_seed_each_report_nothing(wire, passes, found):
    net = wire(SIXTEEN, max_liars=1)
    reports, cheated = relayed(net, list(challenged(net, lambda j: (j - 1) // 2)), passes)
    assert reports == []
    assert len(cheated) == found


def test_two_seeds_are_found_out_by_both_groups(wire):
    net = wire(SIXTEEN, max_liars=1)
    reports, found = relayed(net, list(challenged(net, lambda j: j > 8)), lambda message: True)
    assert reports == []
    assert found == set(range(1, 17))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("t", "first"), sweep(product((1, 2, 3), range(1, 13)), keep=lambda case: sum(case) % 3 == 0)
)
def test_with_t_clients_that_collude_at_most_one_of_two_groups_reports(wire, t, first):
    """The last t clients collude and give each group its own seed. No group gets messages of the other."""
    net = wire(SIXTEEN, max_liars=1, t=t)
    honest = 16 - t
    told = [
        message
        for message in challenged(net, lambda j: j > first)
        if message.sender <= honest and message.recipient <= honest
    ]
    for spy in range(honest + 1, 17):
        told += [net.echo(spy, j, seed_of(j > first)) for j in range(1, honest + 1)]
    reports, _ = relayed(
        net,
        told,
        lambda message: message.sender > honest or (message.sender > first) == (message.recipient > first),
    )
    groups = [set(range(1, first + 1)), set(range(first + 1, honest + 1))]
    enough = [group for group in groups if len(group) + t >= quorum(net.job, 16)]
    assert len(enough) <= 1
    assert {report.sender for report in reports} == set().union(*enough)


class TestHonestServer:
    """One seed for all: liars and vanishing clients stop nobody."""

    @pytest.fixture
    def seven(self, wire):
        return lambda **more: wire(SEVEN, **{"t": 1, "ell": 2, "max_liars": 1, "seed": 4} | more)

    def test_a_late_echo_is_dropped_and_no_report_follows_the_first_question(self, seven):
        net, late = seven(), []
        net.run(
            drop=lambda message: (
                isinstance(message, Echo) and message.recipient == 2 and not late.append(message)
            )
        )
        assert not net.clients[2].phase.held.sharing._testimonies[0].reported
        size = net.clients[2].phase.held.sharing.remaining().m
        sets = np.arange(size, dtype=np.int32) % 2
        net.deliver(Assignment(run=net.server.run, sender=SERVER, recipient=2, round=1, sets=sets))
        assert [net.clients[2].receive(echo) for echo in late] == [[]] * 6
        with pytest.raises(MessageError, match=r"^Echo: of challenge 0 from client \d, challenge 1 is next"):
            net.clients[2].receive(late[0])

    def test_a_dispute_before_a_quorum_has_the_seed_shows_nothing(self, seven, refuses):
        net = seven()
        net.run(drop=lambda message: isinstance(message, Echo) and message.recipient == 2)
        dispute = net.message(Dispute, sender=SERVER, recipient=2)
        refuses(net.clients[2], dispute, MessageError, "^Dispute: before a report")

    def test_a_second_challenge_is_refused_before_and_after_the_report(self, seven, refuses):
        net = seven()
        challenge = net.hold(Challenge, recipient=2)
        net.deliver(challenge)
        for seed in (challenge.seed, bytes(32)):
            refuses(net.clients[2], replace(challenge, seed=seed), MessageError, "^Challenge: a second one")
        net.run(until=lambda: net.clients[2].phase.held.sharing._testimonies[0].reported)
        for seed in (challenge.seed, bytes(32)):
            refuses(net.clients[2], replace(challenge, seed=seed), MessageError, "^Challenge: a second one")

    def test_where_no_quorum_is_left_the_run_ends_with_the_inequality(self, wire):
        net = wire([[[float(j)]] for j in range(9)], max_liars=1)
        net.run(until=lambda: net.server.state is State.SHARE)
        gone = {6, 7, 8, 9}
        for j in sorted(gone):
            net.post(net.server.absent(j))
        with pytest.raises(TooManyFaultsError, match=r"N > 2S . t must .*: 9 <= 2 \* 4 \+ 1$"):
            net.run(drop=lambda message: message.sender in gone or message.recipient in gone)
        assert net.server.outcome is None

    def test_who_waits_for_echoes_is_not_absent(self, wire):
        """One client too many vanishes before it tells its seed, and a liar lies: no one is blamed."""
        net, carried = wire([[[float(j)]] for j in range(7)], max_liars=1), Counter()
        while links := net.pending():
            message = net.take(links[0])
            if isinstance(message, Echo | Report) and message.sender in (6, 7):
                continue
            if isinstance(message, Echo):
                carried["Echo", message.sender, message.recipient] += 1
                if message.sender == 1:
                    message = replace(message, sealed=net.seal(1, message.recipient, 0, bytes(96), b"echo"))
            net.deliver(message)
        assert net.server.overdue(lambda *link: carried[link]) == (6, 7)
        for j in (6, 7):
            net.post(net.server.absent(j))
        first = net.server.overdue(lambda *link: carried[link])[0]
        with pytest.raises(TooManyFaultsError, match=r"N > 2S . t must .*: 7 <= 2 \* 3 \+ 1$"):
            net.server.absent(first)
        assert (net.server.faults.cheats, net.server.faults.liars) == ((), ())

    def test_where_more_are_gone_than_may_vanish_one_of_them_was_the_liar(self, wire):
        """With six clients and one liar, one may vanish. Two are gone, so the four others are honest."""
        net, carried = wire([[[float(j)]] for j in range(6)], max_liars=1), Counter()
        while links := net.pending():
            message = net.take(links[0])
            if isinstance(message, Echo | Report) and message.sender in (5, 6):
                continue
            if isinstance(message, Report) and message.sender == 4:
                continue
            if isinstance(message, Echo):
                carried["Echo", message.sender, message.recipient] += 1
            net.deliver(message)
        for j in (5, 6):
            net.post(net.server.absent(j))
        assert net.server.overdue(lambda *link: carried[link]) == (4,)


class TestProofs:
    """An Echo has the server's signature, so only the server can make evidence of two seeds."""

    @pytest.mark.parametrize("max_liars", [1, 2])
    def test_one_other_seed_is_evidence_which_convinces_who_has_the_roster_alone(self, wire, max_liars):
        net = wire(SIXTEEN, max_liars=max_liars)
        net.deliver(replace(net.hold(Challenge, recipient=4), seed=seed_of(0)))
        with pytest.raises(CheatError, match="gave another seed for check 0 of shares to clients") as caught:
            net.run()
        found = Contradiction.of_json(caught.value.evidence)
        header = found.check(net.session.roster)
        assert (header.kind, header.round) == ("Challenge", 0)
        with pytest.raises(SealError, match="the server: its message is not signed"):
            found.check(Roster(net.session.roster.keys, Identity().public))
        for changed in (
            replace(found, agreement=bytes(32)),
            replace(found, second=replace(found.second, digest=bytes(32))),
            replace(found, first=replace(found.first, signature=bytes(64))),
        ):
            with pytest.raises(SealError, match="not signed"):
                changed.check(net.session.roster)

    def test_seeds_of_two_checks_are_no_evidence(self, wire):
        net = wire(SEVEN, t=1, ell=2, max_liars=1)
        head = {"run": net.session.run, "sender": SERVER, "recipient": 1}
        proofs = [net.proof(Challenge(**head, round=at, seed=seed_of(at))) for at in (1, 2)]
        found = Contradiction(agreement=net.session.agreement, first=proofs[0], second=proofs[1])
        with pytest.raises(SealError, match="do not contradict each other"):
            found.check(net.session.roster)

    def test_clients_that_lie_cannot_make_an_honest_server_a_cheat_however_many_they_are(self, wire):
        """If echoes had only seeds, two liars (one is tolerated) could end the run of every other client and
        blame the server.

        They show other seeds: signed by themselves, signed by the server for their own seed or in other
        checks, and proofs of what the server sent in another message.
        """
        net, liars = wire(SIXTEEN, max_liars=1), {2, 3, 4, 5, 6}
        while links := net.pending():
            message = net.take(links[0])
            if isinstance(message, Echo) and message.sender in liars:
                net.deliver(self.forged(net, message))
            else:
                net.deliver(message)
        for j in set(net.clients) - liars:
            assert net.clients[j].state is State.DONE
            assert net.clients[j].phase.held.sharing._echoes.false == liars
        assert net.server.faults.cheats == ()

    @staticmethod
    def forged(net, echo):
        seed, own = net.clients[echo.sender].phase.held.sharing._echoes._own[0]
        digest = hashlib.sha256(seed_of(0)).digest()
        statement = b"secfc server 1" + net.session.agreement + own.header + digest
        head = {"run": net.session.run, "sender": SERVER}
        payload = {
            2: digest + own.signature,
            3: digest + net.identities[2].sign(statement),
            4: shown(net.proof(Challenge(**head, recipient=4, round=2, seed=seed))),
            5: shown(net.proof(Challenge(**head, recipient=5, round=1, seed=seed_of(0)))),
            6: shown(net.proof(Continue(**head, recipient=6, part=1))),
        }[echo.sender]
        return replace(echo, sealed=net.seal(echo.sender, echo.recipient, 0, payload, b"echo"))

    def test_an_equal_seed_without_a_proof_is_not_counted(self, wire):
        net = wire(SEVEN, t=1, ell=2, max_liars=1)
        enough = quorum(net.job, 7)
        held = []
        net.run(
            drop=lambda message: (
                isinstance(message, Echo) and message.recipient == 2 and not held.append(message)
            )
        )
        _, own = net.clients[2].phase.held.sharing._echoes._own[0]
        for echo in held[: enough - 2]:
            net.deliver(echo)
        assert not net.clients[2].phase.held.sharing._echoes.confirmed(0)
        for echo in held[enough - 2 :]:
            sealed = net.seal(echo.sender, 2, 0, own.digest + bytes(64), b"echo")
            net.deliver(replace(echo, sealed=sealed))
        assert not net.clients[2].phase.held.sharing._echoes.confirmed(0)
        assert not net.clients[2].phase.held.sharing._testimonies[0].reported
        assert net.clients[2].phase.held.sharing._echoes.false == {echo.sender for echo in held[enough - 2 :]}


def test_an_echo_in_a_run_that_checks_nothing_is_refused(wire, refuses):
    net = wire(SEVEN, t=1, ell=2)
    net.run(until=lambda: net.clients[2].state is State.ITERATE)
    refuses(
        net.clients[2], net.message(Echo, sender=3, recipient=2), MessageError, "in a run that needs none$"
    )
