"""How commands end: their exit status, after an error or Ctrl-C too."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

import secfc
from secfc.cli import INTERRUPTED
from secfc.cli.render import error_console
from secfc.errors.codes import Code
from secfc.errors.escaping import shown
from secfc.protocol.job.retired import retired_choice

FAILED, GIVEN, REFUSED, ABSENT = 1, 2, 3, 4
"""Exit statuses of every command beside 0: the run failed or a check does not hold; what was given cannot be
used, such as options, files and rows; limits, signatures or the agreement forbid it; a party is absent."""

_STATUSES = (
    dict.fromkeys(Code, GIVEN)
    | dict.fromkeys(
        (
            Code.DISK_FULL,
            Code.STORAGE,
            Code.BAD_MESSAGE,
            Code.BAD_SIGNATURE,
            Code.CHEATING_SERVER,
            Code.IMPOSSIBLE_TOTALS,
            Code.IMPOSSIBLE_DISTANCES,
            Code.UNION,
            Code.STOPPED,
            Code.INTERNAL,
        ),
        FAILED,
    )
    | dict.fromkeys(
        (
            Code.LIMIT,
            Code.LIMIT_SMALLEST_SET,
            Code.LIMIT_ROUNDS,
            Code.LIMIT_ROWS,
            Code.LIMIT_SHARE,
            Code.NO_CONSENT,
            Code.NOT_AGREED,
            Code.EXPIRED,
            Code.NO_RUNS_LEFT,
            Code.KEY_NOT_IN_ROSTER,
            Code.OTHER_ID_KEY,
            Code.OTHER_VERSION,
            Code.NOT_SIGNED,
            Code.IN_USE,
        ),
        REFUSED,
    )
    | dict.fromkeys((Code.PARTY_VANISHED, Code.TIMEOUT, Code.TOO_MANY_FAULTS, Code.UNION_OPENED), ABSENT)
)
_MOST_OF_LINE = 5000  # characters of an error's line, which may list the columns of a wide file


def status_of(code: Code) -> int:
    """The exit status of a command that ends with an error of this code."""
    return _STATUSES[code]


@contextmanager
def told_which_log(logs: Sequence[Path]) -> Iterator[None]:
    """After an error say which of the parties' own logs got its whole text."""

    def sizes() -> list[int]:
        return [log.stat().st_size if log.is_file() else 0 for log in logs]

    before = sizes()
    try:
        yield
    except secfc.SecFCError:
        for log, old, new in zip(logs, before, sizes(), strict=True):
            if new > old:
                error_console().print(f"{log}: the whole text of an error", markup=False, soft_wrap=True)
        raise


@contextmanager
def plain_endings() -> Iterator[None]:
    """Print our own errors as one line, and end without a traceback after Ctrl-C."""
    try:
        yield
    except secfc.SecFCError as error:
        out = error_console()
        out.print("error:", style="bold red", end=" ")
        # A text may quote other parties line by line.
        text = "\n".join(shown(line, _MOST_OF_LINE) for line in str(error).split("\n"))
        out.print(f"{type(error).__name__}: {text}", soft_wrap=True)
        raise typer.Exit(status_of(error.code)) from None
    except KeyboardInterrupt:
        error_console().print("interrupted; nothing was written")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def told_what_serves_instead() -> Iterator[None]:
    """Add what serves instead to an error about a value that was retired."""
    try:
        yield
    except typer.BadParameter as error:
        value = error.message.partition("'")[2].partition("'")[0]
        if error.param is not None and (instead := retired_choice(error.param.name or "", value)):
            error.message = f"{error.message.rstrip('.')}; {instead}"
        raise


class PlainGroup(TyperGroup):
    """A command group with `plain_endings` for all commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with plain_endings(), told_what_serves_instead():
            return super().invoke(ctx)
