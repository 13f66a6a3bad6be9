"""A simulation whose parties die: all are in this process, each with its log."""

import io
import secrets
from pathlib import Path

import numpy as np
from support.machines import DEADLINE, Processes

from secfc.agreement.logs.beginning import as_bytes, open_log
from secfc.agreement.logs.run_log import RunLog
from secfc.crypto.identity import Identity, Roster
from secfc.drivers.calls import framing
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.coordinator import Coordinator
from secfc.drivers.calls.coordinator_log import CoordinatorLog
from secfc.drivers.multiprocess import READ
from secfc.drivers.simulated import SimulatedParty, give
from secfc.drivers.terms import RunTerms
from secfc.protocol.job.limits import Limits

SPREADS = {
    "reveal_to": (1, 3),
    "reveal_spread": 10,
    "limits": Limits(reveal_centres=True, reveal_spread=10),
}

KINDS = {
    "random": {"n_init": 3},
    "separation": {"init": "separation"},
    "labels": {"starts": True},
    "coded": {"disclosure": "coded"},
    "opened labels": {"disclosure": "labels"},
    "spare masks": {"disclosure": "labels", "counts": (3, 4, 0, 2, 3), "comparers": (4, 1, 5)},
    "helpers": {"disclosure": "labels", "counts": (3, 4, 0, 2, 3), "t": 2},
    "labels, liars": {"disclosure": "labels", "counts": (3, 4, 0, 2, 3), "max_liars": 1},
    "emptied clusters": {"disclosure": "labels", "k": 5, "seed": 1},
    "opened start": {"disclosure": "labels", "init": "k-means++", "k": 3},
    "opened starts": {"disclosure": "labels", "init": "k-means++", "n_init": 2, "comparers": (3, 1, 2)},
    "scored starts": {"disclosure": "labels", "n_init": 3},
    "opened inertia": {
        "disclosure": "labels",
        "n_init": 2,
        "reveal_inertia": True,
        "limits": Limits(reveal_inertia=True),
    },
    "liars": {"counts": (3, 4, 0, 2, 3), "max_liars": 1, "disclosure": "coded"},
    "centres": {"counts": (3, 4, 2), "reveal_to": (1, 3), "limits": Limits(reveal_centres=True)},
    "quorum": {"counts": (3, 4, 0, 2, 3), "reveal_to": (2,), "limits": Limits(reveal_centres=True)},
    "noise": {
        "counts": (3, 4, 2, 3),
        "disclosure": "labels",
        "reveal_to": (1, 3),
        "centres_epsilon": 1.0,
        "centres_delta": 1e-6,
        "limits": Limits(reveal_centres=True),
    },
    "spreads": {"counts": (6, 5, 7), "k": 1, **SPREADS},
    "spreads of hidden sets": {"counts": (6, 5, 7), "k": 1, "disclosure": "labels", **SPREADS},
    "several k": {"compared": (2, 3)},
    "several k, opened": {
        "compared": (2, 3),
        "disclosure": "labels",
        "reveal_inertia": True,
        "limits": Limits(reveal_inertia=True),
    },
    "weights": {"weighted": True, "counts": (3, 4, 2), "disclosure": "labels"},
    "resamples, described": {
        "counts": (3, 4, 2),
        "k": 2,
        "max_iter": 1,
        "disclosure": "labels",
        "init": "k-means++",
        "resamples": 2,
        "described": (0, 2),
        "smallest_cell": 2,
        "limits": Limits(reveal_tables=True, describe=2),
    },
    "described, liars": {
        "counts": (3, 4, 0, 2, 3),
        "k": 1,
        "disclosure": "labels",
        "max_liars": 1,
        "described": (0, 2),
        "smallest_cell": 2,
        "limits": Limits(describe=2),
    },
    "prediction": {
        "disclosure": "labels",
        "predict": True,
        "starts": True,
        "limits": Limits(predict=True, smallest_set=2),
    },
    "prediction, liars": {
        "counts": (3, 4, 0, 2, 3),
        "disclosure": "labels",
        "predict": True,
        "starts": True,
        "max_liars": 1,
        "limits": Limits(predict=True),
    },
    "union": {"ids": True, "counts": (3, 4, 2)},
    "union, labels": {"ids": True, "counts": (3, 4, 2), "disclosure": "labels"},
    "union, liars": {"ids": True, "counts": (3, 4, 0, 2, 3), "max_liars": 1, "disclosure": "coded"},
    "segments": {"counts": (2, 3, 1, 2, 4), "ell": 2},
}
"""Runs of every kind, as arguments of the fixture `setup_of` of tests/logs."""


