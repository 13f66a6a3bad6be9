"""A site: holds the client's role for a whole run and answers the coordinator. Knows nothing of FLARE."""

import json
import logging
import os
import shutil
import tempfile
import threading
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import secfc
from secfc._arrays import Labels
from secfc.drivers.costs import Meter
from secfc.drivers.failures import as_error
from secfc.drivers.flare.calls import Call, Incoming, Kind, Outgoing, decode_call, from_json, to_json
from secfc.drivers.flare.jobs import read_agreement, read_job_file
from secfc.drivers.flare.site_config import read_identity, read_site_config
from secfc.drivers.storage import allocator
from secfc.errors import MessageError, ParameterError, SecFCError
from secfc.protocol.client import Client
from secfc.protocol.messages import RUN_ID_BYTES, Message
from secfc.protocol.wire import decode, encode, envelope
from secfc.randomness import MaskSource
from secfc.tables import read_table, write_labels

_LOG = logging.getLogger(__name__)

LABELS, SUMMARY = "labels.csv", "summary.json"
"""Files of a run in the site's folder of results."""


class Site:
    """One organisation's side of a run.

    Parameters
    ----------
    name : str
        The site's FLARE name.
    config : Path
        Its own configuration file.
    """

    def __init__(self, *, name: str, config: Path) -> None:
        self._name, self._config_path = name, config
        self._lock = threading.Lock()
        self._number = -1  # of the last call that was taken
        self._answer = b""  # what it was answered
        self._error: SecFCError | None = None
        self._client: Client | None = None
        self._incoming, self._outgoing = Incoming(), Outgoing()
        self._meter = Meter()
        self._run: bytes | None = None  # until it is written down
        self._labels: Labels | None = None

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
                self._write({"ended": "FLARE ended the job before the coordinator closed the run"})
            except Exception as error:
                _LOG.error("%s", as_error(error))
            self._client = None
            self._outgoing.clear()

    def _fail(self, error: SecFCError) -> None:
        """Stop for good; the first error is the one that is told."""
        if self._error is None:
            self._error = error
            _LOG.error("%s: %s", type(error).__name__, error)
        self._client = None
        self._outgoing.clear()

    def _take(self, call: Call) -> bytes:
        if call.kind is Kind.CLOSE:
            return self._close(call)
        if self._error is not None:
            raise self._error
        if (call.kind is Kind.OPEN) != (self._client is None) or call.kind not in (Kind.OPEN, Kind.MESSAGES):
            raise MessageError(f"a call: {call.kind.name} out of turn")
        if call.kind is Kind.OPEN:
            self._open(from_json(call.body))
        else:
            for message in self._incoming.feed(call.body):
                self._receive(message)
        piece = self._outgoing.take()
        kind = Kind.MORE if self._outgoing else Kind.ANSWER
        return Call(kind=kind, number=call.number, body=piece).encode()

    def _open(self, opening: dict[str, Any]) -> None:
        self._config = read_site_config(self._config_path)
        agreement = read_agreement(read_job_file(self._config.job))
        self._digest = agreement.digest
        if opening.get("job") != self._digest:
            raise ParameterError(
                f"{self._name}: it agreed to the job {self._digest[:16]}, the coordinator runs "
                f"{str(opening.get('job'))[:16]}"
            )
        number = opening.get("number")
        if self._name not in agreement.sites or number != agreement.sites.index(self._name) + 1:
            raise ParameterError(f"{self._name}: it is not site {number} of the job")
        session = agreement.session(_run_id(opening.get("run")))
        self._run, self._job = session.run, agreement.job
        identity = read_identity(self._config.key)
        self._table = read_table(
            self._config.data,
            columns=self._config.columns,
            drop=self._config.drop,
            id_column=self._config.id_column,
        )
        with self._meter.work("identify", number):
            self._client = Client(
                number=number,
                rows=self._table.rows,
                job=self._job,
                session=session,
                identity=identity,
                masks=MaskSource(),
                limits=self._config.limits,
                name=self._name,
                allocate=allocator(self._config.storage),
            )
            self._table = replace(self._table, rows=np.empty((0, self._job.d)))
            self._send(self._client.start())
        _LOG.info("run %s of job %s: open", session.run.hex(), self._digest)

    def _receive(self, data: bytes) -> None:
        assert self._client is not None
        with self._meter.work(envelope(data).work, self._client.number):
            self._send(self._client.receive(decode(data, k=self._job.k)))
        self._labels = self._client.labels

    def _send(self, messages: list[Message]) -> None:
        for message in messages:
            data = encode(message, k=self._job.k)
            self._meter.sent(envelope(data), len(data))
            self._outgoing.put(data)

    def _close(self, call: Call) -> bytes:
        ending = from_json(call.body)
        _LOG.info("closed: %s", ending.get("ended"))
        self._write(ending)
        self._client = None
        report = {"secfc": secfc.__version__, "seconds": self._seconds()}
        return Call(kind=Kind.REPORT, number=call.number, body=to_json(report)).encode()

    def _seconds(self) -> list[list[str | float]]:
        """CPU seconds by phase and role."""
        return [[phase, role, value] for (phase, role), value in self._meter.seconds.items()]

    def _write(self, ending: dict[str, Any]) -> None:
        """A folder that says how the run ended, with labels if there are any; once, whole or not at all."""
        if self._run is None:
            return
        run, self._run = self._run, None
        summary = {
            "secfc": secfc.__version__,
            "site": self._name,
            "job": self._digest,
            "run": run.hex(),
            "ending": ending,
            "error": None if self._error is None else f"{type(self._error).__name__}: {self._error}",
            "left": self._left(),
            "seconds": self._seconds(),
        }
        self._config.results.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{run.hex()}-", dir=self._config.results))
        try:
            if self._labels is not None:
                write_labels(draft / LABELS, self._table, self._labels)
            (draft / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
            os.replace(draft, self._config.results / run.hex())
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise

    def _left(self) -> dict[str, dict[str, int]]:
        """What left the building: messages and bytes of each type."""
        left: dict[str, dict[str, int]] = defaultdict(lambda: {"messages": 0, "bytes": 0})
        for record in self._meter.costs().messages:
            left[record.kind]["messages"] += 1
            left[record.kind]["bytes"] += record.size
        return dict(left)


def _error(number: int, error: SecFCError) -> bytes:
    body = to_json({"error": type(error).__name__, "text": str(error)})
    return Call(kind=Kind.ERROR, number=number, body=body).encode()


def _run_id(value: object) -> bytes:
    try:
        run = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        run = b""
    if len(run) != RUN_ID_BYTES:
        raise MessageError(f"a call: a run identifier has {RUN_ID_BYTES} bytes in hexadecimal")
    return run
