"""Labels equal exact Lloyd's and scikit-learn's on every real dataset and every split.

Needs the folder that SECFC_DATA names. MNIST and birch1 whole are marked `slow`.
"""

from itertools import cycle, product

import numpy as np
import pytest
from sklearn.cluster import KMeans
from support.datasets import DATASETS, SPLITS, femnist_parties, fkm_parties, mnist
from support.lloyd import begun_as, first_sets
from support.sweeps import sweep

import secfc
from plaintext_baselines import ExactLloyd

pytestmark = [
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

LARGE = {"mnist", "birch1", "femnist-leaf"}


def start_centres(rows, start, k):
    """Means of the start's sets in float64, as given to scikit-learn."""
    return np.array([rows[start == h].mean(axis=0) for h in range(k)])


def assert_same_as_scikit_learn(parties, k, result, max_iter=300):
    """Equal labels; or, in the first iteration that differs, a gap that is a tie within float64's error."""
    rows, start = np.vstack(parties), first_sets(parties, result)
    centres = start_centres(rows, start, k)
    float_run = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0, max_iter=max_iter).fit(rows)
    labels = np.concatenate(result.labels)
    if np.array_equal(labels, float_run.labels_):
        assert result.n_iter == float_run.n_iter_
        if result.inertia is not None:
            np.testing.assert_allclose(result.inertia, float_run.inertia_, rtol=1e-6)
        return
    assert_first_divergence_is_within_float_error(rows, start, k, centres, max_iter)


def assert_first_divergence_is_within_float_error(rows, start, k, centres, max_iter):
    exact_labels = start
    for i in range(1, max_iter + 1):
        exact = ExactLloyd(k, init=[start], max_iter=i).fit([rows])
        floats = KMeans(k, init=centres, n_init=1, algorithm="lloyd", tol=0, max_iter=i).fit(rows)
        differing = np.flatnonzero(exact.labels_[0] != floats.labels_)
        if differing.size:
            means = exact.cluster_centers_
            for row in differing:
                # Terms of ||x||^2 - 2<x, mu> + ||mu||^2, as scikit-learn adds them up.
                size = (np.abs(rows[row]) @ np.abs(means).max(axis=0)) * 4 + rows[row] @ rows[row]
                squares = ((rows[row] - means) ** 2).sum(axis=1)
                gap = abs(squares[exact.labels_[0][row]] - squares[floats.labels_[row]])
                assert gap <= size * (rows.shape[1] + 8) * (2.0**-52 + 2.0**-27)
            return
        exact_labels = exact.labels_[0]
    raise AssertionError(f"no iteration differs, yet the results do ({exact_labels.size} rows)")


def check(name, split, n, t, ell, max_iter=300, disclosure="labels"):
    read, k = DATASETS[name]
    rows = read()
    parties = [rows[members] for members in SPLITS[split](rows, n)]
    result = secfc.run(parties, k, t, ell, seed=1, max_iter=max_iter, disclosure=disclosure)
    exact = ExactLloyd(k, **begun_as(result.job, result.start), max_iter=max_iter).fit(parties)
    np.testing.assert_array_equal(np.concatenate(result.labels), np.concatenate(exact.labels_))
    assert result.n_iter == exact.n_iter_
    assert result.inertia == (None if disclosure == "labels" else exact.inertia_)
    assert_same_as_scikit_learn(parties, k, result, max_iter)


SMALL = [name for name in DATASETS if name not in LARGE]
DISCLOSURES = ("labels", "coded")
IN_TURN = list(zip(SMALL, cycle(SPLITS), cycle(DISCLOSURES), strict=False))
"""Each dataset with one split and one disclosure; each of these has many datasets."""
OF_G2 = ("g2-2-10", "g2-4-90", "g2-8-10", "g2-16-90", "g2-32-10", "g2-64-90", "g2-128-10")
"""Each dimension of g2, with the least or the most overlap of clusters."""


@pytest.mark.some(9)
@pytest.mark.parametrize(
    ("name", "split", "disclosure"),
    sweep(
        product(SMALL, SPLITS, DISCLOSURES),
        keep=lambda case: case in IN_TURN and (case[0] in OF_G2 or not case[0].startswith("g2-")),
    ),
)
def test_labels_equal_exact_lloyd_and_scikit_learn(name, split, disclosure):
    check(name, split, n=5, t=1, ell=2, disclosure=disclosure)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_datasets_to_the_end(name):
    check(name, "by-class", n=3, t=1, ell=1, disclosure="coded")


def test_mnist_first_iterations_one_digit_per_client():
    rows, digits = mnist()
    parties = [rows[digits == digit][:50] for digit in range(10)]
    result = secfc.run(parties, 10, t=2, ell=2, init="random", seed=0, max_iter=3)
    exact = ExactLloyd(10, **begun_as(result.job, result.start), max_iter=3).fit(parties)
    np.testing.assert_array_equal(np.concatenate(result.labels), np.concatenate(exact.labels_))
    assert_same_as_scikit_learn(parties, 10, result, max_iter=3)


@pytest.mark.parametrize("read", [lambda: fkm_parties("0.1"), femnist_parties], ids=["fkm", "femnist"])
def test_parties_as_the_papers_split_them(read):
    parties = read()
    k = 16 if parties[0].shape[1] == 2 else 10
    result = secfc.run(parties, k, t=1, ell=2, seed=0, disclosure="coded")
    exact = ExactLloyd(k, init=result.start).fit(parties)
    np.testing.assert_array_equal(np.concatenate(result.labels), np.concatenate(exact.labels_))
    assert_same_as_scikit_learn(parties, k, result)
