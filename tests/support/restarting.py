"""All parties in this process, each with its journal, and a carrier between them that lets them die.

A party dies at a byte of what it writes down, or between two messages that it sends; with the power, what it
had not synced is cut off as well. It is made again from its journal at once. Frames keep their order over all
parties, so a run with deaths must carry the very bytes of one without.
"""

import errno
import io
import json
import os
import random
import tempfile
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

import numpy as np

from secfc.drivers import framing, party_process
from secfc.drivers.setup import ServerReport
from secfc.errors import StorageError
from secfc.journal import beginning, records
from secfc.journal.persistent import Persistent
from secfc.limits import Limits
from secfc.protocol.messages import SERVER
from secfc.protocol.wire import envelope

RUN = bytes(range(16)).hex()

KINDS = {
    "random": {"n_init": 3},
    "separation": {"init": "separation"},
    "k-means++": {"init": "k-means++", "n_init": 2},
    "labels": {"starts": True},
    "coded": {"disclosure": "coded"},
    "rounds": {"comparison": "rounds"},
    "liars": {"counts": (3, 4, 0, 2, 3), "max_liars": 1, "disclosure": "coded"},
    "centres": {"counts": (3, 4, 2), "reveal_to": (1, 3), "limits": Limits(reveal_centres=True)},
    "quorum": {"counts": (3, 4, 0, 2, 3), "reveal_to": (2,), "limits": Limits(reveal_centres=True)},
    "spreads": {
        "counts": (6, 5, 7),
        "k": 1,
        "reveal_to": (1, 3),
        "reveal_spread": 10,
        "limits": Limits(reveal_centres=True, reveal_spread=10),
    },
    "several k": {"compared": (2, 3)},
    "union": {"ids": True, "counts": (3, 4, 2)},
    "union, liars": {"ids": True, "counts": (3, 4, 0, 2, 3), "max_liars": 1, "disclosure": "coded"},
    "segments": {"counts": (2, 3, 1, 2, 4), "ell": 2},
}
"""Runs of every kind, as the fixture `setup_of` of tests/journal makes them."""


class DiedError(BaseException):
    """Stands for SIGKILL: nothing after it runs in the party."""


