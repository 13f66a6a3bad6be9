"""Which cases of a wide sweep the default run tests, and which only slow tests and thorough searches."""

import inspect
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import settings


def every(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Any], Any]:
    """`pytest.mark.parametrize` in one test, for many cases of milliseconds: a failure notes its case."""
    named = (names,) if isinstance(names, str) else names
    listed = [case if len(named) > 1 else (case,) for case in cases]
    assert listed, f"no case of {names}"

    def joined(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @wraps(test)
        def try_all(*args: Any, **given: Any) -> None:
            for case in listed:
                values = dict(zip(named, case, strict=True))
                try:
                    test(*args, **given, **values)
                except BaseException as error:
                    error.add_note(f"with {values}")
                    raise

        left = [one for one in signature.parameters.values() if one.name not in named]
        assert len(left) == len(signature.parameters) - len(named), f"{test} takes {named}"
        try_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return try_all

    return joined


def sweep(cases: Iterable[Any], keep: Collection[Any] | Callable[[Any], bool]) -> list[Any]:
    """Arguments for `pytest.mark.parametrize`: all cases. Those not in `keep` are marked slow."""
    kept = keep if callable(keep) else keep.__contains__
    return [case if kept(case) else slow(case) for case in cases]


def crossed(*axes: Iterable[Any], together: int = 2) -> list[Any]:
    """All combinations of the axes' values. Most are marked slow.

    The other combinations contain every combination of values of any `together` axes: each pair by default,
    each value with `together=1`. A value that `sweep` marked is only in slow combinations.
    """
    listed = [list(axis) for axis in axes]
    quick = [[at for at, value in enumerate(axis) if not hasattr(value, "marks")] for axis in listed]
    kept = covering(list(product(*quick)), together)
    places = product(*(range(len(axis)) for axis in listed))
    cases = product(
        *([value.values[0] if hasattr(value, "marks") else value for value in axis] for axis in listed)
    )
    return [case if at in kept else slow(case) for at, case in zip(places, cases, strict=True)]


def covering(cases: list[tuple[Any, ...]], together: int = 2) -> set[tuple[Any, ...]]:
    """A few of the cases that together contain all combinations of values at any `together` places."""

    def parts(case: tuple[Any, ...]) -> set[Any]:
        return set(combinations(enumerate(case), together))

    missing, used, found = set().union(*map(parts, cases)), Counter[Any](), set()
    while missing:
        # Among equally good cases, prefer values that were used less.
        best = max(
            cases, key=lambda case: (len(parts(case) & missing), -sum(used[one] for one in parts(case)))
        )
        missing -= parts(best)
        used.update(parts(best))
        found.add(best)
    return found


def leave_some(items: Iterable[pytest.Item]) -> None:
    """Mark as slow all cases but `count` of each test that is marked ``some(count)``.

    The remaining cases have as many different values of the parameters as possible.
    """
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("some") and not item.get_closest_marker("slow"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        (count,) = cases[0].get_closest_marker("some").args
        random.Random(0).shuffle(cases)
        values = {
            case: {(name, repr(value)) for name, value in case.callspec.params.items()} for case in cases
        }
        seen: set[tuple[str, str]] = set()
        for _ in range(min(count, len(cases))):
            seen |= values.pop(max(values, key=lambda case: len(values[case] - seen)))
        for case in values:
            case.add_marker("slow")


def slow(case: Any) -> Any:
    """A case that only `pytest -m slow` runs."""
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def tries(share: float = 1.0) -> settings:
    """Settings of a property that tries this share of the profile's examples (tests/conftest.py).

    Properties about whole runs try fewer than those about a function.
    """
    return settings(max_examples=max(3, round(settings.default.max_examples * share)))
