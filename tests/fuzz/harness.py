"""One try of the fuzzer: at a moment of a run, bytes made from its messages go to the message's recipient.

An input is one byte for the scenario, one for the moment, two for the message to change, and edits of it. The
message is given by its number among all that were sent until then. An edit is an operation (1 byte), a place
(2) and, for some, a length (1) and that many bytes. An input contains no secret: sealed or signed parts of a
message are made anew in each run.
"""

import tracemalloc
from collections.abc import Callable
from random import Random

import numpy as np
from support.wire import UnionWire, Wire, picture

from secfc.errors import (
    CheatError,
    LimitError,
    MessageError,
    ParameterError,
    TooManyFaultsError,
    UnionError,
)
from secfc.protocol.messages import SERVER
from secfc.protocol.messages.wire import decode, envelope

_RNG = np.random.default_rng(5)
FIVE = [_RNG.normal(size=(m, 2)).round(2) + m for m in (3, 2, 4, 3, 2)]
MOMENTS = 16
"""Number of tested moments of a run, at equal distances."""

SERVER_STOPS = (ParameterError, TooManyFaultsError, UnionError)
CLIENT_STOPS = (LimitError, CheatError, UnionError)
"""Other errors that `receive` raises for a message, which end the run. MessageError does not end it."""

_ROOM = 64
"""Bytes of memory that each received byte may cost, in addition to what a role keeps. Labels of a bit each
become int32, after the role has checked their sender and number.
"""


SCENARIOS: tuple[Callable[[], Wire], ...] = (
    lambda: Wire(FIVE, max_liars=1),
    lambda: Wire(FIVE, disclosure="coded"),
    lambda: Wire(FIVE, disclosure="labels", comparers=(2, 5, 3)),
    lambda: UnionWire(FIVE),
    lambda: Wire(FIVE, starts=[[0] * 3, [1] * 2, [0] * 4, [1] * 3, [0] * 2]),
    lambda: UnionWire(FIVE, max_liars=1),
)


class Moment:
    """A run after some deliveries, oldest first, and all that was sent."""

    def __init__(self, scenario: int, deliveries: int | None) -> None:
        self.net, self.sent, self.deliveries = SCENARIOS[scenario](), [], 0
        while (links := self.net.pending()) and deliveries != self.deliveries:
            message = self.net.take(links[0])
            self.sent.append(bytes(self.net.encode(message)))
            self.net.deliver(message)
            self.deliveries += 1
        self.sent += [bytes(self.net.links[link][0][1]) for link in self.net.pending()]


class Harness:
    """Runs inputs. A role that has refused one is used again, because it has not changed."""

    def __init__(self) -> None:
        self._lengths: dict[int, int] = {}
        self._moments: dict[tuple[int, int], Moment] = {}

    def run(self, data: bytes, *, bounded: bool = False) -> str:
        """Try an input; return how it ended: "refused", "stopped" or "taken".

        `bounded` also measures memory, which is slow.

        Raises
        ------
        Exception
            A defect: an undocumented exception, an encoding that is not the only one, a role that refused a
            message and changed, or memory beyond what was received.
        """
        if len(data) < 4:
            return "refused"
        at = self.prepare(data)
        here = self._moments[at]
        received = edited(here.sent[int.from_bytes(data[2:4], "little") % len(here.sent)], data[4:])
        if bounded:
            tracemalloc.start()
        try:
            outcome = self._receive(here.net, received)
            peak = tracemalloc.get_traced_memory()[1] if bounded else 0
        finally:
            if bounded:
                tracemalloc.stop()
        if outcome != "refused":
            del self._moments[at]
        assert outcome != "refused" or peak < (1 << 20) + _ROOM * len(received), f"{peak} bytes of memory"
        return outcome

    def prepare(self, data: bytes) -> tuple[int, int]:
        """Make the moment that an input is about, if it does not exist; return its key."""
        at = data[0] % len(SCENARIOS), data[1] % MOMENTS
        if at not in self._moments:
            self._moments[at] = self._moment(*at)
        return at

    def _moment(self, scenario: int, moment: int) -> Moment:
        if scenario not in self._lengths:
            self._lengths[scenario] = Moment(scenario, None).deliveries
        return Moment(scenario, self._lengths[scenario] * moment // MOMENTS)

    def _receive(self, net: Wire, received: bytes) -> str:
        try:
            recipient = envelope(received).recipient
            if recipient > net.job.n:
                return "refused"
            role = net.role(recipient)
            message = decode(received, k=net.job.k, session=net.session, most=role.sizes.most_bytes)
        except MessageError:
            return "refused"
        assert net.encode(message) == received, "another encoding of the same message"
        before, stops = picture(role), SERVER_STOPS if message.recipient == SERVER else CLIENT_STOPS
        try:
            role.receive(message)
        except MessageError:
            assert picture(role) == before, "a role that refused a message has changed"
            return "refused"
        except stops:
            return "stopped"
        return "taken"


def edited(data: bytes, edits: bytes) -> bytes:
    changed, at = bytearray(data), 0
    while at + 3 <= len(edits):
        operation, place = (
            edits[at] % 6,
            int.from_bytes(edits[at + 1 : at + 3], "little") % (len(changed) + 1),
        )
        at += 3
        if operation == 0 and place < len(changed):
            changed[place] ^= 1 << (edits[at] % 8 if at < len(edits) else 0)
            at += 1
        elif operation == 1:
            del changed[place:]
        elif operation in {2, 3, 4} and at < len(edits):
            size = edits[at] % 64
            new = edits[at + 1 : at + 1 + size]
            changed[place : place if operation == 2 else place + len(new)] = new
            at += 1 + size
        elif operation == 5:
            changed[21:25] = changed[23:25] + changed[21:23]  # as if the recipient had sent it
    return bytes(changed)


def random_input(rng: Random) -> bytes:
    """An input for a first corpus: a message with a few edits, most of them in fields near its start."""
    data = bytearray(rng.randbytes(4))
    for _ in range(rng.randrange(4)):
        operation, place = rng.randrange(6), rng.choice((4, 21, 22, 23, 25, 29, 30, 33, rng.randrange(200)))
        data += bytes([operation]) + place.to_bytes(2, "little")
        if operation == 0:
            data.append(rng.randrange(8))
        elif operation in {2, 3, 4}:
            size = rng.choice((1, 1, 2, 4, rng.randrange(1, 20)))
            data.append(size)
            data += rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))
    return bytes(data)
