"""The command `secfc`."""

INTERRUPTED = 130  # exit status after Ctrl-C or SIGTERM: 128 + SIGINT, as shells report it
