"""How many messages were taken over from each party for each other, also by a driver that goes on with a run.

A driver that was killed has left no count. What it carried and what arrived, the recipients' journals tell:
messages between two parties keep their order, so those that one has of another are the first so many.
"""

import threading
from collections.abc import Iterable, Mapping


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

    def has(self, recipient: int, taken_from: Mapping[int, int]) -> None:
        """A recipient's journal has so many messages of each sender."""
        with self._lock:
            for sender, count in taken_from.items():
                self._counts[sender][recipient] = count
            self._told(recipient)

    def without(self, recipient: int) -> None:
        """A recipient is done without: it needs no message again, and its journal never tells."""
        with self._lock:
            for counts in self._counts:
                counts[recipient] = None
            self._told(recipient)

    def _told(self, recipient: int) -> None:
        self._awaited.discard(recipient)
        if not self._awaited:
            self._known.set()

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
