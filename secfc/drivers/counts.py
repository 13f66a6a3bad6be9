"""How many messages were taken over from each party for each other, also by a driver that goes on with a run.

A driver that was killed has left no count. What it carried and what arrived, the recipients' journals tell:
messages between two parties keep their order, so those that one has of another are the first so many.
"""

import threading
from collections.abc import Iterable

from secfc.journal.ledger import Stands


class Carried:
    """Counts by sender and recipient.

    Parameters
    ----------
    parties : int
        n + 1.
    awaited : iterable of int
        Parties whose journals have to tell what they have before anybody can be told what was carried; none
        in a run that begins.
    """

    def __init__(self, parties: int, *, awaited: Iterable[int] = ()) -> None:
        self._counts: list[list[int | None]] = [[0] * parties for _ in range(parties)]
        self._awaited = set(awaited)
        self._stands: dict[int, Stands] = {}
        self._lock = threading.Lock()
        self._known = threading.Event()
        self._closed = False
        if not self._awaited:
            self._known.set()

    @property
    def known(self) -> bool:
        """Whether every journal has told."""
        return self._known.is_set()

    def awaits(self, party: int) -> bool:
        """Whether a party's journal has yet to tell."""
        return party in self._awaited

    def add(self, sender: int, recipient: int) -> None:
        """A message was taken over."""
        with self._lock:
            count = self._counts[sender][recipient]
            if count is not None:
                self._counts[sender][recipient] = count + 1

    def has(self, party: int, stands: Stands) -> None:
        """Take what a party's journal has."""
        with self._lock:
            self._stands[party] = stands
            for sender, count in stands.taken_from.items():
                self._counts[sender][party] = count
            self._awaited.discard(party)

    def lacking(self) -> list[int]:
        """Clients, once every journal has told, that lack what had been written to theirs.

        They never sent what others have of them, or miss what cannot be sent again. Nobody may be told what
        was carried before these are done without.
        """
        with self._lock:
            told = [] if self._awaited else sorted(self._stands)
            return [j for j in told if j and self._lacks(j)]

    def _lacks(self, client: int) -> bool:
        sent_to = self._stands[client].sent_to
        return any(
            (count or 0) > sent_to.get(recipient, 0) for recipient, count in enumerate(self._counts[client])
        ) or any(
            one.forgotten.get(client, 0) > (self._counts[sender][client] or 0)
            for sender, one in self._stands.items()
            if self._counts[sender][client] is not None
        )

    def release(self) -> None:
        """Tell everybody what was carried, if every journal has told."""
        if not self._awaited:
            self._known.set()

    def without(self, recipient: int) -> None:
        """A recipient is done without: it needs no message again, and its journal never tells."""
        with self._lock:
            for counts in self._counts:
                counts[recipient] = None
            self._stands.pop(recipient, None)
            self._awaited.discard(recipient)

    def to(self, recipient: int, *, sender: int) -> int | None:
        """Messages from one party to another; None to one that is done without."""
        return self._counts[sender][recipient]

    def by(self, sender: int) -> list[int | None] | None:
        """Messages of a party to each, 0 first; None while that is not known."""
        with self._lock:
            return list(self._counts[sender]) if self.known else None

    def total(self, sender: int) -> int:
        """Messages of a party."""
        return sum(filter(None, self._counts[sender]))

    def wait(self) -> bool:
        """Wait until every journal has told; False when the run has ended before."""
        self._known.wait()
        return not self._closed

    def close(self) -> None:
        """Nobody has to wait any more."""
        self._closed = True
        self._known.set()
