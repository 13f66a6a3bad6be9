"""A site: answers the coordinator's calls for a participant. Knows nothing of FLARE."""

import logging
import threading
from pathlib import Path
from typing import Any

import secfc
from secfc.agreement.statement import COMPLETE, LEFT_OUT, SignedStatement
from secfc.drivers.failures import as_error
from secfc.drivers.flare.calls import Call, Incoming, Kind, Outgoing, decode_call, from_json, to_json
from secfc.drivers.participant import Participant
from secfc.errors import AgreementError, MessageError, SecFCError
from secfc.protocol.messages import RUN_ID_BYTES

_LOG = logging.getLogger(__name__)

_DIGEST_BYTES = 32


class Site:
    """One organisation's side of a run.

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
        self._number = -1  # of the last call that was taken
        self._answer = b""  # what it was answered
        self._error: SecFCError | None = None
        self._participant: Participant | None = None
        self._incoming, self._outgoing = Incoming(), Outgoing()

    def answer(self, data: object) -> bytes:
        """Take a call and answer it. Nothing but errors of ours leaves, and nothing is raised."""
        with self._lock:
            number = 0
            try:
                call = decode_call(data)
                number = call.number
                if call.number == self._number:
                    return self._answer  # it did not arrive the first time
                if call.number != self._number + 1:
                    raise MessageError(f"a call: number {call.number} after number {self._number}")
            except SecFCError as error:
                return _error(number, error)
            try:
                answer = self._take(call)
            except Exception as error:
                self._fail(as_error(error))
                assert self._error is not None
                answer = _error(number, self._error)
            self._number, self._answer = call.number, answer
            return answer

    def end(self) -> None:
        """Write down what there is, unless the coordinator closed the run, and forget rows and shares."""
        with self._lock:
            try:
                self._state("FLARE ended the job before the coordinator closed the run")
            except Exception as error:
                _LOG.error("%s", as_error(error))

    def _fail(self, error: SecFCError) -> None:
        """Stop for good; the first error is the one that is told."""
        if self._error is None:
            self._error = error
            _LOG.error("%s: %s", type(error).__name__, error)
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
            self._open(from_json(call.body))
        else:
            assert self._participant is not None
            for message in self._incoming.feed(call.body):
                for reply in self._participant.receive(message):
                    self._outgoing.put(reply)
        piece = self._outgoing.take()
        kind = Kind.MORE if self._outgoing else Kind.ANSWER
        if kind is Kind.ANSWER and self._participant is not None and self._participant.done:
            kind = Kind.DONE
        return Call(kind=kind, number=call.number, body=piece).encode()

    def _open(self, opening: dict[str, Any]) -> None:
        participant = Participant(self._file.resolve())  # paths in it are relative to where it lies
        if participant.name != self._name:
            raise AgreementError(f"{self._name}: its site file is that of {participant.name}")
        number = opening.get("number")
        if not isinstance(number, int):
            raise MessageError("a call: a client's number is needed")
        run = _bytes(opening, "run", RUN_ID_BYTES)
        self._participant = participant
        for message in participant.open(
            run=run, digest=_bytes(opening, "agreement", _DIGEST_BYTES), number=number
        ):
            self._outgoing.put(message)
        _LOG.info("run %s of job %s: open", run.hex(), participant.agreement.digest.hex())

    def _close(self, call: Call) -> bytes:
        ended = str(from_json(call.body).get("ended"))
        _LOG.info("closed: %s", ended)
        statement = self._state(
            "the run was complete before this site had its labels" if ended == COMPLETE else ended
        )
        seconds = [] if self._participant is None else self._participant.seconds
        report: dict[str, Any] = {"secfc": secfc.__version__, "seconds": seconds}
        report["statement"] = None if statement is None else statement.model_dump()
        return Call(kind=Kind.REPORT, number=call.number, body=to_json(report)).encode()

    def _state(self, ended: str) -> SignedStatement | None:
        """Have labels and statement written, once; None when no run was opened."""
        self._outgoing.clear()
        if self._participant is None:
            return None
        if self._error is not None:
            ended = f"{type(self._error).__name__}: {self._error}"
        elif self._participant.left_out:
            ended = LEFT_OUT
        return self._participant.close(ended)


def _error(number: int, error: SecFCError) -> bytes:
    body = to_json({"error": type(error).__name__, "text": str(error)})
    return Call(kind=Kind.ERROR, number=number, body=body).encode()


def _bytes(opening: dict[str, Any], name: str, size: int) -> bytes:
    value = opening.get(name)
    try:
        data = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    if len(data) != size:
        raise MessageError(f"a call: {name}: {size} bytes in hexadecimal are needed")
    return data
