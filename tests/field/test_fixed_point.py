"""The public scale at its limits, rounding, and the integer bound on quantised rows."""

from fractions import Fraction
from math import inf, isqrt, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import every, tries

from secfc.field import fixed_point
from secfc.field.array_types import Floats
from secfc.field.fixed_point import norm_limit, quantise, quantised_radius, row_norms, scale_exponent, unit_of

LARGEST = 1.7976931348623157e308
SMALLEST = 5e-324
SMALLEST_NORMAL = 2.0**-1022

laws = tries(2)
precisions = st.integers(1, 52)


def exact_ceil_log2(x: float) -> int:
    """Smallest e with x <= 2**e, from the exact fraction."""
    value = Fraction(x)
    e = value.numerator.bit_length() - value.denominator.bit_length() - 1
    while Fraction(2) ** e < value:
        e += 1
    return e


def squared_norm(row: Floats) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


def quantised_squared_norm(row: Floats, exponent: int) -> int:
    quantised = quantise(row[np.newaxis], Fraction(2) ** -exponent)[0]
    assert np.array_equal(quantised, np.rint(quantised))
    return sum(int(v) ** 2 for v in quantised)


class TestScaleExponent:
    @laws
    @given(bound=st.floats(min_value=SMALLEST, max_value=LARGEST), precision=precisions)
    def test_equals_precision_minus_the_exact_ceiling(self, bound: float, precision: int) -> None:
        assert scale_exponent(bound, precision) == precision - exact_ceil_log2(bound)

    @laws
    @given(bound=st.floats(min_value=SMALLEST, max_value=LARGEST), precision=precisions)
    def test_scaled_bound_has_exactly_the_precision(self, bound: float, precision: int) -> None:
        scaled = Fraction(bound) * Fraction(2) ** scale_exponent(bound, precision)
        assert 2 ** (precision - 1) < scaled <= 2**precision


class TestQuantise:
    def test_rounds_half_to_even(self) -> None:
        rows = np.array([[0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5]])
        assert quantise(rows, Fraction(1)).tolist() == [[0.0, 2.0, 2.0, 4.0, 0.0, -2.0, -2.0]]

    def test_negative_exponent_scales_down(self) -> None:
        assert quantise(np.array([[1024.0, 1535.0, 1537.0]]), Fraction(1024)).tolist() == [[1.0, 1.0, 2.0]]

    def test_subnormal_values_scale_exactly(self) -> None:
        assert quantise(np.array([[SMALLEST, -3 * SMALLEST]]), Fraction(2) ** -1074).tolist() == [[1.0, -3.0]]

    def test_values_far_below_the_bound_become_zero(self) -> None:
        assert quantise(np.array([[1.0, SMALLEST]]), unit_of(LARGEST, 52)).tolist() == [[0.0, 0.0]]

    @laws
    @given(x=st.floats(-1.0, 1.0), precision=precisions)
    def test_error_is_at_most_half_a_unit(self, x: float, precision: int) -> None:
        (result,) = quantise(np.array([[x]]), Fraction(2) ** -precision)[0]
        assert abs(Fraction(float(result)) - Fraction(x) * 2**precision) <= Fraction(1, 2)


