"""A temporary folder for compiled code that can be written neither beside the package nor at home.

A process that makes the folder names it to those that it starts. Each process that uses it holds a shared
lock on it, which the system releases when the process ends, also when it is killed. At its end a process
removes the folder if no other process holds it. Folders whose processes were all killed are removed by the
next process that makes one.
"""

import atexit
import logging
import os
import shutil
import stat
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no locks, so the process that made the folder removes it alone
    fcntl = None  # type: ignore[assignment]

CACHE = "SECFC_KERNELS_CACHE"
"""Environment variable: the user's folder for compiled code."""

_OURS = "SECFC_KERNELS_FOLDER"
"""Environment variable for processes that this one starts: our temporary folder."""

_PREFIX, _SUFFIX = "secfc-kernels-", "?" * 8  # as `tempfile.mkdtemp` names folders
_TRIES = 3  # another process may remove a folder before it is locked
_LOG = logging.getLogger(__name__)
_held: tuple[str, int] | None = None  # the folder and the descriptor whose lock holds it
_forking = threading.Lock()
_of_child: int | None = None  # while a process is forked: a descriptor with a lock for it


def adopt() -> str | None:
    """Hold the folder that an earlier process named to this one, if one did; None if it cannot be used.

    What is there is run. So the folder must be of this user only.
    """
    folder = os.environ.get(_OURS)
    if folder is None or fcntl is None or (_held is not None and _held[0] == folder) or _hold(folder):
        return folder
    del os.environ[_OURS]
    return None


def make() -> str | None:
    """A new folder of this user only, held and named to processes that this one starts; None without one."""
    try:
        _remove_unheld()
        folder = next((one for one in map(_made, range(_TRIES)) if one is not None), None)
    except OSError:
        return None
    if folder is not None:
        os.environ[_OURS] = folder
        _LOG.warning(
            "compiled code is kept until this process ends: neither the folder of secfc nor the user's cache "
            "folder can be written. %s can name a folder that keeps it",
            CACHE,
        )
    return folder


def _made(_: int) -> str | None:
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    if fcntl is None:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    return folder if _hold(folder) else None


def _hold(folder: str) -> bool:
    """Hold a folder until this process ends; False if it is gone or not of this user only."""
    global _held  # noqa: PLW0603 - one folder for a process
    lock = _locked(folder)
    if lock is None:
        return False
    if _held is not None:
        os.close(_held[1])
    _held = folder, lock
    return True


def _locked(folder: str) -> int | None:
    """A descriptor with a shared lock on a folder of this user only; None if it is gone or another's."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        found = os.fstat(lock)
        # The folder inherits the set-group-ID bit from the temporary folder.
        private = stat.S_IMODE(found.st_mode) & ~stat.S_ISGID == stat.S_IRWXU
        if private and found.st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_SH)  # waits while a process removes it
            if os.path.samestat(found, os.lstat(folder)):
                return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _before_fork() -> None:
    """Take a lock for the new process: the one that it inherits is its parent's too, who may end first."""
    global _of_child  # noqa: PLW0603
    _forking.acquire()
    _of_child = None if _held is None else _locked(_held[0])


def _after_in_parent() -> None:
    if _of_child is not None:
        os.close(_of_child)  # the new process has it
    _forking.release()


def _after_in_child() -> None:
    global _held  # noqa: PLW0603
    if _held is not None:
        os.close(_held[1])
        _held = None if _of_child is None else (_held[0], _of_child)
    _forking.release()


def let_go() -> None:
    """Remove the folder, unless another process holds it. It is called when the interpreter ends."""
    if _held is not None:
        _remove(*_held)


def _remove(folder: str, lock: int) -> None:
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError if another process holds the folder
        shutil.rmtree(folder, ignore_errors=True)


def _remove_unheld() -> None:
    """Remove this user's folders that no process holds."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + _SUFFIX):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            if os.fstat(lock).st_uid == os.geteuid():
                _remove(str(folder), lock)
            os.close(lock)


atexit.register(let_go)
if fcntl is not None:
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
