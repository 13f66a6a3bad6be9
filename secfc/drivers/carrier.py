"""The processes of a run's parties, and the threads that carry their frames."""

import json
import queue
import secrets
import struct
import subprocess
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, BinaryIO, cast

from secfc.drivers import framing
from secfc.drivers.costs import Meter
from secfc.drivers.counts import Carried
from secfc.drivers.outbox import Frame, Outbox
from secfc.drivers.processes import how_it_ended, start_program
from secfc.drivers.run_folder import RunFolder, run_folder
from secfc.drivers.setup import Setup
from secfc.drivers.watch import logger
from secfc.errors import MessageError, PartyError, SecFCError, StorageError
from secfc.journal.ledger import Stands
from secfc.protocol.messages import RUN_ID_BYTES, SERVER
from secfc.protocol.sizes import Sizes
from secfc.protocol.wire import envelope
from secfc.protocol.withholding import WAITED_FOR
from secfc.row_layout import MAX_MESSAGE_BYTES, MAX_PREPARE_BYTES

GRACE_SECONDS = 5.0
"""How long a process may take to end by itself, before it is terminated, and again before it is killed."""

_ALL_MESSAGES = (1 << 63) - 1
"""A client that the run goes on without needs none of the server's, whatever their number."""

_TRIES = 3
"""How often a process is started that ends before it has come any further."""

# (party, frame kind, payload); a kind of b"" is the end of the party's output, its payload what broke it.
Event = tuple[int, bytes, bytes]


