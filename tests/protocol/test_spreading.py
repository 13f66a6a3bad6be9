"""Spreads by consent: which clients get them, what is refused, and that only sums of squares are learned."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from support.rank import rank

from secfc.crypto.randomness import MaskSource
from secfc.errors import LimitError, MessageError, ParameterError, TooManyFaultsError
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.operations.ending.spreads import deviations
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import CentreShare, Finish, Share
from secfc.protocol.opening.spreading import (
    add_residues,
    check_inertia,
    deal_zeros,
    decode_squares,
)
from secfc.protocol.states import State
from secfc.sharing.client_shares import ClientSharing

_RNG = np.random.default_rng(12)
ROWS = [
    np.concatenate([_RNG.normal(size=(m, 3)), _RNG.normal(size=(m, 3)) + 9.0]).tolist()
    for m in (6, 5, 7, 8, 6)
]
WILLING = Limits(reveal_centres=True, reveal_spread=10)


@pytest.fixture
def five(wire):
    """Five clients, of which three are enough. By default spreads go to clients 1 and 3."""

    def make(rows=ROWS, **more):
        given = {"reveal_to": (1, 3), "reveal_spread": 10, "limits": WILLING, "seed": 2, "precision": 24}
        return wire(rows, **given | more)

    return make


def quantised(net, numbers=None):
    chosen = range(1, net.job.n + 1) if numbers is None else numbers
    rows = np.concatenate([net.rows[j - 1] for j in chosen])
    return np.rint(np.ldexp(rows, net.job.exponent)).astype(np.int64)


def spreads(net, numbers=None):
    """Spreads of the final clusters, from the quantised rows."""
    chosen = range(1, net.job.n + 1) if numbers is None else numbers
    labels = np.concatenate([net.clients[j].labels for j in chosen])
    rows = quantised(net, chosen)
    return np.array([np.ldexp(rows[labels == h].std(axis=0), -net.job.exponent) for h in range(net.job.k)])


def found(net):
    return {j: client.deviations for j, client in net.clients.items() if client.deviations is not None}


def assert_spreads(net, numbers=None):
    for one in found(net).values():
        np.testing.assert_allclose(one, spreads(net, numbers), rtol=1e-12)


class TestWhoGetsThem:
    @pytest.mark.some(4)
    @pytest.mark.parametrize("disclosure", ["coded", "labels"])
    @pytest.mark.parametrize(("t", "ell"), [(1, 1), (2, 1), (1, 2)])
    def test_the_clients_that_centres_go_to_and_nobody_else(self, five, disclosure, t, ell):
        net = five(disclosure=disclosure, t=t, ell=ell)
        net.run()
        assert sorted(found(net)) == [1, 3]
        assert_spreads(net)
        assert {client.state for client in net.clients.values()} == {State.DONE}

    @pytest.mark.some(2)
    @pytest.mark.parametrize("lost", [(2,), (5,), (2, 3), (4, 7), (2, 5)])
    def test_dealers_that_vanish_after_sharing_are_not_needed(self, five, lost):
        net = five(ROWS + ROWS[:2] if len(lost) == 2 else ROWS, reveal_to=(1,))  # n > 2S + t
        net.run(drop=lambda message: isinstance(message, CentreShare) and message.sender in lost)
        assert sorted(found(net)) == [1]
        assert_spreads(net)

    @pytest.mark.parametrize("told", [2, 3])
    @pytest.mark.questions
    def test_with_fewer_shares_than_a_quorums_there_are_none(self, five, told):
        net = five(reveal_to=(1,))
        net.run(drop=lambda message: isinstance(message, CentreShare) and message.sender > told)
        assert found(net) == {}
        assert net.clients[1].state is State.REVEAL

    @pytest.mark.questions
    def test_zeros_of_a_client_that_is_left_out_are_not_summed(self, five):
        net = five(reveal_to=(1,))

        # Client 5 deals only to clients 1 and 2, and sends nothing more.
        def gone(message):
            early = type(message).__name__ in {"Hello", "Plan"}
            dealt = isinstance(message, Share) and message.recipient in {1, 2}
            return 5 in (message.sender, message.recipient) and not (early or dealt)

        net.run(drop=gone)
        assert net.clients[1].labels is None
        assert 5 in net.clients[2].phase.held.sharing._zeros
        assert 5 not in net.clients[3].phase.held.sharing._zeros
        net.post(net.server.absent(5))
        net.run(drop=lambda message: 5 in (message.sender, message.recipient))
        assert_spreads(net, range(1, 5))
        assert sorted(found(net)) == [1]

    def test_of_a_cluster_without_rows_there_is_none(self, five):
        rows = [np.zeros((6, 2)) for _ in range(5)]
        net = five(rows, starts=[[0, 1, 0, 1, 0, 1]] * 5)
        net.run()
        np.testing.assert_array_equal(found(net)[1], [[0, 0], [np.nan, np.nan]])


class TestConsent:
    def test_to_centres_is_none_to_spreads(self, five):
        with pytest.raises(LimitError, match=r"^client 1 does not consent to revealing spreads"):
            five(limits=Limits(reveal_centres=True))

    def test_to_larger_clusters_is_none_to_smaller_ones(self, five):
        with pytest.raises(
            LimitError, match=r"spreads of clusters of at least 11 rows .*, but the job has 10$"
        ):
            five(limits=replace(WILLING, reveal_spread=11))
        five(limits=WILLING, reveal_spread=11)

    @pytest.mark.questions
    def test_a_cluster_that_is_too_small_opens_nothing_at_all(self, five):
        net = five(reveal_spread=30)
        with pytest.raises(
            LimitError,
            match=r"^client \d opens spreads only of clusters of at least 30 rows, but cluster \d has ",
        ):
            net.run()
        assert found(net) == {}
        assert all(client.centres is None for client in net.clients.values())

    def test_a_recipients_own_rows_do_not_count(self):
        job = make_job(
            n=3, k=1, t=1, ell=1, d=2, bound=1.0, reveal_to=(2,), reveal_spread=10, disclosure="coded"
        )
        layout = Layout((5, 3, 5))
        for labels, fits in ((np.zeros(13), True), (np.r_[-1, np.zeros(12)], False)):
            given = {"name": "client 1", "layout": layout, "labels": labels.astype(np.int32)}
            if fits:
                WILLING.check_revealed(job, **given)
            else:
                with pytest.raises(
                    LimitError, match=r"cluster 0 has 9 that are not client 2's, who gets it$"
                ):
                    WILLING.check_revealed(job, **given)

    @pytest.mark.parametrize("least", [0, 1, 9, True, 10.0])
    def test_of_fewer_than_ten_rows_cannot_be_given(self, least):
        with pytest.raises(ParameterError, match=r"^limits\.reveal_spread: "):
            Limits(reveal_spread=least)
        with pytest.raises(ParameterError, match=r"^reveal_spread: "):
            make_job(
                n=3,
                k=1,
                t=1,
                ell=1,
                d=2,
                bound=1.0,
                reveal_to=(2,),
                reveal_spread=least,
                disclosure="coded",
            )


def adds(monkeypatch, liar, lies):
    """A client's shares change sums of squares by `lies`, by column and cluster (ell = 1)."""
    honest = ClientSharing.hidden_squares

    def lie(sharing, labels):
        shares = honest(sharing, labels)
        if sharing._number != liar:
            return shares
        job = sharing._job
        for index, p in enumerate(sharing.primes):
            points = evaluation_points(PRIMES[index], n=job.n, coded=job.ell + job.t)
            weight = int(lagrange_basis(points.alpha[: job.threshold], points.beta[:1], p)[0, liar - 1])
            plane = unpack(shares.planes()[index])
            for place, off in lies.items():
                plane[place] += off * pow(weight, -1, p) % p
            shares.planes()[index] = pack(reduce(plane, p), p)
        return shares

    monkeypatch.setattr(ClientSharing, "hidden_squares", lie)


