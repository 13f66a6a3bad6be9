"""What each attack finds: nothing where the docs promise it, and everything where the docs say so."""

import numpy as np
import pytest

from benchmarks.privacy import cheating, coalition, coded, distances, federated, sybils
from benchmarks.privacy.geometry import aligned, placed, procrustes_error
from benchmarks.privacy.lattice import SmallSolutions
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.modular import row_reduced, solution
from benchmarks.privacy.view import watch
from plaintext_baselines.generators import secfc_blobs

ROUNDING = 1e-7


@pytest.fixture(scope="module")
def run_of_eleven():
    return watch(blobs(11, 120, 8), k=4, t=2, ell=4, seed=1, disclosure="coded")


class TestTools:
    def test_row_reduction_by_hand(self):
        rows, pivots = row_reduced(np.array([[2, 4], [1, 3]]), 2, 11)
        assert pivots == [0, 1]
        assert rows.tolist() == [[1, 0], [0, 1]]

    def test_a_system_with_two_solutions_has_none_to_return(self):
        assert solution(np.array([[1, 1]]), np.array([3]), 11) is None
        assert solution(np.array([[1, 0], [2, 0], [0, 1]]), np.array([1, 3, 0]), 11) is None
        assert solution(np.array([[1, 1], [1, 2]]), np.array([3, 4]), 11).tolist() == [2, 1]

    def test_small_solutions_are_found(self):
        rng, modulus = np.random.default_rng(0), 16760833 * 16736257 * 16699393
        coefficients = [[int(x) * int(y) for x, y in rng.integers(1, 1 << 35, (4, 2))] for _ in range(2)]
        solver = SmallSolutions(coefficients, modulus)
        for _ in range(5):
            x = [int(v) for v in rng.integers(-(1 << 30), 1 << 30, 4)]
            values = [sum(a * b for a, b in zip(row, x, strict=True)) % modulus for row in coefficients]
            assert solver.solve(values) == x

    def test_points_from_distances_to_means_of_sets(self):
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(30, 3))
        weights = rng.random((5, 30))
        weights /= weights.sum(axis=1, keepdims=True)
        squared = ((rows[:, np.newaxis] - weights @ rows) ** 2).sum(axis=2)
        assert procrustes_error(placed(squared, weights, 3), rows) < ROUNDING
        assert procrustes_error(placed(squared[:, :3], weights[:3], 3), rows) > 0.1

    def test_known_points_align_the_others(self):
        rng = np.random.default_rng(1)
        rows = rng.normal(size=(10, 3))
        turned = rows @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + 5
        assert np.allclose(aligned(turned, rows[:4], np.arange(4)), rows)


class TestCoalitions:
    @pytest.mark.some(1)
    @pytest.mark.parametrize(("n", "t", "ell"), [(11, 4, 2), (11, 1, 5), (11, 5, 1), (7, 2, 2)])
    def test_no_subset_of_t_clients_has_an_equation_and_every_larger_one_has(self, n, t, ell):
        job = watch(blobs(n, 20, 3), k=2, t=t, ell=ell, max_iter=1).job
        assert coalition.any_t_clients(job, 20).success == 0
        for extra in range(1, ell + 1):
            for combine, segments in coalition.equations(job, tuple(range(1, t + extra + 1))):
                assert combine.shape == (extra, t + extra)
                assert segments.any(axis=1).all()

    def test_shares_of_t_clients_pass_for_uniform(self, run_of_eleven):
        assert coalition.uniformity(run_of_eleven, (3, 8)).success > 1e-6

    def test_the_uniformity_test_notices_shares_without_masks(self, run_of_eleven):
        class Bare:
            job, rows, primes = run_of_eleven.job, run_of_eleven.rows, run_of_eleven.primes

            def shares(self, client):
                return np.full((len(self.primes), 2, 120), 5 * client)

        assert coalition.uniformity(Bare(), (1, 2)).success < 1e-6

    @pytest.mark.parametrize("clients", [1, 2])
    def test_classifiers_on_t_shares_stay_at_chance(self, clients):
        for row in coalition.told_apart(n=7, t=2, ell=2, d=2, m=3000, coalition=clients):
            assert abs(row.success - 0.5) < 0.06  # six deviations of 1500 coins

    def test_classifiers_on_one_share_more_are_certain(self):
        for row in coalition.told_apart(n=7, t=2, ell=2, d=2, m=1000, coalition=3):
            assert row.success == 1

    def test_ell_plus_t_clients_recover_every_value(self, run_of_eleven):
        found = coalition.recovered(run_of_eleven, (1, 4, 5, 7, 9, 11), 10)
        assert (found == coalition.truth(run_of_eleven, 10)).all()

    def test_t_clients_recover_none(self, run_of_eleven):
        found = coalition.recovered(run_of_eleven, (2, 5), 10)
        assert not (found == coalition.truth(run_of_eleven, 10)).any()

    def test_fewer_than_ell_plus_t_may_be_enough_as_rows_are_small(self, run_of_eleven):
        # Two equations of 95 bits for four segments of 33 bits: docs/threat-model.md warns of this.
        found = coalition.recovered(run_of_eleven, (2, 5, 6, 10), 10)
        assert (found == coalition.truth(run_of_eleven, 10)).all()


