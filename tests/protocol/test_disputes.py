"""Disputes of dealer and recipient: the dealer's signature shows who lies. Only liars' shares are shown."""

import re
from dataclasses import replace

import numpy as np
import pytest

from plaintext_baselines import ExactLloyd
from secfc.crypto.channel import Sealed
from secfc.errors import MessageError, SealError, TooManyFaultsError
from secfc.field.primes import PRIMES
from secfc.lagrange.points import evaluation_points
from secfc.protocol.messages import SERVER, Assignment, Challenge, Dispute, Evidence, Report, Share

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(8)
NINE = [_RNG.normal(size=(m, 3)).round(2) for m in (3, 4, 2, 5, 0, 3, 4, 1, 2)]
"""Nine clients; R = 5 with t=1, ell=2. Two liars are tolerated, or one among the first seven."""


@pytest.fixture
def nine(wire):
    return lambda **more: wire(NINE, **{"t": 1, "ell": 2, "max_liars": 2, "seed": 4} | more)


@pytest.fixture
def seven(wire):
    return lambda **more: wire(NINE[:7], **{"t": 1, "ell": 2, "max_liars": 1, "seed": 4} | more)


def assert_ends_exact(net, left_out):
    """The run ends with these clients left out, and nobody is called a liar later."""
    assert set(net.server.faults.left_out) == set(left_out)
    assert net.server.faults.liars == ()
    rows = [part[:0] if j in left_out else part for j, part in enumerate(net.rows, 1)]
    best = net.server.outcome
    exact = ExactLloyd(
        net.job.k,
        init=np.split(best.start, np.cumsum([len(part) for part in rows])[:-1]),
        precision=net.job.precision,
        bound=net.job.bound,
    ).fit(rows)
    np.testing.assert_array_equal(best.labels, np.concatenate(exact.labels_))


def reason(net, client):
    return net.server.gathering.left_out[client]


@pytest.mark.parametrize("dealer", [1, 4, 7])
@pytest.mark.parametrize("victim", [2, 3, 5])
def test_a_dealer_with_one_victim_is_left_out_and_its_victim_is_not(seven, dealer, victim):
    net = seven()
    net.deal_badly(dealer, (victim,))
    net.run()
    assert_ends_exact(net, {dealer})
    assert f"the share that it signed for client {victim}" in reason(net, dealer)
    assert net.clients[dealer].labels is None
    assert net.clients[victim].labels is not None


WITHHELD = [(1, 1, 2), (1, 1, 3), (1, 1, 4), (2, 1, 3), (2, 1, 4), (1, 2, 5)]
"""t, ell and A."""


def with_reports_withheld(wire, n, t, ell, most):
    """Run: A - 1 of A liars withhold their reports, and one deals badly to A others."""
    rows = [_RNG.normal(size=(2, 3)).round(2) for _ in range(n)]
    net, liars = wire(rows, k=2, t=t, ell=ell, max_liars=most, seed=4), range(1, most + 1)
    net.deal_badly(most, tuple(range(most + 1, 2 * most + 1)))

    def withheld(message):
        return isinstance(message, Report) and message.sender in liars[:-1]

    net.run(drop=withheld)
    for late in liars[:-1]:
        net.post(net.server.absent(late))
        net.run(drop=withheld)
    return net


@pytest.mark.parametrize(("t", "ell", "most"), WITHHELD)
def test_liars_that_withhold_reports_end_no_run_of_as_many_clients_as_the_docs_say(wire, t, ell, most):
    n = max(2 * (ell + t) - 1 + 2 * most, ell + t + 3 * most - 1)
    assert_ends_exact(with_reports_withheld(wire, n, t, ell, most), range(1, most + 1))


@pytest.mark.parametrize(("t", "ell", "most"), [one for one in WITHHELD if one[2] > one[0] + one[1]])
def test_with_a_client_less_the_run_ends_and_accuses_nobody(wire, t, ell, most):
    n = ell + t + 3 * most - 2
    needed = f"n >= ell + t + S + 2A must hold: {n} < {ell} + {t} + {most - 1} + 2 * {most}"
    with pytest.raises(TooManyFaultsError, match=re.escape(needed)) as caught:
        with_reports_withheld(wire, n, t, ell, most)
    assert caught.value.clients == ()


