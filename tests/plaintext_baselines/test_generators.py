"""Generators: the numbers that the papers state."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from plaintext_baselines import generators, metrics


def sizes(data):
    return [len(rows) for rows in data.parties]


def clusters(data):
    return [np.bincount(labels, minlength=len(data.centers)).tolist() for labels in data.labels]


@pytest.mark.parametrize(("k", "n", "m"), [(4, 10, 10_000), (16, 16, 16_384)])
def test_secfc_settings(k, n, m):
    data = generators.secfc_blobs(n_clusters=k, sigma=20)
    assert (len(data.parties), sum(sizes(data)), data.centers.shape) == (n, m, (k, 100))
    expected = make_blobs(m, n_features=100, centers=k, cluster_std=20, random_state=42)[0]
    rows = np.concatenate(data.parties)
    assert rows[rows[:, 0].argsort()].tolist() == expected[expected[:, 0].argsort()].tolist()
    assert np.abs(data.centers).max() <= 10


@pytest.mark.parametrize("k_prime", [1, 2, 4])
def test_secfc_heterogeneity(k_prime):
    data = generators.secfc_blobs(clusters_per_party=k_prime)
    assert max(len(set(labels.tolist())) for labels in data.labels) == k_prime


def test_secfc_other_numbers_of_clusters_need_sizes():
    with pytest.raises(ValueError, match="n_clusters=5 needs n_parties and n_rows"):
        generators.secfc_blobs(n_clusters=5)
    data = generators.secfc_blobs(n_clusters=5, n_parties=3, n_rows=40, n_features=2)
    assert sum(sizes(data)) == 40


def test_rotated_images_by_hand():
    rows, turns = generators.rotated_images(np.array([[1, 2, 3, 4]]), side=2)
    assert rows.tolist() == [[1, 2, 3, 4], [2, 4, 1, 3], [4, 3, 2, 1], [3, 1, 4, 2]]
    assert turns.tolist() == [0, 1, 2, 3]


def test_fkm_grid():
    data = generators.fkm_grid(random_state=0)
    assert (len(data.parties), sum(sizes(data))) == (5, 800)
    assert sorted(map(tuple, data.centers)) == [
        (x, y) for x in (-7.5, -2.5, 2.5, 7.5) for y in (-7.5, -2.5, 2.5, 7.5)
    ]
    assert np.sum(clusters(data), axis=0).tolist() == [50] * 16
    spread = np.concatenate(
        [rows - data.centers[own] for rows, own in zip(data.parties, data.labels, strict=True)]
    )
    assert spread.std() == pytest.approx(1, abs=0.05)


def test_fkm_nested_has_the_sizes_of_the_published_data():
    data = generators.fkm_nested(random_state=0)
    assert sizes(data) == [473, 10, 34, 173, 98]
    assert clusters(data)[4] == [10, 12, 12, 16, 16, 16, 16] + [0] * 9


@pytest.mark.parametrize("distribution", ["iid", "half-iid", "non-iid"])
def test_dwf_blobs(distribution):
    data = generators.dwf_blobs(distribution=distribution, n_parties=10, random_state=0)
    assert (len(data.parties), sum(sizes(data))) == (10, 10_100)
    assert np.sum(clusters(data), axis=0).tolist() == [2000] * 5 + [100]
    assert (np.abs(data.centers) <= 1).all()
    if distribution == "iid":
        assert set(sizes(data)) == {1010}


def test_ffcm_cases():
    assert clusters(generators.ffcm_unequal()) == [[333] * 3, [333] * 3, [500, 500, 0]]
    assert clusters(generators.ffcm_unequal(balanced=True)) == [[333] * 3] * 3
    assert clusters(generators.ffcm_hidden()) == [[900, 50, 50], [50, 900, 50]]
    absent = generators.ffcm_absent(sizes=(100, 1000, 100))
    assert clusters(absent) == [[50, 50, 0, 0], [0, 500, 500, 0], [0, 0, 50, 50]]
    with pytest.raises(ValueError, match="3 parties, got 2"):
        generators.ffcm_absent(sizes=(1, 2))


def test_ffcm_spreads_are_those_of_the_published_sse():
    # Within SSE of central clustering, without squares: 0.3120, 0.71 and 0.62 to 0.70.
    for data, expected in (
        (generators.ffcm_unequal(random_state=0), 0.312),
        (generators.ffcm_hidden(random_state=0), 0.70),
        (generators.ffcm_absent(random_state=0), 0.63),
    ):
        assert metrics.within_sse(data.parties, data.centers, squared=False) == pytest.approx(
            expected, abs=0.02
        )


def test_g2():
    data = generators.g2(n_features=8, sigma=30, random_state=0)
    rows = np.concatenate(data.parties)
    assert (len(data.parties), rows.shape) == (10, (2048, 8))
    assert (rows == np.rint(rows)).all()
    assert data.centers.tolist() == [[500.0] * 8, [600.0] * 8]
    assert rows.mean() == pytest.approx(550, abs=1)
