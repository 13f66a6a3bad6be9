"""What chosen rows tell about others' rows."""

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.privacy import boundary
from benchmarks.privacy.boundary import Design, own_rows, placed


class TestChosenRows:
    def test_labels_of_all_rounds_give_the_own_rows_between_which_a_row_is(self):
        own = np.array([0.0, 2.0, 2.8])
        told = [np.array([0, 0, 1, 0]), np.array([0, 1, 1, 1])]
        assert placed(own, told[:1]) == pytest.approx([(-3 + 2.8) / 2])
        assert placed(own, told[1:]) == pytest.approx([(0 + 3) / 2])
        assert placed(own, told) == pytest.approx([(0 + 2.8) / 2])
        assert placed(own / 2, told) == pytest.approx([(0 + 1.4) / 2])

    def test_names_of_the_clusters_do_not_matter(self):
        own, told = np.array([0.0, 0.5, 1.0]), np.array([0, 0, 1, 0, 1])
        assert placed(own, [told]).tolist() == placed(own, [1 - told]).tolist()

    def test_between_its_ends_a_design_keeps_every_boundary_where_it_is(self):
        others = norm.ppf((np.arange(1000) + 0.5) / 1000)
        own = own_rows(9000, len(others), Design(first=-2, last=2.5, scale=2, left=0, right=0))
        rows = np.concatenate([own, others])
        for middle in np.linspace(-2, 2.5, 20):
            means = rows[rows < middle].mean() + rows[rows > middle].mean()
            assert means / 2 == pytest.approx(middle, abs=0.01)

    def test_too_few_rows_make_no_design(self):
        assert own_rows(30, 1000, Design(first=-2, last=2.5, scale=2, left=0, right=0)) is None

    def test_a_run_tells_most_of_a_column_and_rows_like_others_do_not(self):
        given = {"share": 0.9, "others": 60, "d": 1, "max_iter": 300, "runs": 2, "seed": 1}
        assert boundary.by_chosen_rows(tried=40, **given).success > 0.8
        assert boundary.by_chosen_rows(tried=0, **given).success < 0.3
