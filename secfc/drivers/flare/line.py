"""The coordinator's conversation with one site. Knows nothing of FLARE."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from secfc.codes import Code
from secfc.drivers.failures import as_error
from secfc.drivers.flare.calls import Answer, Call, Incoming, Kind, Outgoing, Place, decode_answer, from_json
from secfc.errors import MessageError, PartyError, SecFCError
from secfc.public_errors import Told
from secfc.sealing.identity import Identity

Send = Callable[[str, bytes, float], bytes | None]
"""Gives a site's answer to a call; None without one within the seconds given."""

PAUSE_SECONDS = 0.5
"""Between calls to a site that cannot be reached."""

CLOSING_SECONDS = 20.0
"""How long a site that hangs can keep the others from an ended run."""

_TRY_SECONDS = 30.0
"""A call is repeated after this time: it or its answer may have been lost with a connection."""

Event = tuple[int, bytes | SecFCError | None]
"""A client and a message of it, why it is lost, or that the run has ended for it."""


class Line:
    """The conversation with one site: one call at a time, repeated until it is answered."""

    def __init__(
        self,
        *,
        number: int,
        name: str,
        send: Send,
        deadline: float,
        events: "queue.SimpleQueue[Event]",
        place: Place,
        identity: Identity,
        most: Callable[[], int],
    ) -> None:
        self._number, self.name, self._send, self._deadline = number, name, send, deadline
        self._events, self._place, self._identity = events, place, identity
        self._outgoing, self._incoming = Outgoing(), Incoming(most)
        self._changed = threading.Condition()
        self._calls = 0
        self._asked: float | None = None  # when the call was made that is not answered yet
        self._ending: bytes | None = None
        self._now = False
        self._stopped = False
        self._report: dict[str, Any] = {}
        self.failure: SecFCError | None = None  # why the site did not close the run
        self._thread = threading.Thread(target=self._converse, name=f"secfc-{name}", daemon=True)

    def start(self) -> None:
        """Begin, with the call that opens the run."""
        self._thread.start()

    def put(self, message: bytes | memoryview) -> None:
        """Send a message to the site."""
        with self._changed:
            if self._ending is None or not self._now:
                self._outgoing.put(message)
                self._changed.notify()

    def forget(self) -> None:
        """Send nothing more but the ending."""
        with self._changed:
            self._outgoing.clear()
            self._now = True
            self._changed.notify()

    def close(self, ending: bytes, *, now: bool) -> None:
        """Send the ending, after what waits or instead of it."""
        with self._changed:
            self._ending, self._now = ending, self._now or now
            if self._now:
                self._outgoing.clear()
            self._changed.notify()

    def stop(self) -> None:
        """Give up."""
        self._stopped = True

    @property
    def waiting(self) -> float:
        """Seconds without an answer to the call made last."""
        asked = self._asked
        return 0.0 if asked is None else time.monotonic() - asked

    def report(self, seconds: float) -> dict[str, Any]:
        """What the site reported at its end, empty if it did not within these seconds."""
        self._thread.join(seconds)
        return self._report

    def _converse(self) -> None:
        try:
            kind = Kind.OPEN
            piece: bytes | None = b""
            while piece is not None:
                answer = self._call(kind, piece)
                for message in self._incoming.feed(answer.body):
                    self._events.put((self._number, message))
                if answer.kind is Kind.DONE:
                    self._events.put((self._number, None))
                kind, piece = Kind.MESSAGES, self._next(answer.kind is Kind.MORE)
        except Exception as error:
            self._events.put((self._number, as_error(error)))
            with self._changed:
                self._now = True
                while self._ending is None:
                    self._changed.wait()
        try:
            assert self._ending is not None
            self._report = from_json(self._call(Kind.CLOSE, self._ending).body)
        except SecFCError as error:
            self.failure = error

    def _next(self, more: bool) -> bytes | None:
        """Wait for something to say; None when all is said."""
        with self._changed:
            while not (self._outgoing or more or self._ending is not None):
                self._changed.wait()
            if self._ending is not None and (self._now or not (self._outgoing or more)):
                return None
            return self._outgoing.take()

    def _call(self, kind: Kind, body: bytes) -> Answer:
        """The site's answer.

        Raises
        ------
        SecFCError
            The site's own, or PartyError when it does not answer within the deadline.
        """
        data = Call(kind=kind, number=self._calls, place=self._place, body=body).signed(self._identity)
        limit = min(self._deadline, CLOSING_SECONDS) if kind is Kind.CLOSE else self._deadline
        self._asked = tried = time.monotonic()
        until = tried + limit
        while (answer := self._send(self.name, data, max(1.0, min(_TRY_SECONDS, until - tried)))) is None:
            if time.monotonic() >= until:
                raise PartyError(f"{self.name}: no answer within {limit:.0f} s", code=Code.TIMEOUT)
            if self._stopped or (kind is not Kind.CLOSE and self._now and self._ending is not None):
                raise PartyError(f"{self.name}: the run ended before it answered", code=Code.TIMEOUT)
            time.sleep(PAUSE_SECONDS)
            tried = time.monotonic()
        self._asked = None
        call = decode_answer(answer)
        if call.number != self._calls:
            raise MessageError(f"{self.name}: an answer to call {call.number}, call {self._calls} was asked")
        self._calls += 1
        if call.kind is Kind.ERROR:
            raise Told.read(from_json(call.body)).said_by(self._number, name=self.name)
        expected = (Kind.REPORT,) if kind is Kind.CLOSE else (Kind.ANSWER, Kind.MORE, Kind.DONE)
        if call.kind not in expected:
            raise MessageError(f"{self.name}: a {call.kind.name} in answer to {kind.name}")
        return call
