"""`python -m secfc`: the command `secfc`."""

from secfc.cli import main

main()
