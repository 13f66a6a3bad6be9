"""How every command ends when something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

import secfc
from secfc.cli import INTERRUPTED
from secfc.cli.render import error_console

_REFUSED = 2


@contextmanager
def plain_endings() -> Iterator[None]:
    """Our own errors are one clear line, and Ctrl-C ends without a trace of Python."""
    try:
        yield
    except secfc.SecFCError as error:
        out = error_console()
        out.print("error:", style="bold red", end=" ")
        out.print(f"{type(error).__name__}: {error}", soft_wrap=True)
        raise typer.Exit(_REFUSED) from None
    except KeyboardInterrupt:
        error_console().print("interrupted; nothing was written")
        raise typer.Exit(INTERRUPTED) from None
