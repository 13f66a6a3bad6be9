"""Options as keys of a file that pydantic reads."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from pydantic import BaseModel, create_model

from secfc.options import types_of

Model = TypeVar("Model", bound=BaseModel)


def with_options(of: type, *, required: bool = False) -> Callable[[type[Model]], type[Model]]:
    """Give a pydantic model the options of a class of `secfc.options` as further fields.

    Where they are `required` a file must have them all; else each has its default.
    """
    types = types_of(of)
    more: dict[str, Any] = {
        one.name: (types[one.name], ... if required else one.default) for one in fields(of)
    }

    def made(model: type[Model]) -> type[Model]:
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **more
        )

    return made
