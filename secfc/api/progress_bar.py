"""The progress bar of the command and of `progress="bar"` in `secfc.run`, for terminals and notebooks."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import log
from typing import Any

from secfc.drivers.watch import iteration_text
from secfc.kmeans.program import fewest_moved
from secfc.protocol.progress import Progress
from secfc.tables.number_texts import bytes_text

_STEPS = 3
"""Iterations that an estimate uses: the first iterations move far more rows than later ones."""

_WIDE, _WIDE_BAR, _NARROW_BAR = 110, 20, 10  # columns of a terminal from which the bar is wide
_DESCRIPTION, _ELAPSED = 9, 7
_AROUND = 1 + _DESCRIPTION + _ELAPSED + 4
"""Columns of spinner, phase, time and the spaces between them and the bar."""

_UNBOUNDED = 10_000


class Remaining:
    """Estimates the seconds left in a start from how fast the number of moved rows falls."""

    def __init__(self, max_iter: int, tol_moved: float = 0.0) -> None:
        self._max_iter, self._tol_moved = max_iter, tol_moved
        self._seen: list[tuple[int, int, float]] = []  # iteration, moved, when
        self._fewest = 1  # moved rows for which another iteration follows

    def after(self, iteration: int, moved: int, now: float) -> float | None:
        """Seconds left after this iteration, `now` on any clock; None if there is too little data."""
        if self._seen and iteration < self._seen[-1][0]:
            self._seen = []  # another start
        if iteration and (not self._seen or iteration > self._seen[-1][0]):
            self._seen.append((iteration, moved, now))
        if iteration == 1:  # it moves all rows
            self._fewest = fewest_moved(self._tol_moved, moved)
        recent = self._seen[-_STEPS - 1 :]
        if len(recent) <= _STEPS or recent[-1][1] <= 0:
            return None
        (first, before, began), (last, left, ended) = recent[0], recent[-1]
        # Assume that the number of moved rows falls by a constant factor, and by at least 2 %.
        factor = min((left / before) ** (1 / (last - first)), 0.98)
        steps = min(1 + log(left / self._fewest) / -log(factor), self._max_iter - last)
        return max(steps, 0) * (ended - began) / (last - first)


@contextmanager
def progress_bar(
    *, n: int, max_iter: int, tol_moved: float = 0.0, console: Any = None
) -> Iterator[Callable[[Progress], None]]:
    """A bar for joining and sharing, then iterations with moved rows, inertia, bytes and time left.

    By default it is on standard error, in a notebook in the cell's output. The context manager yields the
    callable that `secfc.run` takes as `progress`.
    """
    from rich.progress import (  # noqa: PLC0415 - imported only if a bar is shown
        BarColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    remaining, out = Remaining(max_iter, tol_moved), console or plain_console(stderr=True)
    width = _WIDE_BAR if out.width >= _WIDE else _NARROW_BAR
    with Bar(
        SpinnerColumn(),
        TextColumn("{task.description:<9}", table_column=Column(no_wrap=True, min_width=_DESCRIPTION)),
        BarColumn(bar_width=width, table_column=Column(min_width=width)),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=_ELAPSED)),
        console=out,
    ) as bar:
        task = bar.add_task("starting", total=n, note="")

        def show(standing: Progress) -> None:
            room = out.width - width - _AROUND
            match standing.phase:
                case "identify" | "share":
                    done = n - standing.waiting_for
                    note = f"{done} of {n} clients, {bytes_text(standing.sent_bytes)}"
                    bar.update(task, description=standing.phase, total=n, completed=done, note=note)
                case "iterate":
                    # The number of iterations is unknown before the last one: the bar pulses.
                    left = None
                    if standing.moved is not None:
                        left = remaining.after(standing.iteration, standing.moved, time.monotonic())
                    note = iteration_text(standing, room=room, seconds_left=left)
                    bar.update(task, description=standing.phase, total=None, note=note)
                case _:
                    note = iteration_text(standing, room=room)
                    bar.update(task, description="done", total=1, completed=1, note=note)

        yield show


def plain_console(*, stderr: bool, **more: Any) -> Any:
    """A rich console; without a terminal, lines are neither cut nor broken."""
    from rich.console import Console  # noqa: PLC0415

    out = Console(stderr=stderr, **more)
    if not (out.is_terminal or out.is_jupyter or "COLUMNS" in os.environ):
        out.width = _UNBOUNDED
    return out
