"""Describes the options of a dataclass (the "record") in docstrings."""

import inspect
from textwrap import fill, indent
from typing import TypeVar

from secfc.options import options_of

Record = TypeVar("Record")

_PLACE = "**options\n"
"""The line of a docstring that is replaced by the options, together with the lines indented below it."""

_WIDTH = 110


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
