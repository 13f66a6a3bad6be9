"""Frames on their way to one party's process, kept until the party has them on its disk."""

import threading
from collections import deque

from secfc.drivers import framing
from secfc.drivers.framing import Kind

Frame = tuple[Kind, bytes]


class Outbox:
    """Frames to a party, in order, for one process of it after the other.

    Parameters
    ----------
    keeps : bool
        Whether the party writes frames down and says so; without, a frame is forgotten once it is given out.
    """

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        self._changed = threading.Condition()
        self._frames: deque[Frame] = deque()
        self._first = 0  # number of the first of these
        self._next = 0  # number of the next to give out
        self._life = 0
        self._settled: dict[int, int] = {}  # by recipient, messages of this party that it has on its disk
        self._unsaid: set[int] = set()  # of these, what the process has not been told
        self._ready = self._closed = self._abandoned = False

    @property
    def kept(self) -> int:
        """Frames that the party has said it has."""
        return self._first

    def begin(self) -> int:
        """A new process takes over: begin again with what the last one had not kept.

        Returns
        -------
        int
            What the process's writer asks with. Nothing is given out before the process has said what it has.
        """
        with self._changed:
            self._life += 1
            self._next, self._ready = self._first, not self.keeps
            self._unsaid = set(self._settled)
            self._changed.notify_all()
            return self._life

    def start_at(self, count: int, frame: Frame | None) -> None:
        """The party has so many frames of another carrier, which was killed, and needs this one first."""
        with self._changed:
            self._first = self._next = count
            if frame is not None:
                self._frames.appendleft(frame)

    def put(self, kind: Kind, payload: bytes) -> None:
        """Add a frame."""
        with self._changed:
            if self._abandoned:
                return
            self._frames.append((kind, payload))
            self._changed.notify_all()

    def settle(self, recipient: int, count: int) -> None:
        """Tell the party that a recipient has so many of its messages on its disk."""
        with self._changed:
            if self._settled.get(recipient) != count:
                self._settled[recipient] = count
                self._unsaid.add(recipient)
                self._changed.notify_all()

    def keep(self, count: int) -> list[Frame]:
        """The party has so many frames on its disk, from the first on; they are forgotten here.

        Returns
        -------
        list of (kind, payload)
            Those that are forgotten now.

        Raises
        ------
        ValueError
            It has said that it has more, or it was not given so many.
        """
        with self._changed:
            if self._abandoned:
                return []
            if not self._first <= count <= self._first + len(self._frames):
                raise ValueError(f"it has {count} frames, after {self._first}")
            kept = [self._frames.popleft() for _ in range(count - self._first)]
            self._first, self._next = count, max(count, self._next)
            self._ready = True
            self._changed.notify_all()
            return kept

    def next(self, life: int) -> Frame | None:
        """Wait for the next frame to write; None when there is none for this process any more."""
        with self._changed:
            while self._life == life:
                if self._unsaid:
                    recipient = self._unsaid.pop()
                    return framing.SETTLED, framing.settled(recipient, self._settled[recipient])
                if self._ready and self._next < self._first + len(self._frames):
                    frame = self._frames[self._next - self._first]
                    self._next += 1
                    if not self.keeps:
                        self._frames.popleft()
                        self._first += 1
                    return frame
                if self._closed:
                    return None
                self._changed.wait()
            return None

    def abandon(self) -> None:
        """The party has gone for good: forget all frames, and those to come."""
        with self._changed:
            self.keeps, self._abandoned = False, True
            self._frames.clear()

    def close(self) -> None:
        """No frame follows."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
