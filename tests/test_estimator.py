"""`SecureKMeans` with scikit-learn: its checks, its tools, and the parties of `secfc.run`."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import secfc
from secfc import SecureKMeans

_RNG = np.random.default_rng(5)
PARTIES = [_RNG.normal(size=(m, 2)) + _RNG.integers(3, size=(m, 1)) * 6 for m in (8, 5, 7)]


def model(**parameters):
    fixed = {"n_clusters": 3, "t": 1, "ell": 1, "init": "random", "random_state": 0}
    return SecureKMeans(**fixed | parameters)


def lists(labels):
    return [list(map(int, part)) for part in labels]


class Dealt(SecureKMeans):
    """The estimator on one array, split among three parties, for scikit-learn's checks."""

    def __init__(self, n_clusters=2, *, t=1, ell=1, random_state=0, max_iter=300):
        super().__init__(
            n_clusters,
            t=t,
            ell=ell,
            random_state=random_state,
            max_iter=max_iter,
            disclosure="coded",  # has a score
            reveal=secfc.Reveal(centres="all"),  # predicts
            limits=secfc.Limits(reveal_centres=True),
        )

    def fit(self, X, y=None):
        super().fit(dealt(X))
        self.labels_ = np.concatenate(self.labels_)
        return self

    def score(self, X, y=None):
        return super().score(dealt(X))


def dealt(X):
    """Rows of a matrix in three parts."""
    if getattr(X, "ndim", 2) != 2 or not hasattr(X, "__len__"):
        raise ValueError("Expected 2D array, got 1D array instead. Reshape your data.")
    rows = X.tocsr() if hasattr(X, "tocsr") else np.array(X) if isinstance(X, list) else X
    pieces = rows.iloc if hasattr(rows, "iloc") else rows
    cuts = [0, *np.cumsum([len(part) for part in np.array_split(np.arange(rows.shape[0]), 3)])]
    return [pieces[start:stop] for start, stop in pairwise(cuts)]


WORDING = "refused as the check wants, in the words of secfc's own errors, which name the party"
EXPECTED = {
    "check_n_features_in_after_fitting": WORDING,
    "check_complex_data": WORDING,
    "check_fit2d_predict1d": WORDING,
    "check_estimators_empty_data_messages": WORDING,
    "check_dtype_object": "columns of objects are refused: a file or a frame says which column holds text",
}


@pytest.mark.some(5)
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([Dealt()], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_labels_are_those_of_run():
    fitted, result = model().fit(PARTIES), secfc.run(PARTIES, 3, 1, 1, init="random", seed=0)
    assert lists(fitted.labels_) == lists(result.labels)
    assert (fitted.result_.inertia, fitted.n_iter_) == (result.inertia, result.n_iter)
    assert fitted.converged_
    assert fitted.n_features_in_ == 2


def test_score_is_the_negative_inertia():
    fitted = model(disclosure="coded").fit(PARTIES)
    assert fitted.score(PARTIES) == -fitted.inertia_


def test_rows_outside_the_fit_have_no_score():
    with pytest.raises(secfc.DataError, match="the fit had rows \\[8, 5, 7\\] of 2 columns"):
        model().fit(PARTIES).score([PARTIES[0], PARTIES[1], PARTIES[1]])


def test_score_before_fit_is_scikit_learns_error():
    with pytest.raises(NotFittedError):
        model().score(PARTIES)


@pytest.mark.parametrize("name", ["cluster_centers_", "transform"])
def test_nothing_shows_centres(name):
    assert not hasattr(model().fit(PARTIES), name)


def test_the_seed_may_be_a_random_state():
    fits = [model(random_state=np.random.RandomState(4)).fit(PARTIES) for _ in range(2)]
    assert lists(fits[0].labels_) == lists(fits[1].labels_)


def test_another_random_state_is_refused():
    with pytest.raises(secfc.ParameterError, match="random_state"):
        model(random_state="zero").fit(PARTIES)


@pytest.mark.parametrize(
    "convert",
    [
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
        lambda rows: pl.DataFrame(rows, schema=["a", "b"], orient="row"),
        scipy.sparse.csr_array,
    ],
    ids=["pandas", "Polars", "sparse"],
)
def test_parties_may_hold_frames_or_sparse_matrices(convert):
    fitted = model().fit([convert(rows) for rows in PARTIES])
    assert lists(fitted.labels_) == lists(model().fit(PARTIES).labels_)


def test_names_of_columns_are_kept():
    frames = [pd.DataFrame(rows, columns=["age", "dose"]) for rows in PARTIES]
    fitted = model().fit(frames)
    assert fitted.feature_names_in_.tolist() == ["age", "dose"]
    assert [part.index.equals(frame.index) for part, frame in zip(fitted.labels_, frames, strict=True)]
    assert not hasattr(fitted.fit(PARTIES), "feature_names_in_")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (
            "cluster_centers_",
            r"^cluster_centers_: cluster centers not opened; .*: by reveal=secfc.Reveal\(centres=...\)$",
        ),
        (
            "predict",
            r"^predict: cluster centers not opened; .*: by reveal=.*; predict_parties needs none$",
        ),
        ("inertia_", r"^inertia_: inertia not opened; .* by reveal=secfc.Reveal\(inertia=True\)$"),
    ],
)
def test_what_was_not_opened_names_the_option_that_opens_it(name, option):
    fresh = secfc.SecureKMeans(2, t=1, ell=1, disclosure="labels", random_state=1)

    def ask(model):
        return model.predict(PARTIES[0]) if name == "predict" else getattr(model, name)

    with pytest.raises(NotFittedError, match=f"^SecureKMeans has no {name} before fit$"):
        ask(fresh)
    with pytest.raises(AttributeError, match=option):
        ask(fresh.fit(PARTIES))
