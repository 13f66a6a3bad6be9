"""The program of a party's process that acts by its own site file: `party_process` runs it when told a file.

The process that started it is given neither rows nor private keys; these stay where the site file says.
"""

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secfc.agreement.statement import COMPLETE, LEFT_OUT
from secfc.codes import Code
from secfc.drivers import framing
from secfc.drivers.failures import as_error
from secfc.drivers.line import Line
from secfc.drivers.participant import Participant
from secfc.drivers.site_log import log_error
from secfc.errors import PartyError, StorageError
from secfc.journal.records import Buffer
from secfc.protocol.wire import envelope
from secfc.public_errors import Told


def run_site(inbox: BinaryIO, outbox: BinaryIO, setup: dict[str, Any]) -> None:
    """Run a site to its end; it states how that came about, whatever it was.

    Raises
    ------
    SecFCError
        What the site may tell of its error; the whole of it is in the site's own log.
    """
    try:
        _run(inbox, outbox, setup)
    except (EOFError, BrokenPipeError):
        raise
    except Exception as error:
        log_error(Path(setup["site"]), error)
        told = Told.of(as_error(error))
        raise told.error(told.code.meaning) from None


def _run(inbox: BinaryIO, outbox: BinaryIO, setup: dict[str, Any]) -> None:
    participant = Participant(Path(setup["site"]))
    framing.write_json(outbox, {"identity": participant.public.hex(), "keeps": participant.keeps})
    first = None
    if not setup["kept"]:
        if participant.keeps:
            framing.write_kept(outbox, 0)
        # Everybody's keys, which this party has pinned itself; or that another ended the run before it began.
        first = framing.expect_json(inbox)
        if "roster" not in json.loads(first):
            return
    try:
        ended = _until_end(inbox, outbox, participant, setup, first)
    except Exception as error:
        _state(outbox, participant, participant.ending(as_error(error)))
        participant.forget()
        raise
    _state(outbox, participant, ended)
    report = {"seconds": participant.seconds, "left_out": ended != COMPLETE}
    framing.write_json(outbox, {"report": report})
    framing.write_array(outbox, np.empty(0, dtype=np.int32))  # its labels stay with it
    participant.forget()


def _until_end(
    inbox: BinaryIO, outbox: BinaryIO, participant: Participant, setup: dict[str, Any], first: bytes | None
) -> str:
    """Take and give messages until the party has its labels, or is told how the run ended without."""
    opening: dict[str, Any] = {
        "run": bytes.fromhex(setup["run"]),
        "digest": bytes.fromhex(setup["agreement"]),
        "number": setup["party"],
    }
    journal = participant.open_journal(**opening, kept=setup["kept"]) if participant.keeps else None
    site = _Site(participant, opening)
    line = Line(site, journal, inbox, outbox)
    line.resume(setup)
    if line.fresh and first is not None:
        line.take(framing.JSON, first)
        line.flush()
    while not (participant.done or (site.overdue and participant.confirmed)) and site.ended is None:
        try:
            line.step()
        except EOFError:
            raise PartyError("the coordinator has gone", code=Code.PARTY_VANISHED) from None
        line.flush()
    if site.ended is not None:
        return site.ended
    return LEFT_OUT if participant.left_out else COMPLETE


class _Site:
    """A participant between frames; see `secfc.journal.persistent.Party`."""

    forgets = False

    def __init__(self, participant: Participant, opening: dict[str, Any]) -> None:
        self._participant, self._opening = participant, opening
        self.ended: str | None = None
        self.overdue = False

    def take(self, kind: bytes, payload: bytes, *, obsolete: bool = False) -> list[bytes | memoryview]:
        """Take a message, everybody's keys, that nobody is waited for, or how the run has ended."""
        if kind == framing.MESSAGE:
            return self._participant.receive(payload)
        order = json.loads(payload)
        if "roster" in order:
            return self._participant.open(**self._opening)
        if "overdue" in order:
            self.overdue = True
        else:
            self.ended = Told.read(order["ending"]).ending(self._participant.agreement.names)
        return []

    def asks(self, kind: bytes, payload: bytes) -> bool:
        """Never: a site makes all messages again, as its statement counts their bytes."""
        return False

    def checkpoint(self) -> None:
        """None: it forgets nothing before the end."""

    def restore(self, state: bytes) -> None:
        """Refuse, as it never said where it stands."""
        raise StorageError("a site's journal has a state")

    def sender(self, kind: bytes, payload: bytes) -> int | None:
        """Who sent a frame, if it is another party's message."""
        return envelope(payload).sender if kind == framing.MESSAGE else None

    def recipient(self, message: Buffer) -> int:
        """Whom a message is to."""
        return envelope(message).recipient


def _state(outbox: BinaryIO, participant: Participant, ended: str) -> None:
    signed = participant.close(ended)
    if signed is not None:
        framing.write_json(outbox, {"statement": signed.model_dump()})
