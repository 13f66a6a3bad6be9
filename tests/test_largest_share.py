"""The largest share of one party: a larger one is refused by name; `secfc.run` warns above one half."""

import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import secfc
from secfc.errors import LimitError, ParameterError
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.row_layout import Layout

pytestmark = pytest.mark.filterwarnings("error::secfc.PrivacyWarning")

HALF = Limits(largest_share=0.5)
JOB = make_job(n=3, k=2, t=1, ell=1, d=1, bound=9.0)


def parties(*counts):
    """One column with two clusters, for parties of so many rows."""
    column = np.resize([0.0, 1.0, 8.0, 9.0], (sum(counts), 1))
    return np.split(column, np.cumsum(counts)[:-1])


def weighted(*totals):
    """Weights of two rows a party that have these sums."""
    return [np.array([1, total - 1]) for total in totals]


def run(rows, **options):
    return secfc.run(rows, k=2, t=1, ell=1, seed=1, **options)


def check(share, counts, **layout):
    Limits(largest_share=share).check_shares(JOB, Layout(counts, **layout), name="north")


class TestBoundary:
    @given(total=st.integers(2, MAX_ROWS), data=st.data())
    def test_a_share_of_exactly_the_limit_passes_and_one_row_more_is_refused(self, total, data):
        """The limit is the float of a fraction such as 1/3, which is not the fraction itself."""
        most = data.draw(st.integers(-(-total // 2), total - 1))
        check(most / total, (most, total - most))
        with pytest.raises(LimitError, match=rf"client 1 has {most + 1} of {total} rows$"):
            check(most / total, (most + 1, total - most - 1))

    @pytest.mark.parametrize(
        ("share", "counts"),
        [
            (1 / 3, (1, 1, 1)),
            (0.3, (3, 3, 3, 1)),
            (0.07, (7,) * 14 + (2,)),
            (0.5, (1 << 28, 1 << 28)),
            (1, (5, 0, 0)),
        ],
    )
    def test_numbers_are_the_fractions_for_which_they_are_written(self, share, counts):
        check(share, counts)

    def test_a_share_just_below_one_refuses_a_party_with_all_rows(self):
        with pytest.raises(LimitError, match="client 2 has 7 of 7 rows"):
            check(1 - 2**-50, (0, 7, 0))

    def test_a_limit_that_no_number_of_rows_meets_is_not_rounded_up(self):
        share = 0.5 - 2**-50
        with pytest.raises(LimitError, match=f"a share of {share} of"):
            check(share, (1, 1))

    def test_weight_counts_like_rows_and_both_are_checked(self):
        check(0.5, (2, 2), weights=np.array([1, 9, 5, 5]))
        with pytest.raises(LimitError, match=r"client 2 has 11 of a total weight of 21$"):
            check(0.5, (2, 2), weights=np.array([1, 9, 5, 6]))
        with pytest.raises(LimitError, match=r"client 1 has 3 of 5 rows$"):
            check(0.5, (3, 2), weights=np.array([1, 1, 1, 5, 5]))

    def test_rows_that_are_common_and_rows_that_nobody_has_are_not_refused(self):
        check(0.1, (4, 4, 4), common=True)
        check(0.1, (0, 0, 0))


@pytest.mark.parametrize("value", [0, 0.0, -0.5, 1.0000001, 2, float("nan"), float("inf")])
def test_numbers_that_are_no_share_are_a_parameter_error(value):
    text = f"limits.largest_share: more than 0 and at most 1 is needed, {value!r} was given"
    with pytest.raises(ParameterError, match=f"^{re.escape(text)}$"):
        Limits(largest_share=value)


@pytest.mark.parametrize("value", [True, "0.5", [0.5], 0.5j, Fraction(1, 2)])
def test_other_values_are_a_parameter_error(value):
    text = rf"^limits\.largest_share: a number is needed, {type(value).__name__} was given$"
    with pytest.raises(ParameterError, match=text):
        Limits(largest_share=value)


class TestRun:
    @pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
    @pytest.mark.parametrize(
        ("counts", "weights", "amount"),
        [((3, 6, 2), None, "6 of 11 rows"), ((2, 2, 2), (5, 12, 6), "12 of a total weight of 23")],
    )
    def test_it_is_refused_by_name_before_a_party_is_started(
        self, monkeypatch, driver, counts, weights, amount
    ):
        monkeypatch.setattr("secfc.api.run._DRIVERS", {})
        given = {} if weights is None else {"sample_weight": weighted(*weights)}
        text = (
            "parties[2] allows one party a share of 0.5 of all rows and of all weight "
            f"(limits.largest_share), but parties[1] has {amount}"
        )
        with pytest.raises(LimitError, match=f"^{re.escape(text)}$"):
            run(parties(*counts), driver=driver, limits=[Limits(), Limits(largest_share=1), HALF], **given)

    @pytest.mark.parametrize("limits", [None, HALF])
    def test_exactly_one_half_runs_without_a_warning(self, limits):
        result = run(parties(5, 3, 2), limits=limits, sample_weight=weighted_like((5, 3, 2), (10, 7, 3)))
        assert result.sizes.sum() == 10

    @pytest.mark.parametrize("disclosure", ["labels", "coded"])
    def test_above_one_half_it_warns_with_any_disclosure(self, disclosure):
        with pytest.warns(secfc.PrivacyWarning, match=r"^parties\[0\] has 6 of 11 rows: ") as caught:
            run(parties(6, 3, 2), disclosure=disclosure)
        assert [one.filename for one in caught] == [run.__code__.co_filename]

    def test_above_one_half_of_weight_it_warns(self):
        with pytest.warns(secfc.PrivacyWarning, match=r"^parties\[2\] has 20 of a total weight of 30: "):
            run(parties(2, 2, 2), sample_weight=weighted(5, 5, 20))

    def test_parties_that_all_allow_more_are_not_warned(self):
        run(parties(6, 3, 2), limits=Limits(largest_share=0.6))
        with pytest.warns(secfc.PrivacyWarning, match="6 of 11"):
            run(parties(6, 3, 2), limits=[Limits(), Limits(largest_share=0.6), Limits(largest_share=0.6)])

    def test_choose_k_and_the_estimator_warn_and_refuse_too(self):
        rows = parties(6, 3, 2)
        search = {"t": 1, "ell": 1, "seed": 1, "disclosure": "coded"}
        with pytest.warns(secfc.PrivacyWarning, match="6 of 11"):
            secfc.choose_k(rows, [2, 3], **search)
        with pytest.raises(LimitError, match=r"but parties\[0\] has 6 of 11"):
            secfc.choose_k(rows, [2, 3], limits=HALF, **search)
        with pytest.warns(secfc.PrivacyWarning, match="6 of 11"):
            secfc.SecureKMeans(2, t=1, ell=1, random_state=1).fit(rows)

    def test_with_ids_nobody_knows_whose_rows_are_whose(self):
        result = run(parties(6, 3, 2), ids=[range(6), range(6, 9), range(9, 11)], limits=HALF)
        assert result.sizes.sum() == 11

    def test_new_rows_of_a_prediction_are_in_no_cluster(self):
        allowed = Limits(predict=True, largest_share=0.5)
        old, new = parties(2, 2, 2), parties(9, 1, 1)
        found = secfc.predict(old, [[0, 0], [1, 1], [0, 0]], new, k=2, t=1, ell=1, limits=allowed)
        assert [one.size for one in found.labels] == [9, 1, 1]

    def test_owners_of_a_committees_rows_are_parties_too(self, monkeypatch):
        with pytest.warns(secfc.PrivacyWarning, match=r"^parties\[3\] has 6 of 11 rows"):
            run(parties(1, 2, 2, 6), committee=range(4, 7))
        monkeypatch.setattr("secfc.api.run.Committee", None)  # it deals rows
        with pytest.raises(LimitError, match=r"but parties\[3\] has 6 of 11 rows$"):
            run(parties(1, 2, 2, 6), committee=range(4, 7), limits=HALF)


def weighted_like(counts, totals):
    """Weights of so many rows a party that have these sums."""
    return [np.append(np.ones(m - 1, int), total - m + 1) for m, total in zip(counts, totals, strict=True)]


def test_limits_that_refuse_nothing_give_no_warning_where_no_party_has_most():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(parties(4, 4, 4))
