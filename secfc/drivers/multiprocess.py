"""One OS process per party on this machine; this process only carries encoded messages between them.

A client whose process ends is absent, and so are one that breaks (`secfc.drivers.failures.ends_run`) and,
after a deadline without progress, those that the server waits for: the run goes on while enough are left.
With a folder for storage every party keeps a journal there, and a process that was killed is started again
and goes on where it was; so does the whole run when this process was killed (`secfc.drivers.run_folder`).

The parties' processes are new interpreters, not forks: they hold nothing but what is sent to them, work in
notebooks and scripts alike, and cannot repeat another's masks. Messages go over their standard input and
output, so nothing listens on a port. What clients send each other is sealed under keys that they alone have.
In a simulation this process nevertheless has all rows, and tells each party who the others are: sealing
hides nothing from it. Parties that act by files of their own give it no rows and pin a roster of their own:
then it can neither read nor change what it carries from client to client.
"""

import json
import queue
import time
from typing import Any

import numpy as np

from secfc._arrays import Ints
from secfc.drivers import carrier, framing
from secfc.drivers.carrier import Parties
from secfc.drivers.costs import Meter
from secfc.drivers.failures import ends_run, error_of
from secfc.drivers.setup import OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.watch import Watch, logger
from secfc.errors import PartyError, SecFCError, TooManyFaultsError
from secfc.kernels import choose
from secfc.protocol.messages import SERVER
from secfc.protocol.progress import Faults, Progress
from secfc.psu.plan import UnionPlan
from secfc.psu.roles import kernels_for
from secfc.row_layout import Layout

_COMPARE_SECONDS = 30.0
"""How long clients may wait for others to confirm the result, when some of these have vanished."""


def run_multiprocess(setup: Setup, on_progress: OnProgress | None = None) -> Outcome:
    """Run the protocol with one process per party.

    Raises
    ------
    SecFCError
        A party's own error, PartyError when the server's process failed or vanished, TooManyFaultsError when
        too few clients' processes are left. Every process has ended then.
    """
    meter = Meter()
    if setup.sites is None:
        # Compile here, once, if need be: the parties then read the code from the cache.
        choose(Layout(tuple(len(rows) for rows in setup.rows)).answer_residues(setup.job))
    if setup.job.ids_cap is not None:
        kernels_for(UnionPlan.of(setup.job))
    with Parties(setup, meter) as parties:
        watch = Watch(run=parties.run, job=setup.job, meter=meter, on_progress=on_progress)
        gone = parties.gone
        try:
            reports, arrays = _collect(parties, setup, meter, watch, gone)
        except SecFCError as error:
            if setup.sites is not None:
                _take_leave(parties, setup, error)
            raise
    server = reports[SERVER]
    start, labels, *found = arrays[SERVER]
    server |= {"faults": _faults(server["faults"])}
    report = ServerReport(start=start, labels=labels, found_labels=np.array(found), **server)
    watch.ended(n_iter=report.n_iter, converged=report.converged)
    if setup.sites is not None:  # what they received stays with them
        hidden = setup.job.ids_cap is not None
        return report.outcome(
            {},
            [0] * setup.job.n if hidden else report.counts,
            meter.costs(),
            {} if hidden else None,
            run_id=parties.run,
            lost=gone,
        )
    reported = {j: arrays[j] for j, told in reports.items() if j != SERVER and not told["left_out"]}
    rows: dict[int, Ints] | None = None
    if setup.tokens is not None:  # labels and, below, numbers in the union
        rows = {j: both[1] for j, both in reported.items()}
        reported = {j: both[0].astype(np.int32) for j, both in reported.items()}
    held = [part.shape[0] for part in setup.rows]
    told = next((one for one in reports.values() if one.get("centres") is not None), {})
    opened = {name: np.array(told[name]) for name in ("centres", "deviations") if told.get(name) is not None}
    return report.outcome(reported, held, meter.costs(), rows, run_id=parties.run, lost=gone, **opened)


def _faults(lists: dict[str, list[int]]) -> Faults:
    return Faults(**{name: tuple(clients) for name, clients in lists.items()})


