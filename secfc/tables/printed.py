"""Tables of texts, line by line with the headings first, for a terminal, a notebook and pandas."""

import html
from collections.abc import Sequence
from typing import Any

from secfc.errors import ParameterError

Lines = Sequence[Sequence[str]]


def text_table(lines: Lines, marks: str) -> str:
    """The lines with columns side by side. Each has a mark, `<` or `>`: the side to which its cells stand."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:{mark}{width}}" for cell, mark, width in zip(line, marks, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def html_table(lines: Lines, caption: str = "") -> str:
    """The lines as an HTML table."""
    head, *body = (
        "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line)
        for line, tag in zip(lines, ["th", *["td"] * (len(lines) - 1)], strict=True)
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    rows = "".join(f"<tr>{line}</tr>" for line in body)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def pandas() -> Any:
    """The library; ParameterError if it is not installed."""
    try:
        import pandas as pd  # noqa: PLC0415 - optional: needed for frames only
    except ImportError:
        raise ParameterError("pandas is needed for to_frame, pip install pandas") from None
    return pd
