"""Describes options in docstrings: those of a dataclass (the "record"), or of a call."""

import inspect
from collections.abc import Mapping
from textwrap import fill, indent
from typing import TypeVar

from secfc.protocol.job.options import Option, options_of

Record = TypeVar("Record")

_PLACE = "**options\n"
"""The line of a docstring that is replaced by the options, together with the lines indented below it."""

_WIDTH = 110


def documented(record: type[Record]) -> type[Record]:
    """Describe a dataclass's options in its own docstring."""
    record.__doc__ = described(record.__doc__, texts_of(record))
    return record


def texts_of(record: type) -> dict[str, Option]:
    """What describes each option of a record."""
    return {name: one for name, (_, one) in options_of(record).items()}


def described(doc: str | None, options: Mapping[str, Option]) -> str | None:
    """The docstring with the options in place of ``**options``; None stays None."""
    if doc is None:  # python -OO
        return None
    before, _, after = inspect.cleandoc(doc).partition(_PLACE)
    lines = after.splitlines(keepends=True)
    own = next((at for at, line in enumerate(lines) if not line.startswith("    ")), len(lines))
    texts = [
        f"{name} : {one.kind}\n{indent(fill(one.text, _WIDTH - 8), ' ' * 4)}\n"
        for name, one in options.items()
    ]
    return before + "".join(texts + lines[own:])
