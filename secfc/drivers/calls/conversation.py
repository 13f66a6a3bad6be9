"""The coordinator's conversation with one site, over any transport."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from secfc.crypto.identity import Identity
from secfc.drivers.calls.envelopes import Answer, Call, Kind, Outgoing, Place, decode_answer, from_json
from secfc.drivers.calls.failures import as_error
from secfc.drivers.terms import RunTerms
from secfc.errors import MessageError, PartyError, SecFCError
from secfc.errors.codes import Code

Send = Callable[[str, bytes, float], bytes | None]
"""Returns a site's answer, or None if there is none within these seconds. Raises if none will come."""

PAUSE_SECONDS = 0.5  # between calls to an unreachable site
CLOSING_SECONDS = 20.0  # limit on the wait for a hanging site at the end of a run

_TRY_SECONDS = 30.0  # then the call is repeated: it or its answer may have been lost with a connection
_LEAST_SECONDS = 1.0  # a transport always has so long for a call
Event = tuple[int, Answer | SecFCError]  # a client, and its answer or the reason why it is lost


def heard(
    events: "queue.SimpleQueue[Event]",
) -> tuple[list[tuple[int, Answer]], tuple[int, SecFCError] | None]:
    """Answers up to the first failure of a client. Both are empty if nothing came within a pause."""
    answers: list[tuple[int, Answer]] = []
    while True:
        try:
            client, event = events.get_nowait() if answers else events.get(timeout=PAUSE_SECONDS)
        except queue.Empty:
            return answers, None
        if isinstance(event, SecFCError):
            return answers, (client, event)
        answers.append((client, event))


class Conversation:
    """The conversation with one site: one call at a time, repeated until it is answered.

    An answer becomes an event. The next call follows when the coordinator has taken the answer (`taken`). The
    site has `deadline` seconds to answer a call. The coordinator's `identity` signs the calls.
    """

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
        terms: RunTerms,
    ) -> None:
        self._number, self.name, self._send, self._deadline = number, name, send, deadline
        self._events, self._place, self._identity = events, place, identity
        self._terms = terms
        self._outgoing = Outgoing()
        self._changed = threading.Condition()
        self._calls = 0  # answered calls
        self._begun = self._more = False
        self._untaken: Answer | None = None
        self._asked: float | None = None  # time of the unanswered call
        self._ending: bytes | None = None
        self._now = False
        self._stopped = False
        self._report: dict[str, Any] = {}
        self.failure: SecFCError | None = None  # why the closing call failed
        self._thread = threading.Thread(target=self._converse, name=f"secfc-{name}", daemon=True)

    def start(self) -> None:
        """Start with the call that opens the run, or the one after the last answer that was taken."""
        self._thread.start()

    def put(self, message: bytes | memoryview) -> None:
        """Send a message to the site."""
        with self._changed:
            if not self._now:
                self._outgoing.put(message)
                self._changed.notify()

    def taken(self, answer: Answer) -> None:
        """Record that the coordinator has taken an answer, live or from its log before the start."""
        with self._changed:
            self._outgoing.reach(answer.position)
            self._more, self._untaken = answer.kind is Kind.MORE, None
            self._calls = max(self._calls, answer.number + 1)
            self._changed.notify()

    def forget(self) -> None:
        """Send nothing more except the ending."""
        with self._changed:
            self._outgoing.clear()
            self._now = True
            self._changed.notify()

    def close(self, ending: bytes, *, now: bool) -> None:
        """Send the ending, after the waiting messages or, with `now`, instead of them."""
        with self._changed:
            self._ending, self._now = ending, self._now or now
            if self._now:
                self._outgoing.clear()
            if self._untaken is not None:
                self._take_unread(self._untaken)
            self._changed.notify()

    def stop(self) -> None:
        """Give up: make no more calls."""
        with self._changed:
            self._stopped = True
            self._changed.notify()

    @property
    def waiting(self) -> float:
        """Seconds since the last call, if it is unanswered."""
        asked = self._asked
        return 0.0 if asked is None else time.monotonic() - asked

    def report(self, seconds: float) -> dict[str, Any]:
        """The site's report at its end. Empty if it did not come within these seconds."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return self._report

    def _converse(self) -> None:
        try:
            while (call := self._next()) is not None:
                answer = self._call(*call)
                with self._changed:
                    if self._ending is None:
                        self._untaken = answer
                    else:
                        self._take_unread(answer)
                self._events.put((self._number, answer))
        except Exception as error:
            self._events.put((self._number, as_error(error)))
            with self._changed:
                while self._ending is None and not self._stopped:
                    self._changed.wait()
        if self._ending is None:
            return
        try:
            self._report = from_json(self._call(Kind.CLOSE, self._ending).body)
        except SecFCError as error:
            self.failure = error

    def _take_unread(self, answer: Answer) -> None:
        """After the end of the run nobody reads an answer. The rest of the stream can follow."""
        self._more, self._untaken = answer.kind is Kind.MORE, None
        with suppress(MessageError):
            self._outgoing.reach(answer.position)

    def _next(self) -> tuple[Kind, bytes] | None:
        """Wait for the next call, with a piece of the stream. None if there are no more."""
        with self._changed:
            if not self._begun:
                self._begun = True
                return (Kind.MESSAGES if self._calls else Kind.OPEN), b""
            while not self._stopped:
                rest = self._untaken is not None or self._more or bool(self._outgoing)
                if self._ending is not None and (self._now or not rest):
                    return None
                if self._untaken is None and rest:
                    return Kind.MESSAGES, self._outgoing.take()
                self._changed.wait()
            return None

    def _call(self, kind: Kind, body: bytes) -> Answer:
        """The site's answer, or its error. PartyError if it does not answer within the deadline."""
        position = self._outgoing.position
        call = Call(kind=kind, number=self._calls, position=position, place=self._place, body=body)
        data = call.signed(self._identity)
        limit = min(self._deadline, CLOSING_SECONDS) if kind is Kind.CLOSE else self._deadline
        self._asked = tried = time.monotonic()
        until = tried + limit
        while (answer := self._send(self.name, data, _bounded(until - tried))) is None:
            if time.monotonic() >= until:
                raise PartyError(f"{self.name}: no answer within {limit:.0f} s", code=Code.TIMEOUT)
            if self._ends_within_a_pause(kind):
                raise PartyError(f"{self.name}: the run ended before it answered", code=Code.TIMEOUT)
            tried = time.monotonic()
        self._asked = None
        said = decode_answer(answer)
        if said.number != self._calls:
            raise MessageError(f"{self.name}: an answer to call {said.number}, call {self._calls} was asked")
        self._calls += 1
        if said.kind is Kind.ERROR:
            raise self._terms.error_of(from_json(said.body), self._number)
        expected = (Kind.REPORT,) if kind is Kind.CLOSE else (Kind.ANSWER, Kind.MORE, Kind.DONE)
        if said.kind is Kind.MORE and not said.body:
            raise MessageError(f"{self.name}: an answer announces more bytes and is empty")
        if said.kind not in expected:
            raise MessageError(f"{self.name}: a {said.kind.name} in answer to {kind.name}")
        return said

    def _ends_within_a_pause(self, kind: Kind) -> bool:
        """Wait before the call is repeated. True if the run has ended and the call must not be repeated."""

        def ended() -> bool:
            return self._stopped or (kind is not Kind.CLOSE and self._now and self._ending is not None)

        with self._changed:
            return self._changed.wait_for(ended, PAUSE_SECONDS)


def _bounded(seconds: float) -> float:
    return max(_LEAST_SECONDS, min(_TRY_SECONDS, seconds))
