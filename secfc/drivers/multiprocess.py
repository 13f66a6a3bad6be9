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
from secfc.codes import Code
from secfc.drivers import carrier, framing
from secfc.drivers.carrier import Parties
from secfc.drivers.costs import Meter
from secfc.drivers.failures import ends_run, error_of
from secfc.drivers.setup import OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.watch import Watch, logger
from secfc.errors import PartyError, SecFCError, StorageError, TooManyFaultsError
from secfc.escaping import shown
from secfc.journal.ledger import Stands
from secfc.kernels import choose
from secfc.protocol.messages import SERVER
from secfc.protocol.progress import Faults, Progress
from secfc.psu.plan import UnionPlan
from secfc.psu.roles import kernels_for
from secfc.psu.tokens import SALT_BYTES
from secfc.public_errors import Told
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
        kernels_for(UnionPlan.of(setup.job, bytes(SALT_BYTES)))
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
    if setup.ids is not None:  # labels and, below, numbers in the union
        rows = {j: both[1] for j, both in reported.items()}
        reported = {j: both[0].astype(np.int32) for j, both in reported.items()}
    held = [part.shape[0] for part in setup.rows]
    told = next((one for one in reports.values() if one.get("centres") is not None), {})
    opened = {name: np.array(told[name]) for name in ("centres", "deviations") if told.get(name) is not None}
    return report.outcome(reported, held, meter.costs(), rows, run_id=parties.run, lost=gone, **opened)


def _faults(lists: dict[str, Any]) -> Faults:
    lists = dict(lists)
    unread = tuple((dealer, recipient) for dealer, recipient in lists.pop("unread"))
    return Faults(unread=unread, **{name: tuple(clients) for name, clients in lists.items()})


def _collect(
    parties: Parties, setup: Setup, meter: Meter, on_progress: OnProgress | None, gone: dict[int, SecFCError]
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
            raise PartyError(f"{_name(setup, party)}: its output cannot be read: {shown(payload.decode())}")
        elif party not in arrays:
            _take_end(parties, setup, party)
        _come_together(parties, setup)
    return reports, arrays


def _hurry(parties: Parties, setup: Setup) -> None:
    """The deadline has passed: have the server go on without those that it waits for."""
    if not parties.together:
        return  # journals are read again: that is no time of the run
    if not parties.introduced:
        names = ", ".join(_name(setup, j) for j in parties.strangers)
        raise PartyError(f"nothing was heard for {setup.deadline:g} s from {names}", code=Code.TIMEOUT)
    parties.tell_server({"overdue": parties.carried})


def _take_error(
    parties: Parties, setup: Setup, party: int, event: dict[str, Any], gone: dict[int, SecFCError]
) -> None:
    """Go on without a client that broke, or raise what a party told."""
    error = _error(setup, party, event)
    if parties.spares(party) and not ends_run(error, shared=parties.shared):
        parties.give_up(party, error)  # that its process ends is still to come
        return
    raise Told.of(error).error("; ".join(map(str, [error, *gone.values()])))


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
    ended = PartyError(
        f"{_name(setup, party)}: its process ended without a result ({status})",
        code=Code.PARTY_VANISHED,
        party=None if party == SERVER else party,
    )
    if not parties.spares(party):
        raise ended
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
        parties.stands(party, _stands(event["stands"]))
        return
    parties.phase = event["progress"]["phase"]
    if on_progress is not None:
        on_progress(Progress(**event["progress"]))


def _come_together(parties: Parties, setup: Setup) -> None:
    """In a run that goes on, let parties speak once every journal has told what it has.

    The run goes on without clients that lack what was written to theirs.
    """
    if parties.together:
        return
    for client in parties.lacking():
        lacks = StorageError(
            f"{_name(setup, client)}: its journal lacks what had been written to it", party=client
        )
        if not parties.spares(client):
            raise lacks
        parties.give_up(client, lacks)
        parties.tell_server({"absent": client})
    parties.release()


def _stands(told: dict[str, Any]) -> Stands:
    names = ("taken_from", "sent_to", "forgotten")
    counts = {name: {int(j): count for j, count in told[name].items()} for name in names}
    return Stands(taken=told["taken"], **counts)


def _check_confirmed(setup: Setup, reported: set[int], gone: dict[int, SecFCError]) -> None:
    """Raise TooManyFaultsError unless R clients confirm the result to each other."""
    if len(reported) >= setup.job.threshold:
        return
    clients = (j for j in range(1, setup.job.n + 1) if j not in reported and j not in gone)
    waiting = ", ".join(_name(setup, j) for j in clients)
    raise TooManyFaultsError(
        "; ".join([f"nobody confirms the result to {waiting}", *map(str, gone.values())])
    )


def _keep_statement(setup: Setup, party: int, statement: object) -> None:
    from secfc.agreement.statement import statement_of  # noqa: PLC0415 - simulations have none

    assert setup.sites is not None
    setup.sites.statements[party] = statement_of(statement, name=_name(setup, party))


def _take_leave(parties: Parties, setup: Setup, error: SecFCError) -> None:
    """Tell the sites how the run ended and wait for their statements, but not for long."""
    parties.tell_clients({"ending": Told.of(error).to_json()})
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


def _error(setup: Setup, party: int, said: dict[str, Any]) -> SecFCError:
    """A party's error as our own type, with its name; of a site that owns its files without its text."""
    if setup.sites is not None and party != SERVER:
        return Told.read(said).said_by(party, name=_name(setup, party))
    name = "server" if party == SERVER else setup.names[party - 1]
    named = str(said.get("text")).startswith((name, f"client {party} "))
    return error_of(said, name="" if named else _name(setup, party))
