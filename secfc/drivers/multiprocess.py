"""One OS process per party on this machine; this process only carries encoded messages between them.

A client whose process ends is absent, and so are one that breaks (`secfc.drivers.failures.ends_run`) and,
after a deadline without progress, those that the server waits for: the run goes on while enough are left.
With a folder for storage every party keeps a journal there, and a process that was killed is started again
and goes on where it was.

The parties' processes are new interpreters, not forks: they hold nothing but what is sent to them, work in
notebooks and scripts alike, and cannot repeat another's masks. Messages go over their standard input and
output, so nothing listens on a port. What clients send each other is sealed under keys that they alone have.
In a simulation this process nevertheless has all rows, and tells each party who the others are: sealing
hides nothing from it. Parties that act by files of their own give it no rows and pin a roster of their own:
then it can neither read nor change what it carries from client to client.
"""

import json
import queue
import secrets
import struct
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any, BinaryIO, cast

import numpy as np

from secfc._arrays import Ints
from secfc.drivers import framing
from secfc.drivers.carried import envelope
from secfc.drivers.costs import Meter
from secfc.drivers.failures import ends_run, error_of
from secfc.drivers.outbox import Outbox
from secfc.drivers.processes import how_it_ended, start_program
from secfc.drivers.run_folder import RunFolder
from secfc.drivers.setup import OnProgress, Outcome, ServerReport, Setup
from secfc.drivers.watch import Watch, logger
from secfc.errors import MessageError, PartyError, SecFCError, TooManyFaultsError
from secfc.kernels import choose
from secfc.protocol.messages import RUN_ID_BYTES, SERVER
from secfc.protocol.progress import Faults, Progress
from secfc.psu.plan import UnionPlan
from secfc.psu.roles import kernels_for
from secfc.row_layout import Layout

_GRACE_SECONDS = 5.0
"""How long a process may take to end by itself, before it is terminated, and again before it is killed."""

_COMPARE_SECONDS = 30.0
"""How long clients may wait for others to confirm the result, when some of these have vanished."""

_TRIES = 3
"""How often a process is started that ends before it has come any further."""

# (party, frame kind, payload); a kind of b"" is the end of the party's output, its payload what broke it.
_Event = tuple[int, bytes, bytes]


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
    with _Parties(setup, meter) as parties:
        watch = Watch(run=parties.run, job=setup.job, meter=meter, on_progress=on_progress)
        gone: dict[int, str] = {}  # clients that the run went on without, and why
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
    parties: "_Parties", setup: Setup, meter: Meter, on_progress: OnProgress | None, gone: dict[int, str]
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
            _take_end(parties, setup, party, gone)
    return reports, arrays


def _hurry(parties: "_Parties", setup: Setup) -> None:
    """The deadline has passed: have the server go on without those that it waits for."""
    if not parties.introduced:
        names = ", ".join(_name(setup, j) for j in parties.strangers)
        raise PartyError(f"nothing was heard for {setup.deadline:g} s from {names}")
    parties.tell_server({"overdue": True})


def _take_error(
    parties: "_Parties", setup: Setup, party: int, event: dict[str, Any], gone: dict[int, str]
) -> None:
    """Go on without a client that broke, or raise what a party told."""
    error = _error(setup, party, event["error"], event["text"])
    if parties.spares(party) and not ends_run(error, shared=parties.shared):
        parties.give_up(party)  # that its process ends is still to come
        gone[party] = str(error)
        return
    raise _error(setup, party, event["error"], "; ".join([event["text"], *gone.values()]))


def _take_end(parties: "_Parties", setup: Setup, party: int, gone: dict[int, str]) -> None:
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
    gone.setdefault(party, ended)
    parties.give_up(party)
    parties.tell_server({"absent": party})


def _note(
    parties: "_Parties", setup: Setup, party: int, event: dict[str, Any], on_progress: OnProgress | None
) -> None:
    """Take what a party says on its way."""
    if "statement" in event:
        _keep_statement(setup, party, event["statement"])
        return
    if "identity" in event:
        parties.identify(party, event["identity"], keeps=event.get("keeps"))
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


