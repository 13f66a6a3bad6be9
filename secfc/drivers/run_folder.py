"""A run's own folder in the storage: the logs of its parties and of its driver, while the run lasts.

The driver removes the folder at its end, also when the run failed. A killed driver cannot remove it, and an
interrupted one does not. Then another call continues the run from the folder, or removes it, as requested
(docs/decisions/026).
"""

import re
import secrets
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np

from secfc.drivers.coordinator_log import CoordinatorLog
from secfc.drivers.setup import Setup
from secfc.errors import ParameterError, StorageError
from secfc.journal.beginning import as_bytes, keyed_digest
from secfc.journal.disk import Buffer, make_folder
from secfc.journal.run_log import InUseError
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.sealing.identity import KEY_BYTES as IDENTITY_BYTES

_PREFIX = "run-"
_NAME = re.compile(f"{_PREFIX}[0-9a-f]{{{2 * RUN_ID_BYTES}}}")
_LOG = "driver.log"
_KEY_BYTES = 32
_LOCK = threading.Lock()
"""For threads that look for folders: a log that is just being created looks like one that was left."""


class RunFolder:
    """The folder of this driver's run. The driver's log is locked."""

    def __init__(self, path: Path, log: CoordinatorLog) -> None:
        self.path, self.log = path, log
        # Private keys of the parties of this simulation, the coordinator's first.
        self.identities = [bytes.fromhex(key) for key in log.begun["identities"]]

    def __repr__(self) -> str:
        return f"RunFolder({self.path.name!r})"

    @classmethod
    def begin(cls, storage: Path, setup: Setup) -> Self:
        """A new folder, readable only by its owner. StorageError if it cannot be made."""
        run, key = secrets.token_bytes(RUN_ID_BYTES), secrets.token_bytes(_KEY_BYTES)
        path = storage / f"{_PREFIX}{run.hex()}"
        make_folder(path)
        begun = {
            "key": key.hex(),
            "call": digests(setup, key),
            "identities": [secrets.token_hex(IDENTITY_BYTES) for _ in range(setup.job.parties + 1)],
        }
        try:
            return cls(path, CoordinatorLog.begin(path / _LOG, run=run, begun=begun))
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """The folder that a driver left. None if the driver was killed before it had begun the run.

        Raises the errors of `CoordinatorLog.resume`.
        """
        log = CoordinatorLog.resume(path / _LOG)
        return None if log is None else cls(path, log)

    def refusal(self, setup: Setup) -> str | None:
        """Why a call cannot continue the run. None if it can."""
        called = digests(setup, bytes.fromhex(self.log.begun["key"]))
        differ = differences(self.log.begun["call"], called, setup.parties)
        return f"it was started with other values: {', '.join(differ)}" if differ else None

    def leave(self) -> None:
        """Release the folder so that another call can continue the run."""
        self.log.close()

    def remove(self) -> None:
        """Remove the folder with its contents. Deletion does not wipe the disk."""
        self.log.remove()
        shutil.rmtree(self.path, ignore_errors=True)


def run_folder(setup: Setup) -> RunFolder:
    """The folder of a new run, or of the run that `Setup.resume` continues.

    Raises StorageError if a run was left and the call does not say what to do with it, or if there is no run
    that the call can continue.
    """
    with _LOCK:
        assert setup.storage is not None
        return (_go_on if setup.resume else _begin)(setup.storage, setup)


def _begin(storage: Path, setup: Setup) -> RunFolder:
    """The folder of a new run. Runs that were left are removed, or raise StorageError."""
    for path, folder in _runs(storage):
        if isinstance(folder, InUseError):
            continue
        if isinstance(folder, StorageError) and setup.resume is None:
            raise folder
        if isinstance(folder, RunFolder) and setup.resume is None:
            folder.leave()
            raise StorageError(
                f"{storage}: {path.name} was left by an interrupted run: continue it (resume=True, "
                "--resume) or remove it (resume=False, --no-resume)"
            )
        if isinstance(folder, RunFolder):
            folder.remove()
        shutil.rmtree(path, ignore_errors=True)
    return RunFolder.begin(storage, setup)


