"""A run's own folder in the storage: its parties' journals, for as long as the run lasts.

A driver that ends, however, removes it. One that is killed cannot; the next run in the same storage does.
"""

import shutil
from pathlib import Path

from secfc.errors import StorageError
from secfc.journal.journal import make_folder
from secfc.journal.records import RecordFile

_PREFIX = "run-"
_LOCK = "driver"


class RunFolder:
    """The folder, held by this driver.

    Parameters
    ----------
    storage : Path
    run : str
        Identifier in hexadecimal.

    Attributes
    ----------
    path : Path

    Raises
    ------
    StorageError
        When it cannot be made.
    """

    def __init__(self, storage: Path, run: str) -> None:
        for other in storage.glob(f"{_PREFIX}*"):
            _remove_if_left(other)
        self.path = storage / f"{_PREFIX}{run}"
        make_folder(self.path)
        self._lock = RecordFile.create(self.path / _LOCK, [(b"H", run.encode())])

    def remove(self) -> None:
        """Remove it with all that is in it. Deletion does not wipe what the disk holds."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    """Remove the folder of a run whose driver was killed: nobody can go on with it, and it holds secrets."""
    try:
        lock = RecordFile.open(folder / _LOCK)
    except StorageError:
        return  # its driver works, or it is only just being made
    lock.close()
    shutil.rmtree(folder, ignore_errors=True)
