"""Functions that take the fields of a dataclass (the "record") as arguments, with its signature and docs."""

import inspect
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar, get_type_hints

from secfc.described import described
from secfc.options import types_of
from secfc.retired import retired_option

P = ParamSpec("P")
R = TypeVar("R")
Record = TypeVar("Record")


def called_with(record: Callable[P, Record]) -> Callable[[Callable[[Record], R]], Callable[P, R]]:
    """Make a function of one record a function of the fields of that dataclass.

    Type checkers and editors show the record's constructor. `help` and notebooks show the same parameters.
    """
    assert isinstance(record, type)
    types, of_record = types_of(record), inspect.signature(record)
    parameters = [one.replace(annotation=types[one.name]) for one in of_record.parameters.values()]

    def made(function: Callable[[Record], R]) -> Callable[P, R]:
        returned = get_type_hints(function)["return"]
        signature = of_record.replace(parameters=parameters, return_annotation=returned)

        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            try:
                signature.bind(*given, **named)
            except TypeError as error:  # it names the missing or unknown argument
                raise TypeError(f"{function.__name__}() {error}{_hint(named, list(types))}") from None
            return function(record(*given, **named))

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        call.__annotations__["return"] = signature.return_annotation
        call.__doc__ = described(function.__doc__, record)
        return call

    return made


_INSTEAD = {
    "n_clusters": "k",
    "random_state": "seed",
    "tol": "tol_moved",
    "verbose": "progress",
    "n_jobs": "threads",
    "sample_weights": "sample_weight",
}
"""Our names of parameters that other libraries have."""

_NOTHING = frozenset({"algorithm", "copy_x"})
"""Parameters of scikit-learn's KMeans without use here: there is one algorithm, and rows are not changed."""


def _hint(named: Collection[str], known: list[str]) -> str:
    """What serves instead of unknown arguments; empty if that is not known."""
    hints = []
    for name in named:
        if name in known:
            continue
        if instead := retired_option(name):
            hints.append(f"{name}: {instead}")
            continue
        close = get_close_matches(name, [*_INSTEAD, *known], n=1)
        ours = [_INSTEAD.get(one, one) for one in close]
        if name in _NOTHING:
            hints.append(f"{name} is not needed")
        elif ours and ours[0] in known:
            hints.append(f"use {ours[0]} instead of {name}")
    return "".join(f"; {hint}" for hint in hints)
