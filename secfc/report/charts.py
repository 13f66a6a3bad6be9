"""Charts for SVG: a curve, bars and a map. Colours come from the page and follow its theme."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

import numpy as np

from secfc.field.array_types import Floats
from secfc.tables.number_texts import number_text

WIDTH, HEIGHT = 440, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 14, 14, 38


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram, in picture coordinates, with its tooltip."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Point:
    """A disc, in picture coordinates, with its tooltip and the text on it."""

    x: float
    y: float
    title: str
    radius: float = 3.0
    text: str = ""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart: points, which a line may join, or bars, and ticks."""

    x_label: str
    y_label: str
    points: tuple[Point, ...] = ()
    joined: bool = False
    bars: tuple[Bar, ...] = ()
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM

    @property
    def path(self) -> str:
        """The points as an SVG polyline."""
        return " ".join(f"{one.x:.1f},{one.y:.1f}" for one in self.points)


def descent(values: Sequence[float]) -> Chart | None:
    """The remaining fraction of the fall from the first value to the last, on a logarithmic axis.

    Values equal to the last one have no logarithm and are drawn at an extra tick. None unless values fall.
    """
    left = np.array(values) - values[-1]
    if not left[0] > 0:
        return None
    parts = np.clip(left / left[0], 0.0, 1.0)
    decades = max(1, ceil(round(-log10(parts[parts > 0].min()), 9)))
    step = (HEIGHT - _BOTTOM - _TOP) / (decades + 1)  # the last one is for 0
    last = len(values) - 1

    def place(at: int) -> tuple[float, float]:
        down = -log10(parts[at]) if parts[at] > 0 else decades + 1
        return _LEFT + at / last * (WIDTH - _RIGHT - _LEFT), _TOP + step * down

    each = max(1, ceil(decades / 4))
    marks = sorted({round(last * part / 4) for part in range(5)})
    return Chart(
        points=tuple(
            Point(*place(at), f"iteration {at + 1}: {number_text(value, 6)}", 3 if last < 60 else 1.5)
            for at, value in enumerate(values)
        ),
        joined=True,
        x_ticks=tuple(Tick(place(at)[0], str(at + 1)) for at in marks),
        y_ticks=(
            *(
                Tick(_TOP + step * down, f"{number_text(100 / 10**down, 1)} %")
                for down in range(0, decades + 1, each)
            ),
            Tick(HEIGHT - _BOTTOM, "0"),
        ),
        x_label="iteration",
        y_label="fall to come",
    )


def bars(counts: Sequence[int], edges: Sequence[float], *, x_label: str, y_label: str) -> Chart:
    """A histogram."""
    most = max(counts) or 1
    each = (WIDTH - _RIGHT - _LEFT) / len(counts)
    drawn = []
    for at, count in enumerate(counts):
        height = count / most * (HEIGHT - _BOTTOM - _TOP)
        title = f"{number_text(edges[at], 4)} to {number_text(edges[at + 1], 4)}: {count} rows"
        drawn.append(Bar(_LEFT + at * each + 1, HEIGHT - _BOTTOM - height, each - 2, height, title))
    marks = range(0, len(edges), max(1, (len(edges) - 1) // 4))
    return Chart(
        bars=tuple(drawn),
        x_ticks=tuple(Tick(_LEFT + at * each, number_text(edges[at], 3)) for at in marks),
        y_ticks=(Tick(HEIGHT - _BOTTOM, "0"), Tick(_TOP, str(most))),
        x_label=x_label,
        y_label=y_label,
    )


def discs(
    places: Floats, areas: Floats, texts: Sequence[str], titles: Sequence[str], *, x_label: str, y_label: str
) -> Chart:
    """Discs at places, shape (discs, 2), with one scale for both axes and a text on each."""
    height, edge = HEIGHT + 60, 25  # the largest disc stays within the picture
    radii = edge * np.sqrt(areas / areas.max())
    room = np.array([WIDTH - _RIGHT - _RIGHT, height - _BOTTOM - _TOP]) - 2 * edge
    spans = np.ptp(places, axis=0)
    scale = (room / np.where(spans > 0, spans, room / 1e9)).min()
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    shifts = (places - middle) * scale
    across, down = (WIDTH / 2 + shifts[:, 0], (height - _BOTTOM + _TOP) / 2 - shifts[:, 1])
    order = np.argsort(-areas, kind="stable")  # small discs lie on large ones
    return Chart(
        points=tuple(Point(across[at], down[at], titles[at], radii[at], texts[at]) for at in order.tolist()),
        x_label=x_label,
        y_label=y_label,
        height=height,
        left=_RIGHT,
        bottom=height - _BOTTOM,
    )
