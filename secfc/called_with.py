"""Functions that take the fields of a dataclass (the "record") as arguments, with its signature and docs."""

import inspect
from collections.abc import Callable, Collection
from difflib import get_close_matches
from functools import wraps
from textwrap import fill, indent
from typing import ParamSpec, TypeVar, get_type_hints

from secfc.options import options_of, types_of
from secfc.retired import retired_option

P = ParamSpec("P")
R = TypeVar("R")
Record = TypeVar("Record")

_PLACE = "**options\n"
"""The line of a docstring that is replaced by the options, together with the lines indented below it."""

_WIDTH = 110


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


def documented(record: type[Record]) -> type[Record]:
    """Describe a dataclass's options in its own docstring."""
    record.__doc__ = described(record.__doc__, record)
    return record


def described(doc: str | None, record: type) -> str | None:
    """The docstring with the record's options in place of ``**options``; None stays None."""
    if doc is None:  # python -OO
        return None
    before, _, after = inspect.cleandoc(doc).partition(_PLACE)
    lines = after.splitlines(keepends=True)
    own = next((at for at, line in enumerate(lines) if not line.startswith("    ")), len(lines))
    found = sorted(options_of(record).items(), key=lambda item: item[1][0].kw_only is True)  # as in calls
    options = [
        f"{name} : {one.kind}\n{indent(fill(one.text, _WIDTH - 8), ' ' * 4)}\n" for name, (_, one) in found
    ]
    return before + "".join(options + lines[own:])
