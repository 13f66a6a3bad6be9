"""The command `secfc`."""

import sys

INTERRUPTED = 130  # exit status after Ctrl-C: 128 + SIGINT, as shells report it


def main() -> None:
    """Entry point."""
    try:
        from secfc.cli.app import app  # here, so that Ctrl-C while it is imported is no trace of Python

        app(prog_name="secfc")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