def _go_on(storage: Path, setup: Setup) -> RunFolder:
    """The only folder whose run this call can continue."""
    if setup.ids is not None and setup.job.seed is None:
        raise ParameterError(
            "resume: with ids, a seed is needed; without a seed each call hashes the IDs with a new key"
        )
    fit: list[RunFolder] = []
    busy: list[str] = []
    refused: list[str] = []
    try:
        for path, folder in _runs(storage):
            if isinstance(folder, InUseError):
                busy.append(path.name)
            elif isinstance(folder, StorageError):
                refused.append(str(folder))
            elif folder is not None and (why := folder.refusal(setup)) is None:
                fit.append(folder)
            elif folder is not None:
                folder.leave()
                refused.append(f"{path.name}: {why}")
        if len(fit) == 1:
            return fit[0]
        if fit:
            names = ", ".join(one.path.name for one in fit)
            raise StorageError(f"{storage}: {names} were started by the same call; remove all but one")
        if refused:
            reasons = "; ".join(refused)
            raise StorageError(f"{storage}: there is no run that this call can continue; {reasons}")
        works = f"another process works on {', '.join(busy)}"
        text = works if busy else "a run that has ended leaves no files"
        raise StorageError(f"{storage}: there is no run to continue; {text}")
    except BaseException:
        for one in fit:
            one.leave()
        raise


def _runs(storage: Path) -> Iterator[tuple[Path, RunFolder | StorageError | None]]:
    """Folders that drivers made, opened, or why not. Other folders with a similar name are ignored."""
    for path in sorted(one for one in storage.iterdir() if _NAME.fullmatch(one.name) and one.is_dir()):
        try:
            yield path, RunFolder.open(path)
        except StorageError as error:
            yield path, error


def digests(setup: Setup, key: bytes) -> dict[str, Any]:
    """Digests of everything that a run's messages depend on, by name. Party names and deadline do not matter.

    Another call may continue a run only if all are equal. They are keyed, so they show nothing of rows, IDs
    or a bound that follows from them without the key. The key is in the same folder, like the parties'
    secrets.
    """

    def of(*pieces: Buffer) -> str:
        return keyed_digest(pieces, key)

    def of_array(array: np.ndarray[Any, Any]) -> str:
        whole = np.ascontiguousarray(array)
        return of(as_bytes([whole.shape, whole.dtype.str]), whole.tobytes())

    parties = range(1, setup.job.parties + 1)
    ids, starts = setup.ids or [], setup.starts or []
    return {
        "job": {name: of(as_bytes(value)) for name, value in asdict(setup.job).items()}
        | {"salt": of(setup.salt or b"")},
        "rows": [of_array(rows) for rows in setup.rows],
        "row IDs": [of(one.digests.tobytes(), one.key) for one in ids],
        "start labels": [of_array(one) for one in starts],
        "weights": [of_array(one) for one in setup.weights or []],
        "limits": [of(as_bytes(asdict(setup.limits_of(j)))) for j in parties],
    }


def differences(begun: dict[str, Any], called: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Names of the differences between two calls, without values. `names` are the second call's parties."""
    if begun["job"].get("n") != called["job"]["n"]:
        return ["the number of parties"]
    found = []
    for what in ("rows", "row IDs", "start labels", "weights", "limits"):
        if len(begun[what]) != len(called[what]):
            found.append(what)
            continue
        pairs = zip(names, begun[what], called[what], strict=False)  # helpers have no rows
        found += [f"{what} of {name}" for name, one, other in pairs if one != other]
    fields = sorted(begun["job"].keys() | called["job"].keys())
    return found + [name for name in fields if begun["job"].get(name) != called["job"].get(name)]
