"""The measures of the project's size."""

from benchmarks.house import _circles, measures


def test_circles_are_modules_that_reach_each_other():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert sorted(map(sorted, _circles(graph))) == [["a", "b", "c"], ["d"], ["e"]]


def test_measures_that_must_hold():
    found = dict(measures())
    assert found["files in import circles"] == 0
    assert found["lines of the trusted core"] < found["lines in the wheel"]
    assert 50 < found["files that a run executes"] < 150
