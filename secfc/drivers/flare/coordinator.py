"""The coordinator: drives the server's role and calls the sites. Knows nothing of FLARE."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import secfc
from secfc.drivers.costs import Costs, Meter
from secfc.drivers.failures import as_error, error_of
from secfc.drivers.flare.calls import Call, Incoming, Kind, Outgoing, decode_call, from_json, to_json
from secfc.drivers.flare.jobs import Agreement
from secfc.drivers.setup import OnProgress, ServerReport
from secfc.errors import LimitError, MessageError, PartyError, SecFCError, ThresholdError
from secfc.protocol.disclosure import ResidueError
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.protocol.wire import decode, encode, envelope

_LOG = logging.getLogger(__name__)

SUMMARY = "secfc.json"
"""The coordinator's summary, in FLARE's folder of the job."""

Send = Callable[[str, bytes, float], bytes | None]
"""Gives a site's answer to a call; None without one within the seconds given."""

_TRY_SECONDS = 30.0
"""A call is repeated after this time: it or its answer may have been lost with a connection."""

_PAUSE_SECONDS = 0.5
"""Between calls to a site that cannot be reached."""

_CLOSING_SECONDS = 20.0
"""How long a site that hangs can keep the others from an ended run."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a run gave the coordinator.

    Attributes
    ----------
    report : ServerReport
    costs : Costs
    lost : dict
        Sites that the run went on without, and why.
    timeline : list of (str, int, float)
        Phase, round, and seconds since the start when it began.
    """

    report: ServerReport
    costs: Costs
    lost: dict[str, str]
    timeline: list[tuple[str, int, float]]


