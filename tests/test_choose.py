"""`choose_k`: one sharing, each k with the result of `secfc.run`, measures equal to scikit-learn's."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

import secfc
from secfc.api.choose_k import HEADINGS, knee_of
from secfc.kmeans.measures import histogram

_RNG = np.random.default_rng(8)
_AT = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
PARTIES = [_RNG.normal(size=(m, 2)) + _AT[_RNG.integers(4, size=m)] for m in (30, 21, 17)]
POOLED = np.vstack(PARTIES)


def choose(parties=PARTIES, ks=range(2, 7), **arguments):
    return secfc.choose_k(
        parties, ks, **{"t": 1, "ell": 1, "seed": 0, "n_init": 3, "disclosure": "coded"} | arguments
    )


@pytest.fixture(scope="module")
def choice():
    return choose()


def simplified_silhouette(rows, labels):
    centres = np.array([rows[labels == h].mean(axis=0) for h in range(labels.max() + 1)])
    far = np.linalg.norm(rows[:, None] - centres, axis=2)
    own = far[np.arange(len(rows)), labels]
    far[np.arange(len(rows)), labels] = np.inf
    width = (far.min(axis=1) - own) / np.maximum(far.min(axis=1), own)
    width[np.bincount(labels)[labels] == 1] = 0
    return width.mean()


@pytest.mark.parametrize("k", range(2, 7))
def test_measures_are_those_of_the_pooled_rows(choice, k):
    labels = np.concatenate(choice[k].labels)
    assert choice[k].calinski_harabasz == pytest.approx(calinski_harabasz_score(POOLED, labels), rel=1e-6)
    assert choice[k].davies_bouldin == pytest.approx(davies_bouldin_score(POOLED, labels), rel=1e-6)
    assert choice[k].silhouette == pytest.approx(simplified_silhouette(POOLED, labels), rel=1e-6)


def test_the_planted_number_is_found(choice):
    assert (choice.best, choice.knee) == (4, 4)


def test_frames_get_series_with_their_index():
    frames = [pd.DataFrame(rows, index=np.arange(len(rows)) * 2) for rows in PARTIES]
    labels = choose(frames, ks=[2])[2].labels
    assert [part.index.equals(frame.index) for part, frame in zip(labels, frames, strict=True)] == [True] * 3


def test_one_cluster_has_inertia_and_no_measures():
    one = choose(ks=[1, 2])[1]
    assert one.inertia == pytest.approx(((POOLED - POOLED.mean(axis=0)) ** 2).sum(), rel=1e-6)
    assert np.isnan([one.silhouette, one.calinski_harabasz, one.davies_bouldin]).all()


def test_as_many_clusters_as_rows_have_no_measures():
    rows = [np.array([[0.0], [1.0]]), np.array([[5.0]]), np.array([[9.0]])]
    found = choose(rows, ks=[2, 4])
    assert np.isfinite(found[2].silhouette)
    assert np.isnan(found[4].silhouette)
    assert found.best == 2


@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
def test_rows_that_all_coincide_have_no_measures_and_no_knee():
    found = choose([np.ones((4, 2))] * 3, ks=[1, 2, 3])
    assert found.knee is None
    assert np.isnan(found[2].silhouette)


@pytest.mark.parametrize(
    ("ks", "text"),
    [
        ([], "no number"),
        ([2.5], "integers"),
        (["2"], "integers"),
        ([0, 2], "compared: at least 1"),
        (3, "integers"),
    ],
)
def test_numbers_that_cannot_be_compared_are_refused(ks, text):
    with pytest.raises(secfc.ParameterError, match=text):
        choose(ks=ks)


def test_a_k_that_was_not_compared_is_named(choice):
    with pytest.raises(secfc.ParameterError, match="k: 9 was not compared, but 2, 3, 4, 5, 6 were"):
        choice[9]


def test_table_marks_the_best_and_the_knee(choice):
    lines = str(choice).splitlines()
    assert len(lines) == 7
    assert "4 (knee)" in lines[4]
    assert lines[4].count("*") == 3


def test_the_table_fits_in_80_columns():
    rng = np.random.default_rng(5)
    parties = [rng.normal(size=(40, 2)) * 1e9 + rng.integers(3, size=(40, 1)) * 9e12 for _ in range(3)]
    choice = choose(parties, range(9, 12), n_init=1)
    text = str(choice)
    assert max(map(len, text.splitlines())) <= 80
    for row in choice.rows():
        assert all(cell.strip() in text for cell in row)
    for heading in HEADINGS:
        assert all(word in text for word in re.split("[- ]", heading))
    assert "e+" not in text


def test_plot_has_a_panel_for_each_measure(choice, tmp_path):
    pytest.importorskip("matplotlib")
    figure = choice.plot(tmp_path / "k.png")
    assert len(figure.axes) == 4
    assert (tmp_path / "k.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("inertia", "expected"),
    [([100, 20, 15, 12], 3), ([100, 90, 20, 15], 4), ([4, 3, 2, 1], None), ([1, 1, 1, 1], None)],
)
def test_knee_of_a_curve(inertia, expected):
    assert knee_of([2, 3, 4, 5], inertia) == expected


def test_histogram_has_every_row_and_ends_with_the_farthest():
    counts, largest = histogram(np.array([0.0, 1.0, 4.0, 4.0]))
    assert (sum(counts), counts[0], counts[-1], largest) == (4, 1, 2, 4.0)
    assert histogram(np.zeros(3)) == ([3] + [0] * 23, 0.0)


def test_a_result_has_the_distances_to_the_centres():
    result = secfc.run(PARTIES, 4, 1, 1, n_init=5, seed=0, disclosure="coded")
    labels = np.concatenate(result.labels)
    centres = np.array([POOLED[labels == h].mean(axis=0) for h in range(4)])
    own = np.linalg.norm(POOLED - centres[labels], axis=1)
    assert result.distance_edges[-1] == pytest.approx(own.max(), rel=1e-6)
    assert result.distance_counts.sum() == len(POOLED)
    assert np.abs(result.distance_counts - np.histogram(own, result.distance_edges)[0]).sum() <= 2
