"""FLARE's server and sites as processes on this machine, which end with their starter, and jobs."""

import errno
import fcntl
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import psutil

from secfc.drivers.flare.jobs import SUMMARY
from secfc.drivers.flare.kits import ADMIN, JOBS, SERVER, STORE, Role, forget_runs, organisation_of, use_store
from secfc.drivers.flare.run_state import contacts
from secfc.errors import ParameterError, PartyError
from secfc.errors.codes import Code
from secfc.tables.toml_file import read_json

_GRACE_SECONDS = 10.0
_COMMAND_SECONDS = 120.0
_POLL_SECONDS = 0.2
_ASK_SECONDS = 10.0
_BEGIN_SECONDS = 600.0
_ABORT_SECONDS = 30.0  # for the coordinator to write the summary of a job that is aborted
_NOT_BEGUN = ("SUBMITTED", "APPROVED", "DISPATCHED")  # FLARE's statuses of a job that waits for sites
_WORKER = "nvflare.private.fed.app.client.worker_process"  # program of a job at a site
_MARK = "SECFC_STARTED"  # environment variable of a process that was started here, and of all that it starts
_LOCK = "lock"  # file in the kit
_LOCK_TRIES, _LOCK_SECONDS = 10, 0.02


@contextmanager
def only_one(kit: Path) -> Iterator[None]:
    """Hold the lock of a kit. PartyError if another command holds it."""
    with _lock(kit, fcntl.LOCK_EX) as free:
        if not free:
            raise used(kit)
        yield


def used(kit: Path) -> PartyError:
    """The error for a kit whose lock another command holds."""
    text = f"{kit}: another secfc consortium start or run uses this kit and was left alone"
    return PartyError(text, code=Code.IN_USE)


def in_use(kit: Path) -> bool:
    """Whether a command holds the lock of a kit."""
    with _lock(kit, fcntl.LOCK_SH) as free:
        return not free


@contextmanager
def _lock(kit: Path, kind: int) -> Iterator[bool]:
    try:
        file = (kit / _LOCK).open("ab")
    except OSError as error:
        raise ParameterError(f"{kit / _LOCK}: {error.strerror}") from None
    with file:
        yield _locked(file.fileno(), kind, kit / _LOCK)