@pytest.mark.parametrize("dealers", [{1}, {1, 4}, {9}])
def test_a_recipient_that_lies_about_few_dealers_is_left_out_and_they_are_not(nine, dealers):
    net = nine()
    net.lie_about(3, dealers)
    net.run()
    assert_ends_exact(net, {3})
    assert f"its report is not that of the share that client {min(dealers)} signed" in reason(net, 3)


def test_a_recipient_that_lies_about_many_dealers_is_left_out_without_evidence(nine):
    net = nine()
    net.lie_about(3, {1, 2, 4})
    net.run(drop=lambda message: pytest.fail("asked") if isinstance(message, Dispute) else False)
    assert_ends_exact(net, {3})
    assert reason(net, 3) == "it disputes the shares of 3 clients"


def test_who_lies_about_its_own_shares_is_left_out(nine):
    net = nine()
    net.lie_about(3, {3})
    net.run()
    assert_ends_exact(net, {3})
    assert reason(net, 3) == "it disputes its own shares"


def test_more_liars_than_tolerated_stop_the_run_with_their_names(seven):
    net = seven()
    net.deal_badly(1, (2,))
    net.lie_about(3, {4})
    with pytest.raises(
        TooManyFaultsError,
        match=r"2 clients lied about shares, at most max_liars=1 clients may lie: client 1",
    ):
        net.run()
    assert net.server.outcome is None


def test_a_client_that_lacks_shares_tells_nobody_what_it_has(seven, refuses):
    net = seven()
    share = net.hold(Share, recipient=2, sender=1)
    net.deliver(replace(share, sealed=Sealed(payload=bytes(len(share.sealed.payload)))))
    question = net.hold(Assignment, recipient=3)
    refuses(
        net.clients[2], replace(question, recipient=2), MessageError, "^Assignment: to client 2, which lacks"
    )


def test_who_says_that_it_cannot_read_many_clients_shares_is_left_out_and_they_are_not(seven):
    net = seven()
    for dealer in (1, 4):
        share = net.hold(Share, recipient=2, sender=dealer)
        net.deliver(replace(share, sealed=Sealed(payload=bytes(len(share.sealed.payload)))))
    net.run()
    assert_ends_exact(net, {2})
    assert reason(net, 2) == "it disputes the shares of 2 clients"


def test_evidence_that_nobody_asked_for_is_refused(nine, refuses):
    net = nine()
    net.deal_badly(1, (3,))
    evidence = net.hold(Evidence, recipient=SERVER)
    assert evidence.sender == 3
    for changes in ({"dealer": 2}, {"part": 1}, {"sender": 2}):
        refuses(net.server, replace(evidence, **changes), MessageError, "not asked for$")
    net.deliver(evidence)
    refuses(net.server, evidence, MessageError, "^Evidence: .*out of turn")
    net.run()
    assert_ends_exact(net, {1})


