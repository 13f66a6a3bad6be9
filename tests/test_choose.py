"""`choose_k`: one sharing, each k with the result of `secfc.run`, measures equal to scikit-learn's."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

import secfc
from secfc.report.compared import knee_of, recommended, table

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
    assert choice.best == choice.recommend().k == 4


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
def test_rows_that_all_coincide_have_no_measures_and_no_recommendation():
    found = choose([np.ones((4, 2))] * 3, ks=[1, 2, 3])
    assert found.recommend().k is None
    assert "No k is recommended" in str(found)
    assert "silhouette" not in str(found)
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
    with pytest.raises(secfc.ParameterError, match="k: 9 was not asked for, but 2, 3, 4, 5, 6 were"):
        choice[9]


def test_table_marks_the_best_and_ends_with_the_recommendation(choice):
    lines = str(choice).splitlines()
    assert lines[4].split()[0] == "4"
    assert lines[4].count("*") == 3
    told = " ".join(lines[7:]).replace("- ", "-")
    assert told == choice.recommend().text
    assert told.startswith("k = 4 is recommended: its silhouette (")
    assert told.endswith("Calinski-Harabasz, Davies-Bouldin and the bend of the inertia agree.")
    assert "knee" not in str(choice) + choice._repr_html_() + str(choice.to_dict())


def candidate(k, **values):
    known = {"k": k, "inertia": 100.0 / k, "silhouette": None, "calinski_harabasz": None}
    known |= {"davies_bouldin": None, "labels": None, "n_iter": 3, "converged": True, "sizes": None}
    return SimpleNamespace(**known | {"near_starts": None} | values)


def resampled(dispersions):
    return [SimpleNamespace(k=k, dispersion=dispersion) for k, dispersion in dispersions.items()]


def test_what_nobody_knows_has_no_column():
    headings, *rows = table([candidate(2, calinski_harabasz=9.0), candidate(3, calinski_harabasz=7.0)])
    assert headings == ["k", "inertia", "Calinski-Harabasz", "iterations"]
    assert rows[0] == ["2", "50", "9*", "3"]


def test_stability_comes_first_and_the_others_follow_as_reasons(choice):
    assert choice.recommend(resampled({4: 0.99, 3: 0.5})).k == 4
    found = choice.recommend(resampled({2: 0.97, 3: 0.91}))
    assert found.k == 2
    assert found.text == (
        "k = 2 is recommended: resamples agree most there (dispersion 0.97); silhouette, Calinski-Harabasz, "
        "Davies-Bouldin and the bend of the inertia would take 4."
    )
    assert choice.recommend(resampled({2: float("nan")})) == choice.recommend()
    with pytest.raises(secfc.ParameterError, match="stability: k = 9 was not compared, but 2, 3, 4, 5, 6"):
        choice.recommend(resampled({9: 1.0}))


def test_a_choice_with_resamples_has_their_stability_in_table_reason_and_picture():
    consent = secfc.Limits(reveal_inertia=True, reveal_tables=True)
    asked = {"reveal": secfc.Reveal(inertia=True), "limits": consent, "n_init": 1, "seed": 0}
    found = secfc.stability(PARTIES, [2, 3], t=1, ell=1, resamples=2, **asked)
    text = str(found.choice)
    best = max(found, key=lambda one: (one.dispersion, -one.k)).k
    assert f"k = {best} is recommended: resamples agree most there" in " ".join(text.split())
    assert "stability" in text.splitlines()[1]
    pytest.importorskip("matplotlib")
    assert [axes.get_ylabel().split()[0] for axes in found.choice.plot_k().axes][:2] == [
        "inertia",
        "stability",
    ]
    assert len(found.plot_stability().axes) == 1


def test_without_an_inertia_there_is_no_column_for_it():
    headings, *_ = table(
        [candidate(2, inertia=None), candidate(3, inertia=None)], resampled({2: 0.9, 3: 0.8})
    )
    assert headings == ["k", "stability", "iterations"]


def test_a_recommended_k_without_labels_says_whose_labels_there_are():
    consent = {"reveal": secfc.Reveal(inertia=True), "limits": secfc.Limits(reveal_inertia=True)}
    choice = choose(ks=[3, 4], disclosure="labels", **consent)
    other = 7 - choice.best
    assert choice.recommend(resampled({other: 1.0})).text.endswith(
        f"The labels here are those of k = {choice.best}."
    )
    assert "labels here" not in choice.recommend().text


def test_one_k_is_not_recommended_against_others():
    assert recommended([candidate(3)]).text == "k = 3 alone was tried."


def test_of_equal_values_the_smallest_k_is_recommended():
    assert recommended([candidate(k, calinski_harabasz=5.0) for k in (3, 2, 4)]).k == 2


def test_the_table_fits_in_80_columns():
    rng = np.random.default_rng(5)
    parties = [rng.normal(size=(40, 2)) * 1e9 + rng.integers(3, size=(40, 1)) * 9e12 for _ in range(3)]
    choice = choose(parties, range(9, 12), n_init=1)
    text = str(choice)
    assert max(map(len, text.splitlines())) <= 80
    headings, *rows = table(choice.candidates)
    for row in rows:
        assert all(cell.strip() in text for cell in row)
    for heading in headings:
        assert all(word in text for word in re.split("[- ]", heading))
    assert "e+" not in text


@pytest.mark.parametrize(
    ("inertia", "expected"),
    [([100, 20, 15, 12], 3), ([100, 90, 20, 15], 4), ([4, 3, 2, 1], None), ([1, 1, 1, 1], None)],
)
def test_knee_of_a_curve(inertia, expected):
    assert knee_of([2, 3, 4, 5], inertia) == expected
