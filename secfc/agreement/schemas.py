"""Adds options to pydantic models, as keys of a file."""

from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, PlainValidator, create_model

from secfc.protocol.job.options import AUTO, Auto, types_of

Model = TypeVar("Model", bound=BaseModel)


def _number_or_auto(value: Any) -> Any:
    if value == AUTO or type(value) is int:
        return value
    raise ValueError(f"an integer or {AUTO!r} is needed")


_NUMBER_OR_AUTO = Annotated[Any, PlainValidator(_number_or_auto)]
"""Used instead of a union, for which pydantic would report two errors for one wrong value."""


def with_options(of: type, *, required: bool = False) -> Callable[[type[Model]], type[Model]]:
    """Give a pydantic model the options of a class of `secfc.protocol.job.options` as further fields.

    If `required`, a file must have all of them; else each has its default.
    """
    types = {name: _NUMBER_OR_AUTO if Auto in get_args(one) else one for name, one in types_of(of).items()}
    more: dict[str, Any] = {
        one.name: (types[one.name], ... if required else one.default) for one in fields(of)
    }

    def made(model: type[Model]) -> type[Model]:
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **more
        )

    return made
