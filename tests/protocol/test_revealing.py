"""Centres by consent: which clients get them and from whom, what is refused, and what nobody learns."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from secfc.crypto.channel import TAG_BYTES
from secfc.errors import LimitError, MessageError, ParameterError, SealError, TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.operations.ending.centres import centres_of
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job, make_job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SERVER, CentreShare, Finish, LeaveOut
from secfc.protocol.opening.revealing import open_sums
from secfc.protocol.states import State

ROWS = [
    [[0.0, 1.0], [0.5, -2.0]],
    [[9.0, 4.0], [9.5, 4.25], [8.0, 4.0]],
    [[0.2, 0.0], [7.0, 5.0]],
    [[8.5, 4.0]],
]
WILLING = Limits(reveal_centres=True)


@pytest.fixture
def four(wire):
    """Four clients, of which three are enough. By default centres go to clients 1 and 3."""
    return lambda **more: wire(ROWS, **{"reveal_to": (1, 3), "limits": WILLING, "seed": 2} | more)


def means(net, labels=None):
    """Means of the final clusters, from the quantised rows."""
    labels = np.concatenate(net.labels()) if labels is None else labels
    rows = np.rint(np.ldexp(np.concatenate(net.rows), net.job.exponent)).astype(object)
    return np.array(
        [
            [
                np.ldexp(int(rows[labels == h, c].sum()) / int((labels == h).sum()), -net.job.exponent)
                for c in range(2)
            ]
            for h in range(net.job.k)
        ]
    )


def centres(net):
    return {j: client.centres for j, client in net.clients.items() if client.centres is not None}


def sent(net, **more):
    """Run to the end; return all CentreShares."""
    seen = []

    def look(message):
        seen.extend([message] if isinstance(message, CentreShare) else [])
        return False

    net.run(drop=look, **more)
    return seen


class TestWhoGetsThem:
    @pytest.mark.questions
    @pytest.mark.parametrize("disclosure", ["coded", "labels"])
    def test_the_named_clients_and_nobody_else(self, four, disclosure):
        net = four(disclosure=disclosure)
        messages = sent(net)
        assert sorted(centres(net)) == [1, 3]
        for found in centres(net).values():
            np.testing.assert_array_equal(found, means(net))
        assert {client.state for client in net.clients.values()} == {State.DONE}
        assert {message.recipient for message in messages} == {1, 3}
        assert len(messages) == 2 * 3

    def test_nothing_is_sent_before_others_confirm_the_result(self, four):
        net = four()
        net.run(until=lambda: net.clients[2].state is State.COMPARE)
        assert not any(isinstance(message, CentreShare) for message in [net.take(at) for at in net.pending()])

    def test_shares_that_overtake_the_result_are_kept(self, four):
        net = four()
        links = iter(range(10**6))
        # Client 1 gets all others' messages before the server's, as far as there is a choice.
        net.run(choose=lambda found: min(found, key=lambda at: (at == (SERVER, 1), next(links))))
        np.testing.assert_array_equal(centres(net)[1], means(net))

    def test_a_client_that_vanishes_after_the_result_is_not_needed(self, four):
        net = four()
        net.run(drop=lambda message: isinstance(message, CentreShare) and message.sender == 4)
        assert sorted(centres(net)) == [1, 3]

    @pytest.mark.questions
    def test_with_fewer_than_r_shares_there_are_none(self, four):
        net = four()
        net.run(drop=lambda message: isinstance(message, CentreShare) and message.sender in {2, 4})
        assert centres(net) == {}
        assert net.clients[1].state is State.REVEAL
        assert net.clients[2].state is State.DONE


class TestConsent:
    def test_one_client_against_it_and_nobody_begins(self, wire):
        with pytest.raises(LimitError, match=r"^client 1 does not consent to revealing centres"):
            wire(ROWS, reveal_to=(1, 3))

    @pytest.mark.questions
    def test_a_cluster_that_is_too_small_is_not_opened(self, four):
        net = four(starts=[[0, 0], [1, 1, 1], [0, 1], [1]], limits=replace(WILLING, smallest_set=3))
        with pytest.raises(
            LimitError,
            match=r"^client \d opens centres only of clusters of at least 3 rows, but cluster 0 has 1 that",
        ):
            net.run()
        assert centres(net) == {}

    @pytest.mark.parametrize("kernels", [VectorisedKernels, CompiledKernels])
    @pytest.mark.questions
    def test_without_a_round_sums_are_of_the_rows_that_are_in_and_were_counted(self, wire, kernels):
        # Client 1 is left out and the result arrives at once. If its rows were still in, labels would be of
        # other rows than were counted: row 0 of client 1 with five of the recipient's own rows.
        rows = np.random.default_rng(0).normal(size=(29, 1))
        parts = np.split(rows, [5, 11, 17, 23])
        net = wire(parts, reveal_to=(2,), limits=replace(WILLING, smallest_set=5))
        for j in range(1, 6):
            net.replace_client(j, kernels=lambda _: kernels())
        net.run(until=lambda: all(client.state is State.ITERATE for client in net.clients.values()))
        labels = np.ones(24, dtype=np.int32)
        labels[[0, *range(6, 11)]] = 0
        said = {"run": net.session.run, "sender": SERVER}
        net.links.clear()
        for j in range(2, 6):
            net.deliver(LeaveOut(**said, recipient=j, client=1))
            end = {"labels": labels, "n_iter": 1, "converged": True, "inertia": 0.0, "left_out": (1,)}
            net.deliver(Finish(**said, **end, recipient=j))
        net.run()
        left = np.rint(np.ldexp(rows[5:], net.job.exponent))[labels == 0]
        assert centres(net)[2][0, 0] == np.ldexp(left.sum() / 6, -net.job.exponent)

    def test_a_recipients_own_rows_do_not_count(self):
        job = make_job(n=3, k=2, t=1, ell=1, d=2, bound=1.0, reveal_to=(2,), disclosure="coded")
        layout, labels = Layout((2, 3, 2)), np.array([0, 0, 1, 1, 1, 0, 1], dtype=np.int32)
        replace(WILLING, smallest_set=1).check_revealed(job, name="client 1", layout=layout, labels=labels)
        with pytest.raises(
            LimitError, match=r"^client 1 opens .* 2 rows, but cluster 1 has 1 that are not client 2's"
        ):
            replace(WILLING, smallest_set=2).check_revealed(
                job, name="client 1", layout=layout, labels=labels
            )
        other = changed_job(job, reveal_to=(1,))
        with pytest.raises(LimitError, match=r"cluster 0 has 1 that are not client 1's"):
            replace(WILLING, smallest_set=2).check_revealed(
                other, name="client 1", layout=layout, labels=labels
            )

    @pytest.mark.parametrize("named", [(0,), (5,), (2, 1), (1, 1)])
    def test_recipients_are_different_clients_in_order(self, named):
        with pytest.raises(ParameterError, match=r"^reveal_centres: "):
            make_job(n=4, k=2, t=1, ell=1, d=2, bound=1.0, reveal_to=named, disclosure="coded")


class TestRefused:
    def share(self, net, *, sender=2, payload=None, recipient=1):
        shape = (net.job.residues(net.m), net.job.width, net.job.k)
        payload = bytes(3 * np.prod(shape)) if payload is None else payload
        sealed = net.seal(sender, recipient, 0, payload, b"centre share")
        return net.message(CentreShare, sender=sender, recipient=recipient).__class__(
            run=net.session.run, sender=sender, recipient=recipient, sealed=sealed
        )

    @pytest.mark.questions
    def test_by_who_is_no_recipient(self, four, refuses):
        net = four()
        net.run(until=lambda: net.clients[2].state is State.ITERATE)
        text = "^CentreShare: client 2 is no recipient of centres$"
        refuses(net.clients[2], self.share(net, sender=1, recipient=2), MessageError, text)

    @pytest.mark.questions
    def test_a_second_one(self, four, refuses):
        net = four()
        net.run(until=lambda: net.clients[1].state is State.ITERATE)
        net.clients[1].receive(self.share(net))
        refuses(net.clients[1], self.share(net), MessageError, "^CentreShare: a second one from client 2$")

    @pytest.mark.questions
    def test_of_another_size(self, four, refuses):
        net = four()
        net.run(until=lambda: net.clients[1].state is State.ITERATE)
        size = 3 * net.job.residues(net.m) * 2 * 2 + TAG_BYTES
        text = rf"^CentreShare: 19 sealed bytes from client 2, shape .* takes {size}$"
        refuses(net.clients[1], self.share(net, payload=bytes(3)), MessageError, text)

    @pytest.mark.questions
    def test_of_no_residue(self, four, refuses):
        net = four()
        net.run(until=lambda: net.clients[1].state is State.ITERATE)
        payload = b"\xff" * (3 * net.job.residues(net.m) * 2 * 2)
        text = "^CentreShare: a residue from client 2 is not below its prime"
        refuses(net.clients[1], self.share(net, payload=payload), MessageError, text)

    @pytest.mark.questions
    def test_sealed_for_another(self, four, refuses):
        net = four()
        net.run(until=lambda: net.clients[1].state is State.ITERATE)
        message = replace(self.share(net, sender=2, recipient=3), recipient=1)
        refuses(net.clients[1], message, SealError, "^centre share: part 0")

    @pytest.mark.questions
    def test_from_a_client_left_out(self, four, refuses):
        net = four()
        net.run(until=lambda: net.clients[1].state is State.ITERATE)
        net.clients[1].phase.held.sharing.left_out.add(2)
        refuses(
            net.clients[1], self.share(net), MessageError, "client 2, which is no other client of this run$"
        )

    @pytest.mark.questions
    def test_a_finish_with_labels_nobody_else_has_opens_nothing(self, four):
        net = four()
        finish = net.hold(Finish, recipient=2)
        net.deliver(replace(finish, labels=(finish.labels + 1) % 2))
        with pytest.raises(Exception, match="the server gave the result"):
            net.run()
        assert centres(net).keys() <= {1}


class TestWrongShares:
    """Shares of sums are a Reed-Solomon word: wrong ones show, and are corrected if liars are tolerated."""

    def opened(self, job, sums, *, wrong=(), clients=None, size=4):
        """Open shares of these sums, (ell * width, k) integers, some clients' off by one in one place."""
        rng = np.random.default_rng(5)
        primes = PRIMES[: job.residues(size)]
        width, shares = job.width, {}
        for index, prime in enumerate(primes):
            points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
            basis = lagrange_basis(points.beta, points.alpha, prime.p).astype(np.int64).astype(object)
            hidden = rng.integers(prime.p, size=(job.t, width, job.k))
            values = np.concatenate([np.array(sums, dtype=object).reshape(job.ell, width, job.k), hidden])
            words = np.tensordot(basis, values, axes=1) % prime.p
            for j in clients or range(1, job.n + 1):
                shares.setdefault(j, np.empty((len(primes), width, job.k)))[index] = words[j - 1].astype(
                    float
                )
        for j in wrong:
            shares[j][0, 0, 0] = (shares[j][0, 0, 0] + 1) % primes[0].p
        sizes = np.full(job.k, size, dtype=np.int64)
        found = open_sums(shares, job=job, primes=tuple(one.p for one in primes), sizes=sizes)
        return centres_of(found, job=job, sizes=sizes)

    JOB = make_job(n=9, k=2, t=1, ell=2, d=3, bound=4.0, precision=20, disclosure="coded")
    SUMS = ((1 << 20, 3), (-5, -(1 << 21)), (7, 0), (0, 0))

    def test_sums_are_exact_and_signed(self):
        found = self.opened(self.JOB, self.SUMS)
        expected = np.array(self.SUMS[:3], dtype=float).T / 4 / 2.0**self.JOB.exponent
        np.testing.assert_array_equal(found, expected)

    @pytest.mark.parametrize("clients", [(1, 2, 3), (2, 5, 9), (3, 4, 6, 7, 8)])
    def test_any_ell_plus_t_clients_do(self, clients):
        np.testing.assert_array_equal(
            self.opened(self.JOB, self.SUMS, clients=clients), self.opened(self.JOB, self.SUMS)
        )

    @pytest.mark.parametrize("wrong", range(1, 10))
    def test_a_wrong_one_beyond_ell_plus_t_is_noticed(self, wrong):
        with pytest.raises(TooManyFaultsError, match=r"^centres: shares of clients 1, 2, .* do not agree"):
            self.opened(self.JOB, self.SUMS, wrong=(wrong,))

    def test_a_wrong_one_among_ell_plus_t_makes_a_sum_that_rows_do_not_allow(self):
        with pytest.raises(
            TooManyFaultsError, match=r"^centres: a sum over cluster \d is larger than its 4 rows allow"
        ):
            self.opened(self.JOB, self.SUMS, wrong=(2,), clients=(1, 2, 3))

    @pytest.mark.parametrize("wrong", [(1,), (4, 9)])
    def test_as_many_as_may_lie_are_righted(self, wrong):
        job = changed_job(self.JOB, max_liars=2, disclosure="coded")
        np.testing.assert_array_equal(self.opened(job, self.SUMS, wrong=wrong), self.opened(job, self.SUMS))

    def test_more_than_may_lie_are_not(self):
        job = changed_job(self.JOB, max_liars=1, disclosure="coded")
        with pytest.raises(TooManyFaultsError, match="do not agree"):
            self.opened(job, self.SUMS, wrong=(4, 9))

    @pytest.mark.questions
    def test_a_liar_in_a_run_changes_nothing(self, wire):
        rows = [*ROWS, [[9.0, 3.0]]]
        net = wire(rows, max_liars=1, reveal_to=(1,), limits=WILLING, seed=2)
        net.run(until=lambda: net.clients[4].state is State.ITERATE)
        points = net.clients[4].phase.held.sharing.points
        honest = points.set_shares

        def lie(labels):
            shares = honest(labels)
            payload = bytearray(shares.payload)
            payload[0] ^= 1
            return PackedResidues(shape=shares.shape, payload=payload)

        points.set_shares = lie
        net.run()
        np.testing.assert_array_equal(centres(net)[1], means(net))

    @pytest.mark.questions
    def test_wrong_shares_are_righted_by_later_ones_whoever_was_absent_from_the_plan(self, wire):
        """Five shares with two wrong ones cannot be corrected. Two more arrive."""
        net = wire([[[float(j)]] for j in range(9)], max_liars=2, reveal_to=(3,), limits=WILLING, seed=2)
        net.run(drop=lambda message: message.sender in (8, 9))
        for j in (8, 9):
            net.post(net.server.absent(j))
        late = []
        while links := net.pending():
            message = net.take(links[0])
            if isinstance(message, CentreShare) and message.sender in (1, 2):
                wrong = bytes(len(message.sealed.payload) - TAG_BYTES)
                message = replace(message, sealed=net.seal(message.sender, 3, 0, wrong, b"centre share"))
            if isinstance(message, CentreShare) and message.sender in (6, 7):
                late.append(message)
            elif message.sender not in (8, 9) and message.recipient not in (8, 9):
                net.deliver(message)
        assert net.clients[3].centres is None
        for message in late:
            net.deliver(message)
        labels = net.server.outcome.labels
        expected = [[np.mean([j for j in range(7) if labels[j] == h])] for h in range(2)]
        np.testing.assert_allclose(net.clients[3].centres, expected)


