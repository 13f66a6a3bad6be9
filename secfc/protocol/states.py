"""States of the roles."""

from enum import StrEnum


class State(StrEnum):
    """The state of a role. Roles pass through states in this order, UNION only with membership privacy."""

    IDENTIFY = "identify"
    UNION = "union"
    SHARE = "share"
    CHECK = "check"
    """Server only: it waits for reports on shares, and for evidence where they differ."""
    ITERATE = "iterate"
    COMPARE = "compare"
    """Client only: it has the result and waits until others have the same."""
    REVEAL = "reveal"
    """Client only, where centres are opened: R clients have the result, so its labels are final. It waits
    until a quorum has it and, as a recipient, for others' shares."""
    DONE = "done"
    ENDED = "ended"
    """Client only: an error ended the run for it."""
