"""Pictures for papers and notebooks, 9 cm wide. They do not touch pyplot's figures and settings."""

from collections.abc import Sequence
from io import BytesIO
from textwrap import wrap
from typing import Any

import numpy as np

from secfc.errors import missing
from secfc.field.array_types import Ints
from secfc.report.compared import Criterion, StableByK, criteria, inertia_of, recommended
from secfc.report.profiles import Profile
from secfc.tables.number_texts import number_text

try:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
except ImportError:
    raise missing("matplotlib", "a plot", "plots") from None

_WIDTH = 9 / 2.54  # inches
_NOTE, _TEXT = 6, 7  # points
_LETTER = 0.055  # inches of a letter of _TEXT
_BAR, _MARK, _FAINT = "#2a6f97", "#c1121f", "#d9dde1"
_NAME_WIDTH = 30  # characters of a column's or cluster's name in a line, of which there are two at most
_MOST_NUMBERS = 6  # clusters up to which their means are readable at this width
_STABLE = 0.75
"""From this mean Jaccard similarity on a cluster counts as stable (Hennig: *Cluster-wise assessment of
cluster stability*, Computational Statistics & Data Analysis, 2007)."""


class Picture(Figure):
    """A figure that a notebook shows although pyplot is not imported."""

    def _repr_png_(self) -> bytes:
        drawn = BytesIO()
        self.savefig(drawn, format="png", dpi=200)
        return drawn.getvalue()


def plot_profiles(shown: Profile, names: Sequence[str]) -> Picture:
    """A line for each column, the most different first, and a field for each cluster.

    Colours are differences from the mean of all rows. Numbers are means; they are left out where clusters are
    more than `_MOST_NUMBERS`.
    """
    away = np.array([[np.nan if one is None else one.away for one in line.cells] for line in shown.columns])
    titles = [_wrapped(line.name) for line in shown.columns]
    upright = len(names) * max(map(len, names)) > _NAME_WIDTH
    short = [_shortened(name, _NAME_WIDTH) for name in names]
    of_column = 0.28 if any("\n" in text for text in titles) else 0.18
    of_names = _LETTER * max(map(len, short)) if upright else 0.1
    figure, (axes,) = _panels(0.9 + of_names + of_column * len(titles))
    colours = LinearSegmentedColormap.from_list("away", ["#2878c8", "#ffffff", "#de7614"])
    image = axes.imshow(away, cmap=colours, vmin=-2, vmax=2, aspect="auto", interpolation="none")
    axes.set_yticks(range(len(titles)), titles)
    axes.set_xticks(range(len(names)), short, rotation=90 if upright else 0)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("cluster", fontsize=_TEXT)
    if len(names) <= _MOST_NUMBERS:
        for j, line in enumerate(shown.columns):
            for h, cell in enumerate(line.cells):
                text = "–" if cell is None else line.text(cell.mean, 3)
                axes.text(h, j, text, ha="center", va="center", fontsize=_NOTE)
    bar = figure.colorbar(image, ax=axes, orientation="horizontal", extend="both", aspect=40, pad=0.02)
    bar.set_label(f"from the mean of all rows, in\n{shown.unit}", fontsize=_NOTE)
    bar.ax.tick_params(labelsize=_NOTE)
    return figure


def plot_sizes(sizes: Ints, names: Sequence[str]) -> Picture:
    """A bar for each cluster, with its number of rows and its share of all."""
    return _bars(
        sizes,
        names,
        [f"{size:,} ({number_text(100 * size / max(1, sizes.sum()), 2)} %)" for size in sizes.tolist()],
        "rows",
    )


def plot_k(candidates: Sequence[Any], stability: StableByK = ()) -> Picture:
    """A panel for each criterion that is known, with the inertia first, over the number of clusters."""
    inertia = inertia_of(candidates)
    shown = [Criterion("inertia", inertia, 0)] if inertia else []
    shown += criteria(candidates, stability)
    best = recommended(candidates, stability).k
    figure, panels = _panels(0.4 + 0.95 * len(shown), len(shown))
    for axes, of in zip(panels, shown, strict=True):
        axes.plot(list(of.values), list(of.values.values()), "o-", color=_BAR, markersize=3, linewidth=1)
        better = {1: "\ngreater is better", -1: "\nless is better", 0: ""}[of.sign]
        axes.set_ylabel(of.name + better, fontsize=_NOTE)
        if best is not None:
            axes.axvline(best, color=_MARK, linewidth=0.8, linestyle="--")
    panels[-1].set_xticks([one.k for one in candidates])
    told = "" if best is None else f" (dashed: recommended, {best})"
    panels[-1].set_xlabel(f"number of clusters k{told}", fontsize=_TEXT)
    return figure


def plot_stability(stability: StableByK, names: Sequence[str] | None = None) -> Picture:
    """How often clusters come again in resamples: for one k a bar for each, else a point for each over k."""
    found = list(stability)
    if len(found) == 1:
        jaccard = found[0].jaccard
        titles = list(map(str, range(found[0].k))) if names is None else names
        texts = ["no rows" if np.isnan(value) else number_text(value, 2) for value in jaccard]
        figure = _bars(np.nan_to_num(jaccard), titles, texts, "mean Jaccard similarity in resamples")
        figure.axes[0].axvline(_STABLE, color=_MARK, linewidth=0.8, linestyle="--")
        figure.axes[0].set_xlim(0, 1.15)
        return figure
    figure, (axes,) = _panels(2.4)
    for one in found:
        axes.plot([one.k] * one.k, one.jaccard, "o", color=_BAR, markersize=3, alpha=0.6)
    axes.plot([], [], "o", color=_BAR, markersize=3, label="Jaccard similarity of each cluster")
    ks, spread = [one.k for one in found], [one.dispersion for one in found]
    axes.plot(ks, spread, "-", color="#333333", linewidth=1, label="dispersion of all clusters")
    axes.axhline(_STABLE, color=_MARK, linewidth=0.8, linestyle="--", label=f"stable from {_STABLE}")
    axes.set_xticks(ks)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("number of clusters k", fontsize=_TEXT)
    axes.legend(fontsize=_NOTE, loc="lower left")
    return figure


def _bars(values: Any, names: Sequence[str], texts: Sequence[str], label: str) -> Picture:
    figure, (axes,) = _panels(0.6 + 0.24 * len(names))
    drawn = axes.barh(range(len(names)), values, color=_BAR, height=0.7)
    axes.bar_label(drawn, texts, padding=2, fontsize=_NOTE)
    axes.set_yticks(range(len(names)), [_wrapped(name) for name in names])
    axes.set_ylabel("cluster", fontsize=_TEXT)
    axes.invert_yaxis()
    axes.margins(x=0.28)
    axes.set_xlabel(label, fontsize=_TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _panels(height: float, count: int = 1) -> tuple[Picture, Any]:
    figure = Picture(figsize=(_WIDTH, height), layout="constrained")
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for axes in panels:
        axes.tick_params(labelsize=_TEXT, length=0)
        for side in axes.spines.values():
            side.set_color(_FAINT)
    return figure, panels


def _wrapped(name: str) -> str:
    """A name in at most two lines."""
    return "\n".join(wrap(_shortened(name, 2 * _NAME_WIDTH - 6), _NAME_WIDTH, max_lines=2)) or name


def _shortened(name: str, most: int) -> str:
    """A name without its middle if it is too long, because long names often differ at the end.

    Dollars do not begin a formula.
    """
    cut = name if len(name) <= most else f"{name[: most // 2].rstrip()} … {name[len(name) - most // 2 + 3 :]}"
    return cut.replace("$", r"\$")
