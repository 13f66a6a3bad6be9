"""A picture of an experiment; needs matplotlib, the extra `plots`."""

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.plots import logarithmic
from benchmarks.reproduce.common import FigureRow
from secfc.errors import ParameterError, missing

LINE_INCHES = 0.24
PANEL_INCHES = 0.9
"""Height of a panel's axis and its label."""


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colours. People with every kind of colour vision can distinguish the methods; shapes differ too."""

    page: str
    text: str
    lines: str
    ours: str
    secfc: str


LIGHT = Theme(page="#ffffff", text="#1f2328", lines="#d0d7de", ours="#0072b2", secfc="#d55e00")
DARK = Theme(page="#0d1117", text="#e6edf3", lines="#3d444d", ours="#56b4e9", secfc="#e69f00")


def require_matplotlib() -> Any:
    """Find the `Figure` class of matplotlib, which needs no display.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.
    """
    try:
        return importlib.import_module("matplotlib.figure").Figure
    except ImportError:
        raise missing("matplotlib", "--plot", "plots") from None


def save_plot(rows: Sequence[FigureRow], title: str, path: Path, *, dark: bool = False) -> None:
    """Write a PNG with a panel for each measure: the paper's figures hollow, with tolerance, and ours filled.

    Of a figure of curves, a panel for what varies: a curve for each method, on logarithmic axes.

    Parameters
    ----------
    rows : sequence of FigureRow
    title : str
        The text that all settings share is added to it. The rest of a setting is above its group of rows.
    path : Path
    dark : bool
        For a dark page.
    """
    figure_class = require_matplotlib()
    theme = DARK if dark else LIGHT
    draw = _dots if any(row.at is None for row in rows) else _curves
    figure = draw(figure_class, rows, title, theme)
    drawn: dict[str, Any] = {}  # the first panel may have no figure of the paper
    for axis in figure.axes:
        axis.set_facecolor(theme.page)
        axis.tick_params(which="both", color=theme.lines, labelcolor=theme.text, labelsize=8)
        handles, labels = axis.get_legend_handles_labels()
        drawn |= dict(zip(labels, handles, strict=True))
    figure.legend(
        drawn.values(),
        drawn.keys(),
        loc="outside lower center",
        ncols=len(drawn),
        fontsize=8,
        frameon=False,
        labelcolor=theme.text,
    )
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise ParameterError(f"--plot {path}: {error.strerror or 'it cannot be written'}") from error


def _curves(figure_class: Any, rows: Sequence[FigureRow], title: str, theme: Theme) -> Any:
    varied = list(dict.fromkeys(row.at[0] for row in rows if row.at))
    figure = figure_class(figsize=(10, 3.6), layout="constrained", facecolor=theme.page)
    figure.suptitle(title, color=theme.text, fontsize=11)
    axes = figure.subplots(1, len(varied), sharey=True, squeeze=False)[0]
    names = list(dict.fromkeys(row.name for row in rows))
    styles = [(theme.secfc, "s-"), (theme.ours, "o-"), (theme.ours, "^--")]
    for axis, what in zip(axes, varied, strict=True):
        for name, (colour, style) in zip(names, styles, strict=True):
            points = [
                (row.at[1], row.ours) for row in rows if row.at and (row.at[0], row.name) == (what, name)
            ]
            axis.plot(*zip(*points, strict=True), style, color=colour, label=name)
        logarithmic(axis, [int(at) for at, _ in points], what)
        axis.xaxis.label.set_color(theme.text)
        axis.grid(color=theme.lines, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(theme.lines)
    axes[0].set_ylabel(rows[0].measure, color=theme.text)
    return figure


def _dots(figure_class: Any, rows: Sequence[FigureRow], title: str, theme: Theme) -> Any:
    shared, rest = split_settings([row.setting for row in rows])
    panels = {
        measure: _lines([(one, rest[one.setting]) for one in rows if one.measure == measure])
        for measure in dict.fromkeys(row.measure for row in rows)
    }
    inches = [PANEL_INCHES + LINE_INCHES * len(lines) for lines in panels.values()]
    figure = figure_class(figsize=(9, 1 + sum(inches)), layout="constrained", facecolor=theme.page)
    figure.suptitle("\n".join(filter(None, [title, shared])), color=theme.text, fontsize=11)
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=inches)[:, 0]
    for axis, (measure, lines) in zip(axes, panels.items(), strict=True):
        _draw(axis, lines, measure, theme)
    return figure


def split_settings(settings: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The text that all settings share, and the rest of each setting.

    Parts end at a comma or semicolon outside parentheses.
    """
    parts = {one: re.split(r"[,;] (?![^(]*\))", one) for one in settings}
    common = [part for part in parts[settings[0]] if all(part in each for each in parts.values())]
    rest = {one: ", ".join(p for p in each if p not in common) for one, each in parts.items()}
    return ", ".join(common), rest


def _lines(rows: Sequence[tuple[FigureRow, str]]) -> list[FigureRow | str]:
    """A panel's lines from the top: a heading for each setting (if not empty), then its rows."""
    lines: list[FigureRow | str] = []
    for heading, group in groupby(rows, key=lambda pair: pair[1]):
        lines += [heading] if heading else []
        lines += [row for row, _ in group]
    return lines


def _draw(axis: Any, lines: Sequence[FigureRow | str], measure: str, theme: Theme) -> None:
    heights = {id(line): height for height, line in enumerate(lines)}
    rows = [line for line in lines if isinstance(line, FigureRow)]
    at = [heights[id(row)] for row in rows]
    axis.plot(
        [row.secfc for row in rows], at, "|", color=theme.secfc, ms=14, mew=2.5, label="SecFC", zorder=2
    )
    axis.plot([row.ours for row in rows], at, "o", color=theme.ours, ms=6, label="ours", zorder=3)
    known = [(row.paper, heights[id(row)], row.tolerance) for row in rows if row.paper is not None]
    if known:
        figures, places, tolerances = zip(*known, strict=True)
        axis.errorbar(
            figures,
            places,
            xerr=tolerances,
            fmt="o",
            color=theme.text,
            markerfacecolor="none",
            markersize=11,
            elinewidth=1,
            label="paper, tolerance",
            zorder=4,
        )
    names = [line if isinstance(line, str) else line.name for line in lines]
    axis.set_yticks(range(len(lines)), names, fontsize=8, color=theme.text)
    for label, line in zip(axis.get_yticklabels(), lines, strict=True):
        label.set_fontweight("bold" if isinstance(line, str) else "normal")
    for height, line in enumerate(lines):
        if isinstance(line, FigureRow):
            axis.axhline(height, color=theme.lines, linewidth=0.5, zorder=1)
    axis.set_ylim(len(lines) - 0.4, -0.6)
    axis.set_xlabel(measure, color=theme.text)
    axis.tick_params(axis="y", length=0)
    axis.margins(x=0.03)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(theme.lines)
