"""A simulation with one OS process per client on this machine. The server is in this process.

The coordinator and the callees are those of runs across machines. Calls go over pipes. A client is lost if
its process ends, if it breaks (`secfc.drivers.failures.ends_run`), or if it does not answer a call within the
deadline. The run continues while enough clients are left. With a folder for storage every party keeps a log
there. Then a killed process is started again and continues, and so can the whole run if this process was
killed (`secfc.drivers.run_folder`).

Clients seal their messages to each other. But this process has all rows and gives every client its private
key, so sealing hides nothing from it.
"""

import secrets
import threading
from functools import partial

import numpy as np

from secfc.drivers.coordinator import Coordinator
from secfc.drivers.pipes import Pipes
from secfc.drivers.run_folder import run_folder
from secfc.drivers.setup import OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.simulated import give
from secfc.drivers.terms import RunTerms
from secfc.kernels import choose
from secfc.kernels.vectorised import VectorisedKernels
from secfc.protocol.messages import RUN_ID_BYTES, SERVER
from secfc.psu.plan import UnionPlan
from secfc.psu.roles import kernels_for
from secfc.psu.tokens import SALT_BYTES
from secfc.row_layout import Layout
from secfc.sealing.identity import KEY_BYTES, Identity, Roster

FOR_EVER = threading.TIMEOUT_MAX / 4  # seconds: stands for no deadline


def run_multiprocess(setup: Setup, on_progress: OnProgress | None = None) -> Outcome:
    """Run the protocol with one process per client. Every process has ended on return.

    Raises a party's own error, or TooManyFaultsError if too few clients' processes are left.
    """
    compiled = _compile(setup)
    folder = None if setup.storage is None else run_folder(setup)
    if folder is None:
        run = secrets.token_bytes(RUN_ID_BYTES)
        keys = [secrets.token_bytes(KEY_BYTES) for _ in range(setup.job.parties + 1)]
        if setup.committee is not None:
            keys = setup.committee.keys
    else:
        run, keys = folder.log.run, folder.identities
    server, *clients = (Identity(key).public for key in keys)
    roster = Roster(tuple(clients), server)
    terms = RunTerms.of_simulation(setup.job, setup.parties, roster)
    path = None if folder is None else folder.path
    parties = {
        j: (partial(give, setup=setup, number=j, roster=roster, key=keys[j], folder=path), path is not None)
        for j in range(1, setup.job.parties + 1)
    }
    coordinator = None
    try:
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
                log=None if folder is None else folder.log,
            )
            report = coordinator.run()
    except BaseException as error:
        if folder is not None:
            goes_on = setup.resume is True
            if coordinator is not None:  # Ctrl-C can come while the run is closed and nobody has its result
                goes_on = coordinator.interrupted or not isinstance(error, Exception)
            if goes_on and setup.resumable:
                folder.leave()
            else:
                folder.remove()
        raise
    if folder is not None:
        folder.remove()
    return _outcome(setup, report, coordinator, pipes, run.hex())


def _compile(setup: Setup) -> bool:
    """Compile here once, if needed: the parties then read the code from the cache. True if there is any."""
    chosen: list[object] = [choose(Layout(tuple(map(len, setup.rows))).run_residues(setup.job))]
    if setup.job.ids_cap is not None:
        chosen.append(kernels_for(UnionPlan.of(setup.job, bytes(SALT_BYTES))))
    return any(not isinstance(one, VectorisedKernels) for one in chosen)


def _outcome(setup: Setup, report: ServerReport, coordinator: Coordinator, pipes: Pipes, run: str) -> Outcome:
    given = {client: one for client, one in pipes.processes.items() if one.arrays}
    hidden = setup.ids is not None
    received = {client: one.arrays[0] for client, one in given.items()}
    if setup.committee is not None:
        members = (client for client in given if client <= setup.job.n)
        received = setup.committee.labels({client: received[client].tobytes() for client in members})
    told = next((one.result for one in given.values() if one.result["centres"] is not None), {})
    return report.outcome(
        received,
        [part.shape[0] for part in setup.rows],
        coordinator.meter.costs(),
        {client: one.arrays[1] for client, one in given.items() if client <= setup.job.n} if hidden else None,
        run_id=run,
        lost=coordinator.lost,
        **{name: np.array(value) for name, value in told.items() if value is not None},
    )
