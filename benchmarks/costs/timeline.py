"""What is sent in an iteration with labels, by role and time.

A time is counted in legs, which are messages to or from the coordinator, one after another. Messages between
clients go through it, as over pipes and FLARE. Work and bytes take no time. What is sent at a leg waits for
what came then. The table has a line for each kind of letter: from the leg at which it is first sent to the
one at which the last has come.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from benchmarks.costs.iteration import blobs
from benchmarks.costs.setting import PRECISION, Case, Setting, same_kernels, split_evenly, stated
from secfc.drivers.in_process import roles_of
from secfc.drivers.setup import Setup
from secfc.protocol.client import Client
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import changed_job
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.messages.wire import decode, encode
from secfc.protocol.program.stepping import Letter, Stepping
from secfc.protocol.server import Server
from secfc.sharing.row_checks import largest_norm

ITERATIONS, ROUND = 4, 3
"""The most iterations, and the round that is shown."""

CASES = (Case(m=10_000, d=50, k=8, n=11, t=4, ell=2),)
QUICK_CASES = (Case(m=600, d=4, k=3, n=3, t=1, ell=1),)


@dataclass(frozen=True, kw_only=True)
class TimelineRow(Setting):
    """Letters of a kind that a role sends.

    Attributes
    ----------
    sender, tag : str
        The role, and the tag without numbers at its end.
    messages, bytes : int
        Of all senders with this role.
    begins, ends : int
        The leg at which the first is sent, and the one at which the last has come.
    """

    sender: str
    tag: str
    messages: int
    bytes: int
    begins: int
    ends: int


@dataclass
class _Kind:
    messages: int
    bytes: int
    begins: int
    ends: int


def carry(setup: Setup, clock: list[int]) -> None:
    """Run in one process, messages in order of arrival. The first number of `clock` is the time in legs."""
    job, roles = setup.job, roles_of(setup)
    parties: list[Server | Client] = [roles.server, *roles.clients]
    post: list[tuple[int, int, Message, bytes | memoryview]] = []
    sent = 0

    def send(messages: list[Message]) -> None:
        nonlocal sent
        for message in messages:
            data = encode(message, k=job.k, signer=roles.signer)
            legs = 1 if SERVER in (message.sender, message.recipient) else 2
            heapq.heappush(post, (clock[0] + legs, sent, message, data))
            sent += 1

    for client in roles.clients:
        send(client.start())
    while post:
        clock[0], _, message, data = heapq.heappop(post)
        role = parties[message.recipient]
        send(role.receive(decode(data, k=job.k, session=roles.session, most=role.sizes.most_bytes)))


def measure_case(case: Case, *, precision: int = PRECISION) -> Iterator[TimelineRow]:
    """Count the letters of a round."""
    rows = blobs(case)
    job = case.job(bound=largest_norm(rows, name="rows"), precision=precision, max_iter=ITERATIONS, seed=0)
    job, found = changed_job(job, disclosure="labels", init="random"), dict[tuple[str, str], _Kind]()
    began: list[int] = []
    honest = Stepping._message

    def noted(self: Stepping, recipient: int, letters: list[Letter]) -> Any:
        if self.me.round == ROUND:
            began.append(clock())
            legs = clock() + (2 if recipient and self.me.number else 1)
            for place, data in letters:
                key = role_of(job, self.me.number), place.tag.rstrip("0123456789 ")
                kind = found.setdefault(key, _Kind(0, 0, clock(), legs))
                kind.messages, kind.bytes = kind.messages + 1, kind.bytes + len(data)
                kind.ends = max(kind.ends, legs)
        return honest(self, recipient, letters)

    now = [0]

    def clock() -> int:
        return now[0]

    with same_kernels(), patch.object(Stepping, "_message", noted):
        carry(split_evenly(job, rows), now)
    common = stated(job, m=case.m, residues=job.residues(case.m))
    for (sender, tag), kind in sorted(found.items(), key=lambda one: (one[1].begins, one[1].ends)):
        yield TimelineRow(
            **common,
            sender=sender,
            tag=tag,
            messages=kind.messages,
            bytes=kind.bytes,
            begins=kind.begins - began[0],
            ends=kind.ends - began[0],
        )


def role_of(job: Job, number: int) -> str:
    """What a party is called: dealer, E0, E1, holder or server. A holder that compares is called by that."""
    if number == 0:
        return "server"
    names = dict(zip(job.comparers, ("dealer", "E0", "E1"), strict=True))
    return names.get(number, "holder")
