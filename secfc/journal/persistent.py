"""A party whose process may be killed: what it takes is on the disk before what it causes leaves.

A party is deterministic given what its journal's header holds (its secrets) and the frames that it takes. So
its messages need not be kept: whoever takes the frames again makes them again, byte for byte, and a digest of
what was sent shows that it does. What is not on the disk was not acted upon, and is sent to it again by
whoever carries its messages.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from secfc.errors import StorageError
from secfc.journal.journal import Journal, State, Taken, digest_of
from secfc.journal.ledger import Ledger, Sent, Stands, not_carried
from secfc.journal.records import Buffer

SYNC_BYTES = 1 << 24
"""Frames that cause nothing are synced together, this many bytes at most: a carrier has to keep them."""


class Party(Protocol):
    """What takes frames and causes messages."""

    forgets: bool
    """Whether it ever says where it stands."""

    def take(self, kind: bytes, payload: bytes, *, obsolete: bool = False) -> Sequence[Buffer]:
        """Take a frame, return the messages that it causes.

        When it is about an obsolete question, nobody looks at these.
        """
        ...

    def asks(self, kind: bytes, payload: bytes) -> bool:
        """Whether a frame is a question that makes those before it obsolete."""
        ...

    def checkpoint(self) -> Buffer | None:
        """Where it stands, if it may forget what it took until now."""
        ...

    def restore(self, state: bytes) -> None:
        """Stand where that says."""
        ...

    def sender(self, kind: bytes, payload: bytes) -> int | None:
        """Who sent a frame, if it is another party's message."""
        ...

    def recipient(self, message: Buffer) -> int:
        """Whom a message is to."""
        ...


class Persistent:
    """A party with its journal.

    Parameters
    ----------
    party : Party
        As it is before any frame.
    journal : Journal

    Attributes
    ----------
    taken : int
        Frames that it took.
    kept : int
        Of these, how many are on the disk: nobody has to send them again.
    sent : int
        Messages that it has sent, or given to be sent.
    """

    def __init__(self, party: Party, journal: Journal) -> None:
        self._party, self._journal = party, journal
        self.taken = self.kept = self.sent = 0
        self._ledger = Ledger(keeps=party.forgets)
        self._unsynced = 0

    def stands(self) -> Stands:
        """What the journal has."""
        taken, taken_from, sent_to, forgotten = 0, Counter[int](), Counter[int](), dict[int, int]()
        for entry in self._journal.entries():
            if isinstance(entry, State):
                taken, taken_from = entry.taken, Counter(entry.taken_from)
                sent_to, forgotten = Counter(entry.sent_to), dict(entry.sent_to)
            elif isinstance(entry, Sent):
                forgotten[entry.recipient] = min(forgotten[entry.recipient], entry.index)
            else:
                taken += 1
                self._count(taken_from, entry.kind, entry.payload)
                sent_to.update(entry.recipients)
        return Stands(taken=taken, taken_from=dict(taken_from), sent_to=dict(sent_to), forgotten=forgotten)

    def _count(self, taken_from: Counter[int], kind: bytes, payload: bytes) -> None:
        sender = self._party.sender(kind, payload)
        if sender is not None:
            taken_from[sender] += 1

    def resume(self, *, carried: Sequence[int | None], kept: int) -> list[Buffer]:
        """Take again what the journal has; return the messages that are still to be sent.

        Parameters
        ----------
        carried : sequence of int or None
            Messages of this party to each, 0 first, that have been taken over by whoever carries them; None
            for a party that needs none of them.
        kept : int
            Frames that it has said it has, and that nobody else has any more.

        Raises
        ------
        StorageError
            When the messages are not those that were sent, or the journal lacks what was written to it.
        """
        obsolete = self._obsolete()
        left: list[Sent] = []  # not carried
        for number, entry in enumerate(self._journal.entries()):
            if isinstance(entry, State):
                self._party.restore(entry.state)
                self.taken, self.sent = entry.taken, entry.sent
                self._ledger.taken_from = Counter(entry.taken_from)
                self._ledger.sent_to = Counter(entry.sent_to)
                self._ledger.unsettled.clear()
                left = []
            elif isinstance(entry, Sent):
                self._ledger.unsettled.append(entry)
                left += not_carried([entry], carried)
            else:
                past = number in obsolete and self._ledger.before(entry.recipients, carried)
                left += not_carried(self._again(entry, obsolete=past), carried)
                self._count(self._ledger.taken_from, entry.kind, entry.payload)
                self.taken, self.sent = self.taken + 1, entry.before + len(entry.recipients)
        try:
            self._ledger.check(left, carried)
        except StorageError as error:
            raise StorageError(f"{self._journal.path}: {error}") from None
        if self.taken < kept:
            raise StorageError(f"{self._journal.path}: it has {self.taken} frames, {kept} were written to it")
        self.kept = self.taken
        return [one.message for one in left]

    def _obsolete(self) -> range:
        """Entries from the first question to before the last one."""
        questions = [
            number
            for number, entry in enumerate(self._journal.entries())
            if isinstance(entry, Taken) and self._party.asks(entry.kind, entry.payload)
        ]
        return range(questions[0], questions[-1]) if questions else range(0)

    def _again(self, entry: Taken, *, obsolete: bool) -> list[Sent]:
        messages = self._party.take(entry.kind, entry.payload, obsolete=obsolete)
        same = (len(messages), digest_of(messages)) == (len(entry.recipients), entry.digest)
        if entry.before != self.sent or not (same or obsolete):
            raise StorageError(
                f"{self._journal.path}: frame {self.taken} causes other messages than it did; what the party "
                f"was begun with, or its program, has changed"
            )
        if obsolete:
            self._ledger.skip(entry.recipients)
            return []
        return self._ledger.send(entry.recipients, messages)

    def take(self, kind: bytes, payload: bytes) -> Sequence[Buffer]:
        """Take a frame; when this returns the messages it causes they may be sent.

        Raises
        ------
        StorageError
            When it cannot be written down; nothing may be sent then.
        """
        messages = self._party.take(kind, payload)
        recipients = [self._party.recipient(message) for message in messages]
        self._journal.append(kind, payload, messages, before=self.sent, recipients=recipients)
        self._ledger.send(recipients, messages)
        self._count(self._ledger.taken_from, kind, payload)
        self.taken += 1
        self.sent += len(messages)
        self._unsynced += len(payload)
        if messages or self._unsynced >= SYNC_BYTES:
            self.sync()
        return messages

    def sync(self) -> None:
        """Wait until everything that was taken is on the disk."""
        self._journal.sync()
        self.kept, self._unsynced = self.taken, 0

    def settled(self, recipient: int, count: int) -> None:
        """A party has so many of this one's messages on its disk."""
        self._ledger.settle(recipient, count)

    def settle(self) -> None:
        """After messages were sent: drop what need not be taken again."""
        state = self._party.checkpoint()
        if state is not None:
            self._journal.checkpoint(state, taken=self.taken, sent=self.sent, ledger=self._ledger)
            self.kept, self._unsynced = self.taken, 0