def _take_leave(parties: "_Parties", setup: Setup, error: SecFCError) -> None:
    """Tell the sites how the run ended and wait for their statements, but not for long."""
    parties.tell_clients({"ending": f"{type(error).__name__}: {error}"})
    until = time.monotonic() + _GRACE_SECONDS
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


class _Parties:
    """The processes of a run, and the threads that carry their frames.

    A thread per party reads its output and puts messages in the recipient's outbox; another writes that
    outbox to the party's input. Reading never waits for a slow recipient, so parties cannot block each other.
    """

    def __init__(self, setup: Setup, meter: Meter) -> None:
        self.events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._setup, self._meter = setup, meter
        self._identities: dict[int, str] = {}
        self.phase = "identify"  # as the server last told
        self._processes: dict[int, subprocess.Popen[bytes]] = {}  # the last of each party
        self._ended: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.run = secrets.token_bytes(RUN_ID_BYTES).hex()
        self._folder: RunFolder | None = None
        keeps = setup.storage is not None and setup.sites is None
        parties = range(setup.job.n + 1)
        self._outgoing = [Outbox(keeps=keeps) for _ in parties]
        self._carried = [0 for _ in parties]  # messages taken from each party
        self._tries = [0 for _ in parties]
        self._came_to: dict[int, tuple[int, int]] = {}  # frames kept and messages carried at the last start

    def __enter__(self) -> "_Parties":
        try:
            if self._setup.storage is not None:
                self._folder = RunFolder(self._setup.storage, self.run)
            for party in range(self._setup.job.n + 1):
                self._processes[party] = _start()
            for party in self._processes:
                self._connect(party)
        except BaseException:
            self._end(grace=0.0)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(grace=_GRACE_SECONDS if kind is None else 0.0)

    def _connect(self, party: int) -> None:
        """Start the threads of a party's new process."""
        process, life = self._processes[party], self._outgoing[party].begin()
        for thread in (
            threading.Thread(target=self._write, args=(party, process, life), daemon=True),
            threading.Thread(target=self._read, args=(party, process), daemon=True),
        ):
            thread.start()
            self._threads.append(thread)

    def restart(self, party: int) -> bool:
        """Start a party again whose process has ended; False when it has no journal or gets no further."""
        outbox = self._outgoing[party]
        if not outbox.keeps:
            return False
        came_to = outbox.kept, self._carried[party]
        further = came_to != self._came_to.get(party, (0, 0))
        self._tries[party] = 1 if further else self._tries[party] + 1
        if self._tries[party] >= _TRIES:
            return False
        self._came_to[party] = came_to
        process = self._processes[party]
        if process.poll() is None:  # it has closed its output: nothing more comes from it
            process.kill()
            process.wait()
        self._ended.append(process)
        self._processes[party] = _start()
        self._connect(party)
        return True

    def give_up(self, party: int) -> None:
        """Start a party no more, and forget what is on its way to it."""
        self._outgoing[party].abandon()

    def spares(self, party: int) -> bool:
        """Whether the run can go on without a party."""
        return party != SERVER and self.introduced

    def identify(self, party: int, public: str, *, keeps: bool | None) -> None:
        """Take a client's public key, in hexadecimal, and whether a site keeps a journal.

        The last key makes the roster that all parties get.
        """
        if party in self._identities:
            return  # it was started again; a key that is another one fails where it is checked
        self._identities[party] = public
        if keeps is not None:
            self._outgoing[party].keeps = keeps
        if len(self._identities) == self._setup.job.n:
            keys = [key for _, key in sorted(self._identities.items())]
            if self._setup.sites is not None:  # these are pinned, whatever the sites say
                keys = [key.hex() for key in self._setup.sites.agreement.consortium.roster.keys]
            for outgoing in self._outgoing:
                outgoing.put(framing.JSON, json.dumps({"roster": keys}).encode())

    @property
    def strangers(self) -> list[int]:
        """Clients whose identity is not known."""
        return [j for j in range(1, self._setup.job.n + 1) if j not in self._identities]

    @property
    def introduced(self) -> bool:
        """Whether every client's identity is known; nobody can be done without before."""
        return not self.strangers

    @property
    def shared(self) -> bool:
        """Whether all rows are shared, as far as the server has told."""
        return self.phase in {"iterate", "reveal"}

    def tell_server(self, order: dict[str, Any]) -> None:
        """Put something to the server's process between its messages."""
        self._outgoing[SERVER].put(framing.JSON, json.dumps(order).encode())

    def tell_clients(self, notice: dict[str, Any]) -> None:
        """Put something to the clients' processes, after the messages that they have not taken yet."""
        for outgoing in self._outgoing[1:]:
            outgoing.put(framing.JSON, json.dumps(notice).encode())

    def exit(self, party: int) -> str:
        """How a party's process ended, in words."""
        return how_it_ended(self._processes[party])

    def _read(self, party: int, process: subprocess.Popen[bytes]) -> None:
        stream = cast(BinaryIO, process.stdout)
        try:
            while (frame := framing.read_frame(stream)) is not None:
                kind, payload = frame
                if kind == framing.MESSAGE:
                    self._carry(party, payload)
                elif kind == framing.KEPT:
                    self._outgoing[party].keep(framing.load_count(payload))
                else:
                    self.events.put((party, kind, payload))
        except framing.CutOffError:
            self.events.put((party, b"", b""))
        except (EOFError, OSError, ValueError, struct.error, MessageError) as error:
            self.events.put((party, b"", str(error).encode()))
        else:
            self.events.put((party, b"", b""))

    def _carry(self, party: int, payload: bytes) -> None:
        sites = self._setup.sites
        header = envelope(payload, prepares=sites is not None and sites.prepares)
        if header.sender != party or header.recipient > self._setup.job.n:
            raise MessageError("a forged sender or unknown recipient")
        with self._lock:
            self._meter.sent(header, len(payload))
        self._carried[party] += 1
        self._outgoing[header.recipient].put(framing.MESSAGE, payload)

    def _write(self, party: int, process: subprocess.Popen[bytes], life: int) -> None:
        stream = cast(BinaryIO, process.stdin)
        try:
            self._introduce(stream, party)
            while (frame := self._outgoing[party].next(life)) is not None:
                framing.write_frame(stream, *frame)
        except (OSError, ValueError):
            pass  # the party has ended: what it missed was late, or its own error is on its way
        finally:
            with suppress(OSError):
                stream.close()

    def _introduce(self, stream: BinaryIO, party: int) -> None:
        """Give a party its job and, to a client, its own rows or the place of its own site file."""
        setup, sites = self._setup, self._setup.sites
        job = setup.job if sites is None else sites.agreement.job_of(bytes.fromhex(self.run))
        introduction: dict[str, Any] = {
            "party": party,
            "job": asdict(job),
            "run": self.run,
            "storage": None if self._folder is None else str(self._folder.path),
            "kept": self._outgoing[party].kept,
            "carried": self._carried[party],
        }
        introduction["agreement"] = None if sites is None else sites.agreement.digest.hex()
        if party == SERVER:
            prepares = sites is not None and sites.prepares
            framing.write_json(stream, introduction | {"seed": setup.seed, "prepares": prepares})
            return
        if sites is not None:
            framing.write_json(stream, introduction | {"site": str(sites.files[party - 1])})
            return
        introduction |= {
            "limits": asdict(setup.limits_of(party)),
            "name": setup.names[party - 1],
            "key_check": None if setup.tokens is None else setup.tokens[party - 1].check.hex(),
        }
        framing.write_json(stream, introduction)
        framing.write_array(stream, setup.rows[party - 1])
        if setup.tokens is not None:
            tokens = setup.tokens[party - 1]
            framing.write_array(stream, np.stack([tokens.u, tokens.v]))
        if setup.starts is not None:
            framing.write_array(stream, setup.starts[party - 1])

    def _end(self, grace: float) -> None:
        """End every process, by itself within `grace` seconds or by force, and every thread."""
        for outgoing in self._outgoing:
            outgoing.close()
        processes = list(self._processes.values())
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(grace)
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self._threads:
            thread.join(_GRACE_SECONDS)
        for process in [*self._ended, *processes]:
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast(BinaryIO, stream).close()
        if self._folder is not None:
            self._folder.remove()


def _start() -> subprocess.Popen[bytes]:
    """A new process for a party."""
    return start_program("secfc.drivers.party_process")
