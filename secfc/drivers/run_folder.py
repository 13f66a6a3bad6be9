"""A run's own folder in the storage: its parties' journals and the driver's record, while the run lasts.

A driver that ends removes it, also when the run failed. One that is killed or interrupted cannot, or does
not: another call goes on with the run from there, or removes it, as it is told to (docs/decisions/026).
"""

import json
import os
import secrets
import shutil
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import secfc
from secfc.drivers.call import KEY_BYTES, differences, digests
from secfc.drivers.setup import Setup
from secfc.errors import ParameterError, StorageError
from secfc.journal.journal import make_folder
from secfc.journal.records import RecordFile, draft_of, hold, in_use

_PREFIX = "run-"
_RECORD, _LOCK = "driver", "processes"
_BEGUN, _ROSTER, _GONE, _ENDED = b"H", b"R", b"G", b"E"

_ORPHAN_SECONDS = 60.0
"""How long the processes of a driver that was killed may take to see that it has gone."""

_POLL_SECONDS = 0.05


class RunFolder:
    """The folder, held by this driver: the record is locked.

    Attributes
    ----------
    path : Path
    run : str
        Identifier in hexadecimal.
    begun : dict
        What the record begins with.
    resumed : bool
        Whether another driver has begun the run.
    roster : list of str or None
        The parties' public keys in hexadecimal, the server's first, if all were known.
    gone : dict of int to str
        Clients that the run goes on without, and why.
    ended : bool
        Whether the run had ended, and the folder was about to be removed.
    held : int or None
        Descriptor of a lock that the driver and all processes of parties hold: as long as one of them lives
        no other driver starts any.
    """

    def __init__(self, path: Path, record: RecordFile, *, resumed: bool) -> None:
        self.path, self.resumed, self._record = path, resumed, record
        self.roster: list[str] | None = None
        self.gone: dict[int, str] = {}
        self.ended = False
        self.held: int | None = None
        self.begun: dict[str, Any] = {}
        for kind, payload in record.records():
            told = json.loads(payload)
            if kind == _BEGUN:
                self.begun = told
            elif kind == _ROSTER:
                self.roster = told
            elif kind == _GONE:
                self.gone[int(told[0])] = str(told[1])
            elif kind == _ENDED:
                self.ended = True
        self.run = str(self.begun["run"])

    def __repr__(self) -> str:
        return f"RunFolder({self.path.name!r})"

    @classmethod
    def begin(cls, storage: Path, run: str, setup: Setup) -> "RunFolder":
        """A new folder, readable by its owner only.

        Raises
        ------
        StorageError
            When it cannot be made.
        """
        path = storage / f"{_PREFIX}{run}"
        make_folder(path)
        key = secrets.token_bytes(KEY_BYTES)
        begun = {
            "version": secfc.__version__,
            "run": run,
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "key": key.hex(),
            "call": digests(setup, key),
        }
        record = RecordFile.create(path / _RECORD, [(_BEGUN, json.dumps(begun).encode())])
        folder = cls(path, record, resumed=False)
        folder.held = hold(path / _LOCK)
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder that a driver left.

        Raises
        ------
        StorageError
            When its record is not as it was written, or another driver works on the run.
        """
        return cls(path, RecordFile.open(path / _RECORD), resumed=True)

    def refusal(self, setup: Setup) -> str | None:
        """Why a call cannot go on with the run; None when it can."""
        if self.ended:
            return "it had ended"
        if self.begun["version"] != secfc.__version__:
            return f"it was begun by version {self.begun['version']}, this is {secfc.__version__}"
        called = digests(setup, bytes.fromhex(self.begun["key"]))
        differ = differences(self.begun["call"], called, setup.names)
        return f"it was begun with other values: {', '.join(differ)}" if differ else None

    def meet(self, roster: list[str]) -> None:
        """Write down everybody's public keys; on the disk when this returns."""
        if self.roster is None:
            self.roster = roster
            self._note(_ROSTER, roster)

    def lose(self, client: int, reason: str) -> None:
        """Write down that the run goes on without a client; on the disk when this returns."""
        if client not in self.gone:
            self.gone[client] = reason
            self._note(_GONE, [client, reason])

    def _note(self, kind: bytes, value: Any) -> None:
        self._record.append(kind, json.dumps(value).encode())
        self._record.sync()

    def take_over(self) -> None:
        """Wait until the processes of the driver that was killed have ended.

        Raises
        ------
        StorageError
            When one has not in time.
        """
        until = time.monotonic() + _ORPHAN_SECONDS
        for path in sorted(self.path.iterdir()):
            if path.name == _RECORD or path.suffix:
                continue  # journals too: where a lock cannot be inherited they are what their processes hold
            while in_use(path):
                if time.monotonic() > until:
                    raise StorageError(
                        f"{path}: a process of the driver that was killed still works; try again later"
                    )
                time.sleep(_POLL_SECONDS)
        self.held = hold(self.path / _LOCK)

    def leave(self) -> None:
        """Let go of it, for another call to go on with."""
        self._record.close()
        if self.held is not None:
            os.close(self.held)
            self.held = None

    def remove(self) -> None:
        """Remove it with all that is in it. Deletion does not wipe what the disk holds."""
        with suppress(StorageError):  # the result does not depend on it, and a next call removes it
            self._note(_ENDED, None)
            _remove(self.path)
        self.leave()


