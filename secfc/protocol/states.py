"""States of the roles."""

from enum import StrEnum


class State(StrEnum):
    """The state of a role. Roles pass through states in this order."""

    IDENTIFY = "identify"
    SHARE = "share"
    """Server only: it is not known yet whose rows are in."""
    ITERATE = "iterate"
    DONE = "done"
    ENDED = "ended"
    """Client only: an error ended the run for it."""
