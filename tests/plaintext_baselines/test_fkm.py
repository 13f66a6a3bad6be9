"""FKM: the client's step, the omission of small clusters and the weighted server step, by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from plaintext_baselines import FKM, Lloyd
from plaintext_baselines.fkm import client_step


def column(*values):
    return np.array(values, dtype=float)[:, None]


def lists(labels):
    return [party.tolist() for party in labels]


def step(rows, means, n_iter=1, min_size=2, updated=True):
    upload = client_step(rows, means, n_iter, min_size=min_size, updated=updated)
    return upload.means.ravel().tolist(), upload.sizes.tolist()


def test_client_step_drops_empty_and_omits_small_clusters():
    # 0, 1 -> mean 0.5; 10 -> alone, omitted at p = 2; nothing at 50.
    assert step(column(0, 1, 10), column(0, 9, 50)) == ([0.5], [2.0])
    assert step(column(0, 1, 10), column(0, 9, 50), min_size=1) == ([0.5, 10.0], [2.0, 1.0])
    assert step(column(0, 1, 10), column(0, 9, 50), min_size=3) == ([], [])


def test_sizes_count_assignments_to_the_updated_means():
    # Received 0, 4: {0}, {3, 10}, means 0 and 6.5. Now 3 is nearer to 0.
    assert step(column(0, 3, 10), column(0, 4), min_size=1) == ([0.0, 6.5], [2.0, 1.0])
    assert step(column(0, 3, 10), column(0, 4), min_size=1, updated=False) == ([0.0, 6.5], [1.0, 2.0])
    assert step(column(0, 3, 10), column(0, 4), min_size=2, updated=False) == ([6.5], [2.0])


def test_more_local_steps():
    # Second step: {0, 3}, {10}.
    assert step(column(0, 3, 10), column(0, 4), n_iter=2, min_size=1) == ([1.5, 10.0], [2.0, 1.0])


def test_server_weights_means_by_their_rows():
    # Uploads 0 (3 rows) and 4 (1 row), k = 1: the weighted mean 1.
    parties = [column(0, 0, 0), column(4)]
    model = FKM(1, init=column(2), max_iter=1, min_cluster_size=1).fit(parties)
    assert model.cluster_centers_.ravel() == pytest.approx([1])
    # p = 2 omits party 1 altogether.
    assert FKM(1, init=column(2), max_iter=1).fit(parties).cluster_centers_.ravel() == pytest.approx([0])


def test_two_clusters_at_the_server_by_hand():
    # Received 0, 10. Party 0: {0, 2} -> 1 (2), {10} omitted. Party 1: {1} omitted, {9, 11, 13} -> 11 (3).
    # Party 2: {8, 8} -> 8 (2). Server: {1}, {8, 11} -> (2*8 + 3*11)/5 = 9.8.
    parties = [column(0, 2, 10), column(1, 9, 11, 13), column(8, 8)]
    model = FKM(2, init=column(0, 10), max_iter=1).fit(parties)
    assert sorted(model.cluster_centers_.ravel()) == pytest.approx([1, 9.8])
    inertia = 1 + 1 + 0 + 0.2**2 + 0.8**2 + 1.2**2 + 3.2**2 + 2 * 1.8**2
    assert (model.n_iter_, model.history_) == (1, pytest.approx([inertia]))
    assert model.inertia_ == pytest.approx(inertia)


def test_paper_defaults():
    expected = {
        "init": "k-means++",
        "max_iter": 100,
        "local_iter": 1,
        "initial_iter": 0,
        "min_cluster_size": 2,
        "n_init": 10,
    }
    assert expected.items() <= FKM(2).get_params().items()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(5))
def test_one_party_is_lloyd_while_no_cluster_is_small(seed):
    rows, _ = make_blobs(200, centers=4, n_features=2, cluster_std=3, random_state=seed)
    start = rows[:4]
    for rounds in range(1, 8):
        model = FKM(4, init=start, max_iter=rounds).fit([rows])
        pooled = Lloyd(4, init=start, empty="keep", max_iter=rounds).fit([rows])
        found, expected = (np.array(sorted(m.cluster_centers_.tolist())) for m in (model, pooled))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert model.inertia_ == pytest.approx(pooled.inertia_)


def test_no_stop_test():
    rows, _ = make_blobs(60, centers=2, random_state=0)
    model = FKM(2, max_iter=17, n_init=1, random_state=0).fit([rows])
    assert model.n_iter_ == 17 == len(model.centers_history_)
    assert model.centers_history_[-1].tolist() == model.cluster_centers_.tolist()


def test_the_first_rounds_do_not_depend_on_the_number_of_rounds():
    rows, _ = make_blobs(90, centers=3, cluster_std=3, random_state=0)
    parties = np.split(rows, [20, 50])
    short, long = (FKM(3, max_iter=n, n_init=2, random_state=5).fit(parties) for n in (3, 6))
    assert [c.tolist() for c in short.centers_history_] == [c.tolist() for c in long.centers_history_[:3]]


def test_given_start_makes_the_result_independent_of_the_order_of_parties():
    rows, _ = make_blobs(120, centers=4, cluster_std=4, random_state=1)
    parties = np.split(rows, [10, 55, 80])
    model = FKM(4, init=rows[:4], max_iter=5, random_state=0).fit(parties)
    other = FKM(4, init=rows[:4], max_iter=5, random_state=0).fit(parties[::-1])
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, atol=1e-12)


def test_one_row_parties_upload_nothing():
    parties = [column(0), column(3), column(0, 2)]
    # Only party 2 counts: first one of its rows, then their mean after its first step.
    assert FKM(1, max_iter=3, random_state=0).fit(parties).cluster_centers_.ravel() == pytest.approx([1])
    with pytest.raises(ValueError, match="no party has a cluster of min_cluster_size=2 rows to upload"):
        FKM(1).fit(parties[:2])
    model = FKM(1, min_cluster_size=1, max_iter=2).fit(parties[:2])
    assert model.cluster_centers_.ravel() == pytest.approx([1.5])


def test_global_means_stay_if_nothing_is_uploaded():
    model = FKM(2, init=column(1, 7), max_iter=3).fit([column(0), column(6)])
    assert model.cluster_centers_.ravel() == pytest.approx([1, 7])
    assert lists(model.labels_) == [[0], [1]]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"initial_iter": -1}, r"initial_iter must be in \[0, inf\)"),
        ({"min_cluster_size": 0}, "min_cluster_size must be at least 1"),
        ({"counts": "all"}, "counts must be one of"),
        ({"server_tol": -1.0}, "server_tol must be in"),
    ],
)
def test_refused_parameters(parameters, text):
    with pytest.raises(ValueError, match=text):
        FKM(2, **parameters).fit([column(0, 1, 2)])