def run_folder(setup: Setup, run: str) -> RunFolder:
    """The folder of a run that begins, or of the one that `Setup.resume` goes on with.

    Parameters
    ----------
    setup : Setup
    run : str
        Identifier of a run that begins.

    Raises
    ------
    StorageError
        When there is a run that nobody works on and the call does not say what is to be done with it, or none
        that it can go on with.
    """
    storage = setup.storage
    assert storage is not None
    left = [path for path in _runs(storage) if not in_use(path / _RECORD)]
    if setup.resume is None:
        left = [path for path in left if not _remove_ended(path)]
    if setup.resume:
        return _go_on(storage, setup, left)
    if setup.resume is None and left:
        raise StorageError(
            f"{storage}: {left[0].name} was left by a run whose driver was killed: go on with it "
            f"(resume=True, --resume) or remove it (resume=False, --no-resume)"
        )
    for path in left:
        _remove(path)
    for path in storage.glob(f"{_PREFIX}*"):
        if not (path / _RECORD).exists() and not in_use(draft_of(path / _RECORD)):
            _remove(path)  # its driver was killed before it had begun the run
    return RunFolder.begin(storage, run, setup)


def _go_on(storage: Path, setup: Setup, left: list[Path]) -> RunFolder:
    if setup.ids is not None and setup.seed is None:
        raise ParameterError("resume: with ids only a run with a seed; without, each call hashes them anew")
    if not left:
        busy = ", ".join(path.name for path in _runs(storage))
        text = f"another process works on {busy}" if busy else "a run that has ended leaves nothing"
        raise StorageError(f"{storage}: there is no run to go on with; {text}")
    fit, refused = [], []
    try:
        for path in left:
            folder = RunFolder.open(path)
            why = folder.refusal(setup)
            if why is None:
                fit.append(folder)
            else:
                folder.leave()
                refused.append(f"{path.name}: {why}")
        if not fit:
            why = "; ".join(refused)
            raise StorageError(f"{storage}: there is no run that this call can go on with; {why}")
        if len(fit) > 1:
            names = ", ".join(folder.path.name for folder in fit)
            raise StorageError(f"{storage}: {names} were begun by the same call; remove all but one")
        fit[0].take_over()
    except BaseException:
        for folder in fit:
            folder.leave()
        raise
    return fit[0]


def _runs(storage: Path) -> list[Path]:
    """Folders of runs; one without a record is only just being made, or was when its driver was killed."""
    return sorted(path for path in storage.glob(f"{_PREFIX}*") if (path / _RECORD).exists())


def _remove_ended(path: Path) -> bool:
    """Remove a folder whose driver was killed only while it removed it."""
    folder = RunFolder.open(path)
    if folder.ended:
        folder.remove()
    else:
        folder.leave()
    return folder.ended


def _remove(path: Path) -> None:
    """Remove a folder, the record last: what is left of a removal is found, and removed, again."""
    try:
        for one in path.iterdir():
            if one.name != _RECORD:
                one.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from None
    shutil.rmtree(path, ignore_errors=True)