class TestRefused:
    def hold(self, five):
        """The first part that client 2 sends to client 1, and its content."""
        net = five()
        share = net.hold(Share, recipient=1, sender=2)
        channel = net.channels[1][2]
        return net, share, bytearray(channel.open(b"share", part=0, sealed=share.sealed.payload))

    @pytest.mark.questions
    def test_a_first_part_without_zeros(self, five, refuses):
        net, share, payload = self.hold(five)
        size = 3 * len(net.clients[1].phase.held.sharing.primes) * 3 * 2
        other = replace(share, sealed=net.seal(2, 1, 0, bytes(payload[:-size])))
        refuses(net.clients[1], other, MessageError, "^Share: .* sealed bytes from client 2, shape ")

    @pytest.mark.questions
    def test_zeros_that_are_no_residues(self, five, refuses):
        net, share, payload = self.hold(five)
        payload[-3:] = b"\xff\xff\xff"
        other = replace(share, sealed=net.seal(2, 1, 0, bytes(payload)))
        refuses(net.clients[1], other, MessageError, "^Share: a residue from client 2 is not below its prime")

    @pytest.mark.parametrize("liar", [1, 2, 3])
    @pytest.mark.questions
    def test_wrong_shares_of_squares_make_sums_that_no_rows_have(self, five, monkeypatch, liar):
        honest = ClientSharing.hidden_squares

        def lie(sharing, labels):
            shares = honest(sharing, labels)
            if sharing._number == liar:
                shares.payload[0] ^= 1
            return shares

        monkeypatch.setattr(ClientSharing, "hidden_squares", lie)
        net = five(ROWS[:3], reveal_to=(1,))
        with pytest.raises(
            TooManyFaultsError, match=r"^spreads: the sums of cluster \d are not possible for \d+ rows"
        ):
            net.run()
        assert found(net) == {}

    @pytest.mark.questions
    def test_a_plausible_lie_is_noticed_where_a_quorum_is_more_than_r(self, five, monkeypatch):
        adds(monkeypatch, 2, {(0, 0): 2})
        net = five(reveal_to=(1,))
        with pytest.raises(TooManyFaultsError, match=r"^spreads: shares of clients 1, .* do not agree"):
            net.run()
        assert found(net) == {}

    @pytest.mark.parametrize("liar", [1, 2, 3])
    @pytest.mark.parametrize("off", [2, -2, 1 << 20])
    @pytest.mark.questions
    def test_where_it_is_not_another_inertia_tells(self, five, monkeypatch, liar, off):
        adds(monkeypatch, liar, {(1, 0): off})
        net = five(ROWS[:3], reveal_to=(1,))
        with pytest.raises(TooManyFaultsError, match=r"^spreads: the inertia by sums of squares differs"):
            net.run()
        assert found(net) == {}

    @pytest.mark.questions
    def test_two_lies_that_leave_the_inertia_as_it_is_are_not_noticed_by_r_clients(self, five, monkeypatch):
        # See docs/threat-model.md. With five clients the shares of three would not agree.
        adds(monkeypatch, 2, {(0, 0): 1 << 40, (1, 0): -(1 << 40)})
        net = five(ROWS[:3], reveal_to=(1,))
        net.run()
        assert not np.allclose(found(net)[1], spreads(net), rtol=1e-12)

    def test_the_inertia_is_at_least_that_about_the_rows_own_means(self):
        job, sizes = (
            make_job(n=3, k=2, t=1, ell=1, d=1, bound=1.0, precision=4, disclosure="coded"),
            np.array([2, 1]),
        )
        result = {"run": bytes(16), "sender": 0, "recipient": 1, "labels": np.zeros(3, dtype=np.int32)}

        def check(inertia, *, converged, sizes=sizes):
            finish = Finish(**result, n_iter=1, converged=converged, inertia=inertia / 256)
            check_inertia([[2, 5]], [[10, 25]], job=job, sizes=sizes, result=finish)  # -1 and 3; 5

        check(8.0, converged=True)
        check(8.5, converged=False)
        check(8.5, converged=True, sizes=np.array([2, 0]))
        for inertia, converged in ((8.5, True), (7.5, True), (7.5, False)):
            with pytest.raises(TooManyFaultsError, match="the inertia by sums of squares differs"):
                check(inertia, converged=converged)

    def test_sums_that_no_integers_have(self):
        job, sizes = (
            make_job(n=3, k=1, t=1, ell=1, d=1, bound=1.0, precision=4, disclosure="coded"),
            np.array([2]),
        )
        assert deviations([[2]], [[10]], job=job, sizes=sizes) == 2.0 / 16  # -1 and 3
        for total, square in ((2, 1), (2, 11), (0, 2 * job.radius**2 + 2)):
            with pytest.raises(
                TooManyFaultsError, match=r"^spreads: the sums of cluster 0 are not possible for 2 rows"
            ):
                deviations([[total]], [[square]], job=job, sizes=sizes)


