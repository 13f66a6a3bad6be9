"""ParentChildKMeans: the running mean by hand, the order of rows, and the notebook's figures."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from support.datasets import folder
from support.lloyd import column

from plaintext_baselines import ParentChildKMeans
from plaintext_baselines.parent_child import running_means

STUDIES = ["Horstmann", "Kjome", "Maia", "SteingroverInPrep", "Premkumar", "Wood", "Worthy", "Ahn"]


def igt_studies():
    """The eight studies in the notebook's order, with rows in the file's order."""
    path = folder() / "igt/dim_reduced_2d.tsv"
    if not path.is_file():
        pytest.skip("SECFC_DATA has no igt/dim_reduced_2d.tsv")
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    studies = [[list(map(float, row[-2:])) for row in rows if row[0] == name] for name in STUDIES]
    return [np.array(study) for study in studies]


def test_running_mean_by_hand():
    # 4 joins 0 (2 rows): 4/3. 6 is 14/3 from 4/3 and 4 from 10 (1 row): 8. 4 joins 4/3 (3 rows): 2.
    found = running_means(column(0, 10), np.array([2, 1]), column(4, 6, 4))
    assert found.ravel() == pytest.approx([2, 8])


def test_ties_go_to_the_first_centre():
    assert running_means(column(0, 2), np.array([1, 1]), column(1)).ravel() == pytest.approx([0.5, 2])


def test_running_means_leave_their_arguments_alone():
    centres, sizes = column(0.0), np.array([1])
    running_means(centres, sizes, column(4))
    assert (centres.item(), sizes.item()) == (0, 1)


def test_the_first_quarter_of_the_rows_are_the_updates():
    # Base 0, 0, 10: centres 0 (2), 10 (1). Update 9: (10 + 9)/2.
    model = ParentChildKMeans(2, random_state=0).fit([column(9, 0, 0, 10)])
    assert sorted(model.cluster_centers_.ravel()) == pytest.approx([0, 9.5])
    # Three rows: int(0.75) = 0 rows are set aside.
    model = ParentChildKMeans(2, random_state=0).fit([column(9, 0, 0)])
    assert sorted(model.cluster_centers_.ravel()) == pytest.approx([0, 9])


def test_parent_is_unweighted():
    parties = [column(*[0.0] * 30), column(3)]
    model = ParentChildKMeans(1, random_state=0).fit(parties)
    assert model.cluster_centers_.ravel() == pytest.approx([1.5])
    assert (model.n_iter_, model.history_) == (1, [model.inertia_])


def test_one_party_without_updates_is_scikit_learn():
    rows, _ = make_blobs(150, centers=3, cluster_std=2, random_state=0)
    model = ParentChildKMeans(3, update_fraction=0, random_state=42).fit([rows])
    reference = KMeans(3, n_init=10, random_state=42).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, reference.cluster_centers_)
    assert model.inertia_ == pytest.approx(reference.inertia_)


def test_the_children_may_have_fewer_clusters():
    model = ParentChildKMeans(2, child_clusters=1, random_state=0).fit([column(0, 1), column(7, 8)])
    assert sorted(model.cluster_centers_.ravel()) == pytest.approx([0.5, 7.5])


@pytest.mark.data
@pytest.mark.parametrize(
    ("n_init", "federated", "central"), [(10, 1526.753, 1362.176), (1, 1515.618, 1362.470)]
)
def test_the_notebooks_figures_with_a_current_scikit_learn(n_init, federated, central):
    # The notebook prints 1498.28 and 1362.196, with scikit-learn 0.24.
    parties = igt_studies()
    model = ParentChildKMeans(3, n_init=n_init, random_state=42).fit(parties)
    assert model.inertia_ == pytest.approx(federated, abs=5e-4)
    pooled = KMeans(3, n_init=n_init, random_state=42).fit(np.concatenate(parties))
    assert pooled.inertia_ == pytest.approx(central, abs=0.5)
