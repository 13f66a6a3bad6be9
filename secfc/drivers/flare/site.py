"""A site: answers the coordinator's calls for a participant. Knows nothing of FLARE."""

import logging
import struct
import threading
from hashlib import blake2b
from pathlib import Path
from typing import Any

import secfc
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.site_file import Site as SiteFile
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import COMPLETE, LEFT_OUT, MISSED, SignedStatement
from secfc.codes import Code
from secfc.drivers.failures import as_error, detail
from secfc.drivers.flare.calls import (
    Answer,
    Call,
    Incoming,
    Kind,
    Outgoing,
    Place,
    decode_call,
    from_json,
    to_json,
)
from secfc.drivers.participant import Participant
from secfc.drivers.past_runs import has_been, log_path, written_statement
from secfc.errors import AgreementError, MessageError, PartyError, SecFCError, StorageError
from secfc.journal.run_log import Entry, InUseError, RunLog, delete
from secfc.public_errors import Told

_LOG = logging.getLogger(__name__)

_CALL = "call"
"""Kind of the entries of a site's log: position, digest of the answer, body."""

_DIGEST_BYTES = 16
_TAKEN = struct.Struct(f"<Q{_DIGEST_BYTES}s")


class Site:
    """One organisation's side of a run.

    The coordinator of the roster signs every call. A call that it did not sign, or that it signed for another
    run, agreement, site or number, is dropped: it changes nothing and has no answer. A site whose job or
    roster cannot be read can verify nobody, and drops all calls.

    With a folder for storage every call that is taken is in a log there before it is answered. A process that
    was killed makes the same answers again from the log, byte for byte, and goes on after the last.

    Parameters
    ----------
    name : str
        The site's FLARE name, which must be its name in the roster.
    file : Path
        Its site file.
    """

    def __init__(self, *, name: str, file: Path) -> None:
        self._name, self._file = name, file
        self._lock = threading.Lock()
        # And the site file, once read, or why they cannot be.
        self._agreement: tuple[Agreement, SiteFile] | SecFCError | None = None
        self._dropped = 0  # calls
        self._place: Place | None = None  # of the run that it takes part in
        self._number = -1  # of the last call that was taken
        self._answer = b""  # what it was answered
        self._error: SecFCError | None = None
        self._participant: Participant | None = None
        self._log: RunLog | None = None
        self._path: Path | None = None  # of a log that another process has begun
        self._closed = False  # by the coordinator
        self._stopped = False  # FLARE has ended the job
        self._statement: SignedStatement | None = None  # that it signed then
        self._incoming, self._outgoing = Incoming(self._most_bytes), Outgoing()

    def answer(self, data: object) -> bytes | None:
        """Take a call and answer it; None for a call that is dropped.

        Nothing but errors of ours leaves, and nothing is raised.
        """
        with self._lock:
            if self._stopped:
                return None
            try:
                call = decode_call(data)
                agreement, site = self._agreed()
                call.verify(agreement.consortium.roster)
            except Exception as error:
                self._drop(detail(error))
                return None
            if self._place is None:
                return self._before(call, agreement, site)
            return self._in_turn(call)

    def end(self) -> None:
        """Forget rows and shares of a run that the coordinator has not closed.

        Its log stays for another process, unless the run is over for this site. Otherwise its
        labels, evidence and statement are written, as there are.
        """
        with self._lock:
            self._stopped = True
            try:
                one, error = self._participant, self._error
                goes_on = error is None or isinstance(error, StorageError)
                if self._log is not None and one is not None and goes_on and not one.done:
                    one.leave()
                    return
                self._state(Told(kind=PartyError.__name__, code=Code.STOPPED).ending(()))
            except Exception as error:
                _LOG.error("%s", detail(error))

    def _agreed(self) -> tuple[Agreement, SiteFile]:
        """What the site agreed to, and its site file; they are read once.

        Raises
        ------
        SecFCError
            When site file, job or roster cannot be used: then nobody's call can be verified.
        """
        if self._agreement is None:
            try:
                site = read_site(self._file.resolve())  # paths in it are relative to where it lies
                self._agreement = read_job(site.job), site
            except Exception as error:
                self._agreement = as_error(error)
        if isinstance(self._agreement, SecFCError):
            raise self._agreement
        return self._agreement

    def _drop(self, why: str) -> None:
        """Log a call that is dropped; of many the 1st, 2nd, 4th, 8th and so on."""
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:
            _LOG.warning("a call was dropped, %d so far: %s", self._dropped, why)

    def _before(self, call: Call, agreement: Agreement, site: SiteFile) -> bytes | None:
        """Answer a call of the coordinator before the site takes part in a run."""
        run = call.place.run
        log = None if site.storage is None else log_path(site.storage, agreement, run)
        kept = log is not None and log.exists() and call.place.agreement == agreement.digest
        if call.kind is Kind.CLOSE and not kept:  # of a run that the site has refused, or closed
            return self._report(call, written_statement(site.results, run, name=self._name))
        if call.place.agreement != agreement.digest:
            return _error(
                call.number,
                AgreementError(
                    f"{self._name}: it agreed to the job {agreement.digest.hex()[:16]}, the coordinator runs "
                    f"{call.place.agreement.hex()[:16]}"
                ),
            )
        own = agreement.names.index(self._name) + 1 if self._name in agreement.names else None
        if own not in (None, call.place.recipient):
            self._drop("for another site")
            return None
        if kept:
            self._path = log
            return self._resumed(call)
        if call.kind is Kind.MESSAGES and call.number:
            return self._without_log(call, site)
        if (call.kind, call.number) != (Kind.OPEN, 0):
            self._drop("before the run was opened")
            return None
        if has_been(site.results, run):
            self._drop("it opens a run that has been")
            return None
        self._place = call.place
        return self._taken(call)

    def _without_log(self, call: Call, site: SiteFile) -> bytes:
        """Answer a coordinator that goes on with a run that this site has ended, or cannot go on with."""
        self._statement = written_statement(site.results, call.place.run, name=self._name)
        if self._statement is None or self._statement.statement.ended not in (COMPLETE, LEFT_OUT, MISSED):
            return _error(call.number, StorageError(f"{self._name}: it has no log of the run"))
        return self._over(call)

    def _over(self, call: Call) -> bytes:
        """Answer a coordinator that does not know that the run is over for this site."""
        if call.kind is Kind.CLOSE:
            return self._report(call, self._statement)
        position = call.position + len(call.body)
        return Answer(kind=Kind.DONE, number=call.number, position=position, body=b"").encode()

    def _resumed(self, call: Call) -> bytes | None:
        """Take the calls of the log again, which another process of this site took, and then this one."""
        try:
            self._begin(call.place)
        except InUseError as error:  # that process has not ended yet: the call will come again
            self._participant = None
            self._drop(detail(error))
            return None
        except Exception as error:
            self._fail(as_error(error))
        self._place = call.place
        try:
            for entry in self._log.entries() if self._log is not None else ():
                self._again(entry, call.place)
        except Exception as error:
            self._fail(as_error(error))
        _LOG.info("run %s: goes on after call %d", call.place.run.hex(), self._number)
        if self._error is not None:
            self._number, self._answer = call.number, _error(call.number, self._error)
            return self._answer
        return self._in_turn(call)

    def _again(self, entry: Entry, place: Place) -> None:
        position, digest = _TAKEN.unpack_from(entry.body)
        kind = Kind.MESSAGES if entry.number else Kind.OPEN
        body = entry.body[_TAKEN.size :]
        answer = self._apply(Call(kind=kind, number=entry.number, position=position, place=place, body=body))
        if _digest(answer) != digest:
            raise StorageError(
                f"{self._name}: call {entry.number} of the log has another answer than it had; what the run "
                f"was begun with, or the program, has changed"
            )
        self._number, self._answer = entry.number, answer

    def _in_turn(self, call: Call) -> bytes | None:
        """Answer a call if it is the last one again, or the next; once the run is over, any."""
        if call.place != self._place:
            self._drop("of another run or site")
            return None
        done = self._log is not None and self._participant is not None and self._participant.done
        if self._closed and call.kind in (Kind.MESSAGES, Kind.CLOSE):
            return self._over(call)
        # A coordinator that goes on does not know of calls that were made while it closed the run.
        if done and call.kind is Kind.CLOSE:
            return self._taken(call)
        if done and call.kind is Kind.MESSAGES and call.number < self._number:
            return self._over(call)
        if call.number not in (self._number, self._number + 1):
            self._drop("out of order")
            return None
        return self._answer if call.number == self._number else self._taken(call)

    def _apply(self, call: Call) -> bytes:
        """Let a call take effect; its answer."""
        try:
            return self._take(call)
        except Exception as error:
            self._fail(as_error(error))
            assert self._error is not None
            return _error(call.number, self._error)

    def _taken(self, call: Call) -> bytes:
        """Take a call of the coordinator that is next; it is in the log when this returns.

        A call that ended the run for this site is in the log too: another process refuses it again. Where
        something could not be stored, the call may be taken again.
        """
        answer = self._apply(call)
        if (
            self._log is not None
            and call.kind is not Kind.CLOSE
            and not isinstance(self._error, StorageError)
        ):
            body = _TAKEN.pack(call.position, _digest(answer)) + call.body
            try:
                self._log.append(Entry(kind=_CALL, number=call.number, body=body))
                self._log.commit()
            except StorageError as error:
                self._fail(error)
                answer = _error(call.number, error)
        self._number, self._answer = call.number, answer
        return answer

    def _fail(self, error: SecFCError) -> None:
        """Stop for good; the first error is the one that is told."""
        if self._error is None:
            self._error = error
            _LOG.error("%s", detail(error))
        self._outgoing.clear()

    def _take(self, call: Call) -> bytes:
        if call.kind is Kind.CLOSE:
            return self._close(call)
        if self._error is not None:
            raise self._error
        if (call.kind is Kind.OPEN) != (self._number < 0) or call.kind not in (Kind.OPEN, Kind.MESSAGES):
            raise MessageError(f"a call: {call.kind.name} out of turn")
        if call.kind is Kind.OPEN:
            self._open(call.place)
        else:
            assert self._participant is not None
            for message in self._incoming.feed(call.body, position=call.position):
                for reply in self._participant.receive(message):
                    self._outgoing.put(reply)
        piece = self._outgoing.take()
        kind = Kind.MORE if self._outgoing else Kind.ANSWER
        if kind is Kind.ANSWER and self._participant is not None and self._participant.done:
            kind = Kind.DONE
        return Answer(kind=kind, number=call.number, position=self._incoming.position, body=piece).encode()

    def _begin(self, place: Place) -> None:
        """Become a participant, with the log of the run if the site keeps one."""
        participant = Participant(self._file.resolve())
        if participant.name != self._name:
            raise AgreementError(f"{self._name}: its site file is that of {participant.name}")
        self._participant = participant
        self._log = participant.open_log(run=place.run, digest=place.agreement, number=place.recipient)

    def _open(self, place: Place) -> None:
        if self._participant is None:
            self._begin(place)
        participant = self._participant
        assert participant is not None
        for message in participant.open(run=place.run, digest=place.agreement, number=place.recipient):
            self._outgoing.put(message)
        _LOG.info("run %s of job %s: open", place.run.hex(), participant.agreement.digest.hex())

    def _most_bytes(self) -> int:
        assert self._participant is not None
        return self._participant.most_bytes

    def _close(self, call: Call) -> bytes:
        said = from_json(call.body)
        complete = said.get("ended") == COMPLETE
        ended = MISSED if complete else self._told(said)
        _LOG.info("closed: %s", COMPLETE if complete else ended)
        self._statement, self._closed = self._state(ended), True
        return self._report(call, self._statement)

    def _report(self, call: Call, statement: SignedStatement | None) -> bytes:
        seconds = [] if self._participant is None else self._participant.seconds
        report: dict[str, Any] = {"secfc": secfc.__version__, "seconds": seconds}
        report["statement"] = None if statement is None else statement.model_dump()
        return Answer(kind=Kind.REPORT, number=call.number, body=to_json(report)).encode()

    def _told(self, said: dict[str, Any]) -> str:
        """How the coordinator says that the run ended, in the words of the closed list and of the roster."""
        names = () if self._participant is None else self._participant.agreement.names
        return Told.read(said).ending(names)

    def _state(self, ended: str) -> SignedStatement | None:
        """Have labels and statement written, once; None when no run was opened."""
        self._outgoing.clear()
        if self._participant is None:
            return None
        if self._error is not None:
            ended = self._participant.ending(self._error)
        elif self._participant.left_out:
            ended = LEFT_OUT
        signed = self._participant.close(ended)
        self._participant.forget()
        if self._path is not None:
            delete(self._path)
        self._log = None
        return signed


def _digest(answer: bytes) -> bytes:
    return blake2b(answer, digest_size=_DIGEST_BYTES).digest()


def _error(number: int, error: SecFCError) -> bytes:
    return Answer(kind=Kind.ERROR, number=number, body=to_json(Told.of(error).to_json())).encode()