class TestNothingElse:
    """Exhaustive over all masks at a small prime: t = 1, ell = 1, two rows in the cluster."""

    P = 7
    BETA, ALPHA = (0, 1), (2, 3, 4)

    def views(self, rows, client):
        """How often a recipient sees its own shares of the rows together with the polynomial of their sum."""
        p = self.P
        basis = lagrange_basis(self.BETA, self.ALPHA, p).astype(int)
        seen = Counter()
        for masks in product(range(p), repeat=len(rows)):
            shares = np.array([basis @ (x, z) % p for x, z in zip(rows, masks, strict=True)])
            seen[(*shares[:, client].tolist(), *(shares.sum(axis=0) % p).tolist())] += 1
        return seen

    @pytest.mark.parametrize("client", range(3))
    def test_rows_with_one_sum_look_the_same_to_a_recipient(self, client):
        for rows in ((0, 5), (1, 4), (6, 6)):
            assert self.views(rows, client) == self.views((2, 3), client)

    def test_rows_with_another_sum_do_not(self):
        assert self.views((2, 4), 0) != self.views((2, 3), 0)

    @pytest.mark.parametrize(("t", "ell"), [(1, 1), (2, 1), (2, 2), (3, 2)])
    def test_shares_of_sums_at_any_t_clients_are_uniform_whatever_the_centres_are(self, t, ell):
        # A matrix times the sums of masks, plus a term of the sums: uniform if the matrix is invertible.
        prime, n = PRIMES[0], 2 * (t + ell) - 1
        points = evaluation_points(prime, n=n, coded=ell + t)
        basis = lagrange_basis(points.beta, points.alpha, prime.p).astype(int)
        for chosen in combinations(range(n), t):
            determinant = _determinant(basis[list(chosen), ell:].tolist(), prime.p)
            assert determinant % prime.p != 0


def _determinant(matrix, p):
    if len(matrix) == 1:
        return matrix[0][0]
    return (
        sum(
            (-1) ** at * head * _determinant([row[:at] + row[at + 1 :] for row in matrix[1:]], p)
            for at, head in enumerate(matrix[0])
        )
        % p
    )
