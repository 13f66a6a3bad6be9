"""Types of values in files, and options as keys of a file."""

import base64
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, Field, PlainSerializer, PlainValidator, create_model

from secfc.agreement.key_files import key_bytes, key_text
from secfc.agreement.secret_files import of_base64
from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.protocol.job.options import AUTO, Auto, types_of

Model = TypeVar("Model", bound=BaseModel)

Hex32 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Hex16 = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


def encoded(signature: bytes) -> str:
    """A signature in the form of files."""
    return base64.b64encode(signature).decode()


def decoded(text: str) -> bytes:
    """Decode a signature of a file, 64 bytes; the ValueError says what is needed."""
    value = of_base64(text, SIGNATURE_BYTES)
    if value is None:
        raise ValueError(f"{SIGNATURE_BYTES} bytes in base64 are needed")
    return value


def _bytes_of(decode: Callable[[str], bytes]) -> BeforeValidator:
    """Decodes a text of a file. Bytes are left as they are."""
    return BeforeValidator(lambda value: decode(value) if isinstance(value, str) else value)


PublicKey = Annotated[bytes, _bytes_of(key_bytes), PlainSerializer(key_text)]
SignatureBytes = Annotated[bytes, _bytes_of(decoded), PlainSerializer(encoded)]
"""Bytes here, and texts in files."""


def _number_or_auto(value: Any) -> Any:
    if value == AUTO or type(value) is int:
        return value
    raise ValueError(f"an integer or {AUTO!r} is needed")


_NUMBER_OR_AUTO = Annotated[Any, PlainValidator(_number_or_auto)]
"""Used instead of a union, for which pydantic would report two errors for one wrong value."""


def with_options(of: type, *, required: bool = False) -> Callable[[type[Model]], type[Model]]:
    """Give a pydantic model the options of a class of `secfc.protocol.job.options` as further fields."""
    types = {name: _NUMBER_OR_AUTO if Auto in get_args(one) else one for name, one in types_of(of).items()}
    more: dict[str, Any] = {
        one.name: (types[one.name], ... if required else one.default) for one in fields(of)
    }

    def made(model: type[Model]) -> type[Model]:
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **more
        )

    return made
