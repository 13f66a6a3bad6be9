"""Seconds that the parties of a run wait for each other over slow lines, computed from their messages.

Every party and the coordinator have a line with the same rate in each direction. Messages between clients go
through the coordinator, as over pipes and FLARE. Nothing is measured. A message takes half a round trip to or
from the coordinator, work takes no time, and the time for the bytes of the busiest line is added.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.costs.iteration import blobs
from benchmarks.costs.setting import (
    DISCLOSURES,
    PRECISION,
    Case,
    Setting,
    median,
    same_kernels,
    split_evenly,
    stated,
)
from secfc.drivers.in_process import roles_of
from secfc.drivers.setup import Setup
from secfc.protocol.client import Client
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.messages.wire import decode, encode
from secfc.protocol.server import Server
from secfc.sharing.row_checks import largest_norm

ITERATIONS = 8
ROUND_TRIP = 0.02
"""Seconds from a party to the coordinator and back."""

RATES = (10e6, 100e6, 1e9)
"""Bits per second."""

CASES = (
    Case(m=5_000, d=20, k=8, n=3, t=1, ell=1),
    Case(m=10_000, d=50, k=8, n=11, t=4, ell=2),
    Case(m=100_000, d=100, k=16, n=11, t=4, ell=2),
)
QUICK_CASES = (Case(m=1200, d=2, k=8, n=3, t=1, ell=1),)


@dataclass(frozen=True, kw_only=True)
class LinksRow(Setting):
    """A part of a run: before the first iteration, the first iteration, or the median of later ones.

    Attributes
    ----------
    disclosure : str
    part : str
    legs : float
        Messages to or from the coordinator that follow each other.
    line_bytes : float
        Bytes of the busiest line, in its busier direction.
    seconds : list of float
        For each of `RATES`: bytes divided by the rate, plus legs times half a round trip.
    """

    disclosure: str
    part: str
    legs: float
    line_bytes: float
    seconds: list[float]


@dataclass
class Carried:
    """The messages of a round: bytes of each line and direction, and the time when it began."""

    lines: defaultdict[tuple[int, str], int]
    began: int


_OF_ROUNDS = {"Step", "StepNotice", "StepReport"}
"""Types of messages of which the first one of a round begins it."""


def carried(setup: Setup, clock: list[int] | None = None) -> dict[int, Carried]:
    """Run in one process, messages in order of arrival. Results are by round, 0 before the first question.

    Times are counted in legs, which are messages to or from the coordinator, one after another. An extra
    round after the last one has the time when all had ended. The first number of `clock` is the time.
    """
    job, roles = setup.job, roles_of(setup)
    parties: list[Server | Client] = [roles.server, *roles.clients]
    post: list[tuple[int, int, Message, bytes | memoryview]] = []
    found: dict[int, Carried] = {0: Carried(defaultdict(int), 0)}
    now = sent = asked = 0

    def send(messages: list[Message]) -> None:
        nonlocal sent, asked
        for message in messages:
            data = encode(message, k=job.k, signer=roles.signer)
            if type(message).__name__ in _OF_ROUNDS and message.round > asked:
                asked = message.round
                found[asked] = Carried(defaultdict(int), now)
            lines = found[asked].lines
            for party, way in _crossed(message.sender, message.recipient):
                lines[party, way] += len(data)
            legs = 1 if SERVER in (message.sender, message.recipient) else 2
            heapq.heappush(post, (now + legs, sent, message, data))
            sent += 1

    for client in roles.clients:
        send(client.start())
    while post:
        now, _, message, data = heapq.heappop(post)
        if clock is not None:
            clock[0] = now
        role = parties[message.recipient]
        send(role.receive(decode(data, k=job.k, session=roles.session, most=role.sizes.most_bytes)))
    found[asked + 1] = Carried(defaultdict(int), now)
    return found


def _crossed(sender: int, recipient: int) -> Iterator[tuple[int, str]]:
    """The lines of a message. The lines of the server are the coordinator's."""
    if sender != SERVER:
        yield from ((sender, "up"), (SERVER, "down"))
    if recipient != SERVER:
        yield from ((SERVER, "up"), (recipient, "down"))


def measure_case(case: Case, *, precision: int = PRECISION) -> Iterator[LinksRow]:
    """Count a case, with each disclosure."""
    with same_kernels():
        rows = blobs(case)
        bound = largest_norm(rows, name="rows")
        given = case.job(bound=bound, precision=precision, max_iter=ITERATIONS, seed=0)
        for disclosure in DISCLOSURES:
            job = changed_job(given, disclosure=disclosure)
            yield from _rows_of(job, case.m, carried(split_evenly(job, rows)))


def _rows_of(job: Job, m: int, by_round: dict[int, Carried]) -> Iterator[LinksRow]:
    rounds = sorted(by_round)
    legs = {one: by_round[after].began - by_round[one].began for one, after in pairwise(rounds)}
    for part, chosen in (("before", rounds[:1]), ("first", rounds[1:2]), ("later", rounds[2:-1])):
        waits = median([legs[one] for one in chosen])
        size = median([max(by_round[one].lines.values()) for one in chosen])
        yield LinksRow(
            **stated(job, m=m, residues=job.residues(m)),
            disclosure=job.disclosure.name,
            part=part,
            legs=waits,
            line_bytes=size,
            seconds=[8 * size / rate + waits * ROUND_TRIP / 2 for rate in RATES],
        )
