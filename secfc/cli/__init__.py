"""The command `secfc`."""

from secfc.cli.app import app


def main() -> None:
    """Entry point."""
    app(prog_name="secfc")
