"""The format of text files as a user gives it, by options of commands and keys of site files."""

from dataclasses import dataclass
from typing import Literal, get_args

from secfc.errors import ParameterError
from secfc.protocol.job.options import choices_of, option, options_of

Separator = Literal["comma", "semicolon", "tab", "bar"]
DecimalMark = Literal["point", "comma"]
Encoding = Literal[
    "utf-8",
    "utf-16-le",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "iso-8859-1",
    "iso-8859-2",
    "iso-8859-15",
]
"""Possible encodings of text files, with Python's names. Only UTF is detected: bytes do not show others."""

_PANEL = "Format of text files, if it is not detected"  # a heading in the help of commands


@dataclass(frozen=True, kw_only=True, repr=False)
class TextFormat:
    """The given format of text files (.csv, .tsv, compressed or not); what is None is detected."""

    separator: Separator | None = option(
        None,
        "str, optional",
        "The separator between values.",
        choices=get_args(Separator),
        help="Separator between values of .csv and .tsv files; detected by default.",
        panel=_PANEL,
    )
    decimal: DecimalMark | None = option(
        None,
        "str, optional",
        "The decimal mark.",
        choices=get_args(DecimalMark),
        help="Decimal mark in such files; detected by default.",
        panel=_PANEL,
    )
    encoding: Encoding | None = option(
        None,
        "str, optional",
        "The encoding of files that are neither UTF-8 nor UTF-16 with a mark.",
        choices=get_args(Encoding),
        help="The encoding of such files that are neither UTF-8 nor UTF-16 with a mark.",
        panel=_PANEL,
    )

    def __post_init__(self) -> None:
        for name, (one, _) in options_of(TextFormat).items():
            if getattr(self, name) not in (None, *choices_of(one)):
                raise ParameterError(f"{name}: {', '.join(choices_of(one))} are possible")


FOUND = TextFormat()
"""Everything is detected."""
