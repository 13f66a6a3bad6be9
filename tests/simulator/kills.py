"""The places at which tests kill parties, in simulations, in processes and on FLARE."""

from collections import Counter
from functools import wraps
from importlib import import_module
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


class Half(NamedTuple):
    """Parties are killed from the call on in which one first begins this half, for the `time`-th time."""

    module: str
    function: str
    time: int = 1


HALVES = {
    "between two resamples": Half("secfc.protocol.program.resampled", "_means_of", 2),
    "between resamples and overlaps": Half("secfc.protocol.program.resampled", "opened_tables"),
    "between overlaps and their opening": Half("secfc.operations.ending.overlaps", "_holder"),
    "between labels and cells": Half("secfc.operations.ending.cells", "opened_cells"),
    "between cells and bits of columns": Half("secfc.operations.ending.cells", "_passed"),
    "between bits of columns and numbers": Half("secfc.operations.ending.cells", "opened_to"),
}
"""By name, in the order of a run with resamples and described columns."""


def kill_at_halves(monkeypatch, processes, kills):
    """Have parties of a simulation be killed at all halves, by `kills` in turn. Return those reached."""
    reached = []
    for at, (name, half) in enumerate(HALVES.items()):
        module, begun = import_module(half.module), Counter()
        real = getattr(module, half.function)

        @wraps(real)
        def begins(me, *given, name=name, half=half, begun=begun, real=real, at=at, **named):
            begun[me] += 1
            if begun[me] == half.time and name not in reached:
                reached.append(name)
                processes.plan[processes.calls + 1 + at % 2] = kills[at % len(kills)]
            return real(me, *given, **named)

        monkeypatch.setattr(module, half.function, begins)
    return reached
