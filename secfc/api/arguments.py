"""Arguments of calls: descriptions from the records of options, and what serves instead of a wrong name."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from secfc.api.described import described, texts_of

P = ParamSpec("P")
R = TypeVar("R")
Record = TypeVar("Record")


def written_out(*records: type) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For a function with a written signature: describes its options, and checks its arguments' names."""
    options = {name: one for record in records for name, one in texts_of(record).items()}

    def made(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            _check(function.__name__, signature, given, named)
            return function(*given, **named)

        here = {name: options[name] for name in signature.parameters if name in options}
        call.__doc__ = described(function.__doc__, here)
        return call

    return made


def constructed(kind: type[Record]) -> type[Record]:
    """An estimator's dataclass, whose constructor also says what serves instead of an unknown argument."""
    made: Callable[..., None] = vars(kind)["__init__"]
    signature = inspect.signature(made)

    @wraps(made)
    def construct(self: Record, *given: Any, **named: Any) -> None:
        _check(type(self).__name__, signature, (self, *given), named, fit=("ids", "sample_weight"))
        made(self, *given, **named)

    setattr(kind, "__init__", construct)  # noqa: B010 - no type checker knows an assigned constructor
    return kind


def _check(
    name: str,
    signature: inspect.Signature,
    given: Sequence[Any],
    named: Mapping[str, Any],
    fit: Collection[str] = (),
) -> None:
    """Raise TypeError for a missing or an unknown argument, with what serves instead; `fit` takes some."""
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise TypeError(f"{name}() {error}{_hint(named, list(signature.parameters), fit)}") from None


_INSTEAD = {
    "n_clusters": "k",
    "random_state": "seed",
    "tol": "tol_moved",
    "verbose": "progress",
    "n_jobs": "threads",
    "sample_weights": "sample_weight",
}
"""Our names of parameters that other libraries have."""

GROUPED = {
    "reveal_centres": ("reveal", "centres"),
    "reveal_spread": ("reveal", "spread"),
    "reveal_inertia": ("reveal", "inertia"),
    "centres_epsilon": ("reveal", "epsilon"),
    "centres_delta": ("reveal", "delta"),
    "id_key": ("ids", "key"),
    "ids_cap": ("ids", "cap"),
}
"""The argument, and its field, that gives an option of a job or of a command."""

_GROUPS = {"reveal": "reveal=secfc.Reveal({}=...)", "ids": "ids=secfc.Membership(ids, {}=...)"}

_NOTHING = frozenset({"algorithm", "copy_x"})
"""Parameters of scikit-learn's KMeans without use here: there is one algorithm, and rows are not changed."""


def _hint(named: Collection[str], known: list[str], fit: Collection[str]) -> str:
    """What serves instead of unknown arguments; empty if that is not known."""
    hints = []
    for name in named:
        if name in known:
            continue
        if grouped := _grouped(name, [*known, *fit]):
            hints.append(f"use {grouped} instead of {name}")
            continue
        if name in fit:
            hints.append(f"{name} is an argument of fit")
            continue
        close = get_close_matches(name, [*_INSTEAD, *known], n=1)
        ours = [_INSTEAD.get(one, one) for one in close]
        if name in _NOTHING:
            hints.append(f"{name} is not needed")
        elif ours and ours[0] in known:
            hints.append(f"use {ours[0]} instead of {name}")
    return "".join(f"; {hint}" for hint in hints)


def _grouped(name: str, known: list[str]) -> str:
    """How a call gives an option, by its name in a job or in the group; empty for other names."""
    for option, (argument, own) in GROUPED.items():
        if name in (own, option) and argument in known:
            return _GROUPS[argument].format(own)
    return ""
