"""The plots of RESULTS.md: each twice, for light and for dark pages, with a transparent background."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

THEMES = {"light": ("#1f2328", "#d0d7de"), "dark": ("#e6edf3", "#3d444d")}
"""Text and axes, grid."""

# Colours of Okabe and Ito with a contrast of at least 3 on both white and near-black.
COLOURS = {
    "client": "#0072b2",
    "server": "#d55e00",
    "k-FED": "#009e73",
    "scikit-learn": "#8c8c8c",
    "share": "#b0559b",
}
MARKERS = {"client": "o", "server": "s", "k-FED": "^", "scikit-learn": "x", "share": "D"}


Drawer = Callable[[Any, list[dict[str, Any]]], Any]
"""Draws a figure from rows with matplotlib's pyplot."""


def draw(results: dict[str, Any], folder: Path) -> dict[str, list[str]]:
    """Draw what the results allow; return names (no theme, no suffix) that the page shows of each."""
    from benchmarks.privacy.plots import DRAWERS  # noqa: PLC0415 - they take their style from here

    drawers: dict[str, dict[str, Drawer]] = {
        "figure1": {"figure1": _figure1},
        "scaling": {"scaling": _scaling},
        "privacy": {f"privacy-{name}": drawer for name, drawer in DRAWERS.items()},
    }
    names = {name: list(drawers[name])[:1] for name in drawers if name in results}
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra

        mpl.use("agg")
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError:
        print('plots: matplotlib is missing (pip install ".[plots]")', file=sys.stderr)
        return {name: shown for name, shown in names.items() if (folder / f"{shown[0]}-light.png").exists()}
    for name in names:
        for plot, drawer in drawers[name].items():
            for theme, (ink, grid) in THEMES.items():
                with pyplot.rc_context(styled(ink, grid)):
                    figure = drawer(pyplot, results[name]["rows"])
                    path = folder / f"{plot}-{theme}.png"
                    figure.savefig(path, dpi=130, transparent=True, metadata={"Software": None})
                    pyplot.close(figure)
    return names


def styled(ink: str, grid: str) -> Any:
    """Settings of matplotlib (its `rcParams`) for the colours of text (`ink`) and grid."""
    inked = (
        "text.color",
        "axes.labelcolor",
        "axes.edgecolor",
        "axes.titlecolor",
        "xtick.color",
        "ytick.color",
    )
    return {
        **dict.fromkeys(inked, ink),
        "grid.color": grid,
        "axes.grid": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "font.size": 9,
        "lines.markersize": 4,
    }


def _figure1(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    swept = list(dict.fromkeys(row["swept"] for row in rows))
    figure, axes = pyplot.subplots(1, len(swept), figsize=(10, 3.2), sharey=True, layout="constrained")
    lines = {
        "client": "client_seconds",
        "server": "server_seconds",
        "k-FED": "kfed_seconds",
        "scikit-learn": "plaintext_seconds",
    }
    for axis, name in zip(axes, swept, strict=True):
        points = [row for row in rows if row["swept"] == name]
        at = [row[name] for row in points]
        for label, key in lines.items():
            shown = label + (", whole run" if label == "k-FED" else ", iteration")
            values = [row[key] for row in points]
            axis.plot(at, values, color=COLOURS[label], marker=MARKERS[label], label=shown)
            if f"{key}_quartiles" in points[0]:
                low, high = zip(*(row[f"{key}_quartiles"] for row in points), strict=True)
                axis.fill_between(at, low, high, color=COLOURS[label], alpha=0.2, linewidth=0)
        _logarithmic(axis, at, name)
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _scaling(pyplot: Any, rows: list[dict[str, Any]]) -> Any:
    swept = list(dict.fromkeys(row["swept"] for row in rows))
    columns = min(3, len(swept))
    lines = -(-len(swept) // columns)
    size = (10, 2.6 * lines + 0.5)
    figure, grid = pyplot.subplots(
        lines, columns, figsize=size, sharey=True, layout="constrained", squeeze=False
    )
    axes = list(grid.flat)
    for axis in axes[len(swept) :]:
        axis.set_visible(False)
    for axis, name in zip(axes, swept, strict=False):
        for row in (one for one in rows if one["swept"] == name):
            cost, at = row["cost"], row["values"]
            axis.plot(at, row["seconds"], color=COLOURS[cost], marker=MARKERS[cost], label=_COSTS[cost])
            # A line with the paper's slope through the first point, to compare directions.
            paper = [row["seconds"][0] * (value / at[0]) ** row["paper_exponent"] for value in at]
            label = "the paper's slope" if cost == "server" else None
            axis.plot(at, paper, color=COLOURS[cost], linestyle=":", linewidth=1, label=label)
        _logarithmic(axis, at, name)
    for row_of_axes in grid:
        row_of_axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


_COSTS = {"share": "sharing, one client", "client": "iteration, client", "server": "iteration, server"}


def _logarithmic(axis: Any, values: list[int], name: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(values, [f"{value:,}" for value in values])
    axis.set_xticks([], minor=True)
    axis.set_xlabel(name)
