"""What texts in data mean, the same from every source: missing values, numbers and what people see."""

import re
import unicodedata

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>", "#n/a", "#na", "-nan"})
"""Texts, in upper or lower case, that mean a missing value, in columns of numbers and of texts."""

SPELLINGS = sorted({*MISSING, *map(str.upper, MISSING), *map(str.capitalize, MISSING), "NaN", "NaT", "-NaN"})
"""The spellings of these texts that a reader is given which distinguishes cases."""

_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?(inf|infinity)", re.IGNORECASE)


def is_missing(text: str) -> bool:
    """Whether a text means a missing value."""
    return text.strip().casefold() in MISSING


def is_number(text: str) -> bool:
    """Whether a text is a number with ASCII digits and a decimal point (Python accepts 1_000 too)."""
    return _NUMBER.fullmatch(text.strip()) is not None


_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Unicode's categories of control and format characters, and of separators."""

_IGNORABLE = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065),
    (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Other code points that Unicode's Default_Ignorable_Code_Point has (4.21), and the blank Braille pattern."""


def _is_unseen(letter: str) -> bool:
    code = ord(letter)
    return unicodedata.category(letter) in _UNSEEN or any(low <= code <= high for low, high in _IGNORABLE)


def has_visible(text: str) -> bool:
    """Whether a text has a character that is seen."""
    return not all(map(_is_unseen, text))


def has_invisible(text: str) -> bool:
    """Whether a text has a character that is not seen. The space is known, and counts as seen."""
    return not (text.isascii() and text.isprintable()) and any(_is_unseen(one) for one in text if one != " ")
