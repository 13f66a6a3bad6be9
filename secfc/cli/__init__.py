"""The command `secfc`."""

import sys

INTERRUPTED = 130  # exit status after Ctrl-C: 128 + SIGINT, as shells report it


def main() -> None:
    """Entry point."""
    try:
        from secfc.cli.app import app  # imported here, so that Ctrl-C during the import shows no traceback

        app(prog_name="secfc")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
