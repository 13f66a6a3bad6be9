"""k-FED: the 1/3 groups, the projection, farthest-first seeding and the server's Lloyd, by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from support.lloyd import column, lists

from plaintext_baselines import KFED, ExactLloyd
from plaintext_baselines._kmeans import kmeans
from plaintext_baselines.kfed import farthest_first, separated_start, top_directions


def ordered(centres):
    return np.array(sorted(np.asarray(centres).tolist()))


def blobs(k=4, n=400, d=3, seed=0, std=0.5):
    return make_blobs(n, centers=k, n_features=d, cluster_std=std, random_state=seed)[0]


def test_farthest_first_by_hand():
    # 0 and 1 come from the first party. 30 is farthest; then 12 is 11 from 1, 20 is 10 from 30.
    received = column(0, 1, 12, 30, 20)
    assert farthest_first(received, 2, 4).ravel().tolist() == [0, 1, 30, 12]


def test_server_by_hand():
    # Sent: 0, 10 | 11, 30 | 31. Seeds 0, 10, then 31. Lloyd, unweighted: {0}, {10, 11}, {30, 31}.
    parties = [column(0, 10), column(11, 30), column(31)]
    model = KFED(3, local_clusters=2).fit(parties)
    assert model.cluster_centers_.ravel() == pytest.approx([0, 10.5, 30.5])
    assert lists(model.labels_) == [[0, 1], [1, 2], [2]]
    assert (model.n_iter_, model.history_) == (1, [model.inertia_])
    assert model.inertia_ == pytest.approx(1.0)


def test_induced_labels_follow_the_local_centre():
    # Party 0 sends its mean 4 for all rows; 9 is nearer to party 1's 10 but follows 4.
    parties = [column(1, 2, 9), column(10)]
    nearest = KFED(2, local_clusters=1).fit(parties)
    induced = KFED(2, local_clusters=1, assignment="induced").fit(parties)
    assert lists(nearest.labels_) == [[0, 0, 1], [1]]
    assert lists(induced.labels_) == [[0, 0, 0], [1]]
    assert induced.inertia_ == pytest.approx(9 + 4 + 25)
    assert lists(induced.predict(parties)) == lists(nearest.labels_)


@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_top_directions_are_right_singular_vectors(shape):
    rows = np.random.default_rng(0).normal(size=shape) + 3
    expected = np.linalg.svd(rows, full_matrices=False)[2][:3].T
    directions = top_directions(rows, 3)
    assert np.abs(np.sum(directions * expected, axis=0)) == pytest.approx(np.ones(3))


def test_projection_is_uncentred():
    # From 0, all rows have nearly the same direction; k' = 1 gives the mean of the projections.
    rows = np.array([[3.0, 4.0], [6.0, 8.0], [9.0, 12.0]])
    assert separated_start(rows, 1, np.zeros(2), 0) == pytest.approx(np.array([[6.0, 8.0]]))
    assert separated_start(rows - 5, 1, np.full(2, 5.0), 0) == pytest.approx(np.array([[1.0, 3.0]]))


@pytest.mark.parametrize("variant", ["paper", "dwf"])
def test_one_party_with_all_clusters_is_its_own_k_means(variant):
    rows = blobs()
    model = KFED(4, variant=variant, n_init=5, random_state=0).fit([rows])
    central = kmeans(rows, 4, seed=0, n_init=5)
    np.testing.assert_allclose(ordered(model.cluster_centers_), ordered(central.centres))


@pytest.mark.parametrize("variant", ["paper", "dwf"])
def test_separated_clusters_are_found_whatever_the_order_of_parties(variant):
    parties = np.split(blobs(), [90, 130, 300])
    model = KFED(4, variant=variant, n_init=5, random_state=0).fit(parties)
    other = KFED(4, variant=variant, n_init=5, random_state=0).fit(parties[::-1])
    np.testing.assert_allclose(ordered(other.cluster_centers_), ordered(model.cluster_centers_), atol=1e-12)
    central = ExactLloyd(4, init=model.cluster_centers_).fit(parties)
    assert lists(central.labels_) == lists(model.labels_)


def test_local_clusters_may_differ_by_party():
    model = KFED(3, local_clusters=[1, 2], random_state=0).fit([column(0, 1, 2), column(10, 11, 30, 30)])
    assert ordered(model.cluster_centers_).ravel() == pytest.approx([1, 10.5, 30])


def test_centres_without_rows_are_not_sent():
    # Party 0 has two distinct rows for k' = 3.
    model = KFED(3, random_state=0).fit([np.repeat(column(0, 1), 5, axis=0), column(7)])
    assert ordered(model.cluster_centers_).ravel() == pytest.approx([0, 1, 7])


def test_a_draw_of_parties_takes_part():
    parties = [column(0, 1), column(100, 101), column(200, 201)]
    model = KFED(2, n_clients=1, random_state=1).fit(parties)
    assert any(ordered(model.cluster_centers_).ravel() == pytest.approx(party.ravel()) for party in parties)
    assert [len(labels) for labels in model.labels_] == [2, 2, 2]
