"""The program of one party's process: frames in on standard input, frames out on standard output.

`secfc.drivers.multiprocess` starts it. It holds one role, and of the rows only its own. A client's
identity is made here, for this run alone, and its private key stays here; a client with a site file is
`secfc.drivers.site_process`.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from secfc.drivers import framing
from secfc.drivers.costs import Meter
from secfc.drivers.failures import as_error
from secfc.drivers.setup import ServerReport
from secfc.drivers.storage import allocator
from secfc.params import Job, Limits
from secfc.protocol.client import Client
from secfc.protocol.messages import SERVER, Message
from secfc.protocol.server import Server
from secfc.protocol.states import State
from secfc.protocol.wire import decode, encode, envelope
from secfc.psu.tokens import Tokens
from secfc.randomness import MaskSource
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity, Roster


def main() -> int:
    """Run one party to its end."""
    inbox = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=1 << 16)
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=1 << 16)
    # Nothing that a library prints may end up between frames.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        _run(inbox, outbox)
    except (EOFError, BrokenPipeError):
        return 1  # the driver has gone; nobody is left to tell
    except Exception as error:
        told = as_error(error)
        framing.write_json(outbox, {"error": type(told).__name__, "text": str(told)})
        return 1
    return 0


def _run(inbox: BinaryIO, outbox: BinaryIO) -> None:
    setup = framing.read_json(inbox)
    if "site" in setup:
        from secfc.drivers.site_process import run_site  # noqa: PLC0415 - simulations have no site files

        run_site(inbox, outbox, setup)
        return
    party, job = setup["party"], Job(**setup["job"])
    meter = Meter()
    role: Server | Client
    opening: list[Message] = []
    if party == SERVER:
        role = Server(job=job, session=_session(inbox, setup, job), rng=np.random.default_rng(setup["seed"]))
    else:
        identity = Identity()
        framing.write_json(outbox, {"identity": identity.public.hex()})
        rows = framing.read_array(inbox)
        tokens = _tokens(framing.read_array(inbox), setup["key_check"]) if job.ids_cap is not None else None
        start = framing.read_array(inbox) if job.init == "labels" else None
        session = _session(inbox, setup, job)
        with meter.work("identify", party):
            role = Client(
                number=party,
                rows=rows,
                job=job,
                session=session,
                identity=identity,
                masks=MaskSource(),
                limits=Limits(**setup["limits"]),
                start=start,
                tokens=tokens,
                name=setup["name"],
                allocate=allocator(None if setup["storage"] is None else Path(setup["storage"])),
            )
            del rows
            opening = role.start()
    _send(outbox, opening, job)
    while role.state is not State.DONE:
        frame = framing.read_frame(inbox)
        if frame is None:
            raise EOFError
        if frame[0] == framing.JSON and isinstance(role, Server):
            _give_up(role, json.loads(frame[1]), outbox, job)
            continue
        header = envelope(frame[1])
        with meter.work(header.work, party):
            replies = role.receive(decode(frame[1], k=job.k))
        if isinstance(role, Server):
            framing.write_json(outbox, {"progress": asdict(role.progress)})
        with meter.work(header.work, party):
            _send(outbox, replies, job)
    _report(outbox, role, job, meter)


def _tokens(both: NDArray[np.uint64], check: str) -> Tokens:
    u, v = both
    return Tokens(u=u, v=v, check=bytes.fromhex(check))


def _session(inbox: BinaryIO, setup: dict[str, Any], job: Job) -> Session:
    """The run, once the driver has told everybody's public keys."""
    roster, run = (
        Roster(tuple(map(bytes.fromhex, framing.read_json(inbox)["roster"]))),
        bytes.fromhex(setup["run"]),
    )
    if setup["agreement"] is not None:
        return Session(run=run, agreement=bytes.fromhex(setup["agreement"]), roster=roster)
    return Session.of(job=job, roster=roster, run=run)


def _give_up(server: Server, order: dict[str, Any], outbox: BinaryIO, job: Job) -> None:
    """Tell the server who is absent: a client whose process ended, or everybody that it waits for."""
    for client in [order["absent"]] if "absent" in order else server.awaited:
        _send(outbox, server.absent(client), job)
    framing.write_json(outbox, {"progress": asdict(server.progress)})


def _send(outbox: BinaryIO, messages: list[Message], job: Job) -> None:
    for message in messages:
        framing.write_frame(outbox, framing.MESSAGE, encode(message, k=job.k))


def _report(outbox: BinaryIO, role: Server | Client, job: Job, meter: Meter) -> None:
    report: dict[str, Any] = {"seconds": [[*key, value] for key, value in meter.seconds.items()]}
    if isinstance(role, Server):
        summary = ServerReport.of(role, job)
        array = np.vstack([summary.start, summary.labels, summary.found_labels])
        report |= {name: value for name, value in vars(summary).items() if not isinstance(value, np.ndarray)}
        report["faults"] = asdict(summary.faults)
    else:
        # No labels: its rows were left out.
        array = np.empty(0, dtype=np.int32) if role.labels is None else role.labels
        if role.labels is not None and role.union_rows is not None:
            array = np.stack([role.labels, role.union_rows])
        report["left_out"] = role.labels is None
    framing.write_json(outbox, {"report": report})
    framing.write_array(outbox, array)


if __name__ == "__main__":
    sys.exit(main())