class TestQuantisedRadius:
    @tries(2)
    @given(
        data=st.data(),
        d=st.integers(1, 40),
        bound=st.floats(min_value=SMALLEST_NORMAL, max_value=1e300),
        precision=precisions,
    )
    def test_accepted_rows_never_exceed_it(
        self, data: st.DataObject, d: int, bound: float, precision: int
    ) -> None:
        direction = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=d, max_size=d)))
        shrink = data.draw(st.sampled_from([1.0, 1.0, 0.5, 1e-9]))
        norm = float(row_norms(direction[np.newaxis])[0]) or 1.0
        row = direction / norm * (bound * shrink)
        if row_norms(row[np.newaxis])[0] > norm_limit(bound):
            row = row * (1 - 2.0**-50)
        radius = quantised_radius(bound, precision, d)
        assert quantised_squared_norm(row, scale_exponent(bound, precision)) <= radius**2

    @every("precision", range(1, 53))
    @every("bound", [1.0, nextafter(1.0, inf), nextafter(2.0, 0.0), 3.0, 1e-300, 1e300])
    def test_rows_on_the_bound_along_one_axis_obey_it(self, bound: float, precision: int) -> None:
        exponent = scale_exponent(bound, precision)
        for row in (np.array([bound]), np.array([norm_limit(bound)]), np.array([0.0, -bound, 0.0])):
            assert quantised_squared_norm(row, exponent) <= quantised_radius(bound, precision, row.size) ** 2

    @every("precision", [12, 28, 40, 52])
    @every("d", [1, 2, 3, 4, 5, 16, 17, 784, 4096])
    def test_rows_whose_every_entry_rounds_up_obey_it(self, d: int, precision: int) -> None:
        # Entries just above q + 1/2 move by almost 1/2 each, which reaches the sqrt(d)/2 of the bound.
        q = isqrt(4**precision // d)
        entries = (nextafter(q + 0.5 - back, inf) for back in range(3))
        entry = next(entry for entry in entries if d * Fraction(entry) ** 2 <= 4**precision)
        row = np.full(d, entry) * 2.0**-precision
        assert squared_norm(row) <= 1
        assert quantised_squared_norm(row, precision) <= quantised_radius(1.0, precision, d) ** 2

    def test_is_close_to_the_scaled_bound(self) -> None:
        assert 2**28 < quantised_radius(1.0, 28, 784) <= 2**28 + 28 // 2 + 3

    def test_zero_bound_still_leaves_room_for_nothing_but_zeros(self) -> None:
        assert quantised_squared_norm(np.zeros(5), scale_exponent(0.0, 28)) <= quantised_radius(0.0, 28, 5)

    @laws
    @given(power=st.integers(-900, 900), mantissa=st.floats(1.0, 2.0), precision=precisions)
    def test_does_not_depend_on_the_units(self, power: int, mantissa: float, precision: int) -> None:
        scaled = quantised_radius(mantissa * 2.0**power, precision, 10)
        assert scaled == quantised_radius(mantissa, precision, 10)

    def test_accepted_rows_obey_it_at_the_smallest_bound(self) -> None:
        row = np.array([SMALLEST, SMALLEST])
        assert row_norms(row[np.newaxis])[0] <= norm_limit(SMALLEST)
        assert quantised_squared_norm(row, scale_exponent(SMALLEST, 28)) <= (
            quantised_radius(SMALLEST, 28, 2) ** 2
        )

    def test_accepted_column_major_wide_rows_obey_it(self) -> None:
        d = 1 << 16
        rows = np.full((2, d), 0.99 * 2.0**-27, order="F")
        rows[:, 0] = 1.0
        accepted = bool((row_norms(rows) <= norm_limit(1.0)).all())
        squared = quantised_squared_norm(rows[0], scale_exponent(1.0, 52))
        assert not accepted or squared <= quantised_radius(1.0, 52, d) ** 2


class TestRowNorms:
    @pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**1020, 2.0**-1060, 1e155, 1e-170])
    def test_squares_that_overflow_or_underflow_do_no_harm(self, scale: float) -> None:
        unit = float(np.ldexp(1.0, int(np.frexp(scale)[1]) - 1))
        rows = np.array([[3.0, 4.0], [-5.0, 12.0]]) * unit
        assert row_norms(rows).tolist() == [5.0 * unit, 13.0 * unit]

    def test_smallest_subnormal_is_its_own_norm(self) -> None:
        assert row_norms(np.array([[SMALLEST], [-SMALLEST]])).tolist() == [SMALLEST, SMALLEST]

    def test_largest_float_is_its_own_norm(self) -> None:
        assert row_norms(np.array([[LARGEST, 0.0]])).tolist() == [LARGEST]

    def test_norm_beyond_float64_is_inf(self) -> None:
        assert row_norms(np.array([[LARGEST, LARGEST]])).tolist() == [inf]

    @pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
    def test_no_rows_or_columns_have_zero_norms(self, shape: tuple[int, int]) -> None:
        assert np.array_equal(row_norms(np.zeros(shape)), np.zeros(shape[0]))

    @pytest.mark.parametrize("elements", [1, 2, 5, 6, 7, 100])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_norms_do_not_depend_on_blocks(
        self, order: str, elements: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = np.asarray(np.array([[3.0, 4.0]]) * np.arange(1.0, 8.0)[:, np.newaxis], order=order)
        monkeypatch.setattr(fixed_point, "_BLOCK_ELEMENTS", elements)
        assert row_norms(rows).tolist() == [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0]

    @laws
    @given(
        row=st.lists(st.floats(-1e150, 1e150).filter(lambda v: v == 0 or abs(v) > 1e-140), max_size=50),
        power=st.integers(-400, 400),
    )
    def test_relative_error_is_within_the_slack(self, row: list[float], power: int) -> None:
        values = np.ldexp(np.array(row, dtype=np.float64), power)
        norm = Fraction(float(row_norms(values.reshape(1, -1))[0]))
        exact = squared_norm(values)
        slack = Fraction(1, 2**41)
        assert exact * (1 - slack) ** 2 <= norm**2 <= exact * (1 + slack) ** 2


class TestNormLimit:
    @laws
    @given(bound=st.floats(min_value=0.0, max_value=1e300))
    def test_is_never_below_the_bound(self, bound: float) -> None:
        assert norm_limit(bound) >= bound

    @laws
    @given(bound=st.floats(min_value=SMALLEST_NORMAL, max_value=1e300))
    def test_exceeds_the_bound_by_less_than_the_slack_of_the_radius(self, bound: float) -> None:
        assert Fraction(norm_limit(bound)) < Fraction(bound) * (1 + Fraction(1, 2**40))

    def test_zero_bound_accepts_only_zero(self) -> None:
        assert norm_limit(0.0) == 0.0
