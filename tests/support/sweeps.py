"""What the default run tries of a wide sweep, and what only the slow tests and thorough searches do."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings


def sweep(cases: Iterable[Any], keep: Collection[Any] | Callable[[Any], bool]) -> list[Any]:
    """Arguments for `pytest.mark.parametrize`: all cases, of which only those to `keep` are not slow."""
    kept = keep if callable(keep) else keep.__contains__
    return [case if kept(case) else slow(case) for case in cases]


def slow(case: Any) -> Any:
    """A case that only `pytest -m slow` tries."""
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def tries(share: float = 1.0) -> settings:
    """Settings of a property that tries this share of the profile's examples (tests/conftest.py).

    Properties about whole runs try fewer than those about a function.
    """
    return settings(max_examples=max(3, round(settings.default.max_examples * share)))
