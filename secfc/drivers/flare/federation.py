"""A FLARE server and its sites on this machine: real processes, mutual TLS, one loopback port.

Provisioning, submitting and waiting are FLARE's own commands, as in docs/deployment.md.
"""

import json
import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from secfc.agreement.keys import COORDINATOR_KEY
from secfc.drivers.flare.jobs import SUMMARY
from secfc.drivers.flare.kits import SITE_FILE, prepare_kit
from secfc.errors import PartyError

SERVER, ADMIN = "server", "admin@example.com"
_BUILDERS = "nvflare.lighter.impl"
_GRACE_SECONDS = 10.0
_START_SECONDS = 180.0
_COMMAND_SECONDS = 120.0
_POLL_SECONDS = 0.2
_ASK_SECONDS = 10.0


def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Federation:
    """A server and sites, provisioned in a folder of their own, which is made and not removed."""

    def __init__(self, folder: Path, sites: Sequence[str]) -> None:
        folder.mkdir(parents=True)
        self.folder, self.sites, self.port = folder.resolve(), tuple(sites), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._provision()
        self.kits = {name: self.folder / "secfc" / "prod_00" / name for name in (SERVER, *self.sites, ADMIN)}
        prepare_kit(self.kits[SERVER], "server")
        for name in self.sites:
            prepare_kit(self.kits[name], "site")

    def __enter__(self) -> "Federation":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _provision(self) -> None:
        participants: list[dict[str, Any]] = [
            {
                "name": SERVER,
                "type": "server",
                "org": "coordinator",
                "fed_learn_port": self.port,
                "default_host": "localhost",
            },
            *({"name": name, "type": "client", "org": self._org(name)} for name in self.sites),
            {"name": ADMIN, "type": "admin", "org": "coordinator", "role": "project_admin"},
        ]
        builders: list[dict[str, Any]] = [
            {
                "path": f"{_BUILDERS}.workspace.WorkspaceBuilder",
                "args": {"template_file": ["master_template.yml"]},
            },
            {"path": f"{_BUILDERS}.static_file.StaticFileBuilder", "args": {"config_folder": "config"}},
            {"path": f"{_BUILDERS}.cert.CertBuilder"},
            {"path": f"{_BUILDERS}.signature.SignatureBuilder"},
        ]
        project = self.folder / "project.yml"  # JSON is YAML
        values = {"api_version": 3, "name": "secfc", "participants": participants, "builders": builders}
        project.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        self._nvflare("provision", "-p", str(project), "-w", str(self.folder), "--force", admin=False)

    def _nvflare(self, *arguments: str, admin: bool = True, timeout: float = _COMMAND_SECONDS) -> Any:
        """What a command of FLARE's answers; PartyError has FLARE's reason."""
        command = [sys.executable, "-m", "nvflare.cli", "--format", "json", *arguments]
        if admin:
            command += ["--startup-kit", str(self.kits[ADMIN])]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=self.folder,
                env=os.environ | {"HOME": str(self.folder)},
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PartyError(f"nvflare {' '.join(arguments[:2])}: no answer within {timeout:.0f} s") from None
        answer: dict[str, Any] = {}
        with suppress(ValueError):
            answer = json.loads(done.stdout)
        if done.returncode or answer.get("status") not in (None, "ok"):
            reason = answer.get("message") or done.stderr.strip() or f"exit status {done.returncode}"
            raise PartyError(f"nvflare {' '.join(arguments[:2])}: {reason}")
        return answer.get("data")

    def join(self, name: str, site_file: Path) -> None:
        """Give a site its own site file."""
        (self.kits[name] / "local" / SITE_FILE).symlink_to(site_file.resolve())

    def give_key(self, key: Path) -> None:
        """Give the server the coordinator's private key."""
        (self.kits[SERVER] / "local" / COORDINATOR_KEY).symlink_to(key.resolve())

    def alive(self, name: str) -> bool:
        """Whether the party's process runs."""
        return name in self._processes and self._processes[name].poll() is None

    def start(self, *names: str) -> None:
        """Start these parties, all by default, and wait until the server knows all sites that run.

        A server that was started again knows none: a job that came before a site would run without it. Raises
        PartyError with the sites that have not registered.
        """
        names = names or (SERVER, *self.sites)
        for name in names:
            self._start(name)
        wanted = {name for name in self.sites if name in names or self.alive(name)}
        until = time.monotonic() + _START_SECONDS
        while not wanted <= (known := self._registered()):
            if not self.alive(SERVER):
                raise PartyError("the FLARE server has ended; its console.txt says why")
            if time.monotonic() > until:
                raise PartyError(f"sites that did not register: {', '.join(sorted(wanted - known))}")
            time.sleep(_POLL_SECONDS)

    def _registered(self) -> set[str]:
        """Sites whose latest process the latest process of the server has accepted."""
        known, console = set(), self.kits[SERVER] / "console.txt"
        server = console.read_text(errors="replace") if console.exists() else ""
        for name in self.sites:
            log = self.kits[name] / "console.txt"
            taken = f"New client {name}@" in server or f"Re-activate the client: {name} at" in server
            if taken and self.alive(name) and b"Successfully registered client" in log.read_bytes():
                known.add(name)
        return known

    def _start(self, name: str) -> None:
        kit = self.kits[name]
        (kit / "transfer").mkdir(exist_ok=True)
        if name in self._processes:
            self._reap(name)
        side, uid = ("server", []) if name == SERVER else ("client", [f"uid={name}"])
        program = f"nvflare.private.fed.app.{side}.{side}_train"
        command = [sys.executable, "-u", "-m", "secfc.drivers.flare.leash", program, "-m", str(kit)]
        command += ["-s", f"fed_{side}.json", "--set", "secure_train=true", *uid]
        command += [f"org={self._org(name)}", "config_folder=config"]
        with (kit / "console.txt").open("wb") as console:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=console,
                stderr=subprocess.STDOUT,
                cwd=kit,
                start_new_session=True,
            )

    def _org(self, name: str) -> str:
        return "coordinator" if name == SERVER else f"org{self.sites.index(name) + 1}"

    def run(self, job: Path, *, timeout: float) -> tuple[str, Path | None]:
        """Submit a job's folder and wait until its summary is written, or FLARE has ended the job.

        Returns the job's number at FLARE, and a copy of the summary, None when the job ended before. Raises
        PartyError after `timeout` seconds; the job is aborted then.
        """
        number: str = self._nvflare("job", "submit", "-j", str(job))["job_id"]
        until = time.monotonic() + timeout
        asked = time.monotonic()
        while (summary := self._summary(number)) is None:
            time.sleep(_POLL_SECONDS)
            if time.monotonic() > until:
                self._nvflare("job", "abort", number, "--force")
                raise PartyError(f"the job had not ended after {timeout:.0f} s and was aborted")
            if time.monotonic() - asked > _ASK_SECONDS:
                if self.status(number).startswith("FINISHED"):
                    return number, self._summary(number)
                asked = time.monotonic()
        return number, summary

    def _summary(self, number: str) -> Path | None:
        """A copy of a job's summary: FLARE removes the job's folder when it has put it into its store."""
        server = self.kits[SERVER]
        copy = server / f"{number}.json"
        with suppress(FileNotFoundError):
            copy.write_bytes((server / number / SUMMARY).read_bytes())
            return copy
        stored = server / "store" / "jobs-storage" / number / "workspace"
        with suppress(FileNotFoundError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(stored) as files:
            copy.write_bytes(files.read(SUMMARY))
            return copy
        return None

    def status(self, number: str) -> str:
        """FLARE's status of a job."""
        return str(self._nvflare("job", "meta", number)["status"])

    def ended(self, number: str, *, timeout: float) -> str:
        """FLARE's status of a job once FLARE is done with it, or after these seconds."""
        until = time.monotonic() + timeout
        while not (status := self.status(number)).startswith("FINISHED") and time.monotonic() < until:
            time.sleep(1.0)
        return status

    def pids(self, name: str) -> list[int]:
        """Processes of a party: its own and those of its jobs."""
        kit = str(self.kits[name])
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if kit in (process.info["cmdline"] or []):
                found.append(process.pid)
        return found

    def stop(self) -> None:
        """End every process of the federation."""
        found = []
        for name in self._processes:
            for pid in self.pids(name):
                with suppress(psutil.NoSuchProcess):
                    found.append(psutil.Process(pid))
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(found, timeout=_GRACE_SECONDS)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(alive, timeout=_GRACE_SECONDS)
        for name in self._processes:
            self._reap(name)

    def _reap(self, name: str) -> None:
        """Wait for a process that has ended."""
        process = self._processes[name]
        process.wait()
        assert process.stdin is not None
        process.stdin.close()