class TestTheServerCannotAskForShares:
    """A client shows a share only if others signed statements against it, and only a liar's share."""

    @pytest.fixture
    def reported(self, nine):
        """All clients have reported: the reports by client, and the number they have left to send."""
        net, said = nine(), {}
        while len(said) < 9:
            report = net.hold(Report, recipient=SERVER)
            said[report.sender] = report
        # The server compares its reports; tests invent them.
        return net, said

    def dispute(self, net, said, recipient=2):
        message = net.message(Dispute, sender=SERVER, recipient=recipient)
        reports = tuple(
            replace(message.reports[0], client=j, residues=one.residues, signature=one.signature)
            for j, one in sorted(said.items())
        )
        return replace(message, reports=reports)

    def test_without_a_dispute_nothing_is_shown(self, reported, refuses):
        net, said = reported
        refuses(net.clients[2], self.dispute(net, said), MessageError, "of none of the client's own shares")

    def test_reports_that_their_clients_did_not_sign_show_nothing(self, reported, refuses):
        net, said = reported
        for j in (3, 4, 5, 6, 7, 8, 9):
            said[j] = replace(net.lying(said[j], {1}), signature=said[j].signature)
        refuses(net.clients[2], self.dispute(net, said), SealError, "client 3: its report is not signed")

    def test_reports_of_another_challenge_show_nothing(self, reported, refuses):
        net, said = reported
        net.inquiry()._seed = bytes(32)
        said[3] = net.lying(said[3], {1})
        refuses(net.clients[2], self.dispute(net, said), SealError, "client 3: its report is not signed")

    def test_a_report_that_the_client_did_not_make_shows_nothing(self, reported, refuses):
        net, said = reported
        said[2] = net.lying(said[2], {1})
        refuses(net.clients[2], self.dispute(net, said), MessageError, "without the client's own report")
        del said[2]
        refuses(net.clients[2], self.dispute(net, said), MessageError, "without the client's own report")

    def test_reports_of_fewer_than_r_plus_a_clients_show_nothing(self, reported, refuses):
        net, said = reported
        few = {j: said[j] for j in (1, 2, 3, 4, 5, 6)}
        refuses(net.clients[2], self.dispute(net, few), MessageError, "n >= R . S . A must hold")

    def test_a_report_of_another_shape_or_client_shows_nothing(self, reported, refuses):
        net, said = reported
        dispute = self.dispute(net, said)
        far = replace(dispute.reports[-1], client=10)
        refuses(
            net.clients[2], replace(dispute, reports=(*dispute.reports[:-1], far)), MessageError, "client 10"
        )
        narrow = net.message(Dispute, sender=SERVER, recipient=2).reports
        primes, count, columns = narrow[0].residues.shape
        cut = tuple(
            replace(
                one,
                residues=type(one.residues)(
                    shape=(primes, count, columns - 1), payload=bytes(3 * primes * count * (columns - 1))
                ),
            )
            for one in narrow
        )
        refuses(net.clients[2], replace(dispute, reports=cut), MessageError, "a report of shape")

    def test_before_its_report_and_after_the_first_question_a_client_shows_nothing(self, nine, refuses):
        net = nine()
        challenge = net.hold(Challenge, recipient=2)
        dispute = net.message(Dispute, sender=SERVER, recipient=2)
        refuses(net.clients[2], dispute, MessageError, "^Dispute: before a report")
        net.deliver(challenge)
        net.deliver(net.hold(Assignment, recipient=2))
        refuses(net.clients[2], dispute, MessageError, "^Dispute: after round 1$")

    def test_a_client_shows_its_evidence_once(self, nine, refuses):
        net = nine()
        net.deal_badly(1, (3,))
        dispute = net.hold(Dispute, recipient=3)
        net.deliver(dispute)
        refuses(net.clients[3], dispute, MessageError, "or a second one$")

    @pytest.mark.parametrize("colluders", [(4,), (4, 6), (4, 6, 8)])
    def test_as_many_liars_as_may_collude_cannot_make_an_honest_client_show_an_honest_share(
        self, wire, colluders
    ):
        """t = 3 clients lie with the server: they report a polynomial through ell + t - 1 honest reports."""
        net = wire([[[0.1 * j]] for j in range(9)], t=3, ell=1, max_liars=1, seed=4)
        said = {}
        while len(said) < 9:
            report = net.hold(Report, recipient=SERVER)
            said[report.sender] = report
        job, dealer, victim = net.job, 1, 2
        lies = {j: _off(job, keep=[3, 5, 7][: job.ell + job.t - 1], at=j) for j in colluders}
        for j, by in lies.items():
            said[j] = net.lying(said[j], {dealer}, by=by)
        with pytest.raises(MessageError, match=r"^Dispute: "):
            net.clients[victim].receive(self.dispute(net, said, victim))
        assert not net.clients[victim].phase.held.sharing._testimonies[0]._shown


def _off(job, *, keep, at):
    """Values at a client's point, modulo each prime, of a polynomial that is 0 at the points of `keep`."""
    values = []
    for prime in PRIMES:
        points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
        value = 1
        for j in keep:
            value = value * (points.alpha[at - 1] - points.alpha[j - 1]) % prime.p
        values.append(value)
    return values