def _locked(file: int, kind: int, path: Path) -> bool:
    """Lock an open file, unless another command holds the lock. It tries again: `in_use` holds it briefly."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_SECONDS)
        except OSError as error:  # a file system without locks
            raise ParameterError(f"{path}: {error.strerror}") from None
        else:
            return True
    return False


def target_of(kit: Path, side: Role) -> tuple[str, int]:
    """Host and port of the server, as a kit has them."""
    path = kit / "startup" / f"fed_{side}.json"
    told = read_json(path)
    try:
        host, _, port = told["servers"][0]["service"]["target"].rpartition(":")
        return host, int(port)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise ParameterError(f"{path}: it does not name a server and a port") from None


class KitProcess:
    """The process of a server or a site, and the processes of its jobs."""

    def __init__(self, kit: Path, name: str) -> None:
        self.kit, self.name = kit.resolve(), name
        self._process: subprocess.Popen[bytes] | None = None
        self._mark = secrets.token_hex(16)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def check_alive(self) -> None:
        """Raise PartyError if it has ended."""
        if not self.alive:
            what = "the FLARE server" if self.name == SERVER else f"{self.name}: FLARE's client"
            raise PartyError(f"{what} has ended; {self.console} says why")

    @property
    def console(self) -> Path:
        """The file with its output."""
        return self.kit / "console.txt"

    def said(self) -> str:
        """Its output since it was started."""
        return self.console.read_text(errors="replace") if self.console.exists() else ""

    def start(self) -> None:
        """Start it, or start it again if it has ended."""
        (self.kit / "transfer").mkdir(exist_ok=True)
        self._reap()
        forget_runs(self.kit)
        side: Role = "server" if self.name == SERVER else "client"
        uid = [] if side == "server" else [f"uid={self.name}"]
        program = f"nvflare.private.fed.app.{side}.{side}_train"
        command = [sys.executable, "-u", "-m", "secfc.drivers.flare.leash", program, "-m", str(self.kit)]
        command += ["-s", f"fed_{side}.json", "--set", "secure_train=true", *uid]
        command += [f"org={organisation_of(self.name, side)}", "config_folder=config"]
        with self.console.open("wb") as console:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=subprocess.STDOUT,
                cwd=self.kit,
                env=os.environ | {_MARK: self._mark},
                start_new_session=True,
            )

    @property
    def pids(self) -> list[int]:
        """Its own process and those of its jobs."""
        return [process.pid for process in self._processes()]

    @property
    def works(self) -> bool:
        """Whether a job runs at this site."""
        for process in self._processes():
            with suppress(psutil.Error):
                if _WORKER in process.cmdline():
                    return True
        return False

    def _processes(self) -> list[psutil.Process]:
        """Processes that this object has started, and their jobs, also after their parent was killed."""
        return [process for process in psutil.process_iter() if self._started(process)]

    def _started(self, process: psutil.Process) -> bool:
        own = self._process
        if own is not None and process.pid == own.pid:
            return True
        with suppress(psutil.Error):  # another user's, or it has ended
            return bool(process.environ().get(_MARK) == self._mark)
        return False

    def stop(self) -> None:
        """End all its processes."""
        stop([self])

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process = None


def stop(parties: Collection[KitProcess]) -> None:
    """End all processes of some parties."""
    started = [one for one in parties if one._process is not None]
    found = [process for one in started for process in one._processes()]
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(found, timeout=_GRACE_SECONDS)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=_GRACE_SECONDS)
    for one in started:
        one._reap()


class ServerProcess(KitProcess):
    """The server. It submits jobs with the administrator's kit."""

    def __init__(self, kit: Path, admin: Path) -> None:
        super().__init__(kit, SERVER)
        self._admin = admin.resolve()

    def start(self) -> None:
        """Start it, or start it again if it has ended. ParameterError if its port is not free."""
        self.check_port()
        use_store(self.kit)
        super().start()

    def check_port(self) -> None:
        """Raise ParameterError unless the server can listen at the port of its kit, on all interfaces."""
        _, port = target_of(self.kit, "server")
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as FLARE's own
            try:
                listener.bind(("", port))
            except OSError as error:
                why = "in use" if error.errno == errno.EADDRINUSE else f"not possible: {error.strerror}"
                raise ParameterError(f"port {port} of this machine is {why}") from None

    def known(self, names: Sequence[str]) -> set[str]:
        """Connected sites whose latest process this process of the server has accepted."""
        said = self.said()
        there = {name for name, one in contacts(said).items() if one.connected}
        return {
            name
            for name in there.intersection(names)
            if f"New client {name}@" in said or f"Re-activate the client: {name} at" in said
        }

    def _nvflare(self, *arguments: str) -> Any:
        """The answer of a FLARE command. A PartyError has FLARE's reason."""
        command = [sys.executable, "-m", "nvflare.cli", "--format", "json", *arguments]
        command += ["--startup-kit", str(self._admin)]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=self._admin,
                env=os.environ | {"HOME": str(self._admin)},
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            text = f"nvflare {' '.join(arguments[:2])}: no answer within {_COMMAND_SECONDS:.0f} s"
            raise PartyError(text) from None
        answer: dict[str, Any] = {}
        with suppress(ValueError):
            answer = json.loads(done.stdout)
        if done.returncode or answer.get("status") not in (None, "ok"):
            self.check_alive()
            reason = answer.get("message") or done.stderr.strip() or f"exit status {done.returncode}"
            raise PartyError(f"nvflare {' '.join(arguments[:2])}: {reason}")
        return answer.get("data")

    def run(
        self,
        job: Path,
        *,
        timeout: float,
        begin: float = _BEGIN_SECONDS,
        each: Callable[[], None] = lambda: None,
    ) -> tuple[str, Path | None]:
        """Submit a job's folder and wait until its summary is written or FLARE has ended the job.

        `each` is called in every poll. Returns FLARE's job number and a copy of the summary, or None if the
        job ended before. A job that FLARE has not begun after `begin` seconds, or that has not ended after
        `timeout` seconds, is aborted with a PartyError. After Ctrl-C it is aborted at all sites, and the
        summary says so.
        """
        number: str = self._nvflare("job", "submit", "-j", str(job.resolve()))["job_id"]
        try:
            return number, self._summary_of(number, timeout=timeout, begin=begin, each=each)
        except KeyboardInterrupt:
            return number, self._interrupted(number)

    def _interrupted(self, number: str) -> Path:
        """Abort a job, and wait for its summary. KeyboardInterrupt if none is written."""
        self._nvflare("job", "abort", number, "--force")
        until = time.monotonic() + _ABORT_SECONDS
        while time.monotonic() < until:
            if (summary := self._summary(number)) is not None:
                return summary
            time.sleep(_POLL_SECONDS)
        raise KeyboardInterrupt

    def _summary_of(
        self, number: str, *, timeout: float, begin: float, each: Callable[[], None]
    ) -> Path | None:
        submitted = asked = time.monotonic()
        while (summary := self._summary(number)) is None:
            time.sleep(_POLL_SECONDS)
            each()
            self.check_alive()
            now = time.monotonic()
            if now - submitted > timeout:
                self._abort(number, f"the job had not ended after {timeout:.0f} s and was aborted")
            if now - asked > _ASK_SECONDS:
                status = self.status(number)
                if status.startswith("FINISHED"):
                    return self._summary(number)
                if status in _NOT_BEGUN and now - submitted > begin:
                    away = [name for name, one in contacts(self.said()).items() if not one.connected]
                    missing = ", ".join(name for name in away if name != ADMIN) or "none"
                    text = f"FLARE has not begun the job after {begin:.0f} s: {status}"
                    self._abort(number, f"{text}; sites that are not connected: {missing}")
                asked = now
        return summary

    def _abort(self, number: str, why: str) -> NoReturn:
        self._nvflare("job", "abort", number, "--force")
        raise PartyError(why, code=Code.TIMEOUT)

    def _summary(self, number: str) -> Path | None:
        """A copy of a job's summary. FLARE moves the job's folder into its store at the end."""
        copy = self.kit / f"{number}.json"
        with suppress(FileNotFoundError):
            shutil.copy2(self.kit / number / SUMMARY, copy)
            return copy
        stored = self.kit / STORE / JOBS / number / "workspace"
        with suppress(FileNotFoundError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(stored) as files:
            copy.write_bytes(files.read(SUMMARY))
            return copy
        return None

    def status(self, number: str) -> str:
        """FLARE's status of a job."""
        return str(self._nvflare("job", "meta", number)["status"])

    def ended(self, number: str, *, timeout: float) -> str:
        """FLARE's status of a job when FLARE has finished it, or after `timeout` seconds."""
        until = time.monotonic() + timeout
        while not (status := self.status(number)).startswith("FINISHED") and time.monotonic() < until:
            time.sleep(1.0)
        return status
