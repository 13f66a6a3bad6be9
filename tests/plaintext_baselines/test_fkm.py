"""FKM: the client's step, the omission of small clusters and the weighted server step, by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from support.lloyd import column, lloyd_that_keeps

from plaintext_baselines import FKM
from plaintext_baselines.fkm import client_step


def step(rows, means, n_iter=1, min_size=2):
    upload = client_step(rows, means, n_iter, min_size=min_size)
    return upload.means.ravel().tolist(), upload.sizes.tolist()


def test_client_step_drops_empty_and_omits_small_clusters():
    # 0, 1 -> mean 0.5; 10 -> alone, omitted at p = 2; nothing at 50.
    assert step(column(0, 1, 10), column(0, 9, 50)) == ([0.5], [2.0])
    assert step(column(0, 1, 10), column(0, 9, 50), min_size=1) == ([0.5, 10.0], [2.0, 1.0])
    assert step(column(0, 1, 10), column(0, 9, 50), min_size=3) == ([], [])


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
        pooled = lloyd_that_keeps([rows], start, rounds)
        found, expected = (np.array(sorted(one.tolist())) for one in (model.cluster_centers_, pooled))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