class TestZeros:
    @pytest.mark.parametrize(("n", "t", "ell"), [(3, 1, 1), (8, 1, 1), (5, 2, 1), (9, 2, 2), (12, 1, 3)])
    def test_any_r_shares_decode_to_zeros(self, n, t, ell):
        job = make_job(n=n, k=2, t=t, ell=ell, d=5, bound=1.0, disclosure="coded")
        primes = tuple(prime.p for prime in PRIMES[:3])
        dealt = [deal_zeros(job, primes=primes, masks=MaskSource()) for _ in range(2)]
        shares = {
            j: unpack(add_residues([one[j - 1] for one in dealt], primes).planes()) for j in range(1, n + 1)
        }
        for chosen in list(combinations(shares, job.threshold))[:20]:
            squares = decode_squares({j: shares[j] for j in chosen}, job=job, primes=primes)
            assert squares == [[0, 0]] * 5
        assert np.unique(np.concatenate([one.ravel() for one in shares.values()])).size > n

    @pytest.mark.parametrize(("t", "ell"), [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2)])
    def test_values_at_any_r_minus_ell_clients_are_uniform(self, t, ell):
        # They are an invertible matrix times what is drawn, so t values leave the others free.
        prime, n = PRIMES[0], 2 * (t + ell) + 1
        points, free = evaluation_points(prime, n=n, coded=ell + t), 2 * (t + ell) - 1 - ell
        nodes = [*points.beta[:ell], *points.alpha[:free]]
        rest = lagrange_basis(nodes, points.alpha[free:], prime.p)[:, ell:].astype(np.int64)
        matrix = np.concatenate([np.eye(free, dtype=np.int64), rest])
        for chosen in combinations(range(n), free):
            assert rank(matrix[list(chosen)], prime.p) == free

    def test_the_sum_of_residues_is_reduced(self):
        p = PRIMES[0].p
        most = PackedResidues(shape=(1, 1, 1), payload=(p - 1).to_bytes(3, "little"))
        assert unpack(add_residues([most] * 4096, (p,)).planes()).item() == (-4096) % p


