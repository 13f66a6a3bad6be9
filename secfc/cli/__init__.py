"""The command `secfc`."""

INTERRUPTED = 130  # exit status after Ctrl-C: 128 + SIGINT, as shells report it
