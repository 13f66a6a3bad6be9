"""A site: answers the coordinator's calls for a participant. Knows nothing of FLARE."""

import logging
import threading
from pathlib import Path
from typing import Any

import secfc
from secfc.agreement.job_file import Agreement, read_job
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
from secfc.drivers.participant import Participant, has_been
from secfc.errors import AgreementError, MessageError, PartyError, SecFCError
from secfc.public_errors import Told

_LOG = logging.getLogger(__name__)


class Site:
    """One organisation's side of a run.

    The coordinator of the roster signs every call. A call that it did not sign, or that it signed for another
    run, agreement, site or number, is dropped: it changes nothing and has no answer. A site whose job or
    roster cannot be read can verify nobody, and drops all calls.

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
        # And the folder of results, once read, or why they cannot be.
        self._agreement: tuple[Agreement, Path] | SecFCError | None = None
        self._dropped = 0  # calls
        self._place: Place | None = None  # of the run that it takes part in
        self._number = -1  # of the last call that was taken
        self._answer = b""  # what it was answered
        self._error: SecFCError | None = None
        self._participant: Participant | None = None
        self._incoming, self._outgoing = Incoming(self._most_bytes), Outgoing()

    def answer(self, data: object) -> bytes | None:
        """Take a call and answer it; None for a call that is dropped.

        Nothing but errors of ours leaves, and nothing is raised.
        """
        with self._lock:
            try:
                call = decode_call(data)
                agreement, results = self._agreed()
                call.verify(agreement.consortium.roster)
            except Exception as error:
                self._drop(detail(error))
                return None
            if self._place is None:
                return self._before(call, agreement, results)
            if call.place != self._place or call.number not in (self._number, self._number + 1):
                self._drop("of another run or site, or out of order")
                return None
            return self._answer if call.number == self._number else self._taken(call)

    def end(self) -> None:
        """Write down what there is, unless the coordinator closed the run, and forget rows and shares."""
        with self._lock:
            try:
                self._state(Told(kind=PartyError.__name__, code=Code.STOPPED).ending(()))
            except Exception as error:
                _LOG.error("%s", detail(error))

    def _agreed(self) -> tuple[Agreement, Path]:
        """What the site agreed to, and its folder of results; its files are read once.

        Raises
        ------
        SecFCError
            When site file, job or roster cannot be used: then nobody's call can be verified.
        """
        if self._agreement is None:
            try:
                site = read_site(self._file.resolve())  # paths in it are relative to where it lies
                self._agreement = read_job(site.job), site.results
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

    def _before(self, call: Call, agreement: Agreement, results: Path) -> bytes | None:
        """Answer a call of the coordinator before the site takes part in a run."""
        if call.kind is Kind.CLOSE:  # of a run that the site has refused
            return self._report(call, None)
        if call.place.agreement != agreement.digest:
            return _error(
                call.number,
                AgreementError(
                    f"{self._name}: it agreed to the job {agreement.digest.hex()[:16]}, the coordinator runs "
                    f"{call.place.agreement.hex()[:16]}"
                ),
            )
        own = agreement.names.index(self._name) + 1 if self._name in agreement.names else None
        if (call.kind, call.number) != (Kind.OPEN, 0) or own not in (None, call.place.recipient):
            self._drop("for another site, or before the run was opened")
            return None
        if has_been(results, call.place.run):
            self._drop("it opens a run that has been")
            return None
        self._place = call.place
        return self._taken(call)

    def _taken(self, call: Call) -> bytes:
        """Take a call of the coordinator that is next."""
        try:
            answer = self._take(call)
        except Exception as error:
            self._fail(as_error(error))
            assert self._error is not None
            answer = _error(call.number, self._error)
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
        if (call.kind is Kind.OPEN) != (self._participant is None) or call.kind not in (
            Kind.OPEN,
            Kind.MESSAGES,
        ):
            raise MessageError(f"a call: {call.kind.name} out of turn")
        if call.kind is Kind.OPEN:
            self._open(call.place)
        else:
            assert self._participant is not None
            for message in self._incoming.feed(call.body):
                for reply in self._participant.receive(message):
                    self._outgoing.put(reply)
        piece = self._outgoing.take()
        kind = Kind.MORE if self._outgoing else Kind.ANSWER
        if kind is Kind.ANSWER and self._participant is not None and self._participant.done:
            kind = Kind.DONE
        return Answer(kind=kind, number=call.number, body=piece).encode()

    def _open(self, place: Place) -> None:
        participant = Participant(self._file.resolve())
        if participant.name != self._name:
            raise AgreementError(f"{self._name}: its site file is that of {participant.name}")
        self._participant = participant
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
        return self._report(call, self._state(ended))

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
        return self._participant.close(ended)


def _error(number: int, error: SecFCError) -> bytes:
    return Answer(kind=Kind.ERROR, number=number, body=to_json(Told.of(error).to_json())).encode()
