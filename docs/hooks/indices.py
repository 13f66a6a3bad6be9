"""A hook of mkdocs: indices and powers that pages write as x_i, x_ij, x_{i,j}, 2^E and w^(u-1) are set so.

Pages stay readable as text; on the site, Markdown would take some of these underscores for emphasis.
"""

import re
from typing import Any

_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`|\]\([^)]*\)|^ {4}.*?$)", flags=re.DOTALL | re.MULTILINE)
"""Fenced and indented blocks, code between words, addresses of links."""

_ACCENTS = "[\u0303\u0304]?"
_INDEX = re.compile(rf"(?<!\w)(\w{_ACCENTS})_(\w{{1,2}})(?!\w)")
_INDICES = re.compile(rf"(\w{_ACCENTS})_\{{([^{{}}]*)\}}")
_POWER = re.compile(r"\^(\(\w\)|−?\w+)")
_POWER_OF_TERMS = re.compile(r"\^\(([^()]+)\)")


def set_indices(text: str) -> str:
    """Markdown with indices and powers as HTML; code is left alone."""
    parts = _CODE.split(text)
    for at in range(0, len(parts), 2):
        part = _INDEX.sub(r"\1<sub>\2</sub>", parts[at])
        part = _INDICES.sub(r"\1<sub>\2</sub>", part)
        part = _POWER.sub(r"<sup>\1</sup>", part)
        parts[at] = _POWER_OF_TERMS.sub(r"<sup>\1</sup>", part)
    return "".join(parts)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page before Markdown is."""
    return set_indices(markdown)