class TestServer:
    def test_rows_are_placed_once_enough_centres_were_seen(self, run_of_eleven):
        errors = [
            row.success for row in distances.by_centres(run_of_eleven, swept="d", value=8, counts=[4, 8, 12])
        ]
        assert errors[0] > errors[1] > 0.1
        assert errors[2] < ROUNDING

    def test_with_d_plus_one_known_rows_everybody_is_placed(self, run_of_eleven):
        few, enough = distances.with_known_rows(run_of_eleven, [4, 9])
        assert few.success > 0.3
        assert enough.success < ROUNDING

    def test_distances_that_are_kept_are_those_of_the_rows(self, run_of_eleven):
        rows, sets = run_of_eleven.rows, run_of_eleven.server.questions[0]
        centres = np.array([rows[sets == h].mean(axis=0) for h in range(4)])
        true = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
        assert np.allclose(run_of_eleven.server.distances[0], true, rtol=1e-6)


class TestLimits:
    PARTIES = blobs(3, 60, 4)

    def test_single_rows_are_answered_for_unless_a_limit_forbids_it(self):
        rows = list(cheating.tiny_sets(self.PARTIES, k=3, t=1, ell=1, smallest=[1, 2]))
        found = {(row.attack, row.value): row.success for row in rows}
        assert found["e-answered", 1] == 1
        assert found["e-tiny-sets", 1] < ROUNDING
        assert found["e-answered", 2] == 0
        assert found["e-tiny-sets", 2] == 1
        assert "answers for sets of at least 2 rows" in rows[-1].note

    def test_differencing_passes_the_limit_on_small_sets(self):
        small, large = cheating.differencing(self.PARTIES, k=1, t=1, ell=1, smallest=10, members=[9, 10])
        assert small.success == 0
        assert large.success == 1

    def test_a_cap_on_rounds_keeps_the_shape_open(self):
        one, many = cheating.rounds_answered(self.PARTIES, k=3, t=1, ell=1, most=[1, 6], seed=1)
        assert one.success > 0.1
        assert many.success < ROUNDING


class TestCoded:
    def test_segments_are_placed_from_as_many_centres_as_they_have_columns_and_one(self, run_of_eleven):
        two, three = coded.segments_placed(run_of_eleven, [2, 3])
        assert two.success > 0.1
        assert three.success < ROUNDING

    def test_distances_per_segment_are_the_true_ones(self, run_of_eleven):
        found = coded.segment_distances(run_of_eleven, 0)
        assert np.allclose(found, coded.true_segment_distances(run_of_eleven, 0), rtol=1e-5)

    def test_the_server_and_t_clients_with_one_row_have_every_row(self):
        watched = watch(blobs(5, 60, 4), k=4, t=2, ell=1, seed=1, disclosure="coded")
        assert coded.server_and_t_clients(watched, own=3).success == 1


class TestUploads:
    def test_every_method_discloses_rows_that_secfc_does_not(self):
        watched = watch(blobs(8, 8 * 8, 6), k=4, t=1, ell=2, seed=1)
        found = {(row.attack, row.against): row.success for row in federated.uploads_leak(watched, 8)}
        for method in ("k-FED", "FKM", "DWF"):
            assert found["g-disclosed", method] > 0
            assert found["g-placed", method] < 0.9
        assert found["g-disclosed", "secfc"] == 0
        assert found["g-placed", "secfc"] > 0.9

    def test_a_party_with_few_rows_sends_them_to_k_fed(self):
        parties = [part[:3] for part in blobs(3, 60, 4)]
        for rows, uploads in zip(parties, federated.kfed_uploads(parties, 4, 0), strict=True):
            assert federated.disclosed(rows, uploads) == 1

    def test_a_row_that_joins_a_cluster_is_a_difference_of_sums(self):
        rows = np.array([[1.0, 2.0], [3.0, 5.0], [8.0, 1.0]])
        before = (rows[:2].mean(axis=0, keepdims=True), np.array([2]))
        after = (rows.mean(axis=0, keepdims=True), np.array([3]))
        assert federated.disclosed(rows, [before, after]) == pytest.approx(1 / 3)


class TestSybils:
    def test_labels_of_probes_give_the_values_between_which_the_row_is(self):
        own = np.array([[0.0], [2.0], [4.0]])
        # The means of {0, 2} and {4, x} are 1 and 2 + x / 2; their middle is between 2 and 4: 2 < x < 10.
        assert sybils.placed(own, np.array([1, 1, 0])) == pytest.approx(6)

    def test_where_labels_do_not_tell_sides_the_row_is_guessed(self):
        own = np.array([[0.0], [2.0], [4.0]])
        assert sybils.placed(own, np.array([1, 1, 1])) == sybils.placed(own, np.array([1, 2, 0])) == 5

    def test_a_row_alone_among_own_rows_is_placed_unless_sets_of_one_row_are_refused(self):
        found = [
            next(iter(sybils.by_sybils(probes=(8,), smallest=smallest, runs=2, seed=1))).success
            for smallest in (1, 2)
        ]
        assert found[0] < 0.5
        assert found[1] == 1


def test_blobs_are_the_papers(run_of_eleven):
    data = secfc_blobs(n_clusters=4, sigma=6.0, n_parties=11, n_rows=120, n_features=8)
    assert sorted(np.concatenate(data.parties)[:, 0]) == sorted(run_of_eleven.rows[:, 0])
