"""Options that several commands have, as the fields of a dataclass: written once, shown by each."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose last parameter, a dataclass, is shown to Typer as the options that are its fields.

    Parameters
    ----------
    command : callable
        Its last parameter is annotated with a dataclass of keyword-only fields with defaults, each of them
        ``Annotated`` as Typer has it. It is called with an instance.
    """
    *own, group = inspect.signature(command, eval_str=True).parameters.values()
    kind = group.annotation
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TypeError(f"{command.__qualname__}: its last parameter is no dataclass")
    hints = get_type_hints(kind, include_extras=True)
    options = [_option(one, hints[one.name]) for one in fields(kind)]

    @wraps(command)
    def expanded(**given: Any) -> None:
        values = {one.name: given.pop(one.name) for one in options}
        command(**given, **{group.name: kind(**values)})

    parameters = [*(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own), *options]
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    return expanded


def _option(one: Field[Any], annotation: Any) -> inspect.Parameter:
    if one.default is MISSING:
        raise TypeError(f"{one.name}: a default is needed")
    return inspect.Parameter(
        one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=annotation
    )
