"""Optional parts of runs with disclosure "coded": predictions, opened centres and spreads."""

import numpy as np
import pytest
from protocol.test_coded_program import Lying, telling
from protocol.test_program import run_without
from support.wire import Wire

from secfc.errors import CheatError, LimitError, TooManyFaultsError
from secfc.field.label_packing import PackedLabels
from secfc.operations.decoding import revealing
from secfc.protocol.job.limits import Limits
from secfc.protocol.parties.party import Party

# Old rows 0 and 2, 8 and 10; new ones 4, 5 and 6.
ROWS = [[[0.0], [4.0], [2.0]], [[8.0], [5.0]], [[6.0], [10.0]], [], []]
STARTS = [[0, -1, 0], [1, -1], [-1, 1], [], []]
FOUND = [[0, 0, 0], [1, 0], [1, 1], [], []]


class TestPrediction:
    @staticmethod
    def net(**more):
        rows = [np.array(part, dtype=float).reshape(-1, 1) for part in ROWS]
        fixed = {"starts": STARTS, "max_iter": 1, "predict": True, "limits": Limits(predict=True)}
        return Wire(rows, **fixed | more)

    def test_by_hand_has_one_round_and_no_inertia(self):
        net = self.net()
        net.run()
        assert [net.clients[j].labels.tolist() for j in range(1, 6)] == FOUND
        outcome = net.server.outcome
        assert outcome.labels.tolist() == [one for part in FOUND for one in part]
        assert (outcome.inertia, outcome.history, outcome.spreads) == (0, [], [])
        assert net.server.gathering.round == 1

    def test_another_label_of_a_row_that_has_one_is_refused(self):
        net, wrong = self.net(), np.array([1, 0, 0, 1, 0, 1, 1], dtype=np.int32)
        payload = PackedLabels.of(wrong, 1, none=False).payload
        with pytest.raises(CheatError, match=r"^the server told other labels than those that were given$"):
            net.run(drop=telling(net, [2], "labels", lambda data: bytes(payload)))
        assert net.clients[2].labels is None

    def test_another_label_of_a_new_row_is_found_before_a_result(self):
        net, wrong = self.net(), np.array([0, 1, 0, 1, 0, 1, 1], dtype=np.int32)
        payload = PackedLabels.of(wrong, 1, none=False).payload
        with pytest.raises(CheatError, match=r"saw other numbers opened before step \d+$"):
            net.run(drop=telling(net, [2], "labels", lambda data: bytes(payload)))
        assert net.clients[2].labels is None

    def test_means_of_small_sets_are_refused(self):
        with pytest.raises(LimitError, match=r"sets of at least 3 rows, but round 1 has a set of 2$"):
            self.net(limits=Limits(predict=True, smallest_set=3)).run()

    def test_nobody_can_be_left_out_before_rows_are_shared(self):
        with pytest.raises(TooManyFaultsError, match="client 1"):
            run_without(self.net(), 1, 8)

    def test_a_liar_is_named_and_changes_nothing(self):
        net = self.net(max_liars=1)
        net.run(drop=Lying(net, 4))
        assert net.server.faults.liars == (4,)
        assert [net.clients[j].labels.tolist() for j in range(1, 6)] == FOUND


_RNG = np.random.default_rng(5)
GROUPS = [_RNG.normal(size=(m, 2)).round(2) + 9 * (np.arange(m) % 2)[:, np.newaxis] for m in (26, 25, 24)]
OPENS = Limits(reveal_centres=True, reveal_spread=10)


