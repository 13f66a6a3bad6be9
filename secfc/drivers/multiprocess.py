"""A simulation with one OS process per client on this machine. The server is in this process.

A client is lost if its process ends, if it breaks, or if it does not answer a call within the deadline.
This process has all rows and gives every client its private key, so sealing hides nothing from it.
"""

import secrets
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from secfc.crypto.identity import KEY_BYTES, Identity, Roster
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.pipes import Pipes
from secfc.drivers.setup import OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.simulated import give
from secfc.drivers.terms import RunTerms
from secfc.kernels import choose
from secfc.kmeans.consensus import Resampled
from secfc.operations.ending.cells import Counted
from secfc.protocol.job.cases import Union
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import RUN_ID_BYTES, SERVER
from secfc.psu.roles import kernels_for
from secfc.psu.tokens import SALT_BYTES

READ: dict[str, Callable[[Any], Any]] = {"resampled": Resampled.of, "counted": Counted.of}
"""What makes an opened value of the JSON value in which a party tells it; the others are arrays."""

FOR_EVER = threading.TIMEOUT_MAX / 4  # seconds: stands for no deadline


def run_multiprocess(setup: Setup, on_progress: OnProgress | None = None) -> Outcome:
    """Run the protocol with one process per client. Every process has ended on return."""
    compiled = _compile(setup)
    run = secrets.token_bytes(RUN_ID_BYTES)
    keys = [secrets.token_bytes(KEY_BYTES) for _ in range(setup.job.parties + 1)]
    if setup.committee is not None:
        keys = setup.committee.keys
    server, *clients = (Identity(key).public for key in keys)
    roster = Roster(tuple(clients), server)
    terms = RunTerms.of_simulation(setup.job, setup.parties, roster)
    parties = {
        j: (partial(give, setup=setup, number=j, roster=roster, key=keys[j]), False)
        for j in range(1, setup.job.parties + 1)
    }
    with Pipes(terms, parties, compiled=compiled) as pipes:
        coordinator = Coordinator(
            terms=terms,
            run=run,
            salt=setup.salt,
            threads=setup.threads_of(setup.job.parties + 1),
            identity=Identity(keys[SERVER]),
            send=pipes.send,
            deadline=setup.deadline or FOR_EVER,
            on_progress=on_progress,
        )
        report = coordinator.run()
    return _outcome(setup, report, coordinator, pipes, run.hex())


def _compile(setup: Setup) -> bool:
    """Compile here once, if needed: the parties then read the code from the cache. Whether they use any."""
    kernels = choose(Layout(tuple(map(len, setup.rows))).run_residues(setup.job))
    if isinstance(setup.job.rows, Union):
        kernels_for(setup.job.union_plan(bytes(SALT_BYTES)))
    return kernels.name == "compiled"


def _outcome(setup: Setup, report: ServerReport, coordinator: Coordinator, pipes: Pipes, run: str) -> Outcome:
    given = {client: one for client, one in pipes.processes.items() if one.arrays}
    hidden = setup.ids is not None
    received = {client: one.arrays[0] for client, one in given.items()}
    if setup.committee is not None:
        members = (client for client in given if client <= setup.job.n)
        received = setup.committee.labels({client: received[client].tobytes() for client in members})
    told = dict[str, Any]()
    for one in given.values():
        told |= {name: value for name, value in one.result.items() if value is not None}
    return report.outcome(
        received,
        [part.shape[0] for part in setup.rows],
        coordinator.meter.costs(),
        {client: one.arrays[1] for client, one in given.items() if client <= setup.job.n} if hidden else None,
        run_id=run,
        lost=coordinator.lost,
        opened={name: READ.get(name, np.array)(value) for name, value in told.items()},
    )
