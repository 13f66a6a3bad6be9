"""Signals in processes that tests start."""

import signal


def heed_ctrl_c() -> None:
    """For `preexec_fn`: a process started from a background job would inherit that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
