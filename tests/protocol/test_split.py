"""A server and a recipient give honest clients two results, so that sums over two sets of rows are opened.

Each attack succeeds if clients open as they did before docs/decisions/025-quorums.md.
"""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import CheatError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import matmul, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import SERVER, Assignment, CentreShare, Finish, LeaveOut, Witness
from secfc.protocol.phases import client_identify
from secfc.protocol.phases.client_iterate import ClientIterate
from secfc.protocol.shown import shown
from secfc.protocol.states import State
from secfc.protocol.witness import END, quorum

_RNG = np.random.default_rng(8)
ROWS = [np.concatenate([_RNG.normal(size=(8, 2)), _RNG.normal(size=(8, 2)) + 9.0]) for _ in range(12)]
WILLING = Limits(reveal_centres=True, reveal_spread=10)
SPY = 1
"""The client that colludes with the server and is a recipient."""


def opened(shares, job, primes, degree):
    """Values at the beta of polynomials of a degree, from clients' values: the sums, (d, k), signed."""
    clients = sorted(shares)[: degree + 1]
    assert len(clients) == degree + 1
    residues = np.empty((len(primes), job.ell * job.width, job.k))
    for index, p in enumerate(primes):
        points = evaluation_points(PRIMES[index], n=job.n, coded=job.ell + job.t)
        basis = lagrange_basis([points.alpha[j - 1] for j in clients], points.beta[: job.ell], p)
        words = reduce(np.array([shares[j][index] for j in clients]).reshape(len(clients), -1), p)
        residues[index] = matmul(basis, words, p).reshape(job.ell * job.width, job.k)
    radix = MixedRadix(primes)
    found, modulus = radix.integers(radix.digits(residues[:, : job.d])), radix.radices[-1] * primes[-1]
    return [[int(x) - (modulus if 2 * int(x) > modulus else 0) for x in line] for line in found]


def quantised(net, client, row):
    return np.rint(np.ldexp(net.rows[client - 1][row], net.job.exponent)).astype(np.int64).tolist()


class Coalition:
    """The server and some clients, among them client 1: their messages to others, and those they receive."""

    def __init__(self, net, spies=(SPY,)):
        self.net, self.spy, self.spies = net, net.clients[SPY], spies
        self.told = {}  # clients' shares of sums, by client
        self.zeros = dict(self.spy.phase.held.sharing._zeros)
        self.found_out = set()  # by these clients

    def say(self, finish, group, left_out=()):
        """Give a result to honest clients, and have the colluding ones confirm it to them."""
        finish = replace(finish, left_out=left_out)
        for j in group:
            self.net.deliver(replace(finish, recipient=j))
            for spy in self.spies:
                payload = shown(self.net.proof(replace(finish, recipient=spy)))
                sealed = self.net.seal(spy, j, 0, payload, b"witness", round_=END)
                self.net.deliver(Witness(run=finish.run, sender=spy, recipient=j, round=0, sealed=sealed))

    def relay(self, passes):
        """Deliver the allowed messages between honest clients, and read what they send to the coalition."""
        while links := self.net.pending():
            message = self.net.take(links[0])
            if message.recipient in self.spies and isinstance(message, CentreShare):
                self._read(message)
            elif message.recipient not in (SERVER, *self.spies, *self.found_out) and passes(message):
                try:
                    self.net.deliver(message)
                except CheatError:
                    self.found_out.add(message.recipient)

    def _read(self, message):
        job, primes = self.net.job, self.spy.phase.held.sharing.primes
        channel = self.net.channels[message.recipient][message.sender]
        payload = channel.open(b"centre share", part=0, sealed=message.sealed.payload)
        shape = len(primes), job.sums_revealed * job.width, job.k
        self.told[message.sender] = unpack(PackedResidues(shape=shape, payload=payload).planes())

    def own(self, labels):
        """Client 1's own share of sums of these clusters."""
        sharing = self.spy.phase.held.sharing
        sums = unpack(sharing.points.set_shares(labels).planes())
        if self.net.job.opened.spread is None:
            return sums
        sharing._zeros = dict(self.zeros)
        return np.concatenate([sums, unpack(sharing.hidden_squares(labels).planes())], axis=1)


def silence(net):
    """Remove the messages that the server has on its way to clients."""
    while links := [link for link in net.pending() if link[0] == SERVER]:
        net.take(links[0])


