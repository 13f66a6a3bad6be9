"""The two files that are handed over before a run: a party's request, and the coordinator's consortium file.

Both are TOML that people can read. They come from other parties, so every field is checked before any is
used. Neither has a field for a private key.
"""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from secfc.agreement.consortium import Consortium, Member, check_member, roster_of
from secfc.agreement.job_file import JobSchema
from secfc.agreement.schemas import MADE_HERE, Versioned, check_version, decoded, encoded
from secfc.crypto.identity import Identity, Roster
from secfc.drivers.flare.kits import check_name
from secfc.drivers.flare.provision import Address
from secfc.errors import AgreementError, ParameterError, SealError
from secfc.protocol.job.thresholds import MAX_CLIENTS
from secfc.tables.toml_file import TableOf, TomlFile, as_toml, read_text

JOB, ROSTER = "job.toml", "roster.toml"
SCHEMAS = {"prepare": "schema.toml", "describe": "outcomes.toml"}  # by the key of a job that names one
"""Names of the files in a consortium's folder. A job file names the other two."""

COORDINATOR = "coordinator"  # its name in the roster
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_MOST_PORT = (1 << 16) - 1

_MOST_REQUEST = 1 << 15  # bytes: a request has only a few keys and names

Pem = Annotated[str, Field(max_length=10_000)]


class HandOver(Versioned):
    """A file that its author has signed."""

    about: ClassVar[str]  # its first line, for people
    kind: ClassVar[bytes]  # what the signed bytes begin with
    signature: str

    def signed(self) -> bytes:
        """The signed bytes: all fields except the signature."""
        return self.kind + json.dumps(self.model_dump(exclude={"signature"}), sort_keys=True).encode()

    def check_signed(self, path: Path, key: bytes) -> None:
        """Raise AgreementError unless this public key has signed it."""
        try:
            Roster((key,)).verify(1, decoded(self.signature), self.signed())
        except (SealError, ValueError):
            text = f"{path}: it was not signed by the key of its author, or it was changed later"
            raise AgreementError(text) from None

    def signed_text(self, identity: Identity) -> str:
        """The text of the file, signed."""
        values = self.model_dump(exclude_none=True, exclude={"signature"})
        values["signature"] = encoded(identity.sign(self.signed()))
        tables = {key: value for key, value in values.items() if isinstance(value, dict)}
        lines = [f"# {self.about}"]
        lines += [f"{key} = {_value(value)}" for key, value in values.items() if key not in tables]
        for key, table in tables.items():
            entries = (f"{json.dumps(name)} = {_value(value)}" for name, value in table.items())
            lines += ["", f"[{key}]", *entries]
        return "\n".join([*lines, ""])


class RequestSchema(HandOver, Member):
    """A party's request to take part."""

    about = (
        "A request to take part in a consortium of secfc. Send it to the coordinator; it contains no secret."
    )
    kind = b"secfc request 1"
    format: Literal["secfc request 1"]
    helper: bool
    tls: Pem

    @property
    def member(self) -> Member:
        """The party."""
        return Member(name=self.name, organisation=self.organisation, key=self.key)


class ConsortiumSchema(HandOver):
    """The parties, the job, the server's address, and the certificates of all sites."""

    about = "A consortium of secfc. The coordinator sends this file to every site. It contains no secret."
    kind = b"secfc consortium 1"
    format: Literal["secfc consortium 1"]
    project: str
    host: str
    port: int
    roster: str
    job: str
    prepare: str | None = None
    describe: str | None = None
    authority: Pem
    certificates: TableOf[str, Pem] = Field(max_length=MAX_CLIENTS)

    @property
    def schemas(self) -> dict[str, str]:
        """The texts of schema files, by the key of the job that names one."""
        texts = {"prepare": self.prepare, "describe": self.describe}
        return {key: text for key, text in texts.items() if text is not None}

    @property
    def address(self) -> Address:
        """The address of the server."""
        return Address(project=self.project, host=self.host, port=self.port)


def check_party(name: str, organisation: str) -> None:
    """Raise ParameterError unless FLARE too allows this name for a party."""
    check_member(name, organisation)
    check_name(name, what="name")
    if name.lower() == COORDINATOR:
        raise ParameterError(f"name: {name!r} is the coordinator's")


def request_text(member: Member, identity: Identity, *, tls: str, helper: bool) -> str:
    """A party's request, signed by its key. `tls` is its signing request, PEM."""
    schema = RequestSchema(
        format="secfc request 1",
        **MADE_HERE,
        helper=helper,
        tls=tls,
        signature="",
        **member.model_dump(),
    )
    return schema.signed_text(identity)


def read_request(path: Path) -> RequestSchema:
    """A party's request, signed by the key in it. ParameterError names the file and the fault."""
    file = TomlFile(path, read_text(path, most=_MOST_REQUEST))
    check_version(file)
    schema = file.check(RequestSchema)
    try:
        check_party(schema.name, schema.organisation)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None
    schema.check_signed(path, schema.key)
    return schema


def read_consortium(path: Path) -> tuple[ConsortiumSchema, Consortium]:
    """A consortium file with its roster, whose coordinator must have signed the file.

    To know whose file it is, parties compare the roster's words with each other. Their signatures show later
    that all have the same job.
    """
    file = TomlFile(path)
    check_version(file)
    schema = file.check(ConsortiumSchema)
    check_address(schema.address, name=str(path))
    consortium = roster_of(TomlFile(Path(f"{path}: roster"), schema.roster))
    if consortium.coordinator is None:
        raise ParameterError(f"{path}: roster: it has no [coordinator]")
    for party in consortium.names:
        check_name(party, what=f"{path}: roster")
    schema.check_signed(path, consortium.coordinator.key)
    check_job_names(TomlFile(Path(f"{path}: job"), schema.job), given=schema.schemas)
    if set(schema.certificates) != set(consortium.names):
        raise file.error("certificates", text="certificates: one of each party of the roster is needed")
    return schema, consortium


def check_address(address: Address, *, name: str) -> None:
    """Raise ParameterError, with `name`, unless the address is valid. All of it goes into FLARE's files."""
    if not _PROJECT.fullmatch(address.project):
        raise ParameterError(f"{name}: project: 1 to 63 letters, digits, '-' and '_' are possible")
    check_name(address.project, what=f"{name}: project")
    if not _HOST.fullmatch(address.host):
        raise ParameterError(f"{name}: host: the name or the IPv4 address of a machine is needed")
    if not 0 < address.port <= _MOST_PORT:
        raise ParameterError(f"{name}: port: 1 to {_MOST_PORT} are possible, {address.port} was given")


def check_job_names(job: TomlFile, *, given: Collection[str]) -> None:
    """Raise ParameterError unless a job file names the roster, and schema files, in its own folder.

    `given` are the keys of the schema files that are there.
    """
    schema = job.check(JobSchema)
    for key, needed in {"roster": ROSTER, **SCHEMAS}.items():
        named = getattr(schema, key)
        if named is None and key not in given:
            continue
        if named != needed:
            raise job.error(key, text=f'{key}: "{needed}" is needed: a consortium has it beside the job')
        if key in SCHEMAS and key not in given:
            raise job.error(key, text=f"{key}: the file of the schema is missing")


def _value(value: object) -> str:
    """A value in TOML. A text of several lines becomes a multi-line string."""
    if not isinstance(value, str) or "\n" not in value:
        return as_toml(value)
    inside = value.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'"""\n{inside}"""'
