"""The coordinator runs the server's role and calls the sites. It does not depend on FLARE.

If the coordinator keeps a log, it writes a site's answer to the log before it applies it. A process that
resumes the run reads the log again, so it sends the same to every site (`secfc.drivers.calls.callee`).
"""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from secfc.agreement.public_errors import COMPLETE, PublicError
from secfc.crypto.identity import Identity
from secfc.drivers.calls import conversation as conversations
from secfc.drivers.calls.conversation import Conversation, Event, Send, heard
from secfc.drivers.calls.coordinator_log import CoordinatorLog, Noted
from secfc.drivers.calls.envelopes import Answer, Incoming, Kind, Place, to_json
from secfc.drivers.calls.failures import as_error, ends_run
from secfc.drivers.costs import Meter, seconds_of
from secfc.drivers.setup import OnProgress, ServerReport, public_result
from secfc.drivers.terms import RunTerms
from secfc.drivers.watch import Watch
from secfc.errors import MessageError, PartyError, SecFCError, StorageError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.errors.escaping import shown
from secfc.kernels import choose
from secfc.kernels.threads import ALONE, Threads
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.messages.wire import Signer, decode, encode, envelope, envelope_of
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.version import VERSION

if TYPE_CHECKING:  # this module imports a library that simulations do not need
    from secfc.agreement.statement import SignedStatement

_LOG = logging.getLogger(__name__)
_COMPARE_SECONDS = 30.0  # how long sites wait for others to confirm the result

_LOST_SECONDS = 5.0
"""Time limit for closing a site that the run has lost, or any site if the coordinator was interrupted."""


