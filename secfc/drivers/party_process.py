"""The program of one party's process: frames in on standard input, frames out on standard output.

`secfc.drivers.multiprocess` starts it. It holds one role, and of the rows only its own. A party's
identity is made here, for this run alone, and its private key stays here. The server of an agreed job reads
its key from a file; a client with a site file is `secfc.drivers.site_process`.
"""

import secrets
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from secfc.drivers import framing
from secfc.drivers.costs import Meter
from secfc.drivers.line import Line
from secfc.drivers.party import SimulatedClient, SimulatedServer, party_name
from secfc.drivers.processes import speak
from secfc.drivers.setup import ServerReport
from secfc.drivers.storage import allocator
from secfc.journal.beginning import as_bytes, open_journal
from secfc.journal.journal import Journal
from secfc.journal.records import Buffer
from secfc.limits import Limits
from secfc.params import Job
from secfc.protocol.client import Client
from secfc.protocol.messages import SERVER
from secfc.protocol.server import Server
from secfc.psu.tokens import RowIds
from secfc.randomness import KEY_BYTES, MaskSource
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity

SEED_BYTES = 16
"""Of the public generator of starts, when nobody gave a seed."""


def main() -> int:
    """Run one party to its end."""
    return speak(_run)


def _run(inbox: BinaryIO, outbox: BinaryIO) -> None:
    setup = framing.read_json(inbox)
    if "site" in setup:
        from secfc.drivers.site_process import run_site  # noqa: PLC0415 - simulations have no site files

        run_site(inbox, outbox, setup)
        return
    party, journal = _server(outbox, setup) if setup["party"] == SERVER else _client(inbox, outbox, setup)
    line = Line(party, journal, inbox, outbox)
    line.resume(setup)
    _tell_progress(outbox, party)
    while not party.done:
        begun = party.role is not None
        line.step()
        if begun:
            _tell_progress(outbox, party)
        line.flush()
    assert party.role is not None
    _report(outbox, party.role, party.job, party.meter)


def _tell_progress(outbox: BinaryIO, party: SimulatedServer | SimulatedClient) -> None:
    if isinstance(party, SimulatedServer) and party.role is not None:
        framing.write_json(outbox, {"progress": asdict(party.role.progress)})


def _secrets(
    setup: dict[str, Any], given: Iterable[Buffer], sizes: dict[str, int]
) -> tuple[Journal | None, dict[str, bytes]]:
    """Fresh secrets, or those of the party's journal."""
    if setup["storage"] is None:
        return None, {name: secrets.token_bytes(size) for name, size in sizes.items()}
    return open_journal(
        Journal,
        Path(setup["storage"]) / party_name(setup["party"]),
        run=setup["run"],
        party=setup["party"],
        given=given,
        sizes=sizes,
        begun=setup["begun"],
    )


def _server(outbox: BinaryIO, setup: dict[str, Any]) -> tuple[SimulatedServer, Journal | None]:
    public = as_bytes([setup["job"], setup["agreement"], setup["seed"], setup["prepares"], setup["salt"]])
    sizes = {"secret": KEY_BYTES, "seed": SEED_BYTES, "identity": KEY_BYTES}
    journal, drawn = _secrets(setup, [public], sizes)
    identity = Identity(drawn["identity"]) if setup["key"] is None else _agreed_key(Path(setup["key"]))
    framing.write_json(outbox, {"identity": identity.public.hex()})
    seed = int.from_bytes(drawn["seed"], "little") if setup["seed"] is None else setup["seed"]

    def make(session: Session) -> Server:
        rng = np.random.default_rng(seed)
        return Server(
            job=Job(**setup["job"]),
            session=session,
            rng=rng,
            secret=MaskSource(drawn["secret"]),
            prepares=setup["prepares"],
            salt=_salt(setup),
        )

    return SimulatedServer(setup, make, identity), journal


def _agreed_key(path: Path) -> Identity:
    from secfc.agreement.keys import read_key  # noqa: PLC0415 - simulations have no key files

    return read_key(path)


def _client(
    inbox: BinaryIO, outbox: BinaryIO, setup: dict[str, Any]
) -> tuple[SimulatedClient, Journal | None]:
    job = Job(**setup["job"])
    arrays = [framing.read_array(inbox)]
    rows, ids, start = arrays[0], None, None
    if job.ids_cap is not None:
        arrays.append(ids := framing.read_array(inbox))
    if job.init == "labels":
        arrays.append(start := framing.read_array(inbox))
    public = as_bytes(
        [setup["job"], setup["agreement"], setup["limits"], setup["ids_key"], setup["salt"]]
        + [[one.shape, one.dtype.str] for one in arrays]
    )
    sizes = {"identity": KEY_BYTES, "ephemeral": KEY_BYTES, "masks": KEY_BYTES}
    journal, drawn = _secrets(setup, [public, *(one.tobytes() for one in arrays)], sizes)
    identity = Identity(drawn["identity"])
    framing.write_json(outbox, {"identity": identity.public.hex()})
    held = [rows]
    del rows, arrays

    def make(session: Session) -> Client:
        return Client(
            number=setup["party"],
            rows=held.pop(),
            job=job,
            session=session,
            identity=identity,
            ephemeral=drawn["ephemeral"],
            masks=MaskSource(drawn["masks"]),
            limits=Limits(**setup["limits"]),
            start=start,
            salt=_salt(setup),
            ids=None if ids is None else RowIds(digests=ids, key=bytes.fromhex(setup["ids_key"])),
            name=setup["name"],
            allocate=allocator(
                None if setup["storage"] is None else Path(setup["storage"]), name=setup["name"]
            ),
        )

    return SimulatedClient(setup, make), journal


def _salt(setup: dict[str, Any]) -> bytes | None:
    return None if setup["salt"] is None else bytes.fromhex(setup["salt"])


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
        for name, opened in (("centres", role.centres), ("deviations", role.deviations)):
            report[name] = None if opened is None else opened.tolist()
    framing.write_json(outbox, {"report": report})
    framing.write_array(outbox, array)


if __name__ == "__main__":
    sys.exit(main())