class Restarting:
    """A run whose parties die.

    `bytes_at` and `sends_at` say when, by party: at a byte of all that it writes down, or before a message of
    all that it sends. `power` cuts off what was not synced. With `full` the disk is full at that byte,
    and the party ends by the error that it makes of that; then there is room again.
    """

    def __init__(self, setup, folder: Path, *, bytes_at=(), sends_at=(), power=False, full=False):
        self.setup, self.folder, self.power, self.full = setup, folder, power, full
        self.bytes_at = defaultdict(list)
        self.sends_at = defaultdict(list)
        for kind, points in ((self.bytes_at, bytes_at), (self.sends_at, sends_at)):
            for party, at in points:
                kind[party].append(at)
        everybody = range(setup.job.n + 1)
        self.written = dict.fromkeys(everybody, 0)  # bytes, by party
        self.synced = {}  # bytes, by file
        self.deaths = []
        self.frames = {party: [] for party in everybody}  # (number, kind, payload)
        self.kept = dict.fromkeys(everybody, 0)
        self.next = dict.fromkeys(everybody, 0)
        self.settled = dict.fromkeys(everybody, 0)  # messages of the server, by recipient
        self.carried = {party: [] for party in everybody}
        self.given = {party: {} for party in everybody}  # messages that left the party's code, by number
        self.numbers = 0
        self.running = None
        self.parties, self.lines, self.journals, self.keys = {}, {}, {}, {}

    # What the parties are made of

    def _make(self, party):
        setup = self.setup
        said = {
            "party": party,
            "job": asdict(setup.job),
            "run": RUN,
            "agreement": None,
            "storage": str(self.folder),
            "begun": self.kept[party] > 0,
            "salt": None if setup.salt is None else setup.salt.hex(),
        }
        drawn = random.Random(party)
        outbox = io.BytesIO()
        with patch.object(beginning.secrets, "token_bytes", drawn.randbytes):
            if party == SERVER:
                said |= {"seed": setup.seed, "prepares": False, "key": None}
                made, journal = party_process._server(outbox, said)
            else:
                ids = None if setup.ids is None else setup.ids[party - 1]
                said |= {
                    "limits": asdict(setup.limits),
                    "name": setup.names[party - 1],
                    "ids_key": None if ids is None else ids.key.hex(),
                }
                inbox = io.BytesIO()
                framing.write_array(inbox, setup.rows[party - 1])
                if ids is not None:
                    framing.write_array(inbox, ids.digests)
                if setup.starts is not None:
                    framing.write_array(inbox, setup.starts[party - 1])
                inbox.seek(0)
                made, journal = party_process._client(inbox, outbox, said)
        outbox.seek(0)
        self.keys[party] = framing.read_json(outbox)["identity"]
        self.parties[party], self.journals[party] = made, journal
        self.lines[party] = Persistent(made, journal)

    # How they die

    def _write(self, descriptor, data):
        party, data = self.running, bytes(data)
        due = [at for at in self.bytes_at[party] if at < self.written[party] + len(data)]
        if due:
            self.bytes_at[party].remove(min(due))
            part = data[: max(0, min(due) - self.written[party])]
            self._real_write(descriptor, part)
            self.written[party] += len(part)
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise DiedError
        self._real_write(descriptor, data)
        self.written[party] += len(data)

    def _sync(self, file):
        self._real_sync(file)
        self.synced[file.path] = file.size

    def _die(self, party):
        self.deaths.append(party)
        if party in self.journals:
            self.journals.pop(party).close()
        for path in self.folder.glob(f"{party_process.party_name(party)}*"):
            if self.power and path in self.synced and path.suffix != ".draft":
                size = path.stat().st_size
                cut = random.Random(size).randint(min(size, self.synced[path]), size)
                with path.open("r+b") as file:
                    file.truncate(cut)

    def _alive(self, party, work):
        """Let the party work; if it dies make it again, until it lives."""

        def again():
            self._make(party)
            self._resume(party)

        while True:
            self.running = party
            try:
                return work()
            except DiedError:
                self._die(party)
            except StorageError as error:
                if not (self.full and str(error).endswith(os.strerror(errno.ENOSPC))):
                    raise
                self._die(party)
            finally:
                self.running = None
            work = again

    # What the carrier does

    def _put(self, party, kind, payload):
        self.frames[party].append((self.numbers, kind, bytes(payload)))
        self.numbers += 1

    def _resume(self, party):
        line = self.lines[party]
        messages = line.resume(carried=self.carried_to(party), kept=self.kept[party])
        for recipient, count in self.settled.items():
            if party == SERVER:
                line.settled(recipient, count)
        self.next[party] = line.kept
        self._send(party, messages)

    def _send(self, party, messages):
        line = self.lines[party]
        first = line.sent - len(messages)
        assert first == len(self.carried[party])
        for number, message in enumerate(messages, first):
            # Sent again it is what it was, byte for byte.
            assert self.given[party].setdefault(number, bytes(message)) == bytes(message)
        for message in messages:
            if len(self.carried[party]) in self.sends_at[party]:
                self.sends_at[party].remove(len(self.carried[party]))
                raise DiedError
            self.carried[party].append(bytes(message))
            self._put(envelope(message).recipient, framing.MESSAGE, message)
        line.settle()
        self._keep(party, line.kept)

    def carried_to(self, party):
        """Messages of a party that were carried, by recipient."""
        counts = [0] * (self.setup.job.n + 1)
        for message in self.carried[party]:
            counts[envelope(message).recipient] += 1
        return counts

    def _keep(self, party, count):
        """Tell the server which of its messages are on a disk."""
        for _, kind, payload in self.frames[party][self.kept[party] : count]:
            self.settled[party] += kind == framing.MESSAGE and envelope(payload).sender == SERVER
        self.kept[party] = count
        if SERVER in self.lines:
            self.lines[SERVER].settled(party, self.settled[party])

    def order(self, party, **order):
        """Tell a party something, as the driver does."""
        self._put(party, framing.JSON, json.dumps(order).encode())

    def _step(self):
        """Hand over the oldest frame that was not taken."""
        waiting = [
            (frames[self.next[party]][0], party)
            for party, frames in self.frames.items()
            if self.next[party] < len(frames)
        ]
        if not waiting:
            return False
        _, party = min(waiting)
        _, kind, payload = self.frames[party][self.next[party]]
        self.next[party] += 1
        if not self.parties[party].done:
            self._alive(party, lambda: self._send(party, self.lines[party].take(kind, payload)))
        return True

    def run(self, between=lambda run: None):
        """Deliver until nothing is left; `between` is called before each delivery."""
        self._real_write, self._real_sync = records.write_all, records.RecordFile.sync

        def sync(file):
            self._sync(file)

        with (
            patch.object(records, "write_all", self._write),
            patch.object(records.RecordFile, "sync", sync),
        ):
            for party in self.frames:
                self._alive(party, lambda party=party: (self._make(party), self._resume(party)))
            keys = [self.keys[party] for party in sorted(self.keys)]
            for party in self.frames:
                self.order(party, coordinator=keys[0], roster=keys[1:])
            between(self)
            while self._step():
                between(self)
        for journal in self.journals.values():
            journal.close()
        return self

    @property
    def report(self):
        return ServerReport.of(self.parties[SERVER].role, self.setup.job)

    def labels(self):
        return [self.parties[party].role.labels for party in self.frames if party != SERVER]


def run(setup, between=lambda run: None, **deaths):
    """A run whose parties die, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return Restarting(setup, Path(folder), **deaths).run(between)


def assert_same(one, other):
    """Two runs sent the same bytes and ended alike."""
    assert one.carried == other.carried
    for mine, theirs in zip(one.labels(), other.labels(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert vars(one.report).keys() == vars(other.report).keys()
    for name, value in vars(one.report).items():
        np.testing.assert_equal(value, getattr(other.report, name))


def everywhere(whole):
    """Before each message of each party of a run."""
    return [(party, at) for party, carried in whole.carried.items() for at in range(len(carried))]
