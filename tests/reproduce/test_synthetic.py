"""The synthetic datasets have the numbers that the papers state, and every row has one owner."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from benchmarks.reproduce import synthetic
from plaintext_baselines import metrics


def sizes(data):
    return [len(rows) for rows in data.parties]


def clusters(data):
    return [np.bincount(labels, minlength=len(data.centers)).tolist() for labels in data.labels]


@pytest.mark.parametrize(("k", "n", "m"), [(4, 10, 10_000), (16, 16, 16_384)])
def test_secfc_settings(k, n, m):
    data = synthetic.secfc_blobs(n_clusters=k, sigma=20)
    assert (len(data.parties), sum(sizes(data)), data.centers.shape) == (n, m, (k, 100))
    expected = make_blobs(m, n_features=100, centers=k, cluster_std=20, random_state=42)[0]
    rows = np.concatenate(data.parties)
    assert rows[rows[:, 0].argsort()].tolist() == expected[expected[:, 0].argsort()].tolist()
    assert np.abs(data.centers).max() <= 10


@pytest.mark.parametrize("k_prime", [1, 2, 4])
def test_secfc_heterogeneity(k_prime):
    data = synthetic.secfc_blobs(clusters_per_party=k_prime)
    assert max(len(set(labels.tolist())) for labels in data.labels) == k_prime


def test_rotated_images_by_hand():
    rows, turns = synthetic.rotated_images(np.array([[1, 2, 3, 4]]), side=2)
    assert rows.tolist() == [[1, 2, 3, 4], [2, 4, 1, 3], [4, 3, 2, 1], [3, 1, 4, 2]]
    assert turns.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("distribution", ["iid", "half-iid", "non-iid"])
def test_dwf_blobs(distribution):
    data = synthetic.dwf_blobs(distribution=distribution, n_parties=10, random_state=0)
    assert (len(data.parties), sum(sizes(data))) == (10, 10_100)
    assert np.sum(clusters(data), axis=0).tolist() == [2000] * 5 + [100]
    assert (np.abs(data.centers) <= 1).all()
    if distribution == "iid":
        assert set(sizes(data)) == {1010}


def test_ffcm_cases():
    assert clusters(synthetic.ffcm_unequal()) == [[333] * 3, [333] * 3, [500, 500, 0]]
    assert clusters(synthetic.ffcm_hidden()) == [[900, 50, 50], [50, 900, 50]]
    absent = synthetic.ffcm_absent(sizes=(100, 1000, 100))
    assert clusters(absent) == [[50, 50, 0, 0], [0, 500, 500, 0], [0, 0, 50, 50]]


def test_ffcm_spreads_are_those_of_the_published_sse():
    # Within SSE of central clustering, without squares: 0.3120, 0.71 and 0.62 to 0.70.
    for data, expected in (
        (synthetic.ffcm_unequal(random_state=0), 0.312),
        (synthetic.ffcm_hidden(random_state=0), 0.70),
        (synthetic.ffcm_absent(random_state=0), 0.63),
    ):
        assert metrics.within_sse(data.parties, data.centers, squared=False) == pytest.approx(
            expected, abs=0.02
        )


def test_g2():
    data = synthetic.g2(n_features=8, sigma=30, random_state=0)
    rows = np.concatenate(data.parties)
    assert (len(data.parties), rows.shape) == (10, (2048, 8))
    assert (rows == np.rint(rows)).all()
    assert data.centers.tolist() == [[500.0] * 8, [600.0] * 8]
    assert rows.mean() == pytest.approx(550, abs=1)


@pytest.mark.parametrize("distribution", ["iid", "half-iid", "non-iid"])
def test_every_row_has_one_owner(distribution):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    parts = synthetic.distributed(rows, 7, distribution, random_state=0)
    assert len(parts) == 7
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))


def test_non_iid_parties_hold_separate_regions():
    rows = np.concatenate([np.random.default_rng(0).normal(c, 0.1, size=(20, 2)) for c in (0, 5, 10)])
    parts = synthetic.non_iid(rows, 3, random_state=0)
    assert sorted(sorted(set((part // 20).tolist())) for part in parts) == [[0], [1], [2]]
