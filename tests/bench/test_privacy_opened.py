"""What opened centres, spreads and predictions reveal to whom, on small data."""

from itertools import product
from math import log2

import numpy as np
import pytest

import secfc
from benchmarks.privacy import opened, spreads
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.view import watch
from secfc.protocol.job.limits import Limits

ROUNDING = 1e-7
WILLING = Limits(reveal_centres=True, reveal_spread=10)


def revealed(parties, k, **parameters):
    given = {"t": 1, "ell": 1, "seed": 1, "reveal_to": (opened.RECIPIENT,), "limits": WILLING} | parameters
    return watch(parties, k=k, **given)


def placing(runs):
    return opened.server_with_centres(runs, attack="h", swept="k", value=0).success


class TestServerWithCentres:
    def test_d_plus_one_opened_centres_place_every_row_and_d_do_not(self):
        parties = blobs(5, 120, 3)
        assert placing([revealed(parties, 3)]) > 0.1
        assert placing([revealed(parties, 4)]) < ROUNDING

    def test_with_fewer_centres_rows_are_placed_in_their_span(self):
        watched = revealed(blobs(5, 120, 3), 3)
        centres, _ = watched.opened(opened.RECIPIENT)
        basis = np.linalg.svd(centres - centres.mean(axis=0))[2][:2]
        projected = (watched.rows - centres.mean(axis=0)) @ basis.T @ basis + centres.mean(axis=0)
        assert placing([watched]) == pytest.approx(
            np.linalg.norm(projected - watched.rows)
            / np.linalg.norm(watched.rows - watched.rows.mean(axis=0)),
            abs=1e-6,
        )

    def test_centres_of_several_runs_add_up(self):
        parties = blobs(5, 120, 4)
        runs = [revealed(parties, 3, seed=seed) for seed in (1, 2, 3)]
        errors = [placing(runs[:count]) for count in (1, 2, 3)]
        assert errors[0] > 0.1
        assert errors[0] > errors[1]
        assert errors[2] < ROUNDING

    def test_one_round_is_enough_where_centres_are(self):
        watched = revealed(blobs(5, 120, 3), 6)
        assert placing([watched.after(1)]) < ROUNDING

    def test_nobody_is_given_centres_without_consent(self):
        with pytest.raises(secfc.LimitError, match="does not consent to revealing centres"):
            revealed(blobs(3, 60, 3), 3, limits=Limits())


class TestRecipientAlone:
    def test_the_one_row_of_others_in_a_cluster_is_known(self):
        parties = [
            np.array([[0.0, 1.0], [9.0, 9.0]]),
            np.array([[0.5, 0.0], [8.0, 9.0]]),
            np.array([[1.0, 1.0]]),
        ]
        watched = revealed(parties, 2)
        placed, exact = opened.recipient_alone(watched, swept="m", value=5)
        assert exact.success == pytest.approx(1 / 3)  # (8, 9); the other two share a cluster
        assert 0 < placed.success < 1

    def test_a_smallest_set_ends_the_run_before_centres_are_opened(self):
        watched = revealed(blobs(3, 9, 3), 4, limits=Limits(reveal_centres=True, smallest_set=2))
        assert "at least 2 rows" in watched.refusal
        assert all(client.centres is None for client in watched.clients)


class TestSpreads:
    def test_ways_are_counted_by_hand(self):
        # 0 + 2, 1 + 1 and 2 + 0: one has sum of squares 2, two have 4.
        table = spreads.ways(3, 2)
        assert table[2].tolist() == [0, 0, 1, 0, 2, 0, 0, 0, 0]
        assert table.sum() == 9

    @pytest.mark.parametrize(("levels", "count"), [(2, 5), (3, 4), (5, 3)])
    def test_bits_left_are_those_of_enumeration(self, levels, count):
        values = list(product(range(levels), repeat=count))
        given = values[len(values) // 3]
        total, squares = sum(given), sum(x * x for x in given)
        same_sum = [one for one in values if sum(one) == total]
        same_both = [one for one in same_sum if sum(x * x for x in one) == squares]
        bits = count * log2(levels)
        found = spreads.bits_left(levels, count=count, total=total, squares=squares)
        assert found == pytest.approx((log2(len(same_sum)) / bits, log2(len(same_both)) / bits))

    def test_the_recipient_has_the_sums_of_the_others_rows(self):
        watched = revealed(spreads.whole_numbers(5, 60, 4, 10, 3), 3, reveal_spread=10)
        theirs = ~watched.own_rows(opened.RECIPIENT)
        clusters = list(spreads.others(watched))
        assert len(clusters) == 3
        for h, (count, totals, squares) in enumerate(clusters):
            rows = watched.rows[theirs & (watched.labels == h)]
            assert count == len(rows) >= 10
            assert totals.tolist() == rows.sum(axis=0).tolist()
            assert squares.tolist() == (rows**2).sum(axis=0).tolist()

    def test_of_yes_and_no_a_spread_tells_nothing_more_and_of_numbers_it_does(self):
        of_bits = spreads.bits_left(2, count=10, total=4, squares=4)
        assert of_bits[0] == of_bits[1]
        mean, both = spreads.bits_left(10, count=10, total=45, squares=285)
        assert both < mean - 0.05
