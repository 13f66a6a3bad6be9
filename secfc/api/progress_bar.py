"""The progress bar of the command and of `progress="bar"` in `secfc.run`, for terminals and notebooks."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from secfc.drivers.watch import iteration_text
from secfc.protocol.progress import Progress
from secfc.tables.number_texts import bytes_text

_WIDE, _WIDE_BAR, _NARROW_BAR = 110, 20, 10  # columns of a terminal from which the bar is wide
_DESCRIPTION, _ELAPSED = 9, 7
_UNBOUNDED = 10_000


@contextmanager
def progress_bar(*, n: int, console: Any = None) -> Iterator[Callable[[Progress], None]]:
    """A bar for joining and sharing, then iterations with moved rows, inertia and bytes.

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
            match standing.phase:
                case "identify" | "share":
                    done = n - standing.waiting_for
                    note = f"{done} of {n} clients, {bytes_text(standing.sent_bytes)}"
                    bar.update(task, description=standing.phase, total=n, completed=done, note=note)
                case "iterate":
                    # The number of iterations is unknown before the last one: the bar pulses.
                    note = iteration_text(standing)
                    bar.update(task, description=standing.phase, total=None, note=note)
                case _:
                    note = iteration_text(standing)
                    bar.update(task, description="done", total=1, completed=1, note=note)

        yield show


def plain_console(*, stderr: bool, **more: Any) -> Any:
    """A rich console; without a terminal, lines are neither cut nor broken."""
    from rich.console import Console  # noqa: PLC0415

    out = Console(stderr=stderr, **more)
    if not (out.is_terminal or out.is_jupyter or "COLUMNS" in os.environ):
        out.width = _UNBOUNDED
    return out
