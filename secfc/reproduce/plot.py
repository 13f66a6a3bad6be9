"""A picture of an experiment; needs matplotlib, the extra `plots`."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from secfc.errors import ParameterError
from secfc.reproduce.common import Row

ROW_INCHES = 0.28


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
        raise ParameterError("--plot needs matplotlib: pip install 'secfc[plots]'") from None


def save_plot(rows: Sequence[Row], title: str, path: Path) -> None:
    """Write a PNG, a panel a measure: the paper's figures with their tolerance hollow, ours filled."""
    figure_class = require_matplotlib()
    measures = list(dict.fromkeys(row.measure for row in rows))
    panels = {one: [row for row in rows if row.measure == one] for one in measures}
    figure = figure_class(figsize=(10, 1.2 * len(panels) + ROW_INCHES * len(rows)), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(
        len(panels), 1, squeeze=False, height_ratios=[len(panel) + 2 for panel in panels.values()]
    )
    for axis, (measure, panel) in zip(axes[:, 0], panels.items(), strict=True):
        heights = list(range(len(panel)))
        axis.plot([row.ours for row in panel], heights, "o", color="tab:blue", label="ours")
        axis.plot([row.secfc for row in panel], heights, "x", color="tab:green", label="SecFC")
        known = [
            (row.paper, height, row.tolerance)
            for row, height in zip(panel, heights, strict=True)
            if row.paper is not None
        ]
        if known:
            figures, places, tolerances = zip(*known, strict=True)
            axis.errorbar(
                figures,
                places,
                xerr=tolerances,
                fmt="o",
                color="tab:red",
                markerfacecolor="none",
                markersize=9,
                label="paper, tolerance",
            )
        axis.set_yticks(heights, [f"{row.name}: {row.setting}" for row in panel], fontsize=7)
        axis.invert_yaxis()
        axis.set_xlabel(measure)
        axis.grid(axis="x", alpha=0.3)
    drawn: dict[str, Any] = {}  # the first panel may have no figure of the paper
    for axis in axes[:, 0]:
        handles, labels = axis.get_legend_handles_labels()
        drawn |= dict(zip(labels, handles, strict=True))
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=len(drawn), fontsize=7)
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise ParameterError(f"--plot {path}: {error.strerror or 'it cannot be written'}") from error