def _collect(
    parties: Parties, setup: Setup, meter: Meter, on_progress: OnProgress | None, gone: dict[int, str]
) -> tuple[dict[int, dict[str, Any]], dict[int, Any]]:
    """Read the parties' events until the server and each client that is left has reported."""
    reports: dict[int, dict[str, Any]] = {}
    arrays: dict[int, Any] = {}
    overdue = False
    while SERVER not in arrays or len(arrays.keys() | gone.keys()) <= setup.job.n:
        patience = _COMPARE_SECONDS if SERVER in arrays and gone else None
        try:
            party, kind, payload = parties.events.get(timeout=setup.deadline or patience)
        except queue.Empty:
            if SERVER not in arrays:
                _hurry(parties, setup)
                continue
            if setup.job.reveal_to and not overdue:
                # Too few are left to open the centres, perhaps; the labels are final.
                parties.tell_clients({"overdue": True})
                overdue = True
                continue
            _check_confirmed(setup, arrays.keys() - {SERVER}, gone)
            break  # those that hang have had their time
        if kind == framing.ARRAY:
            arrays[party] = framing.load_array(payload)
            for phase, role, seconds in reports[party].pop("seconds"):
                meter.seconds[phase, role] += seconds
        elif kind == framing.JSON:
            event = json.loads(payload)
            if "report" in event:
                reports[party] = event["report"]
            elif "error" in event:
                _take_error(parties, setup, party, event, gone)
            else:
                _note(parties, setup, party, event, on_progress)
        elif payload:
            raise PartyError(f"{_name(setup, party)}: its output cannot be read: {payload.decode()}")
        elif party not in arrays:
            _take_end(parties, setup, party)
    return reports, arrays


def _hurry(parties: Parties, setup: Setup) -> None:
    """The deadline has passed: have the server go on without those that it waits for."""
    if not parties.together:
        return  # journals are read again: that is no time of the run
    if not parties.introduced:
        names = ", ".join(_name(setup, j) for j in parties.strangers)
        raise PartyError(f"nothing was heard for {setup.deadline:g} s from {names}")
    parties.tell_server({"overdue": True})


def _take_error(
    parties: Parties, setup: Setup, party: int, event: dict[str, Any], gone: dict[int, str]
) -> None:
    """Go on without a client that broke, or raise what a party told."""
    error = _error(setup, party, event["error"], event["text"])
    if parties.spares(party) and not ends_run(error, shared=parties.shared):
        parties.give_up(party, str(error))  # that its process ends is still to come
        return
    raise _error(setup, party, event["error"], "; ".join([event["text"], *gone.values()]))


def _take_end(parties: Parties, setup: Setup, party: int) -> None:
    """Start a party again whose process has ended too early, or go on without."""
    status = parties.exit(party)
    if parties.restart(party):
        logger.warning(
            "run %s: %s: its process ended (%s) and is started again",
            parties.run,
            _name(setup, party),
            status,
            extra={"run": parties.run},
        )
        return
    ended = f"{_name(setup, party)}: its process ended without a result ({status})"
    if not parties.spares(party):
        raise PartyError(ended)
    parties.give_up(party, ended)
    parties.tell_server({"absent": party})


def _note(
    parties: Parties, setup: Setup, party: int, event: dict[str, Any], on_progress: OnProgress | None
) -> None:
    """Take what a party says on its way."""
    if "statement" in event:
        _keep_statement(setup, party, event["statement"])
        return
    if "identity" in event:
        parties.identify(party, event["identity"], keeps=event.get("keeps"))
        return
    if "stands" in event:
        taken, taken_from = event["stands"]
        parties.stands(party, taken, dict(taken_from))
        return
    parties.phase = event["progress"]["phase"]
    if on_progress is not None:
        on_progress(Progress(**event["progress"]))


def _check_confirmed(setup: Setup, reported: set[int], gone: dict[int, str]) -> None:
    """Raise TooManyFaultsError unless R clients confirm the result to each other."""
    if len(reported) >= setup.job.threshold:
        return
    clients = (j for j in range(1, setup.job.n + 1) if j not in reported and j not in gone)
    waiting = ", ".join(_name(setup, j) for j in clients)
    raise TooManyFaultsError("; ".join([f"nobody confirms the result to {waiting}", *gone.values()]))


def _keep_statement(setup: Setup, party: int, statement: object) -> None:
    from secfc.agreement.statement import statement_of  # noqa: PLC0415 - simulations have none

    assert setup.sites is not None
    setup.sites.statements[party] = statement_of(statement, name=_name(setup, party))


def _take_leave(parties: Parties, setup: Setup, error: SecFCError) -> None:
    """Tell the sites how the run ended and wait for their statements, but not for long."""
    parties.tell_clients({"ending": f"{type(error).__name__}: {error}"})
    until = time.monotonic() + carrier.GRACE_SECONDS
    running = set(range(1, setup.job.n + 1)) - setup.sites.statements.keys() if setup.sites else set()
    while running:
        try:
            party, kind, payload = parties.events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return
        if kind == framing.JSON and "statement" in (event := json.loads(payload)):
            _keep_statement(setup, party, event["statement"])
            running.discard(party)
        elif not kind:
            running.discard(party)


def _name(setup: Setup, party: int) -> str:
    return "server" if party == SERVER else f"client {party} ({setup.names[party - 1]})"


def _error(setup: Setup, party: int, kind: str, text: str) -> SecFCError:
    """A party's error as our own type, with its name."""
    name = "server" if party == SERVER else setup.names[party - 1]
    named = text.startswith((name, f"client {party} "))
    return error_of(kind, text if named else f"{_name(setup, party)}: {text}")
