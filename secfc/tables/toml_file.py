"""Reads TOML files against a schema. Errors have the file, line and key, and what is possible.

`tomllib` parses and pydantic checks types, but neither gives the line of a key. A prefix of the file's lines
is valid TOML only if it ends between statements. So the line of a key is found by parsing prefixes of the
file. This is done only after an error.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WrapValidator, model_validator
from pydantic_core import PydanticCustomError

from secfc.errors import ParameterError
from secfc.errors.codes import Code, code_of_read
from secfc.errors.escaping import shown
from secfc.protocol.job.options import retired_choice

Keys = tuple[str | int, ...]  # path of a value: names of keys, and positions in lists
MAX_BYTES = 1 << 22  # larger files are refused; 4 MiB hold the ranges of 100,000 columns
_AT_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")
_FAULTS_SHOWN = 20
_MOST_PARTS = 32  # of a dotted key; the parser's time is quadratic in them, and our keys have three
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_DEEP = re.compile(rf"(?<![A-Za-z0-9_\\-]){_PART}(?:\.[ \t]*+{_PART}){{{_MOST_PARTS}}}")
_MOST_UNKNOWN = 20  # keys of a table
_MOST_PARSED = 1 << 22  # characters of prefixes that are parsed to find the lines of faults
_NEEDED = {
    "missing": "is needed",
    "int_type": "an integer is needed",
    "float_type": "a number is needed",
    "string_type": "a text is needed",
    "bool_type": "true or false is needed",
    "list_type": "a list is needed",
    "dict_type": "a table is needed",
    "model_type": "a table is needed",
    "date_type": "a date is needed, such as 2027-01-31",
}


class FileSchema(BaseModel):
    """A table of a file: no unknown keys, no conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, values: Any) -> Any:
        most = len(cls.model_fields) + _MOST_UNKNOWN  # each unknown key is a fault
        if isinstance(values, dict) and len(values) > most:
            raise PydanticCustomError("keys", "{given} keys, too many", {"given": len(values)})
        return values


S = TypeVar("S", bound=FileSchema)
K = TypeVar("K")
T = TypeVar("T")


