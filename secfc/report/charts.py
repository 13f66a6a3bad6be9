"""Two pictures as SVG text: a curve and bars. Colours come from the page, so that they follow its theme."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 12, 12, 34


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram, in picture coordinates, with what it says on hovering."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """What the page draws: points or bars, and ticks."""

    points: tuple[tuple[float, float, str], ...]
    bars: tuple[Bar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    x_label: str
    y_label: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM

    @property
    def path(self) -> str:
        """The points as an SVG polyline."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in self.points)


def curve(values: Sequence[float], *, x_label: str, y_label: str) -> Chart:
    """Values against 1, 2, 3, ..., the vertical axis from the least to the greatest."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    last = max(len(values) - 1, 1)

    def place(at: int, value: float) -> tuple[float, float]:
        x = _LEFT + at / last * (WIDTH - _RIGHT - _LEFT)
        return x, HEIGHT - _BOTTOM - (value - low) / span * (HEIGHT - _BOTTOM - _TOP)

    points = tuple((*place(at, value), f"{x_label} {at + 1}: {value:.6g}") for at, value in enumerate(values))
    steps = sorted({round(last * part / 4) for part in range(5)} & set(range(len(values))))
    return Chart(
        points=points,
        bars=(),
        x_ticks=tuple(Tick(place(at, low)[0], str(at + 1)) for at in steps),
        y_ticks=tuple(Tick(place(0, value)[1], f"{value:.4g}") for value in dict.fromkeys((low, high))),
        x_label=x_label,
        y_label=y_label,
    )


def bars(counts: Sequence[int], edges: Sequence[float], *, x_label: str, y_label: str) -> Chart:
    """A histogram."""
    most = max(counts) or 1
    each = (WIDTH - _RIGHT - _LEFT) / len(counts)
    drawn = []
    for at, count in enumerate(counts):
        height = count / most * (HEIGHT - _BOTTOM - _TOP)
        title = f"{edges[at]:.4g} to {edges[at + 1]:.4g}: {count} rows"
        drawn.append(Bar(_LEFT + at * each + 1, HEIGHT - _BOTTOM - height, each - 2, height, title))
    marks = range(0, len(edges), max(1, (len(edges) - 1) // 4))
    return Chart(
        points=(),
        bars=tuple(drawn),
        x_ticks=tuple(Tick(_LEFT + at * each, f"{edges[at]:.3g}") for at in marks),
        y_ticks=(Tick(HEIGHT - _BOTTOM, "0"), Tick(_TOP, str(most))),
        x_label=x_label,
        y_label=y_label,
    )
