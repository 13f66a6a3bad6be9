"""Shows the fields of a dataclass as options of several commands, so that each is written once."""

import inspect
import os
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from secfc.protocol.job.options import AUTO, Auto, choices_of, options_of, types_of


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose last parameter, a dataclass, is shown by Typer as one option per field.

    Fields are options of `secfc.protocol.job.options`, shown if they have a help line, or ``Annotated``.
    """
    *own, group = inspect.signature(command, eval_str=True).parameters.values()
    kind = group.annotation
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TypeError(f"{command.__qualname__}: its last parameter is no dataclass")
    types = types_of(kind)
    hidden = {name for name, (_, option) in options_of(kind).items() if not option.help}
    options = [_parameter(one, types[one.name], kind) for one in fields(kind) if one.name not in hidden]

    @wraps(command)
    def expanded(**given: Any) -> Any:
        values = {one.name: given.pop(one.name) for one in options}
        plain = {name: one.value if isinstance(one, Enum) else one for name, one in values.items()}
        return command(**given, **{group.name: kind(**plain)})

    parameters = [*(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own), *options]
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    return expanded


def typer_option(of: type, name: str) -> Any:
    """An option of a class of `secfc.protocol.job.options`, for a command that shows only this one."""
    one, option = options_of(of)[name]
    flag = ["--" + name.replace("_", "-")] if one.default is False else []  # without it Typer adds --no-...
    parser = _number_or_auto if Auto in get_args(types_of(of)[name]) else None
    return typer.Option(*flag, help=option.help, rich_help_panel=option.panel, parser=parser)


def _number_or_auto(text: str) -> int | str:
    return text if text == AUTO else int(text)


def _parameter(one: Field[Any], kind: Any, of: type) -> inspect.Parameter:
    if one.default is MISSING:
        raise TypeError(f"{one.name}: a default is needed")
    if "option" in one.metadata:
        if choices := choices_of(one):
            names = {choice.replace("-", "_"): choice for choice in choices}
            kind = cast(Any, Enum)(one.name, names)  # only Typer sees it
        elif os.PathLike[str] in get_args(kind):
            kind = Path | None
        elif Auto in get_args(kind):
            kind = str  # Typer does not support unions; the option's parser makes the value
        kind = Annotated[kind, typer_option(of, one.name)]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=kind)