def _entry_by_entry(values: Any, check: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(values, dict):
        return check(values)
    return {key: one for entry in values.items() for key, one in check(dict([entry])).items()}


ListOf = Annotated[list[T], Field(fail_fast=True)]
TableOf = Annotated[dict[K, T], WrapValidator(_entry_by_entry)]
"""Lists and tables of any size. Their check ends at the first fault: each fault takes a kilobyte, and files
of others can have millions."""


class TomlFile:
    """The values of a file and their lines; `text` replaces the content of the file, if given."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self._text = read_text(path) if text is None else text
        self._unparsed = _MOST_PARSED
        if deep := _DEEP.search(self._text):
            line = self._text.count("\n", 0, deep.start()) + 1
            raise ParameterError(f"{path}:{line}: a key has more than {_MOST_PARTS} parts")
        try:
            self.values = tomllib.loads(self._text, parse_float=number)
        except tomllib.TOMLDecodeError as error:
            found = _AT_LINE.search(str(error))
            line = int(found[1]) if found and found[1] else len(self._text.splitlines())
            raise ParameterError(f"{path}:{max(line, 1)}: {_AT_LINE.sub('', str(error))}") from None
        except (ValueError, RecursionError):  # a number with thousands of digits, or deeply nested lists
            raise ParameterError(f"{path}: not TOML that can be read", code=Code.UNREADABLE_FILE) from None

    def line(self, *keys: str | int) -> int:
        """The line where a key's statement begins; for a missing key the line of its table.

        If the search would take too long, the result is an earlier line.
        """
        while keys and not _has(self.values, keys):
            keys = keys[:-1]
        if not keys:
            return 1
        lines = self._text.splitlines(keepends=True)
        # If a prefix of the file has the key, every longer prefix has it. The first `without` lines do not.
        without, candidates = 0, len(lines)
        while candidates - without > 1 and self._unparsed > 0:
            middle = (without + candidates) // 2
            found = ((end, self._beginning(lines, end)) for end in range(middle, candidates))
            within = takewhile(lambda one: one[1] is not None or self._unparsed > 0, found)
            end, values = next((one for one in within if one[1] is not None), (None, None))
            if end is None:  # all lines are inside one list or one text of several lines
                candidates = middle
            elif _has(values, keys):
                candidates = end
            else:
                without = end
        return without + 1

    def _beginning(self, lines: list[str], end: int) -> dict[str, Any] | None:
        """Values of the lines before `end`; None if they are not valid, or if enough has been parsed."""
        if self._unparsed <= 0:
            return None
        text = "".join(lines[:end])
        self._unparsed -= len(text)
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            return None

    def error(self, *keys: str | int, text: str) -> ParameterError:
        """The error for the value with these keys."""
        return ParameterError(f"{self.path}:{self.line(*keys)}: {text}")

    def check(self, schema: type[S]) -> S:
        """The values as the schema's type; ParameterError has a line for each fault."""
        try:
            return schema.model_validate(self.values)
        except ValidationError as error:
            found = _faults(error)
            faults = [(one["loc"], fault_text(schema, one)) for one in found[:_FAULTS_SHOWN]]
            told = sorted((self.line(*keys), text) for keys, text in faults)
            texts = [f"{self.path}:{line}: {text}" for line, text in told]
            if len(found) > _FAULTS_SHOWN:
                texts.append(f"{self.path}: {len(found) - _FAULTS_SHOWN} more")
            raise ParameterError("\n".join(texts)) from None


def read_text(path: Path, *, most: int = MAX_BYTES) -> str:
    """The content of a UTF-8 text file of at most `most` bytes; ParameterError names the file."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}", code=code_of_read(error)) from None
    if len(data) > most:
        raise ParameterError(f"{path}: at most {most} bytes are read, it has more", code=Code.UNREADABLE_FILE)
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ParameterError(f"{path}: not a text in UTF-8", code=Code.UNREADABLE_FILE) from None


def number(text: str) -> float:
    """Parse a float; -0.0 becomes 0.0, so that equal numbers have one digest."""
    return float(text) + 0.0


def read_json(path: Path, *, most: int = MAX_BYTES) -> Any:
    """The value of a JSON file of at most `most` bytes; ParameterError has the file, or its line."""
    text = read_text(path, most=most)
    try:
        return json.loads(text, parse_float=number)
    except json.JSONDecodeError as error:
        raise ParameterError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"{path}: not JSON that can be read", code=Code.UNREADABLE_FILE) from None


def as_toml(value: object) -> str:
    """A text, number or bool in one line of TOML: as JSON writes it, except for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(first: str, values: Mapping[str, object]) -> str:
    """A first line, a comment or the name of a table, and a line for each value."""
    return "\n".join([first, *(f"{key} = {as_toml(value)}" for key, value in values.items()), ""])


def check_values(values: object, schema: type[S], *, name: str) -> S:
    """Values from elsewhere, as the schema's type; ParameterError with `name`, their origin, and the key."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise ParameterError(f"{name}: {fault_text(schema, _faults(error)[0])}") from None


def fault_text(schema: type[FileSchema], fault: Mapping[str, Any]) -> str:
    """What is wrong with a value and what is possible, in plain words; never the value itself."""
    keys, kind, context = fault["loc"], fault["type"], fault.get("ctx", {})
    shown = shown_keys(keys) or "the file"
    if kind == "extra_forbidden":
        possible = _possible(schema, keys[:-1])
        near = get_close_matches(str(keys[-1]), possible, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return f"{shown}: unknown key{meant} ({', '.join(possible)} are possible)"
    if kind == "missing":
        return f"{shown} {_NEEDED[kind]}"
    if kind == "literal_error":
        instead = f"; {fault['retired']}" if fault["retired"] else ""
        return f"{shown}: {context['expected']} is possible{instead}"
    if kind in {"too_short", "too_long"}:
        least, most = context.get("min_length"), context.get("max_length")
        number = f"at least {least}" if kind == "too_short" else f"at most {most}"
        return f"{shown}: {number} values are needed, {context['actual_length']} were given"
    if kind == "value_error":
        return f"{shown}: {context['error']}"
    return f"{shown}: {_NEEDED.get(kind, fault['msg'])}"


_MOST_KEY = 80  # shown characters of a key


def shown_keys(keys: Sequence[str | int]) -> str:
    """Keys as people write them; list positions count from 1, as client numbers do."""
    text = ""
    for key in keys:
        name = f"[{key + 1}]" if isinstance(key, int) else shown(key, _MOST_KEY)
        text += f".{name}" if text and isinstance(key, str) else name
    return text


def _faults(error: ValidationError) -> Sequence[Mapping[str, Any]]:
    """The faults without the values. "retired" says what serves instead of a value that was retired."""
    found: list[dict[str, Any]] = [dict(fault) for fault in error.errors(include_url=False)]
    for fault in found:
        names = [key for key in fault["loc"] if isinstance(key, str)]
        fault["retired"] = retired_choice(names[-1], fault.pop("input")) if names else ""
    return found


def _possible(schema: type[FileSchema], keys: Keys) -> list[str]:
    """The possible keys of the table at this path, in lists and tables of any names too."""
    found: Any = schema
    for key in keys:
        if isinstance(found, type) and issubclass(found, FileSchema):
            found = found.model_fields[str(key)].annotation
        else:
            found = get_args(found)[-1]  # of a list or table: the type of its values
        while get_origin(found) not in (None, list, dict):  # what is annotated or optional
            found = get_args(found)[0]
    return list(found.model_fields)


def _has(values: Any, keys: Sequence[str | int]) -> bool:
    for key in keys:
        if isinstance(key, int):
            if not isinstance(values, list) or not key < len(values):
                return False
        elif not isinstance(values, dict) or key not in values:
            return False
        values = values[key]
    return True
