"""Costs of a run: messages, bytes and CPU seconds, per phase and role."""

import threading
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

from secfc.errors import MessageError
from secfc.protocol.messages import PHASES, SERVER
from secfc.protocol.messages.wire import Envelope

Role = Literal["client", "server"]


def role_of(party: int) -> Role:
    """Role of a party's number. 0 is the server."""
    return "server" if party == SERVER else "client"


class MessageRecord(NamedTuple):
    """One message that was sent."""

    kind: str
    sender: int
    recipient: int
    round: int
    size: int


class Sent:  # noqa: PLW1641 - it grows, so it has no hash
    """Records of all messages. Runs have n**2 that differ in sender and recipient alone: one entry by sender.

    Two are equal if their messages of each kind, sender, round and size are equal, in the same order.
    """

    def __init__(self) -> None:
        # Recipients by phase, kind, sender, round and size.
        self.groups: dict[tuple[str, str, int, int, int], array[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self.groups.values()))

    def __iter__(self) -> Iterator[MessageRecord]:
        for (_, kind, sender, round_, size), recipients in self.groups.items():
            for recipient in recipients:
                yield MessageRecord(kind, sender, recipient, round_, size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sent) and self.groups == other.groups

    def copy(self) -> "Sent":
        """The same messages, to which none is added."""
        made = Sent()
        made.groups = {key: recipients[:] for key, recipients in self.groups.items()}
        return made

    def add(self, envelope: Envelope, size: int) -> None:
        """Add a message."""
        kind, phase, _, sender, recipient, round_ = envelope
        key = phase, kind, sender, round_, size
        recipients = self.groups.get(key)
        if recipients is None:
            recipients = self.groups[key] = array("H")
        recipients.append(recipient)


@dataclass(frozen=True, kw_only=True)
class PhaseCost:
    """Cost of one phase in one role, summed over all clients."""

    phase: str
    role: Role
    seconds: float  # CPU seconds of handling: decoding, computing, encoding
    sent_bytes: int  # by this role
    messages: int  # by this role


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Cost of a run."""

    phases: tuple[PhaseCost, ...]  # those that took place, in order; clients before the server
    messages: Sent  # all, in no particular order
    wall_seconds: float  # from start to end of the driver

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return max((message.round for message in self.messages), default=0)

    @property
    def sent_bytes(self) -> int:
        """Bytes of all messages."""
        return sum(message.size for message in self.messages)

    def __repr__(self) -> str:
        return (
            f"Costs(rounds={self.rounds}, sent_bytes={self.sent_bytes}, wall_seconds={self.wall_seconds:.3g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything except the single messages, for JSON."""
        return {
            "wall_seconds": self.wall_seconds,
            "messages": len(self.messages),
            "bytes": self.sent_bytes,
            "rounds": self.rounds,
            "phases": [asdict(phase) for phase in self.phases],
        }


class Meter:
    """Counts costs while a driver works. `clock` returns CPU seconds, of the process by default."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._started = time.perf_counter()
        self.sent_bytes = 0
        self.seconds: dict[tuple[str, Role], float] = defaultdict(float)
        self._sent = Sent()

    @contextmanager
    def work(self, phase: str, party: int) -> Iterator[None]:
        """Add the CPU seconds of the block to a phase and role."""
        before = self._clock()
        try:
            yield
        finally:
            self.seconds[phase, role_of(party)] += self._clock() - before

    def sent(self, envelope: Envelope, size: int) -> None:
        """Count a message."""
        self._sent.add(envelope, size)
        self.sent_bytes += size

    def costs(self) -> Costs:
        """The sums so far."""
        sizes = defaultdict[tuple[str, Role], list[int]](list)
        for (phase, _, sender, _, size), recipients in self._sent.groups.items():
            sizes[phase, role_of(sender)] += [size] * len(recipients)
        roles: tuple[Role, ...] = ("client", "server")
        costs = (
            PhaseCost(
                phase=phase,
                role=role,
                seconds=self.seconds.get((phase, role), 0.0),
                sent_bytes=sum(sizes[phase, role]),
                messages=len(sizes[phase, role]),
            )
            for phase, role in product(PHASES, roles)
        )
        return Costs(
            phases=tuple(one for one in costs if one.messages or one.seconds),
            messages=self._sent.copy(),
            wall_seconds=time.perf_counter() - self._started,
        )


def seconds_of(report: Mapping[str, Any], *, name: str) -> dict[tuple[str, Role], float]:
    """CPU seconds by phase from a site's report. MessageError, with its name, if of another form."""
    found: dict[tuple[str, Role], float] = {}
    try:
        for phase, role, value in report.get("seconds", []):
            if phase not in PHASES or role != "client" or not 0 <= value <= threading.TIMEOUT_MAX:
                raise ValueError
            found[phase, "client"] = float(value)
    except (TypeError, ValueError):
        raise MessageError(f"{name}: a report of another form") from None
    return found