class Coordinator:
    """One run.

    Parameters
    ----------
    agreement : Agreement
    server : Server
    run : bytes of length 16
    send : callable
        Carries a call to a site; called by a thread per site.
    deadline : float
        Seconds that a site has to answer a call, and the server to hear from anybody.
    aborted : callable
        Whether the transport gives up: nothing can be sent then.
    on_progress : callable, optional
    """

    def __init__(
        self,
        *,
        agreement: Agreement,
        server: Server,
        run: bytes,
        send: Send,
        deadline: float,
        aborted: Callable[[], bool] = lambda: False,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._agreement, self._job, self._server = agreement, agreement.job, server
        self._deadline, self._aborted, self._on_progress = deadline, aborted, on_progress
        self.meter = Meter()
        self.lost: dict[int, SecFCError] = {}
        self.timeline: list[tuple[str, int, float]] = []
        self._started = time.monotonic()
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        opening = {"run": run.hex(), "job": agreement.digest, "secfc": secfc.__version__}
        self._lines = {
            j: _Line(
                number=j,
                name=name,
                send=send,
                deadline=deadline,
                events=self._events,
                opening=to_json(opening | {"number": j}),
            )
            for j, name in enumerate(agreement.sites, start=1)
        }

    def run(self) -> Ended:
        """Run to the end; every site is told how it ended.

        Raises
        ------
        SecFCError
            Naming the site, or the inequality that no longer holds.
        """
        for line in self._lines.values():
            line.start()
        try:
            self._until_done()
            report = ServerReport.of(self._server, self._job)
        except BaseException as error:
            told = as_error(error) if isinstance(error, Exception) else PartyError("interrupted")
            self._close({"ended": f"{type(told).__name__}: {told}"}, now=True)
            raise told from None if isinstance(error, SecFCError) else error
        self._close({"ended": "complete"} | _public(report), now=False)
        return Ended(report=report, costs=self.meter.costs(), lost=self._why_lost(), timeline=self.timeline)

    def _why_lost(self) -> dict[str, str]:
        return {self._name(j): f"{type(error).__name__}: {error}" for j, error in self.lost.items()}

    def _name(self, client: int) -> str:
        return self._agreement.sites[client - 1]

    def _until_done(self) -> None:
        heard = time.monotonic()
        self._mark()
        while self._server.state is not State.DONE:
            if self._aborted():
                raise PartyError(self._abortion())
            try:
                client, event = self._events.get(timeout=_PAUSE_SECONDS)
            except queue.Empty:
                if time.monotonic() - heard > 2 * self._deadline:
                    standing = self._server.progress
                    raise PartyError(
                        f"nobody sent anything for {2 * self._deadline:.0f} s in phase {standing.phase}, "
                        f"{standing.waiting_for} sites are waited for"
                    ) from None
                continue
            if client in self.lost:
                continue
            if isinstance(event, SecFCError):
                self._lose(client, event)
                continue
            heard = time.monotonic()
            self._carry(client, event)

    def _abortion(self) -> str:
        waiting, seconds = max(
            ((line.name, line.waiting) for line in self._lines.values()), key=lambda pair: pair[1]
        )
        return (
            "FLARE ended the job: somebody aborted it, or a site's job process ended while its parent lives; "
            f"longest without an answer: {waiting}, {seconds:.1f} s"
        )

    def _carry(self, client: int, data: bytes) -> None:
        """Take a message to whom it is for."""
        try:
            header = envelope(data)
            if header.sender != client or header.recipient > self._job.n:
                raise MessageError("a forged sender or unknown recipient")
            self.meter.sent(header, len(data))
            if header.recipient != SERVER:
                self._lines[header.recipient].put(data)
                return
            with self.meter.work(header.work, SERVER):
                replies = self._server.receive(decode(data, k=self._job.k))
        except ResidueError as error:
            self._lose(error.client, error)
            return
        except MessageError as error:
            self._lose(client, error)
            return
        self._send(replies)
        self._mark()
        if self._on_progress is not None:
            self._on_progress(self._server.progress)

    def _send(self, messages: list[Message]) -> None:
        # One encoding for all: the recipient is all that differs, but it is in the header.
        for message in messages:
            if message.recipient in self.lost:
                continue
            with self.meter.work(message.work, SERVER):
                data = encode(message, k=self._job.k)
            self.meter.sent(envelope(data), len(data))
            self._lines[message.recipient].put(data)

    def _mark(self) -> None:
        standing = self._server.progress
        if not self.timeline or self.timeline[-1][:2] != (standing.phase, standing.round):
            self.timeline.append((standing.phase, standing.round, time.monotonic() - self._started))

    def _lose(self, client: int, error: SecFCError) -> None:
        """Go on without a site, or end the run.

        Raises
        ------
        SecFCError
            When the others cannot finish, or must not: a limit protects rows whose shares the others hold.
        """
        name = self._name(client)
        text = str(error) if str(error).startswith(name) else f"{name}: {error}"
        self.lost[client] = error
        self._lines[client].forget()
        if isinstance(error, LimitError) or self._server.state is not State.ITERATE:
            phase = self._server.progress.phase
            raise type(error)(f"{text} (phase {phase})") if _plain(error) else PartyError(text)
        left, needed = self._job.n - len(self.lost), self._job.threshold
        if left < needed:
            names = ", ".join(self._name(j) for j in sorted(self.lost))
            raise ThresholdError(
                f"too few sites are left: {left} < 2(ell + t) - 1 = {needed}; "
                f"lost of {self._job.n}: {names}; the last: {text}"
            )
        _LOG.warning(
            "%s; the run goes on with %d of %d sites, %d are needed", text, left, self._job.n, needed
        )

    def _close(self, ending: dict[str, Any], *, now: bool) -> None:
        """Tell every site how the run ended and wait for them, but not for long."""
        ending = ending | {"lost": self._why_lost()}
        for line in self._lines.values():
            line.close(to_json(ending), now=now)
        patience = _CLOSING_SECONDS if now else max(_CLOSING_SECONDS, self._deadline)
        until = time.monotonic() + (0.0 if self._aborted() else patience)
        for j, line in self._lines.items():
            report = line.report(max(0.0, until - time.monotonic()))
            for phase, role, seconds in report.get("seconds", []):
                self.meter.seconds[phase, role] += seconds
            line.stop()
            if not report and j not in self.lost:
                self.lost[j] = line.failure or PartyError("it was not heard when the run was closed")


_Event = tuple[int, bytes | SecFCError]
"""A client and a message of it, or why it is lost."""


def _plain(error: SecFCError) -> bool:
    """Whether the type can be made again of a text alone."""
    return type(error).__init__ is Exception.__init__ or type(error).__init__ is ValueError.__init__


class _Line:
    """The conversation with one site: one call at a time, repeated until it is answered."""

    def __init__(
        self,
        *,
        number: int,
        name: str,
        send: Send,
        deadline: float,
        events: "queue.SimpleQueue[_Event]",
        opening: bytes,
    ) -> None:
        self._number, self.name, self._send, self._deadline = number, name, send, deadline
        self._events, self._opening = events, opening
        self._outgoing, self._incoming = Outgoing(), Incoming()
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
        self._thread.start()

    def put(self, message: bytes | memoryview) -> None:
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
            piece: bytes | None = self._opening
            while piece is not None:
                answer = self._call(kind, piece)
                for message in self._incoming.feed(answer.body):
                    self._events.put((self._number, message))
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

    def _call(self, kind: Kind, body: bytes) -> Call:
        """The site's answer.

        Raises
        ------
        SecFCError
            The site's own, or PartyError when it does not answer within the deadline.
        """
        data = Call(kind=kind, number=self._calls, body=body).encode()
        limit = min(self._deadline, _CLOSING_SECONDS) if kind is Kind.CLOSE else self._deadline
        self._asked = tried = time.monotonic()
        until = tried + limit
        while (answer := self._send(self.name, data, max(1.0, min(_TRY_SECONDS, until - tried)))) is None:
            if time.monotonic() >= until:
                raise PartyError(f"{self.name}: no answer within {limit:.0f} s")
            if self._stopped or (kind is not Kind.CLOSE and self._now and self._ending is not None):
                raise PartyError(f"{self.name}: the run ended before it answered")
            time.sleep(_PAUSE_SECONDS)
            tried = time.monotonic()
        self._asked = None
        call = decode_call(answer)
        if call.number != self._calls:
            raise MessageError(f"{self.name}: an answer to call {call.number}, call {self._calls} was asked")
        self._calls += 1
        if call.kind is Kind.ERROR:
            told = from_json(call.body)
            raise error_of(str(told.get("error")), str(told.get("text")))
        expected = (Kind.REPORT,) if kind is Kind.CLOSE else (Kind.ANSWER, Kind.MORE)
        if call.kind not in expected:
            raise MessageError(f"{self.name}: a {call.kind.name} in answer to {kind.name}")
        return call


def _public(report: ServerReport) -> dict[str, Any]:
    """What every site is told; distances, even counted, are the server's alone."""
    kept = {"start", "labels", "histogram", "largest", "found", "found_labels"}
    told = {name: value for name, value in vars(report).items() if name not in kept}
    return told | {"faults": asdict(report.faults)}


def summary(
    agreement: Agreement, run: bytes, ended: Ended | None, error: SecFCError | None
) -> dict[str, Any]:
    """What the coordinator writes down of a run."""
    text: dict[str, Any] = {
        "secfc": secfc.__version__,
        "job": agreement.digest,
        "parameters": asdict(agreement.job),
        "sites": list(agreement.sites),
        "run": run.hex(),
        "ended": "complete" if error is None else f"{type(error).__name__}: {error}",
    }
    if ended is not None:
        text |= {
            "result": _public(ended.report),
            "lost": ended.lost,
            "costs": ended.costs.to_dict(),
            "timeline": ended.timeline,
        }
    return text
