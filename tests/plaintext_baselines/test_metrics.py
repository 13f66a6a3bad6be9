"""The measures: cases by hand, and cases that distinguish them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from support.lloyd import column

from plaintext_baselines import metrics


def test_majority_may_use_a_class_twice_and_hungarian_not():
    truth, labels = [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]
    assert metrics.majority_accuracy(truth, labels) == 1.0
    assert metrics.hungarian_accuracy(truth, labels) == pytest.approx(4 / 6)


def test_ari_by_hand_and_by_party():
    # Party 0: pairs agree fully, 1. Party 1: clusters against classes, ARI = -0.5.
    truths = [[0, 0, 1, 1], [0, 0, 1, 1], []]
    labels = [[1, 1, 0, 0], [0, 1, 0, 1], []]
    assert metrics.pooled_ari([truths[1]], [labels[1]]) == pytest.approx(-0.5)
    assert metrics.client_weighted_ari(truths, labels) == pytest.approx((4 * 1 - 4 * 0.5) / 8)


def test_parties_may_disagree_on_names_in_the_client_weighted_ari_only():
    truths, labels = [[0, 0, 1, 1], [0, 0, 1, 1]], [[0, 0, 1, 1], [1, 1, 0, 0]]
    assert metrics.client_weighted_ari(truths, labels) == 1
    assert metrics.pooled_ari(truths, labels) < 0.1


def test_within_and_outside_by_hand():
    # Rows (0, 0), (4, 0), centres (0, 1), (4, 0): within 1 + 0, outside 16 + 17, over 2 rows of 2 features.
    parties, centres = [np.array([[0.0, 0.0]]), np.array([[4.0, 0.0]])], np.array([[0.0, 1.0], [4.0, 0.0]])
    assert metrics.within_sse(parties, centres) == pytest.approx(1 / 4)
    assert metrics.outside_sse(parties, centres) == pytest.approx(33 / 4)
    assert metrics.k_means_score(parties, centres) == pytest.approx(1 / 2)


def test_missing_centres_are_ignored():
    centres = np.array([[0.0], [np.nan], [4.0]])
    assert metrics.k_means_score([column(1, 4)], centres) == pytest.approx(0.5)
    assert metrics.outside_sse([column(1, 4)], centres) == pytest.approx((9 + 16) / 2)
    assert metrics.simplified_silhouette([column(1, 4)], centres) == pytest.approx((2 / 3 + 1) / 2)


def test_simplified_silhouette_by_hand():
    # a, b: 1, 3 and 0, 4; a row on two centres counts 0.
    assert metrics.simplified_silhouette([column(1), column(4)], column(0, 4)) == pytest.approx(
        (2 / 3 + 1) / 2
    )
    assert metrics.simplified_silhouette([column(0)], column(0, 0)) == 0
    with pytest.raises(ValueError, match="at least two rows"):
        metrics.simplified_silhouette([column(0)], column(0))


def test_gaps_by_hand():
    truth, centres = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 4.0], [3.0, 5.0]])
    # Matched: (0, 0) to (3, 4) and (3, 4) to (3, 5), or to (3, 5) and to (3, 4).
    assert metrics.matched_knowledge_gap(truth, centres) == pytest.approx(34**0.5)
    assert metrics.nearest_knowledge_gap(truth, centres) == pytest.approx(5)


def test_a_scaled_gap_has_columns_in_units_of_the_centres_deviations():
    truth, centres = np.array([[0.0, 7.0], [4.0, 7.0]]), np.array([[5.0, 7.0], [4.0, 7.0]])
    deviation = np.std([0, 4, 5, 4], ddof=1)  # the second column has none, and no distance
    for first, second, gap in ((truth, centres, 4), (centres, truth, 1)):
        found = metrics.nearest_knowledge_gap(first, second, scaled=True)
        assert found == pytest.approx(gap / deviation)
        rescaled = metrics.nearest_knowledge_gap(first * [100, 3], second * [100, 3], scaled=True)
        assert rescaled == pytest.approx(found)
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 4, 3))
    expected = cdist(first, second, metric="seuclidean").min(axis=1).sum()
    assert metrics.nearest_knowledge_gap(first, second, scaled=True) == pytest.approx(expected)


def test_matched_gap_needs_as_many_centres():
    with pytest.raises(ValueError, match="2 true centres cannot be matched to 1"):
        metrics.matched_knowledge_gap(column(0, 1), column(0))
    assert metrics.nearest_knowledge_gap(column(0, 1), column(0)) == 1


@pytest.mark.parametrize("centres", [np.zeros((2, 3)), np.zeros(2)])
def test_shapes_are_checked(centres):
    with pytest.raises(ValueError, match="centers"):
        metrics.k_means_score([np.zeros((2, 2))], centres)
    with pytest.raises(ValueError, match="both need rows of one width"):
        metrics.matched_knowledge_gap(np.zeros((2, 2)), centres)


def test_a_party_without_labels_is_noticed():
    with pytest.raises(ValueError, match="truths of 2 parties but labels of 1"):
        metrics.pooled_ari([[0], [1]], [[0]])
