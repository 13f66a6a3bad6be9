"""The program of a party's process that acts by its own site file: `party_process` runs it when told a file.

The process that started it is given neither rows nor private keys; these stay where the site file says.
"""

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secfc.agreement.statement import COMPLETE, LEFT_OUT
from secfc.drivers import framing
from secfc.drivers.failures import as_error
from secfc.drivers.participant import Participant
from secfc.errors import PartyError


def run_site(inbox: BinaryIO, outbox: BinaryIO, setup: dict[str, Any]) -> None:
    """Run a site to its end; it states how that came about, whatever it was."""
    participant = Participant(Path(setup["site"]))
    framing.write_json(outbox, {"identity": participant.public.hex()})
    # Everybody's keys, which this party has pinned itself; or that another has ended the run before it began.
    if "roster" not in framing.read_json(inbox):
        return
    try:
        ended = _until_end(inbox, outbox, participant, setup)
    except Exception as error:
        told = as_error(error)
        _state(outbox, participant, f"{type(told).__name__}: {told}")
        raise
    _state(outbox, participant, ended)
    report = {"seconds": participant.seconds, "left_out": ended != COMPLETE}
    framing.write_json(outbox, {"report": report})
    framing.write_array(outbox, np.empty(0, dtype=np.int32))  # its labels stay with it


def _until_end(inbox: BinaryIO, outbox: BinaryIO, participant: Participant, setup: dict[str, Any]) -> str:
    """Take and give messages until the party has its labels, or is told how the run ended without."""
    digest, run = bytes.fromhex(setup["agreement"]), bytes.fromhex(setup["run"])
    messages = participant.open(run=run, digest=digest, number=setup["party"])
    while True:
        for data in messages:
            framing.write_frame(outbox, framing.MESSAGE, data)
        if participant.done:
            return LEFT_OUT if participant.left_out else COMPLETE
        frame = framing.read_frame(inbox)
        if frame is None:
            raise PartyError("the coordinator has gone")
        if frame[0] == framing.JSON:
            return str(json.loads(frame[1])["ending"])
        messages = participant.receive(frame[1])


def _state(outbox: BinaryIO, participant: Participant, ended: str) -> None:
    signed = participant.close(ended)
    if signed is not None:
        framing.write_json(outbox, {"statement": signed.model_dump()})