class TestOpened:
    @staticmethod
    def net(rows=GROUPS, **more):
        starts = [np.arange(len(part)) % 2 for part in rows]
        given = {"starts": starts, "step": 0.01, "precision": 32, "reveal_to": (1, 3), "limits": OPENS}
        return Wire(rows, **given | more)

    @staticmethod
    def expected(net, of=np.mean):
        rows, labels = np.concatenate(net.rows), net.server.outcome.labels
        return [of(rows[labels == h], axis=0) for h in range(net.job.k)]

    @pytest.mark.parametrize("spread", [None, 10])
    def test_to_recipients_and_nobody_else(self, spread):
        net = self.net(reveal_spread=spread)
        net.run()
        assert net.clients[2].centres is net.clients[2].deviations is None
        for j in (1, 3):
            client = net.clients[j]
            np.testing.assert_allclose(client.centres, self.expected(net), rtol=1e-12)
            assert client.opened_sizes.tolist() == np.bincount(net.server.outcome.labels).tolist()
            assert (client.deviations is None) == (spread is None)
            if spread:
                np.testing.assert_allclose(client.deviations, self.expected(net, np.std), rtol=1e-12)

    def test_of_blocks_of_rows_the_same(self, monkeypatch):
        monkeypatch.setattr(revealing, "BLOCK", 64)
        net = self.net(reveal_spread=10)
        net.run()
        np.testing.assert_allclose(net.clients[3].deviations, self.expected(net, np.std), rtol=1e-12)

    def test_a_set_with_few_rows_of_others_opens_nothing(self, monkeypatch):
        sent, real = set(), Party.send

        def send(me, recipient, tag, data):
            sent.add(tag)
            real(me, recipient, tag, data)

        monkeypatch.setattr(Party, "send", send)
        limits = Limits(reveal_centres=True, smallest_set=26)
        with pytest.raises(LimitError, match=r"^centres are opened only .* for clients 1, 3 a cluster has"):
            self.net(limits=limits).run()
        assert {"labels", "same"} <= sent
        assert not {"sizes", "sums"} & sent

    def test_wrong_shares_of_a_liar_change_nothing(self, monkeypatch):
        real, rows = revealing.opened_centres, [*GROUPS, GROUPS[0], GROUPS[1]]

        def lying(me, job, own, *, sums, **given):
            return real(me, job, own, sums=sums + int(me.number == 2), **given)

        monkeypatch.setattr(revealing, "opened_centres", lying)
        net = self.net(rows, max_liars=1)
        net.run()
        for j in (1, 3):
            np.testing.assert_allclose(net.clients[j].centres, self.expected(net), rtol=1e-12)

    def test_a_wrong_share_ends_the_run_where_nobody_may_lie(self, monkeypatch):
        real = revealing.opened_centres

        def lying(me, job, own, *, sums, **given):
            return real(me, job, own, sums=sums + int(me.number == 2), **given)

        monkeypatch.setattr(revealing, "opened_centres", lying)
        with pytest.raises(CheatError, match=r"^sums: shares lie on no polynomial of their degree$"):
            self.net().run()

    def test_what_hides_squares_is_a_fresh_sharing_of_zeros_by_all_holders(self, monkeypatch):
        real, found = revealing._zeros, {}

        def zeros(me, size):
            of = yield from real(me, size)
            found[me.number] = me.code, of.residues
            return of

        monkeypatch.setattr(revealing, "_zeros", zeros)
        net = self.net(reveal_spread=10)
        net.run()
        code, shares = found[1][0], {j: found[j][1] for j in (1, 2, 3)}
        assert found[0][1] is None
        assert not code.open(shares, wide=True).any()
        assert all(len(np.unique(of)) > 3 for of in shares.values())

    @pytest.mark.parametrize("at", [60, 75, 85, 90, 95, 105, 115, 125])
    def test_without_a_client_that_is_lost_spreads_are_right(self, at):
        net = self.net([*GROUPS, GROUPS[0], GROUPS[1]], reveal_spread=10, max_iter=2)
        run_without(net, 2, at, seed=at)
        out, labels = net.server.faults.left_out, net.server.outcome.labels
        rows = np.concatenate([own for j, own in enumerate(net.rows, 1) if j not in out])
        for j in (1, 3):
            for h in (0, 1):
                found = net.clients[j].deviations[h]
                np.testing.assert_allclose(found, rows[labels == h].std(axis=0), rtol=1e-12)
