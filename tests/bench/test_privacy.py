"""What each attack finds: nothing where the docs promise it, and everything where the docs say so."""

import numpy as np
import pytest

from benchmarks.privacy import coded, distances
from benchmarks.privacy.geometry import aligned, placed, procrustes_error
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.view import watch
from benchmarks.reproduce.synthetic import secfc_blobs

ROUNDING = 1e-7


@pytest.fixture(scope="module")
def run_of_eleven():
    return watch(blobs(11, 120, 8), k=4, t=2, ell=4, seed=1, disclosure="coded")


class TestTools:
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


class TestServer:
    def test_rows_are_placed_once_enough_centres_were_seen(self, run_of_eleven):
        errors = [
            row.success for row in distances.by_centres(run_of_eleven, swept="d", value=8, counts=[4, 8, 12])
        ]
        assert errors[0] > errors[1] > 0.1
        assert errors[2] < ROUNDING

    def test_distances_that_are_kept_are_those_of_the_rows(self, run_of_eleven):
        rows, sets = run_of_eleven.rows, run_of_eleven.server.questions[0]
        centres = np.array([rows[sets == h].mean(axis=0) for h in range(4)])
        true = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
        assert np.allclose(run_of_eleven.server.distances[0], true, rtol=1e-6)


class TestCoded:
    def test_segments_are_placed_from_as_many_centres_as_they_have_columns_and_one(self, run_of_eleven):
        two, three = coded.segments_placed(run_of_eleven, [2, 3])
        assert two.success > 0.1
        assert three.success < ROUNDING


def test_blobs_are_the_papers(run_of_eleven):
    data = secfc_blobs(n_clusters=4, sigma=6.0, n_parties=11, n_rows=120, n_features=8)
    assert sorted(np.concatenate(data.parties)[:, 0]) == sorted(run_of_eleven.rows[:, 0])