def two_results(wire, n=5):
    """Half of the honest clients get the result, the others one with a row of client 2 in another cluster."""
    net = wire(ROWS[:n], limits=WILLING, reveal_to=(SPY,), reveal_spread=10, seed=2, precision=24)
    finish = net.hold(Finish, recipient=SPY)
    silence(net)
    moved = finish.labels.copy()
    moved[16] = 1 - moved[16]
    honest, both = range(2, n + 1), Coalition(net)
    groups = [set(honest[: (n - 1) // 2]), set(honest[(n - 1) // 2 :])]
    results = [finish, replace(finish, labels=moved)]
    for group, result in zip(groups, results, strict=True):
        both.say(result, group)
    both.relay(lambda message: any({message.sender, message.recipient} <= group for group in groups))
    return both, groups, results


class TestTwoResults:
    def test_where_r_are_enough_the_coalition_reads_a_row(self, wire, monkeypatch):
        monkeypatch.setattr(client_identify, "quorum", lambda job, planned: job.threshold)
        both, groups, results = two_results(wire)
        net, job, primes = both.net, both.net.job, both.spy.phase.held.sharing.primes
        found = []
        for group, result in zip(groups, results, strict=True):
            shares = {j: both.told[j] for j in group} | {SPY: both.own(result.labels)}
            sums = opened({j: one[:, : job.width] for j, one in shares.items()}, job, primes, 1)
            squares = opened({j: one[:, job.width :] for j, one in shares.items()}, job, primes, 2)
            found.append((np.array(sums), np.array(squares)))
        row = np.array(quantised(net, 2, 0))
        h = int(results[0].labels[16])
        np.testing.assert_array_equal((found[0][0] - found[1][0])[:, h], row)
        np.testing.assert_array_equal((found[0][1] - found[1][1])[:, h], row**2)

    def test_no_honest_client_opens_anything(self, wire):
        both, groups, _ = two_results(wire)
        assert both.told == {}
        honest = set.union(*groups)
        assert {both.net.clients[j].state for j in honest} == {State.REVEAL}

    @pytest.mark.some(4)
    @pytest.mark.parametrize("n", range(4, 13))
    def test_in_larger_runs_at_most_one_group_does(self, wire, n):
        both, groups, _ = two_results(wire, n)
        assert any(set(both.told) <= group for group in groups)

    def test_one_result_for_all_is_opened(self, wire):
        net = wire(ROWS[:5], limits=WILLING, reveal_to=(SPY,), reveal_spread=10, seed=2, precision=24)
        net.run()
        assert net.clients[SPY].deviations is not None


LAYOUTS = {
    # At n = 5 a quorum is four: client 3 hears clients 1, 2 and 4, and client 4 hears clients 1, 3 and 5.
    "honest clients": {"t": 1, "spies": (1,), "groups": {5: (2, 3), 2: (4, 5)}, "tellers": {5: 3, 2: 4}},
    # All honest clients confirm each other, at n = R.
    "colluding clients": {"t": 2, "spies": (1, 5), "groups": {5: (2, 3), 1: (4,)}, "tellers": {5: 3, 1: 4}},
}


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def layouts(request, wire):
    """All get one assignment and result, but the two groups believe that different clients were left out.

    No client of one group is asked in the same round as a client of the other, so no round is compared.
    """
    case = request.param

    def attack(passes=lambda message: True, *, says=True):
        consent = {"limits": Limits(reveal_centres=True), "reveal_to": case["spies"]}
        net = wire(ROWS[:5], t=case["t"], seed=2, **consent)
        net.run(until=lambda: all(client.state is State.ITERATE for client in net.clients.values()))
        silence(net)
        labels = (np.arange(64) // 2 % 2).astype(np.int32)
        labels[:12] = 0  # so that a shift of all rows by 16 changes which are together
        envelope = {"run": net.session.run, "sender": SERVER}
        both = Coalition(net, case["spies"])
        finish = Finish(**envelope, recipient=SPY, labels=labels, n_iter=1, converged=True, inertia=1.0)
        for round_, (out, group) in enumerate(case["groups"].items(), 1):
            view = (out,) if says else ()
            for j in group:
                net.deliver(LeaveOut(**envelope, recipient=j, client=out))
                net.deliver(Assignment(**envelope, recipient=j, round=round_, sets=labels, left_out=view))
            both.say(finish, group, view)
        both.relay(passes)
        return both, labels, case

    return attack


class TestTwoLayouts:
    def test_where_the_result_does_not_say_whose_rows_it_is_about_both_are_opened(self, layouts, monkeypatch):
        monkeypatch.setattr(ClientIterate, "_check_view", lambda self, message: None)
        both, labels, case = layouts(says=False)
        net, sums = both.net, {}
        for out, teller in case["tellers"].items():
            shares, members = {teller: both.told[teller]}, [j for j in range(1, 6) if j != out]
            for spy in both.spies:
                points = net.clients[spy].phase.held.sharing.points
                held = deepcopy(points, {id(points._kernels): points._kernels})  # they have threads
                held.keep([both.spy.phase.held.sharing.layout.rows(j) for j in members])
                shares[spy] = unpack(held.set_shares(labels).planes())
            sums[out] = opened(shares, net.job, both.spy.phase.held.sharing.primes, net.job.t)
            rows = np.array([quantised(net, j, i) for j in members for i in range(16)])
            expected = [rows[labels == h].sum(axis=0) for h in (0, 1)]
            np.testing.assert_array_equal(np.array(sums[out]), np.transpose(expected))
        assert len(sums) == 2

    def test_the_server_is_found_out(self, layouts):
        both, *_ = layouts()
        assert both.told == {}
        assert both.found_out

    def test_if_it_keeps_groups_apart_nothing_is_opened(self, layouts):
        both, *_ = layouts(lambda message: (message.sender in (2, 3)) == (message.recipient in (2, 3)))
        assert both.told == {}
        assert not both.found_out

    def test_digests_of_equal_results_tell_who_is_left_out_apart(self, wire):
        net = wire(ROWS[:3])
        finish = net.message(Finish, sender=SERVER, recipient=1)
        said = {net.proof(replace(finish, left_out=out)).digest for out in ((), (2,), (3,), (2, 3))}
        assert len(said) == 4


def job_of(n, t, ell, **more):
    return make_job(
        n=n, k=2, t=t, ell=ell, d=4, bound=1.0, **{"disclosure": "coded", "reveal_to": (1,)} | more
    )


class TestQuorum:
    @pytest.mark.parametrize("t", range(1, 5))
    @pytest.mark.parametrize("ell", range(1, 4))
    def test_two_quorums_have_an_honest_client_in_common(self, t, ell):
        least = 2 * (ell + t) - 1
        for n in range(least, 4 * least):
            enough = quorum(job_of(n, t, ell), n)
            assert 2 * enough - n > t
            # With one client fewer it fails, or there are too few to decode.
            assert enough == least or 2 * (enough - 1) - n <= t

    @pytest.mark.parametrize("t", range(1, 5))
    @pytest.mark.parametrize("ell", range(1, 4))
    def test_who_may_be_gone(self, t, ell):
        """n > 2S + 2A + t, which n >= R + S + 2A implies for S < R - t."""
        least = 2 * (ell + t) - 1
        for liars in (0, 1, 2):
            more = {"max_liars": liars, "disclosure": "coded"} if liars else {}
            for n in range(least + 2 * liars, 4 * least):
                enough = quorum(job_of(n, t, ell, **more), n)
                for gone in range(n - least - 2 * liars + 1):
                    reached = n - gone - liars >= enough
                    assert reached == (n > 2 * gone + 2 * liars + t)
                    assert reached or gone >= least - t

    def test_clients_that_were_not_there_at_the_beginning_do_not_count(self):
        assert quorum(job_of(20, 1, 1), 20) == 11
        assert quorum(job_of(20, 1, 1), 8) == 5

    def test_a_run_ends_without_those_who_may_be_gone(self, wire):
        net = wire(ROWS[:8], limits=Limits(reveal_centres=True), reveal_to=(SPY,), seed=2)
        gone = {6, 7, 8}
        net.run(drop=lambda message: isinstance(message, Witness) and message.sender in gone)
        assert net.clients[SPY].centres is not None

    def test_with_one_more_gone_nothing_is_opened(self, wire):
        net = wire(ROWS[:8], limits=Limits(reveal_centres=True), reveal_to=(SPY,), seed=2)
        gone = {5, 6, 7, 8}
        net.run(drop=lambda message: isinstance(message, Witness) and message.sender in gone)
        assert {net.clients[j].state for j in range(1, 5)} == {State.REVEAL}
        assert net.clients[SPY].centres is None

    def test_where_nothing_is_opened_r_are_enough(self, wire):
        net = wire(ROWS[:8], seed=2)
        net.run(drop=lambda message: isinstance(message, Witness) and message.sender > 3)
        assert {net.clients[j].state for j in range(1, 9)} == {State.DONE}

    def test_those_who_were_left_out_are_missed(self, wire):
        net = wire(ROWS[:8], limits=Limits(reveal_centres=True), reveal_to=(SPY,), seed=2)
        net.run(until=lambda: net.server.state is State.SHARE)
        gone = {5, 6, 7, 8}
        for j in sorted(gone):
            net.post(net.server.absent(j))
        net.run(drop=lambda message: message.sender in gone or message.recipient in gone)
        assert net.server.state is State.DONE
        assert {net.clients[j].state for j in range(1, 5)} == {State.REVEAL}

    def test_those_who_were_absent_before_the_plan_are_not_missed(self, wire):
        net = wire(ROWS[:8], limits=Limits(reveal_centres=True), reveal_to=(SPY,), seed=2)
        gone = {4, 5, 6, 7, 8}
        net.run(drop=lambda message: message.sender in gone)
        for j in sorted(gone):
            net.post(net.server.absent(j))
        net.run(drop=lambda message: message.sender in gone or message.recipient in gone)
        assert net.clients[SPY].centres is not None
