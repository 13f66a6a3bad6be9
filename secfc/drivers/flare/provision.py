"""FLARE's startup kits. FLARE's provisioner makes them, with existing keys and certificates."""

import logging
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nvflare.lighter.constants import CtxKey
from nvflare.lighter.entity import Project
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provisioner import Provisioner

from secfc.drivers.flare.certificates import AUTHORITY, Authority, new_key
from secfc.drivers.flare.kits import CLASSES, SERVER, Role, organisation_of, refuse_code
from secfc.errors import ParameterError

_FILES = {"server": "server", "client": "client", "lead": "client"}  # FLARE's names of key files
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Address of a FLARE server."""

    project: str
    host: str
    port: int


def issue_kit(
    kit: Path,
    authority: Authority,
    *,
    name: str,
    role: Role,
    address: Address,
    hosts: tuple[str, ...] = (),
) -> None:
    """Make the key and the certificate of a participant, and write its kit as `make_kit`."""
    key, pem = new_key()
    certificate = authority.certify(key.public_key(), name=name, role=role, hosts=hosts)
    files = {"key": pem, "certificate": certificate, "authority": authority.pem}
    make_kit(kit, name=name, role=role, address=address, files=files)


def make_kit(kit: Path, *, name: str, role: Role, address: Address, files: Mapping[str, str]) -> None:
    """Write the startup kit of a participant into a new folder.

    `files` are its private "key", its "certificate" and that of the "authority", PEM.
    """
    project = Project(name=address.project, description="")
    ports = {"fed_learn_port": address.port, "admin_port": address.port, "default_host": address.host}
    project.set_server(SERVER, organisation_of(SERVER, "server"), ports)
    if role == "client":
        project.add_client(name, organisation_of(name, role), {})
    elif role == "lead":
        project.add_admin(name, organisation_of(name, role), {"role": role})
    with tempfile.TemporaryDirectory(prefix=".kit-", dir=kit.parent) as scratch:
        builders = [WorkspaceBuilder(), StaticFileBuilder(scheme="http")]  # WebSockets over TLS
        context = Provisioner(root_dir=scratch, builders=builders).provision(project, logger=_LOG)
        if context.get(CtxKey.BUILD_ERROR):
            raise ParameterError(f"{kit}: FLARE's provisioner made no startup kit of {name}")
        shutil.move(Path(context[CtxKey.CURRENT_PROD_DIR]) / name, kit)
    startup, own = kit / "startup", _FILES[role]
    for file, text, mode in (
        (f"{own}.key", files["key"], 0o600),
        (f"{own}.crt", files["certificate"], 0o644),
        (AUTHORITY, files["authority"], 0o644),
    ):
        path = startup / file
        path.touch(mode=mode)
        path.write_text(text, encoding="utf-8")
    if role in CLASSES:
        refuse_code(kit, role)
