"""Types of values in files, options as keys of a file, and the version that made a file."""

import base64
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    create_model,
)

from secfc.agreement.key_files import key_bytes, key_text
from secfc.agreement.secret_files import of_base64
from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.errors import AgreementError
from secfc.errors.codes import Code
from secfc.protocol.job.options import AUTO, Auto, types_of
from secfc.tables.toml_file import FileSchema, TomlFile
from secfc.version import PROTOCOL, VERSION

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


class Versioned(FileSchema):
    """What secfc has made and signed, with its versions. Packages with the same protocol work together."""

    secfc: Annotated[str, Field(pattern=r"^[0-9A-Za-z.+-]{1,40}$")]
    protocol: int

    @property
    def other_version(self) -> str | None:
        """What is said if it was made with another protocol. None if it was made with this one."""
        if self.protocol == PROTOCOL:
            return None
        made, this = f"secfc {self.secfc}, protocol {self.protocol}", f"secfc {VERSION}, protocol {PROTOCOL}"
        return f"made by {made}; this is {this}"


MADE_HERE: Mapping[str, Any] = {"secfc": VERSION, "protocol": PROTOCOL}
"""The fields of `Versioned` for what this process makes."""


def check_version(file: TomlFile) -> None:
    """Raise AgreementError with both versions for a file of another protocol, which may have other keys."""
    with suppress(ValidationError):  # the check of all keys finds it
        made = Versioned.model_validate({key: file.values.get(key) for key in MADE_HERE})
        if made.other_version is not None:
            raise AgreementError(f"{file.path}: {made.other_version}", code=Code.OTHER_VERSION)


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
