"""The inbox of a party: messages by the step of the program, a tag and the sender.

Order, duplicates, and what comes too early or too late are here and nowhere else.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Data

WINDOW = 256
"""Steps that a message may be ahead of its recipient. A client that others can do without may be behind."""

MOST = 256
"""Messages of one sender in a step. The longest exchange of gates has far fewer."""

OVERHEAD = 1 << 10
"""Bytes of a message that are counted beside its data: its place, and the objects that hold it."""


@dataclass(frozen=True)
class Place:
    """Where a message belongs: the number of a step, and a tag within it.

    `seen` is a digest of all that was opened to everybody before the step, as its sender saw it.
    """

    step: int
    tag: str
    seen: bytes = field(repr=False)


@dataclass(frozen=True)
class Wait:
    """What a half waits for: messages with a tag and exact size in bytes, of all these senders.

    With `enough` so many of them are enough; the half receives all that have come by then, and checks their
    sizes, because it may do without some. With `unless_lost` it does without parties that are lost, and of
    those that may lie without messages of another size, and without those that sent something else instead:
    `alone` says that the senders send nothing else to this party in the step.
    """

    tag: str
    senders: tuple[int, ...]
    size: int
    enough: int | None = None
    unless_lost: bool = False
    alone: bool = False


class Inbox:
    """Holds messages until the step in which they are awaited has ended.

    At most `most` bytes of each sender are held, with `OVERHEAD` for each message. A party that may lie is
    lost when it saw other numbers opened; of others this is an error, also if its letter is not awaited: the
    two go different ways, so each would wait for what the other does not send. It is not known which of them
    was lied to. Parties send in the order of steps. So one that sent something of a later step does not send
    what is missing any more.
    """

    def __init__(
        self, parties: frozenset[int], may_lie: frozenset[int] = frozenset(), *, most: int = sys.maxsize
    ) -> None:
        self._parties, self._may_lie, self._most = parties, may_lie, most
        self._step = 0
        self._insiders = frozenset[int]()
        self._seen = dict[int, tuple[bytes, bytes]]()  # by step, as in `begin`
        self.lost: set[int] = set()
        self._held = dict[int, dict[int, dict[str, tuple[Place, Data]]]]()  # by step, sender and tag
        self._bytes = Counter[int]()  # by sender
        self._last = dict[int, int]()  # the last step of which each party has sent something
        self._came = Counter[int]()  # messages that came from each party
        self._disordered = set[int]()  # whose messages came in another order, or not all
        self._goes_on_early = False  # whether it has gone on when enough messages were there, and others late

    def __repr__(self) -> str:
        return f"Inbox(step={self._step})"

    def begin(
        self, step: int, seen: bytes, insiders: frozenset[int] = frozenset(), inside: bytes = b""
    ) -> None:
        """Move to the next step. What nothing awaited in the last one is dropped.

        `seen` is what the party itself saw opened, see `Place`, and `inside` what it saw with insiders.
        CheatError if another party saw other numbers opened.
        """
        for sender, of_sender in self._held.pop(self._step, {}).items():
            self._bytes[sender] -= sum(_size(data) for _, data in of_sender.values())
        self._step, self._insiders, self._seen[step] = step, insiders, (seen, inside)
        self._seen.pop(step - WINDOW, None)
        for sender, of_sender in self._held.get(step, {}).items():
            for tag, (place, data) in list(of_sender.items()):
                if self._saw_other(sender, place):
                    del of_sender[tag]
                    self._bytes[sender] -= _size(data)
                    self.lost.add(sender)

    def _seen_with(self, sender: int, step: int) -> bytes:
        seen, inside = self._seen[step]
        return inside if sender in self._insiders else seen

    def _saw_other(self, sender: int, place: Place) -> bool:
        """Whether one that may lie saw other numbers opened before a step. CheatError if another one did."""
        if place.step not in self._seen or place.seen == self._seen_with(sender, place.step):
            return False
        if sender not in self._may_lie:
            text = f"party {sender} saw other numbers opened before step {place.step}"
            raise CheatError(text, code=Code.BAD_MESSAGE)
        return True

    def has_had(self, sender: int, place: Place) -> bool:
        """Whether a message with this tag is held of this step. Nobody knows it of steps that are over."""
        return place.tag in self._held.get(place.step, {}).get(sender, ())

    def is_over(self, place: Place) -> bool:
        """Whether the step is over."""
        return place.step < self._step

    def may_lie(self, sender: int) -> bool:
        """Whether the party can do without what this one sends."""
        return sender in self._may_lie

    def check(self, sender: int, letters: Sequence[tuple[Place, Data]]) -> None:
        """Raise MessageError for a stranger, a second message, too many, too large ones, or one too early.

        CheatError if a party that may not lie saw other numbers opened.
        """
        if sender not in self._parties:
            raise MessageError(f"party {sender} takes no part")
        if self._bytes[sender] + sum(_size(data) for _, data in letters) > self._most:
            raise MessageError(f"party {sender} sent more than {self._most} bytes that are not used yet")
        for place, _ in letters:
            self._saw_other(sender, place)
            if place.step < self._step and not (self._goes_on_early or sender in self.lost):
                text = f"party {sender} sent a message of step {place.step}, from which nothing was missing"
                raise MessageError(text)
            if place.step > self._step + WINDOW:
                raise MessageError(f"party {sender} sent a message of step {place.step} in step {self._step}")
            of_sender = self._held.get(place.step, {}).get(sender, {})
            if place.tag in of_sender:
                raise MessageError(f"party {sender} sent {place.tag} of step {place.step} twice")
            if len(of_sender) + len(letters) > MOST:
                raise MessageError(f"party {sender} sent more than {MOST} messages of step {place.step}")

    def has_come(self, sender: int, number: int) -> bool:
        """Whether a message with this number, from 0, of its sender has come before."""
        return number < self._came[sender] and sender not in self._disordered

    def came(self, sender: int, number: int) -> None:
        """Note that what was put last was the message with this number, from 0, of its sender."""
        if self._came[sender] != number:
            self._disordered.add(sender)
        self._came[sender] = number + 1

    def put(self, sender: int, place: Place, data: Data) -> None:
        """Hold a message; one of an earlier step came late and is dropped. Raises what `check` does."""
        self.put_all(sender, [(place, data)])

    def put_all(self, sender: int, letters: Sequence[tuple[Place, Data]]) -> None:
        """The same of several messages, of different places. After an error none of them is held."""
        self.check(sender, letters)
        for place, data in letters:
            self._last[sender] = max(place.step, self._last.get(sender, 0))
            if self._saw_other(sender, place):
                self.lost.add(sender)
            elif place.step >= self._step:
                of_sender = self._held.setdefault(place.step, {}).setdefault(sender, {})
                of_sender[place.tag] = place, data
                self._bytes[sender] += _size(data)

    def has(self, wanted: Wait) -> bool:
        """Whether enough of these messages of the present step are there.

        CheatError if one that is needed does not come any more. Who sent something else in the step is named:
        one that sent nothing may have been told other numbers, and have gone another way.
        """
        held, count = self._held.get(self._step, {}), len(wanted.senders)
        missing = {j for j in wanted.senders if wanted.tag not in held.get(j, ())}
        if not missing:
            return True
        missing -= self.lost if wanted.unless_lost else set()
        over = {j for j in missing if self._has_gone_on(j, alone=wanted.alone)}
        if wanted.unless_lost:
            missing -= over & self._may_lie
        never, needed = missing & over, count if wanted.enough is None else wanted.enough
        if count - len(never) < needed and (named := never - self._may_lie):
            text = f"party {min(named)} went on without having sent {wanted.tag} of step {self._step}"
            clients = _named(min(named)) if min(named) in held else []
            raise CheatError(text, code=Code.BAD_MESSAGE, clients=clients)
        return count - len(missing) >= needed

    def _has_gone_on(self, sender: int, *, alone: bool) -> bool:
        """Whether a sender of a missing message has sent what comes after it, or in its place."""
        if sender in self._disordered:
            return False
        others = alone and bool(self._held.get(self._step, {}).get(sender))
        return others or self._last.get(sender, 0) > self._step

    def has_none(self, wanted: Wait) -> bool:
        """Whether none of these messages of the present step has come."""
        held = self._held.get(self._step, {})
        return not any(wanted.tag in held.get(sender, ()) for sender in wanted.senders)

    def missing(self, wanted: Wait) -> list[int]:
        """Senders whose message is not there, with those that are lost only if the half cannot do without."""
        held = self._held.get(self._step, {})
        without = self.lost if wanted.unless_lost or wanted.enough is not None else frozenset[int]()
        return [j for j in wanted.senders if wanted.tag not in held.get(j, ()) and j not in without]

    def can_have(self, wanted: Wait) -> bool:
        """Whether enough of these messages are there or may still come."""
        if wanted.enough is None or wanted.unless_lost:
            return True
        held = self._held.get(self._step, {})
        there = sum(wanted.tag in held.get(sender, ()) for sender in wanted.senders)
        return there + len(self.missing(wanted)) >= wanted.enough

    def take(self, wanted: Wait) -> dict[int, Data]:
        """These messages by sender, in the order of the senders.

        MessageError names who sent another size.
        """
        held, found = self._held.get(self._step, {}), {}
        self._goes_on_early |= wanted.enough is not None
        for sender in wanted.senders:
            if wanted.tag not in held.get(sender, ()):
                continue
            _, data = held[sender][wanted.tag]
            if wanted.unless_lost and len(data) != wanted.size and sender in self._may_lie:
                continue
            if wanted.enough is None and len(data) != wanted.size:
                text = f"party {sender} sent {len(data)} bytes for {wanted.tag}, not {wanted.size}"
                raise MessageError(text, clients=_named(sender))
            found[sender] = data
        return found


def _size(data: Data) -> int:
    return len(data) + OVERHEAD


def _named(sender: int) -> list[int]:
    """Whom an error names: the coordinator has no number there."""
    return [sender] if sender else []
