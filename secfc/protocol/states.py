"""Where a role stands."""

from enum import StrEnum


class State(StrEnum):
    """Where a role stands. Roles pass through them in this order; UNION only with membership privacy."""

    IDENTIFY = "identify"
    UNION = "union"
    SHARE = "share"
    CHECK = "check"
    """The server's only: it waits for reports on shares, and for evidence where they differ."""
    ITERATE = "iterate"
    COMPARE = "compare"
    """A client's only: it has the result and waits for others to have the same."""
    REVEAL = "reveal"
    """A client's only, where centres are opened: R clients have the result, so its labels are final. It waits
    for a quorum to have it and, as a recipient, for others' shares."""
    DONE = "done"
    ENDED = "ended"
    """A client's only: an error ended the run for it."""
