"""A FLARE server and its sites on this machine: real processes, mutual TLS, one loopback port."""

import socket
import time
from collections.abc import Sequence
from pathlib import Path

from secfc.agreement.key_files import COORDINATOR_KEY
from secfc.drivers.flare.certificates import Authority
from secfc.drivers.flare.flare_processes import KitProcess, ServerProcess, stop
from secfc.drivers.flare.kits import ADMIN, SERVER, SITE_FILE, Role, check_name, check_path
from secfc.drivers.flare.provision import Address, issue_kit
from secfc.errors import PartyError
from secfc.errors.codes import Code

_START_SECONDS = 180.0
_POLL_SECONDS = 0.2
_HOST = "localhost"


def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Federation:
    """A server and sites, provisioned in a new folder, which is not removed."""

    def __init__(self, folder: Path, sites: Sequence[str]) -> None:
        for name in sites:
            check_name(name, what="the job's parties")
        check_path(folder)
        folder.mkdir(parents=True)
        self.folder, self.sites, self.port = folder.resolve(), tuple(sites), free_port()
        self.kits = {name: self.folder / name for name in (SERVER, *self.sites, ADMIN)}
        authority = Authority.new("secfc")
        address = Address(project="secfc", host=_HOST, port=self.port)
        roles: dict[str, Role] = {SERVER: "server", ADMIN: "lead"}
        for name, kit in self.kits.items():
            role = roles.get(name, "client")
            hosts = (_HOST,) if role == "server" else ()
            issue_kit(kit, authority, name=name, role=role, address=address, hosts=hosts)
        self.server = ServerProcess(self.kits[SERVER], self.kits[ADMIN])
        self.parties = {SERVER: self.server} | {
            name: KitProcess(self.kits[name], name) for name in self.sites
        }
        self.run, self.ended, self.status = self.server.run, self.server.ended, self.server.status

    def __enter__(self) -> "Federation":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def join(self, name: str, site_file: Path) -> None:
        """Give a site its own site file."""
        (self.kits[name] / "local" / SITE_FILE).symlink_to(site_file.resolve())

    def give_key(self, key: Path) -> None:
        """Give the server the coordinator's private key."""
        (self.kits[SERVER] / "local" / COORDINATOR_KEY).symlink_to(key.resolve())

    def alive(self, name: str) -> bool:
        """Whether the party's process runs."""
        return self.parties[name].alive

    def check_alive(self, names: Sequence[str] = ()) -> None:
        """Raise PartyError if FLARE's process of one of these parties, by default of any, has ended."""
        self.server.check_alive()
        for name in names or self.sites:
            self.parties[name].check_alive()

    def start(self, *names: str) -> None:
        """Start these parties, by default all, and wait until the server knows all running sites.

        A restarted server knows no sites: a job submitted too early would run without some.
        """
        names = names or (SERVER, *self.sites)
        for name in names:
            self.parties[name].start()
        wanted = {name for name in self.sites if name in names or self.alive(name)}
        until = time.monotonic() + _START_SECONDS
        while not wanted <= (known := self._registered()):
            self.check_alive(names)
            if time.monotonic() > until:
                text = f"sites that did not register: {', '.join(sorted(wanted - known))}"
                raise PartyError(text, code=Code.TIMEOUT)
            time.sleep(_POLL_SECONDS)

    def _registered(self) -> set[str]:
        """Sites whose latest process the latest process of the server has accepted."""
        known = self.server.known(self.sites)
        taken = "Successfully registered client"
        return {name for name in known if self.alive(name) and taken in self.parties[name].said()}

    def stop(self) -> None:
        """End every process of the federation."""
        stop(self.parties.values())
