"""The places at which tests kill parties, in simulations, in processes and on FLARE."""

from typing import NamedTuple


class Place(NamedTuple):
    """A party is killed when it takes the first message of this type, of this round or a later one."""

    message: str
    round: int = 0


PLACES = {
    "before sharing": Place("Plan"),
    "while rows are dealt": Place("StepNotice"),
    "in a program": Place("Step"),
    "round 1": Place("Step", 1),
    "round 2": Place("Step", 2),
    "round 3": Place("StepNotice", 3),
}
"""By name; each is a place of clients. Those of which a job has no message are never reached."""

SERVERS_PLACE = Place("StepReport", 3)
"""One of the server."""

SITE_KILLS = ("site before", "site during", "site after")
COORDINATOR_KILLS = ("coordinator before", "coordinator after")
KILLS = SITE_KILLS + COORDINATOR_KILLS
"""Around a call: before the site takes it, when it has worked but written nothing, when it has written."""
