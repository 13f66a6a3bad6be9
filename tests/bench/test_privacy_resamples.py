"""What tables of resamples tell a party that chooses its rows."""

import numpy as np

from benchmarks.privacy.resamples import _FAR, by_resamples, designed, scale, sum_told


def test_a_boundary_at_a_near_row_is_between_the_means_of_both_clusters():
    own, far = designed(100, 0.5)
    weights = np.random.default_rng(0).integers(1, 3, len(own))
    at, above = 2, 100.0
    low, high = own[: far + at], own[far + at :]
    first, last = sum_told(own, far, weights, above, at)
    for boundary, told in ((own[far + at - 1], first), (own[far + at], last)):
        below = weights[: far + at] @ low / weights[: far + at].sum()
        beyond = (weights[far + at :] @ high + told) / (weights[far + at :].sum() + above)
        assert np.isclose((below + beyond) / 2, boundary)


def test_near_rows_are_ascending_and_between_far_rows_and_others():
    rows = scale(100, 80, 20)
    assert (np.diff(rows) > 0).all()
    assert _FAR < rows[0] < rows[-1] < -1


def test_resamples_tell_rows_by_their_numbers():
    found = by_resamples(share=0.5, others=20, resamples=(0, 20, 200), repeats=2, seed=1)
    none, few, many = [row.success for row in found]
    assert none > 0.9
    assert many < 0.5 < few < none
