"""How every command ends when something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

import secfc
from secfc.cli.render import error_console

_REFUSED = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


@contextmanager
def plain_endings() -> Iterator[None]:
    """Our own errors are one clear line, and Ctrl-C ends without a trace of Python."""
    try:
        yield
    except secfc.SecFCError as error:
        error_console().print(f"[bold red]error:[/] {type(error).__name__}:", end=" ")
        error_console().print(str(error), markup=False, soft_wrap=True)
        raise typer.Exit(_REFUSED) from None
    except KeyboardInterrupt:
        error_console().print("interrupted; nothing was written")
        raise typer.Exit(_INTERRUPTED) from None
