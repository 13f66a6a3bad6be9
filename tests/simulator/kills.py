"""The places at which tests kill parties, in simulations, in processes and on FLARE."""

from typing import NamedTuple


class Place(NamedTuple):
    """A party is killed when it takes the first message of this type, of this round or a later one."""

    message: str
    round: int = 0


PLACES = {
    "before sharing": Place("Plan"),
    "in the union": Place("UnionDeal", 2),
    "union open": Place("UnionFound", 1),
    "during sharing": Place("Share"),
    "in the check": Place("Challenge"),
    "before the report": Place("Echo"),
    "before the coin": Place("CoinRequest"),
    "round 1": Place("Assignment", 1),
    "round 2": Place("Assignment", 2),
    "round 3": Place("Assignment", 3),
    "before masks": Place("SpareMasks"),
    "before the result": Place("Finish"),
    "before centres": Place("CentreShare"),
    "while rows are dealt": Place("StepNotice"),
    "in a program": Place("Step"),
    "in its round 1": Place("Step", 1),
    "in its round 2": Place("Step", 2),
}
"""By name; each is a place of clients. Those of which a job has no message are never reached."""

SERVERS_PLACE = Place("CodedDistances", 3)
"""One of the server, with disclosure "coded"."""

SITE_KILLS = ("site before", "site during", "site after")
COORDINATOR_KILLS = ("coordinator before", "coordinator after")
KILLS = SITE_KILLS + COORDINATOR_KILLS
"""Around a call: before the site takes it, when it has worked but written nothing, when it has written."""