class Coordinator:
    """One run. It continues without sites that are lost.

    With a log, a run with too few answering sites is interrupted: another process can continue it.
    """

    def __init__(
        self,
        *,
        terms: RunTerms,
        run: bytes,
        salt: bytes | None = None,
        threads: Threads = ALONE,
        identity: Identity,
        send: Send,  # each site's thread calls it
        deadline: float,  # seconds for a site to answer a call; the server waits twice as long for anything
        aborted: Callable[[], bool] = lambda: False,  # whether the transport gives up: nothing is sent then
        on_progress: OnProgress | None = None,
        log: CoordinatorLog | None = None,
        absent: Collection[int] = (),  # clients that are absent: a new run does not wait for them
    ) -> None:
        self._terms, self._job, self._session = terms, terms.job, terms.session(run)
        self.server = Server(
            job=terms.job,
            session=self._session,
            secret=None if log is None else log.secret,
            salt=salt,
            kernels=partial(choose, threads=threads),
        )
        self._deadline, self._aborted = deadline, aborted
        # CPU time of the thread that takes answers. Other threads carry calls meanwhile.
        self.meter = Meter(clock=time.thread_time)
        self._watch = Watch(run=run.hex(), job=terms.job, meter=self.meter, on_progress=on_progress)
        self.lost: dict[int, SecFCError] = {}  # parties that were lost, and why
        self.statements: dict[int, SignedStatement] = {}  # of clients with files of their own
        # Phases and rounds, and seconds until they began in this process.
        self.timeline: list[tuple[str, int, float]] = []
        self.report: ServerReport | None = None  # set when the run is complete
        self.interrupted = False  # whether another process can continue the run
        self._run, self._log, self._absent = run, log, frozenset(absent)
        self._away: set[int] = set()  # lost clients that can come back when the run is interrupted
        self._again = False  # whether it reads its log
        self._done: set[int] = set()  # clients for which the run has ended
        self._carried: Counter[tuple[int, int]] = Counter()  # messages by sender and recipient
        self._started = time.monotonic()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._signer = Signer(self._session, identity)
        self._conversations = {
            j: Conversation(
                number=j,
                name=name,
                send=send,
                deadline=deadline,
                events=self._events,
                place=Place(run=run, agreement=terms.digest, recipient=j),
                identity=identity,
                terms=terms,
            )
            for j, name in enumerate(terms.names, start=1)
        }
        self._incoming = {j: Incoming(self._most_bytes) for j in self._conversations}

    def run(self) -> ServerReport:
        """Run to the end. Tell every site how the run ended. Raise the SecFCError that ended it, if any."""
        try:
            try:
                self._go_on_from_log()
            finally:
                if not self.interrupted:
                    for j in self._conversations.keys() - self._absent:
                        self._conversations[j].start()
            self._until_done()
            report = ServerReport.of(self.server, self._job)
        except BaseException as error:
            if self._log is not None and (
                isinstance(error, StorageError) or not isinstance(error, Exception)
            ):
                self.interrupted = True
            if self.interrupted:
                for one in self._conversations.values():
                    one.stop()
            else:
                patience = conversations.CLOSING_SECONDS if isinstance(error, Exception) else _LOST_SECONDS
                self._close(PublicError.of(as_told(error)).to_json(), now=True, patience=patience)
            raise
        self._close({"ended": COMPLETE}, now=False, patience=conversations.CLOSING_SECONDS)
        if self._log is not None and self._aborted():
            self.interrupted = True  # sites without the closing call have their labels only in memory
            raise self._abortion()
        self.report = report
        return report

    @property
    def awaited(self) -> list[str]:
        """Names of the parties whose message the server waits for."""
        return [self._name(client) for client in self.server.awaited]

    def leave(self) -> None:
        """Close the log of an interrupted run, or delete the log of a run that has ended."""
        if self._log is not None:
            if self.interrupted:
                self._log.close()
            else:
                self._log.remove()

    def summary(self, error: SecFCError | None) -> dict[str, Any]:
        """The coordinator's part of the summary, as JSON values."""
        told: dict[str, Any] = {
            "secfc": VERSION,
            "run": self._run.hex(),
            "ended": COMPLETE if error is None else self.ending(error),
            "interrupted": self.interrupted,
            "lost": {self._name(j): PublicError.of(why).ending(()) for j, why in self.lost.items()},
            "costs": self.meter.costs().to_dict(),
            "timeline": self.timeline,
        }
        if self.report is not None:
            told["result"] = public_result(self.report, self._job)
        return told

    def ending(self, error: SecFCError) -> str:
        """How the run ended. The summary and FLARE get nothing more about an error."""
        return PublicError.of(error).ending(self._terms.names)

    def _name(self, client: int) -> str:
        return self._terms.names[client - 1]

    def _clients(self, parties: Collection[int]) -> list[int]:
        return [j for j in parties if j <= self._job.n]

    def _until_done(self) -> None:
        heard_at = time.monotonic()
        self._mark()
        for client in sorted(self._absent - self.lost.keys() - self._done):
            self._vanished(client, PartyError("it was not connected when the run started", code=Code.TIMEOUT))
        while self.server.state is not State.DONE or len(self._done | self.lost.keys()) < self._job.parties:
            if self._aborted():
                self.interrupted = self._log is not None
                raise self._abortion()
            answers, failed = heard(self._events)
            if answers:
                heard_at = time.monotonic()
                self._take(answers)
            if failed is not None and failed[0] not in self.lost:
                self._vanished(*failed)
            silent = not answers and failed is None and not self._works
            if silent and time.monotonic() - heard_at > self._patience:
                self._overdue()
                heard_at = time.monotonic()
        if not self._done:
            raise self._unconfirmed(list(self._conversations))

    @property
    def _works(self) -> bool:
        """Whether a site still has a call to answer at the end. A site that reads its log is not silent."""
        left = self._conversations.keys() - self._done - self.lost.keys()
        return self.server.state is State.DONE and any(self._conversations[j].waiting for j in left)

    def _take(self, answers: list[tuple[int, Answer]]) -> None:
        if self._log is not None:
            self._log.answers(answers)
        for client, answer in answers:
            self._read(client, answer)

    def _read(self, client: int, answer: Answer) -> None:
        if client in self.lost:
            return
        try:
            self._conversations[client].taken(answer)
            for message in self._incoming[client].feed(answer.body):
                self._carry(client, message)
                if client in self.lost:
                    return
        except MessageError as error:
            self._go_on(self._lose(client, error))
            return
        if answer.kind is Kind.DONE:
            self._done.add(client)

    def _vanished(self, client: int, error: SecFCError) -> None:
        """Continue without a lost client. With a log, a run that only lacks answers is interrupted."""
        silent = self._log is not None and error.code is Code.TIMEOUT
        left = self._job.n - len(self._clients({client, *self.lost}))
        if silent and self.server.state is State.DONE and left < self._job.threshold:
            self.interrupted = True
            raise self._unconfirmed([client])
        try:
            replies = self._lose(client, error)
        except TooManyFaultsError:
            self.interrupted = silent
            raise
        if self._log is not None:
            self._log.lost(client, error)
        self._go_on(replies)

    def _go_on_from_log(self) -> None:
        """Apply again what an earlier process has applied."""
        if self._log is None:
            return
        self._again = True
        count = 0
        for kind, client, value in self._log.entries():
            count += 1
            match kind:
                case Noted.ANSWER:
                    self._read(client, value)
                case Noted.BACK:
                    self._come_back(client)
                case Noted.LOST:
                    self._go_on(self._lose(client, value))
        self._again = False
        if self._away:
            self._log.back(self._away)
        for client in list(self._away):
            self._come_back(client)
        if count:
            self._absent = frozenset()  # who took part may come back
            _LOG.info("run %s: continues in round %d", self._run.hex(), self.server.progress.round)

    def _come_back(self, client: int) -> None:
        self._away.discard(client)
        del self.lost[client]

    @property
    def _patience(self) -> float:
        """Limit in seconds on a time in which nobody sends anything."""
        done = self.server.state is State.DONE
        return min(_COMPARE_SECONDS, 2 * self._deadline) if done else 2 * self._deadline

    def _overdue(self) -> None:
        """After a long silence, continue without the parties that are waited for, if enough are left."""
        if self.server.state is State.DONE:
            waiting = [j for j in self._conversations if j not in self._done and j not in self.lost]
            if len(self._clients(self._done)) < self._job.threshold:
                self.interrupted = self._log is not None
                raise self._unconfirmed(waiting)
        else:
            try:
                waiting = list(self.server.overdue(lambda *link: self._carried[link]))
            except TooManyFaultsError:
                self.interrupted = self._log is not None
                raise
        names = ", ".join(map(self._name, waiting))
        silence = f"no message for {self._patience:.0f} s from {names}"
        for client in waiting:
            if client not in self.lost:
                self._vanished(client, PartyError(silence, code=Code.TIMEOUT))

    def _unconfirmed(self, waiting: list[int]) -> TooManyFaultsError:
        names = ", ".join(map(self._name, waiting))
        return TooManyFaultsError(f"too few parties can confirm the result to {names}; {self._lost_names()}")

    def _lost_names(self) -> str:
        return f"lost of {self._job.parties}: {', '.join(self._name(j) for j in sorted(self.lost)) or 'none'}"

    def _abortion(self) -> PartyError:
        client, seconds = max(
            ((j, one.waiting) for j, one in self._conversations.items()), key=lambda pair: pair[1]
        )
        return PartyError(
            "FLARE ended the job: somebody aborted it, or a site's job process ended while its parent lives; "
            f"longest without an answer: {self._name(client)}, {seconds:.1f} s",
            code=Code.STOPPED,
            clients=[client],
        )

    def _most_bytes(self) -> int:
        return self.server.sizes.most_from_client

    def _carry(self, client: int, data: bytes | memoryview) -> None:
        try:
            header = envelope(data)
            if header.sender != client or header.recipient > self._job.parties:
                raise MessageError("a forged sender or unknown recipient")
            self.meter.sent(header, len(data))
            if header.recipient != SERVER:
                self._carried[client, header.recipient] += 1
                self._conversations[header.recipient].put(data)
                return
            with self.meter.work(header.work, SERVER):
                server = self.server
                message = decode(data, k=self._job.k, session=self._session, most=server.sizes.most_bytes)
                replies = server.receive(message)
        except MessageError as error:
            replies = self._lose(client, error)
        self._go_on(replies)

    def _go_on(self, messages: list[Message]) -> None:
        for message in messages:
            if message.recipient in self.lost.keys() - self._away:
                continue
            with self.meter.work(message.work, SERVER):
                data = encode(message, k=self._job.k, signer=self._signer)
            self.meter.sent(envelope_of(message), len(data))
            self._conversations[message.recipient].put(data)
        self._mark()
        if not self._again:
            self._watch(self.server.progress)

    def _mark(self) -> None:
        standing = self.server.progress
        if not self.timeline or self.timeline[-1][:2] != (standing.phase, standing.round):
            self.timeline.append((standing.phase, standing.round, time.monotonic() - self._started))

    def _lose(self, client: int, error: SecFCError) -> list[Message]:
        """Continue without a site, unless its error ends the run. Return what the others are sent."""
        name = self._name(client)
        text = str(error) if str(error).startswith(name) else f"{name}: {error}"
        self.lost[client] = error
        phase, state = self.server.progress.phase, self.server.state
        if self._log is not None and error.code is Code.TIMEOUT and state is State.ITERATE:
            self._away.add(client)  # if it comes back, its stream has the messages that it missed
        else:
            self._conversations[client].forget()
        if ends_run(error, shared=state in (State.ITERATE, State.DONE)):
            raise replace(PublicError.of(error), party=client).error(text)
        try:
            replies = self.server.absent(client)
        except TooManyFaultsError as failed:
            # A first evaluator names clients whose answers it cannot use. They or it are at fault.
            named = {j for j in error.clients if j <= self._job.n}
            told = replace(PublicError.of(failed), clients=tuple(sorted(self.lost.keys() | named)))
            raise told.error(f"{failed}; {self._lost_names()}; the last: {text}") from None
        _LOG.warning("%s (phase %s); the run continues without it", shown(text), phase)
        return replies

    def _close(self, ended: dict[str, Any], *, now: bool, patience: float) -> None:
        """Tell every site how the run ended. Wait for reports, but not for long."""
        for one in self._conversations.values():
            one.close(to_json(ended), now=now)
        begun = time.monotonic()
        soon = begun + (0.0 if self._aborted() else patience)
        lost = min(soon, begun + _LOST_SECONDS)
        later = soon if now or self._aborted() else max(soon, begun + self._deadline)
        for j, conversation in self._conversations.items():
            until = later if j not in self.lost else soon if j in self._away else lost
            report = conversation.report(max(0.0, min(until - time.monotonic(), threading.TIMEOUT_MAX)))
            conversation.stop()
            try:
                self._note(j, report)
            except Exception as error:  # whatever one site reports, the others are told how the run ended
                self.lost.setdefault(j, as_error(error))
            if not report and j not in self.lost:
                self.lost[j] = conversation.failure or PartyError(
                    "it did not answer when the run was closed", code=Code.TIMEOUT
                )

    def _note(self, client: int, report: dict[str, Any]) -> None:
        """Take a site's report. Nothing depends on the seconds that it states."""
        if report.get("statement") is not None and not self._terms.simulated:
            from secfc.agreement.statement import statement_of  # noqa: PLC0415 - simulations have none

            self.statements[client] = statement_of(report["statement"], name=self._name(client))
        for key, value in seconds_of(report, name=self._name(client)).items():
            self.meter.seconds[key] += value


def as_told(error: BaseException) -> SecFCError:
    """The error that sites and the summary get when `error` ends a run."""
    return as_error(error) if isinstance(error, Exception) else PartyError("interrupted", code=Code.STOPPED)