def forget_last(log: RunLog) -> None:
    """Delete the last entry of a log."""
    log._database.execute("DELETE FROM entries WHERE at = (SELECT max(at) FROM entries)")


class LoggedParty(SimulatedParty):
    """A party of a simulation that keeps a log as sites do."""

    def __init__(self, folder: Path, given, arrays):
        super().__init__(given, arrays)
        self._folder = folder

    def log_path(self, run: bytes) -> Path:
        return self._folder / f"client-{self.number}.log"

    def open_log(self, run: bytes) -> RunLog:
        public = as_bytes(
            [self.terms.digest.hex(), self._given["limits"], self._given["ids_key"], self._given["salt"]]
            + [[one.shape, one.dtype.str] for one in self._arrays.values()]
        )
        log, self._secrets = open_log(
            self.log_path(run),
            run=run.hex(),
            party=self.number,
            given=[public, *(one.tobytes() for one in self._arrays.values())],
            names=("ephemeral", "masks"),
        )
        return log


class Restarting(Processes):
    """A simulation with a folder for logs.

    Parameters
    ----------
    setup : Setup
    folder : Path
    plan : dict of int to str
        As for `Processes`.
    """

    def __init__(self, setup, folder, plan=None):
        self.setup, self.folder = setup, folder
        self.run_id = secrets.token_bytes(16)
        self.keys = [bytes([j]) * 32 for j in range(setup.job.parties + 1)]
        server, *clients = (Identity(key).public for key in self.keys)
        self.terms = RunTerms.of_simulation(setup.job, setup.parties, Roster(tuple(clients), server))
        self.parties = {}
        super().__init__(setup.parties, plan)

    def _callee(self, name):
        number, stream = self.setup.parties.index(name) + 1, io.BytesIO()
        key, roster = self.keys[number], self.terms.roster
        give(stream, self.setup, number, roster=roster, key=key)
        stream.seek(0)
        given = framing.read_json(stream)
        arrays = {name: framing.read_array(stream) for name in given["arrays"]}
        party = self.parties[number] = LoggedParty(self.folder, given, arrays)
        return Callee(lambda: party)

    def _log(self):
        path = self.folder / "driver.log"
        return CoordinatorLog.resume(path) or CoordinatorLog.begin(path, run=self.run_id, begun={})

    def _coordinator(self, log):
        return Coordinator(
            terms=self.terms,
            run=log.run,
            salt=self.setup.salt,
            identity=Identity(self.keys[0]),
            send=self._send,
            deadline=DEADLINE,
            aborted=lambda: self.dead,
            log=log,
        )

    def outcome(self):
        """The results of the clients and the server at the end."""
        results = {j: one.result() for j, one in self.parties.items()}
        received = {j: arrays[0] for j, (_, arrays) in results.items() if arrays}
        hidden = self.setup.ids is not None
        rows = {j: arrays[1] for j, (_, arrays) in results.items() if len(arrays) == 2} if hidden else None
        told = {
            name: value for one, _ in results.values() for name, value in one.items() if value is not None
        }
        opened = {name: READ.get(name, np.array)(value) for name, value in told.items()}
        return self.coordinator.report.outcome(
            received,
            [len(part) for part in self.setup.rows],
            self.coordinator.meter.costs(),
            rows,
            run_id=self.run_id.hex(),
            opened=opened,
        )


def assert_same(found, expected, *, noise=False):
    """Two runs of the same seed have the same result, but for centres with noise."""
    for mine, theirs in zip(found.labels, expected.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for name in ("start", "n_iter", "converged", "inertia", "history", "near_ties", "found", "faults"):
        np.testing.assert_equal(getattr(found, name), getattr(expected, name))
    for name in ("centres", "deviations", "union_rows")[noise:]:
        np.testing.assert_equal(getattr(found, name), getattr(expected, name))
    for name in ("resampled", "counted"):
        mine, theirs = (getattr(one, name) and getattr(one, name).to_dict() for one in (found, expected))
        assert mine == theirs
    kinds = [
        sorted((m.kind, m.sender, m.recipient) for m in one.costs.messages if m.kind != "Step")
        for one in (found, expected)
    ]  # how many steps of a program a message has depends on when others come
    assert kinds[0] == kinds[1]
