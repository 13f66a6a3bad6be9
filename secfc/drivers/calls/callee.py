"""The callee answers the coordinator's calls for a participant, over any transport."""

import logging
import struct
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

from secfc.agreement.logs.run_log import Entry, InUseError, RunLog
from secfc.agreement.public_errors import COMPLETE, LEFT_OUT, MISSED, PublicError
from secfc.drivers.calls.envelopes import (
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
from secfc.drivers.calls.failures import as_error, detail
from secfc.errors import AgreementError, MessageError, PartyError, SecFCError, StorageError
from secfc.errors.codes import Code
from secfc.version import VERSION

if TYPE_CHECKING:  # these modules import libraries that simulations do not need
    from secfc.drivers.simulated import SimulatedParty
    from secfc.drivers.sites.participant import Participant
    from secfc.drivers.sites.site_files import SiteFiles

_LOG = logging.getLogger(__name__)

CalledParty: TypeAlias = "SiteFiles | SimulatedParty"
"""The party that a callee answers for: one with files of its own, or a simulated one."""

Taking: TypeAlias = "Participant | SimulatedParty"  # that party during a run
_CALL = "call"  # kind of the entries of a site's log: position, digest of the answer, body
_DIGEST_BYTES = 16
_TAKEN = struct.Struct(f"<Q{_DIGEST_BYTES}s")


class Callee:
    """One organisation's side of a run.

    The roster's coordinator signs every call. A call that it did not sign, or signed for another run,
    agreement, site or number, is dropped: it changes nothing and gets no answer. A party whose job or roster
    cannot be read can verify no call, and drops all.

    If the party keeps a log, every accepted call is in the log before it is answered. After its process was
    killed, a new one makes the same answers again from the log, byte for byte, and continues after the last.
    """

    def __init__(self, read: Callable[[], CalledParty]) -> None:
        self._read = read  # returns the party, when the first call comes
        self._lock = threading.Lock()
        self._source: CalledParty | SecFCError | None = None  # the party, or the error of reading it
        self._dropped = 0  # number of dropped calls
        self._place: Place | None = None  # of its run
        self._number = -1  # of the last accepted call
        self._answer = b""  # to that call
        self._error: SecFCError | None = None
        self._participant: Taking | None = None
        self._log: RunLog | None = None
        self.closed = False  # by the coordinator
        self._stopped = False  # the transport has ended the job
        self._reported: dict[str, Any] = {}  # set when the run was closed
        self._incoming, self._outgoing = Incoming(self._most_bytes), Outgoing()

    def answer(self, data: object) -> bytes | None:
        """Answer a call. None if the call is dropped. Only our own errors can appear in an answer."""
        with self._lock:
            if self._stopped:
                return None
            try:
                call = decode_call(data)
                source = self._party()
                call.verify(source.terms.roster)
            except Exception as error:
                self._drop(detail(error))
                return None
            if self._place is None:
                return self._before(call, source)
            return self._in_turn(call)

    def end(self) -> None:
        """Forget rows and shares of a run that the coordinator has not closed.

        If the run can continue, its log stays. Otherwise labels and statement are written.
        """
        with self._lock:
            self._stopped = True
            try:
                one, error = self._participant, self._error
                goes_on = error is None or isinstance(error, StorageError)
                if self._log is not None and one is not None and goes_on and not one.done:
                    self._log.close()
                    self._log = self._participant = None
                    return
                stopped = PublicError(kind=PartyError.__name__, code=Code.STOPPED)
                self._reported = self._state(stopped.ending(())) or self._reported
            except Exception as error:
                _LOG.error("%s", detail(error))

    @property
    def standing(self) -> str:
        """State of the run for this party, for its own people. Any thread may read it."""
        one = self._participant
        if "ended" in self._reported:
            return f"ended: {self._reported['ended']}"
        if one is None or self._stopped:
            return "interrupted" if self._stopped else "waiting for the coordinator"
        return f"{one.standing}; {'at work' if self._lock.locked() else 'waiting for the coordinator'}"

    def _party(self) -> CalledParty:
        """The party, read once. If its files are unusable, no call can be verified."""
        if self._source is None:
            try:
                self._source = self._read()
            except Exception as error:
                self._source = as_error(error)
        if isinstance(self._source, SecFCError):
            raise self._source
        return self._source

    def _drop(self, why: str) -> None:
        """Log a dropped call: only the 1st, 2nd, 4th, 8th and so on."""
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:
            _LOG.warning("a call was dropped, %d so far: %s", self._dropped, why)

    def _before(self, call: Call, party: CalledParty) -> bytes | None:
        """Answer a call that comes before the party takes part in a run."""
        run = call.place.run
        log = party.log_path(run)
        kept = log is not None and log.exists()
        if call.kind is Kind.CLOSE and not kept:  # the party refused this run, or has closed it
            return self._report(call, party.reported(run))
        if party.number not in (None, call.place.recipient):
            self._drop("for another site")
            return None
        if not kept:
            if call.kind is Kind.MESSAGES and call.number:
                return self._without_log(call, party)
            if (call.kind, call.number) != (Kind.OPEN, 0):
                self._drop("before the run was opened")
                return None
            if party.has_been(run):
                self._drop("it opens a run that has ended")
                return None
        try:
            digest = party.digest_of(run)
        except InUseError as error:
            self._drop(detail(error))
            return None
        except Exception as error:
            return self._refused(call, as_error(error))
        if call.place.agreement != digest:
            said, ours = call.place.agreement.hex()[:16], digest.hex()[:16]
            text = f"{party.name}: it agreed to the job {ours}, but the coordinator runs the job {said}"
            _LOG.error("%s", text)
            return self._told(call.number, AgreementError(text))
        if kept:
            return self._resumed(call, party)
        self._place = call.place
        return self._taken(call)

    def _refused(self, call: Call, error: SecFCError) -> bytes:
        """Take no part in a run because of an error, which also answers the coordinator's later calls."""
        self._fail(error)
        self._place, self._number = call.place, call.number
        self._answer = self._told(call.number, error)
        return self._answer

    def _without_log(self, call: Call, party: CalledParty) -> bytes:
        """Answer a resumed coordinator about a run that this party has ended, or cannot continue."""
        self._reported = party.reported(call.place.run)
        if self._reported.get("ended") not in (COMPLETE, LEFT_OUT, MISSED):
            return self._told(call.number, StorageError(f"{party.name}: it has no log of the run"))
        return self._over(call)

    def _over(self, call: Call) -> bytes:
        """Answer a coordinator that does not know that the run is over for this party."""
        if call.kind is Kind.CLOSE:
            return self._report(call, self._reported)
        position = call.position + len(call.body)
        return Answer(kind=Kind.DONE, number=call.number, position=position, body=b"").encode()

    def _resumed(self, call: Call, party: CalledParty) -> bytes | None:
        """Apply the calls in the log, which an earlier process of the party accepted, then this call."""
        try:
            self._begin(call.place.run, party)
        except InUseError as error:  # the earlier process has not ended yet: the call will come again
            self._participant = None
            self._drop(detail(error))
            return None
        except Exception as error:
            self._fail(as_error(error))
        self._place = call.place
        try:
            for entry in self._log.entries(_CALL) if self._log is not None else ():
                self._again(entry, call.place, party)
        except Exception as error:
            self._fail(as_error(error))
        _LOG.info("run %s: continues after call %d", call.place.run.hex(), self._number)
        if self._error is not None:
            return self._refused(call, self._error)
        return self._in_turn(call)

    def _again(self, entry: Entry, place: Place, party: CalledParty) -> None:
        position, digest = _TAKEN.unpack_from(entry.body)
        kind = Kind.MESSAGES if entry.number else Kind.OPEN
        body = entry.body[_TAKEN.size :]
        answer = self._apply(Call(kind=kind, number=entry.number, position=position, place=place, body=body))
        if _digest(answer) != digest:
            raise StorageError(
                f"{party.name}: call {entry.number} of the log now has a different answer; the inputs of "
                "the run or the program have changed"
            )
        self._number, self._answer = entry.number, answer

    def _in_turn(self, call: Call) -> bytes | None:
        """Answer the last call again, or the next call. After the end of the run, answer any call."""
        if call.place != self._place:
            self._drop("of another run or site")
            return None
        done = self._log is not None and self._participant is not None and self._participant.done
        if self.closed and call.kind in (Kind.MESSAGES, Kind.CLOSE):
            return self._over(call)
        # A resumed coordinator does not know calls made while it closed the run.
        if done and call.kind is Kind.CLOSE:
            return self._taken(call)
        if done and call.kind is Kind.MESSAGES and call.number < self._number:
            return self._over(call)
        if self._log is not None and call.number > self._number + 1:
            # The coordinator has answers of this party that its log does not have.
            self._fail(StorageError(f"{self._party().name}: entries are missing from its log"))
            self._number = call.number - 1
        if call.number not in (self._number, self._number + 1):
            self._drop("out of order")
            return None
        return self._answer if call.number == self._number else self._taken(call)

    def _apply(self, call: Call) -> bytes:
        try:
            return self._take(call)
        except Exception as error:
            self._fail(as_error(error))
            assert self._error is not None
            return self._told(call.number, self._error)

    def _taken(self, call: Call) -> bytes:
        """Apply the coordinator's next call. It is in the log when this returns.

        A call that ended the run for this party is in the log too: another process refuses it again. If
        something could not be stored, the call may be applied again.
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
                answer = self._told(call.number, error)
        self._number, self._answer = call.number, answer
        return answer

    def _fail(self, error: SecFCError) -> None:
        """Stop for good. Only the first error is reported."""
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
            run = call.place.run
            one = self._participant or self._begin(run, self._party())
            for message in one.open(run):
                self._outgoing.put(message)
            _LOG.info("run %s of job %s: open", run.hex(), call.place.agreement.hex())
        else:
            assert self._participant is not None
            for message in self._incoming.feed(call.body, position=call.position):
                for reply in self._participant.receive(message):
                    self._outgoing.put(reply)
        piece = self._outgoing.take()
        kind = Kind.MORE if self._outgoing else Kind.ANSWER
        if kind is Kind.ANSWER and self._participant is not None and self._participant.done:
            kind = Kind.DONE
        position = self._incoming.position
        return Answer(kind=kind, number=call.number, position=position, body=piece).encode()

    def _begin(self, run: bytes, party: CalledParty) -> Taking:
        """Become a participant, with the log of the run if the party keeps one."""
        self._participant = one = party.participant()
        self._log = one.open_log(run)
        return one

    def _most_bytes(self) -> int:
        assert self._participant is not None
        return self._participant.most_bytes

    def _close(self, call: Call) -> bytes:
        said = from_json(call.body)
        names = () if self._participant is None else self._party().terms.names
        ended = MISSED if said.get("ended") == COMPLETE else PublicError.read(said).ending(names)
        _LOG.info("closed: %s", COMPLETE if ended == MISSED else ended)
        self._reported, self.closed = self._state(ended), True
        return self._report(call, self._reported)

    def _report(self, call: Call, reported: dict[str, Any]) -> bytes:
        seconds = [] if self._participant is None else self._participant.seconds
        report = {"secfc": VERSION, "seconds": seconds} | reported
        return Answer(kind=Kind.REPORT, number=call.number, body=to_json(report)).encode()

    def _state(self, ended: str) -> dict[str, Any]:
        """Write labels and statement, once, also after missing the result. Return the report about them."""
        self._outgoing.clear()
        if self._participant is None:
            return {}
        if self._error is not None:
            ended = self._participant.ending(self._error)
        elif self._participant.left_out:
            ended = LEFT_OUT
        reported = self._participant.end(ended)
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._place is not None:
            self._party().delete_log(self._place.run)
        return reported

    def _told(self, number: int, error: SecFCError) -> bytes:
        body = to_json(self._party().terms.told(error))
        return Answer(kind=Kind.ERROR, number=number, body=body).encode()


def _digest(answer: bytes) -> bytes:
    return blake2b(answer, digest_size=_DIGEST_BYTES).digest()
