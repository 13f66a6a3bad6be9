"""The progress bar of the command and of `progress="bar"` in `secfc.run`, for terminals and notebooks."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from secfc.drivers.watch import iteration_text
from secfc.protocol.progress import Progress
from secfc.tables.number_texts import bytes_text

_WIDE, _WIDE_BAR, _NARROW_BAR = 110, 20, 10  # columns of a terminal from which the bar is wide
_DESCRIPTION, _ELAPSED = 9, 7
_UNBOUNDED = 10_000
_EACH = 0.2  # seconds between two texts in a notebook, where each is a message


@contextmanager
def progress_bar(*, n: int, console: Any = None) -> Iterator[Callable[[Progress], None]]:
    """A bar for joining and sharing, then iterations with moved rows, inertia and bytes.

    By default it is on standard error, in a notebook a line in the cell's output. The context manager yields
    the callable that `secfc.run` takes as `progress`.
    """
    if console is None and _in_notebook():
        yield _notebook_line(n)
        return
    from rich.progress import (  # noqa: PLC0415 - imported only if a bar is shown
        BarColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    out = console or plain_console(stderr=True)
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
            phase, done, note = _standing(standing, n)
            # The number of iterations is unknown before the last one: the bar pulses.
            bar.update(task, description=phase, total=None if done is None else n, completed=done, note=note)

        yield show


def _standing(standing: Progress, n: int) -> tuple[str, int | None, str]:
    """The phase, how many clients are done with it, None if that is not counted, and what else is known."""
    if standing.phase in ("identify", "share"):
        done = n - standing.waiting_for
        return standing.phase, done, f"{done} of {n} clients, {bytes_text(standing.sent_bytes)}"
    if standing.phase == "iterate":
        return standing.phase, None, iteration_text(standing)
    return "done", n, iteration_text(standing)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _notebook_line(n: int) -> Callable[[Progress], None]:
    """Changes a line of text in the cell's output. A bar of rich would need ipywidgets there."""
    from IPython.display import display  # noqa: PLC0415 - a notebook has it

    line = display({"text/plain": "starting"}, raw=True, display_id=True)
    began, shown = time.monotonic(), -inf

    def show(standing: Progress) -> None:
        nonlocal shown
        now = time.monotonic()
        phase, done, note = _standing(standing, n)
        if phase == "done" or now - shown >= _EACH:
            full = 0 if done is None else _NARROW_BAR * done // n
            bar = "█" * full + "░" * (_NARROW_BAR - full)
            text = f"{phase:<{_DESCRIPTION}}{bar if done is not None else ''} {note}, {now - began:.0f} s"
            line.update({"text/plain": text}, raw=True)
            shown = now

    return show


def plain_console(*, stderr: bool, **more: Any) -> Any:
    """A rich console; without a terminal, lines are neither cut nor broken."""
    from rich.console import Console  # noqa: PLC0415

    out = Console(stderr=stderr, **more)
    if not (out.is_terminal or out.is_jupyter or "COLUMNS" in os.environ):
        out.width = _UNBOUNDED
    return out
