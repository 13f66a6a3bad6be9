"""A party whose process may be killed: what it takes is on the disk before what it causes leaves.

A party is deterministic given what its journal's header holds (its secrets) and the frames that it takes. So
its messages need not be kept: whoever takes the frames again makes them again, byte for byte, and a digest of
what was sent shows that it does. What is not on the disk was not acted upon, and is sent to it again by
whoever carries its messages.
"""

from collections.abc import Sequence
from typing import Protocol

from secfc.errors import StorageError
from secfc.journal.journal import Journal, State, Taken, digest_of
from secfc.journal.records import Buffer

SYNC_BYTES = 1 << 24
"""Frames that cause nothing are synced together, this many bytes at most: a carrier has to keep them."""


class Party(Protocol):
    """What takes frames and causes messages."""

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

    def restore(self, state: bytes) -> Sequence[Buffer]:
        """Stand where that says; the messages that it sent last when it stood there."""
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
        self._unsynced = 0

    def resume(self, *, carried: int, kept: int) -> list[Buffer]:
        """Take again what the journal has; return the messages that are still to be sent.

        Parameters
        ----------
        carried : int
            Messages of this party that have been taken over by whoever carries them.
        kept : int
            Frames that it has said it has, and that nobody else has any more.

        Raises
        ------
        StorageError
            When the messages are not those that were sent, or the journal lacks what was written to it.
        """
        obsolete = self._obsolete()
        messages: list[Buffer] = []  # the last of those sent, none that was carried
        for number, entry in enumerate(self._journal.entries()):
            if isinstance(entry, State):
                messages = list(self._party.restore(entry.state))
                self.taken, self.sent = entry.taken, entry.sent
            else:
                after = entry.before + entry.caused
                messages += self._again(entry, obsolete=number in obsolete and after <= carried)
                self.taken, self.sent = self.taken + 1, after
            messages = messages[max(0, carried - self.sent + len(messages)) :]
        if not self.sent - len(messages) <= carried <= self.sent:
            raise StorageError(
                f"{self._journal.path}: it has messages {self.sent - len(messages)} to {self.sent}, but the "
                f"first {carried} were carried"
            )
        if self.taken < kept:
            raise StorageError(f"{self._journal.path}: it has {self.taken} frames, {kept} were written to it")
        self.kept = self.taken
        return messages

    def _obsolete(self) -> range:
        """Entries from the first question to before the last one."""
        questions = [
            number
            for number, entry in enumerate(self._journal.entries())
            if isinstance(entry, Taken) and self._party.asks(entry.kind, entry.payload)
        ]
        return range(questions[0], questions[-1]) if questions else range(0)

    def _again(self, entry: Taken, *, obsolete: bool) -> Sequence[Buffer]:
        messages = self._party.take(entry.kind, entry.payload, obsolete=obsolete)
        same = (len(messages), digest_of(messages)) == (entry.caused, entry.digest)
        if entry.before != self.sent or not (same or obsolete):
            raise StorageError(
                f"{self._journal.path}: frame {self.taken} causes other messages than it did; what the party "
                f"was begun with, or its program, has changed"
            )
        return [] if obsolete else messages

    def take(self, kind: bytes, payload: bytes) -> Sequence[Buffer]:
        """Take a frame; when this returns the messages it causes they may be sent.

        Raises
        ------
        StorageError
            When it cannot be written down; nothing may be sent then.
        """
        messages = self._party.take(kind, payload)
        self._journal.append(kind, payload, messages, before=self.sent)
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

    def settle(self) -> None:
        """After messages were sent: drop what need not be taken again."""
        state = self._party.checkpoint()
        if state is not None:
            self._journal.checkpoint(state, taken=self.taken, sent=self.sent)
            self.kept, self._unsynced = self.taken, 0
