"""`python -m secfc`: the command `secfc`."""

import signal
import sys

from secfc.cli import INTERRUPTED


def main() -> None:
    """Entry point."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        from secfc.cli.app import app  # imported here, so that Ctrl-C during the import shows no traceback

        app(prog_name="secfc")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _stop(*_: object) -> None:
    """End as after Ctrl-C: end processes and tell other parties. A second signal changes nothing."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