class TestNothingElse:
    """Exhaustive over all masks at a small prime: t = 1, ell = 1, R = 3, two rows in the cluster."""

    P = 7
    BETA, ALPHA = (0, 1), (2, 3, 4)

    def views(self, rows, client, *, zeros=True):
        """How often a recipient sees its own shares with what it gets: sums, squares, its own zeros."""
        p = self.P
        basis = lagrange_basis(self.BETA, self.ALPHA, p).astype(int)
        free = lagrange_basis((self.BETA[0], *self.ALPHA[:2]), self.ALPHA[2:], p).astype(int)[:, 1:]
        seen = Counter()
        for masks in product(range(p), repeat=len(rows)):
            shares = np.array([basis @ (x, z) % p for x, z in zip(rows, masks, strict=True)])
            for drawn in product(range(p), repeat=2) if zeros else [(0, 0)]:
                hidden = np.r_[drawn, free @ drawn] % p
                told = (shares**2).sum(axis=0) + hidden
                seen[(*shares[:, client], *(shares.sum(axis=0) % p), *(told % p), hidden[client])] += 1
        return seen

    # In the field of seven: sum 5 and sum of squares 6. Only these two pairs have both.
    ALIKE, OTHER = ((2, 3), (3, 2)), (1, 4)

    @pytest.mark.parametrize("client", range(3))
    def test_rows_with_one_sum_and_one_sum_of_squares_look_the_same(self, client):
        one, two = (self.views(rows, client) for rows in self.ALIKE)
        assert one == two

    @pytest.mark.some(1)
    @pytest.mark.parametrize("client", range(3))
    def test_three_rows_with_both_sums_alike_look_the_same(self, client):
        # 0 + 1 + 5 = 2 + 2 + 2 = 6 and 0 + 1 + 25 = 4 + 4 + 4 = 5 modulo 7.
        assert self.views((0, 1, 5), client) == self.views((2, 2, 2), client)

    def test_rows_with_another_sum_of_squares_do_not(self):
        assert self.views(self.ALIKE[0], 0) != self.views(self.OTHER, 0)

    def test_without_zeros_squares_tell_more_than_their_sum(self):
        assert self.views((0, 1, 5), 0, zeros=False) != self.views((2, 2, 2), 0, zeros=False)
