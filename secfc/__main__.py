"""`python -m secfc`: the command `secfc`."""

import sys

from secfc.cli import INTERRUPTED


def main() -> None:
    """Entry point."""
    try:
        from secfc.cli.app import app  # imported here, so that Ctrl-C during the import shows no traceback

        app(prog_name="secfc")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