class Parties:
    """The processes of a run, and the threads that carry their frames.

    A thread per party reads its output and puts messages in the recipient's outbox; another writes that
    outbox to the party's input. Reading never waits for a slow recipient, so parties cannot block each other.
    """

    def __init__(self, setup: Setup, meter: Meter) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._setup, self._meter = setup, meter
        self._identities: dict[int, str] = {}
        self._met: list[str] | None = None  # public keys that another driver had told, or was about to tell
        self.phase = "identify"  # as the server last told
        self._processes: dict[int, subprocess.Popen[bytes]] = {}  # the last of each party
        self._ended: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.run = secrets.token_bytes(RUN_ID_BYTES).hex()
        self._folder: RunFolder | None = None
        self.gone: dict[int, SecFCError] = {}  # clients that the run goes on without, and why
        keeps = setup.storage is not None and setup.sites is None
        parties = range(setup.job.n + 1)
        self._outgoing = [Outbox(keeps=keeps) for _ in parties]
        self._carried = Carried(len(parties))
        self._kinds: Counter[tuple[str, int, int]] = Counter()
        self._settled = [0 for _ in parties]  # messages of the server that each has on its disk
        self._tries = [0 for _ in parties]
        self._came_to: dict[int, tuple[int, int]] = {}  # frames kept and messages carried at the last start

    def __enter__(self) -> "Parties":
        try:
            if self._setup.storage is not None:
                self._folder = run_folder(self._setup, self.run)
                if self._folder.resumed:
                    self._go_on(self._folder)
            for party in range(self._setup.job.n + 1):
                if party not in self.gone:
                    self._processes[party] = _start(self._held)
            for party in self._processes:
                self._connect(party)
        except BaseException:
            self._end(grace=0.0, leave=self._setup.resume is True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # A run that is interrupted, or whose disk is full, has not ended.
        left = kind is not None and (issubclass(kind, StorageError) or not issubclass(kind, SecFCError))
        self._end(grace=GRACE_SECONDS if kind is None else 0.0, leave=left and self._setup.resumable)

    def _go_on(self, folder: RunFolder) -> None:
        """Take the place of the driver that was killed."""
        self.run = folder.run
        self.gone = {client: PartyError(why, party=client) for client, why in folder.gone.items()}
        self._carried = Carried(len(self._outgoing), awaited=range(len(self._outgoing)))
        for client in self.gone:
            self._abandon(client)
        if folder.roster is not None:
            self._met = folder.roster
            self._identities = dict(enumerate(folder.roster))
        logger.info("run %s: goes on from %s", self.run, folder.path, extra={"run": self.run})

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
        came_to = outbox.kept, self._carried.total(party)
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
        self._processes[party] = _start(self._held)
        self._connect(party)
        return True

    @property
    def _held(self) -> int | None:
        return None if self._folder is None else self._folder.held

    def give_up(self, party: int, reason: SecFCError) -> None:
        """Start a client no more, and forget what is on its way to it."""
        self.gone.setdefault(party, reason)
        if self._folder is not None:
            self._folder.lose(party, str(reason))
        self._abandon(party)

    def _abandon(self, client: int) -> None:
        self._outgoing[client].abandon()
        self._carried.without(client)
        if self._folder is not None:
            self._outgoing[SERVER].settle(client, _ALL_MESSAGES)

    def stands(self, party: int, stands: Stands) -> None:
        """Take what a party's journal has."""
        if not self._carried.awaits(party):
            return  # it was started again before all had said so
        roster = None if stands.taken else self._met
        self._outgoing[party].start_at(stands.taken, None if roster is None else _introduction(roster))
        if party == SERVER:
            for client in self.gone:
                self.tell_server({"absent": client})
        self._settled[party] = stands.taken_from.get(SERVER, 0)
        self._outgoing[SERVER].settle(party, self._settled[party])
        self._carried.has(party, stands)

    def lacking(self) -> list[int]:
        """Clients, once every journal has told what it has, that lack what was written to theirs."""
        return self._carried.lacking()

    def release(self) -> None:
        """Let parties speak, if every journal has told what it has."""
        self._carried.release()

    @property
    def together(self) -> bool:
        """Whether a run that goes on has come so far that parties speak."""
        return self._carried.known

    def _settle(self, party: int, frames: Iterable[Frame]) -> None:
        """Tell the server how many of its messages a party has on its disk, with these."""
        if self._folder is None:
            return
        count = sum(
            kind == framing.MESSAGE and envelope(payload).sender == SERVER for kind, payload in frames
        )
        if count:
            self._settled[party] += count
            self._outgoing[SERVER].settle(party, self._settled[party])

    def spares(self, party: int) -> bool:
        """Whether the run can go on without a party."""
        return party != SERVER and self.introduced

    def identify(self, party: int, public: str, *, keeps: bool | None) -> None:
        """Take a party's public key, in hexadecimal, and whether a site keeps a journal.

        The last key makes the roster that all parties get.
        """
        if party in self._identities:
            # It was started again. A key that is another one fails where it is checked.
            return
        self._identities[party] = public
        if keeps is not None:
            self._outgoing[party].keeps = keeps
        if not self.strangers:
            keys = [key for _, key in sorted(self._identities.items())]
            if self._setup.sites is not None:  # these are pinned, whatever the parties say
                roster = self._setup.sites.agreement.consortium.roster
                keys = [key.hex() for key in (roster.coordinator or b"", *roster.keys)]
            if self._folder is not None:
                self._folder.meet(keys)
            for outgoing in self._outgoing:
                outgoing.put(*_introduction(keys))

    @property
    def strangers(self) -> list[int]:
        """Parties whose identity is not known."""
        return [j for j in range(self._setup.job.n + 1) if j not in self._identities]

    @property
    def introduced(self) -> bool:
        """Whether every party's identity is known; nobody can be done without before."""
        return not self.strangers

    @property
    def shared(self) -> bool:
        """Whether all rows are shared, as far as the server has told."""
        return self.phase in {"iterate", "reveal"}

    @property
    def carried(self) -> list[list[str | int]] | None:
        """Messages that clients wait for: type, sender, recipient, count; None if others carried some too."""
        if self._folder is not None and self._folder.resumed:
            return None
        with self._lock:
            return [[*link, count] for link, count in self._kinds.items()]

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
            while (frame := framing.read_frame(stream, self._most(party))) is not None:
                kind, payload = frame
                if kind == framing.MESSAGE:
                    self._carry(party, payload)
                elif kind == framing.KEPT:
                    self._settle(party, self._outgoing[party].keep(framing.load_count(payload)))
                else:
                    self.events.put((party, kind, payload))
        except framing.CutOffError:
            self.events.put((party, b"", b""))
        except (EOFError, OSError, ValueError, struct.error, MessageError) as error:
            self.events.put((party, b"", str(error).encode()))
        else:
            self.events.put((party, b"", b""))

    def _most(self, party: int) -> int:
        """Bytes of the largest message of a party: those of clients follow from the job."""
        if party == SERVER:
            return MAX_MESSAGE_BYTES
        prepared = MAX_PREPARE_BYTES if self._prepares else 0
        return max(Sizes(self._setup.job).most_from_client, prepared)

    @property
    def _prepares(self) -> bool:
        return self._setup.sites is not None and self._setup.sites.prepares

    def _carry(self, party: int, payload: bytes) -> None:
        header = envelope(payload)
        if header.sender != party or header.recipient > self._setup.job.n:
            raise MessageError("a forged sender or unknown recipient")
        if header.phase == "prepare" and not self._prepares:
            raise MessageError("a message of a preparation, in a job without one")
        with self._lock:
            self._meter.sent(header, len(payload))
        self._carried.add(party, header.recipient)
        if header.kind in WAITED_FOR:
            with self._lock:
                self._kinds[header.kind, party, header.recipient] += 1
        self._outgoing[header.recipient].put(framing.MESSAGE, payload)

    def _write(self, party: int, process: subprocess.Popen[bytes], life: int) -> None:
        stream = cast(BinaryIO, process.stdin)
        try:
            if not self._introduce(stream, party):
                return
            while (frame := self._outgoing[party].next(life)) is not None:
                framing.write_frame(stream, *frame)
        except (OSError, ValueError):
            pass  # the party has ended: what it missed was late, or its own error is on its way
        finally:
            with suppress(OSError):
                stream.close()

    def _introduce(self, stream: BinaryIO, party: int) -> bool:
        """Give a party its job, its own rows and what was carried; False when the run has ended before."""
        carried = self._carried.by(party)
        self._present(stream, party, carried)
        if carried is None:
            if not self._carried.wait():
                return False
            framing.write_json(stream, {"carried": self._carried.by(party)})
        return True

    def _present(self, stream: BinaryIO, party: int, carried: list[int | None] | None) -> None:
        """Give a party its job and, to a client, its own rows or the place of its own site file."""
        setup, sites = self._setup, self._setup.sites
        job = setup.job if sites is None else sites.agreement.job
        introduction: dict[str, Any] = {
            "party": party,
            "job": asdict(job),
            "run": self.run,
            "storage": None if self._folder is None else str(self._folder.path),
            "kept": self._outgoing[party].kept,
            "carried": carried,
            "begun": self._begun(party),
            "salt": None if setup.salt is None else setup.salt.hex(),
        }
        introduction["agreement"] = None if sites is None else sites.agreement.digest.hex()
        if party == SERVER:
            key = None if sites is None else str(sites.key)
            framing.write_json(
                stream, introduction | {"seed": setup.seed, "prepares": self._prepares, "key": key}
            )
            return
        if sites is not None:
            framing.write_json(stream, introduction | {"site": str(sites.files[party - 1])})
            return
        introduction |= {
            "limits": asdict(setup.limits_of(party)),
            "name": setup.names[party - 1],
            "ids_key": None if setup.ids is None else setup.ids[party - 1].key.hex(),
        }
        framing.write_json(stream, introduction)
        framing.write_array(stream, setup.rows[party - 1])
        if setup.ids is not None:
            framing.write_array(stream, setup.ids[party - 1].digests)
        if setup.starts is not None:
            framing.write_array(stream, setup.starts[party - 1])

    def _begun(self, party: int) -> bool:
        """Whether a party must have a journal."""
        return self._outgoing[party].kept > 0 or self._met is not None

    def _end(self, grace: float, *, leave: bool) -> None:
        """End every process, by itself within `grace` seconds or by force, and every thread."""
        self._carried.close()
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
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self._threads:
            thread.join(GRACE_SECONDS)
        for process in [*self._ended, *processes]:
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    cast(BinaryIO, stream).close()
        if self._folder is not None:
            if leave:
                self._folder.leave()
            else:
                self._folder.remove()


def _introduction(keys: list[str]) -> Frame:
    """What tells a party everybody's public keys, of which the server's is first."""
    return framing.JSON, json.dumps({"coordinator": keys[0], "roster": keys[1:]}).encode()


def _start(held: int | None) -> subprocess.Popen[bytes]:
    """A new process for a party, with the descriptor of a lock that it holds as long as it lives."""
    return start_program("secfc.drivers.party_process", held=held)
