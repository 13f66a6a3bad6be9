"""The default run has each pair of options, or each option, but not all combinations."""

from inspect import signature
from itertools import combinations, product

import pytest
from support.sweeps import crossed, every, sweep

AXES = ("abcd", range(3), range(3), [True, False])


def quick(cases):
    return [case for case in cases if not hasattr(case, "marks")]


@pytest.mark.parametrize("together", [1, 2, 3])
def test_any_values_of_so_many_axes_are_in_a_quick_case(together):
    kept = quick(crossed(*AXES, together=together))
    for at in combinations(range(len(AXES)), together):
        assert {tuple(case[one] for one in at) for case in kept} == set(product(*(AXES[one] for one in at)))


def test_all_combinations_are_there_and_most_are_slow():
    cases = crossed(*AXES)
    assert [case.values if hasattr(case, "marks") else case for case in cases] == list(product(*AXES))
    assert len(quick(cases)) == 12  # of 72; the first two axes alone have as many pairs


def test_single_values_take_turns():
    kept = quick(crossed(range(6), range(3), together=1))
    assert [[case[1] for case in kept].count(one) for one in range(3)] == [2, 2, 2]


def test_what_a_sweep_leaves_out_is_in_slow_cases_alone():
    cases = crossed("ab", sweep(range(4), keep=(0, 2)))
    assert quick(cases) == [("a", 0), ("a", 2), ("b", 0), ("b", 2)]
    assert len(cases) == 8


def test_every_case_is_tried_and_the_first_that_fails_is_noted():
    tried = []

    @every("b", "xy")
    @every(("a", "c"), [(1, 2), (3, 4)])
    def test(a, b, c, fixture):
        tried.append((a, b, c, fixture))
        assert (a, b) != (3, "y")

    assert list(signature(test).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as caught:
        test(fixture=0)
    assert caught.value.__notes__ == ["with {'a': 3, 'c': 4}", "with {'b': 'y'}"]
    assert tried == [(1, "x", 2, 0), (3, "x", 4, 0), (1, "y", 2, 0), (3, "y", 4, 0)]
