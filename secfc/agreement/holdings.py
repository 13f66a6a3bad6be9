"""Signed lists of the deposits that each member holds. A deposit counts if all members hold it.

::

    signed = "secfc holding 1" | canonical JSON of job, member, serial, held and refused

With its signature a member says that it takes nothing more. It may sign again that it leaves owners out: of
each member the holding with the greatest serial counts that it has signed. All members have to hold the same,
so one decides nothing but who is left out. Whoever has seen other holdings than the others has another
agreement for the run (`Agreement.run_digest`), and no part in it.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from secfc.agreement.admission import MOST_BYTES, Certificate, unpacked
from secfc.agreement.job_file import Agreement
from secfc.agreement.signatures import decoded, encoded
from secfc.agreement.statement import Hex32, Short
from secfc.agreement.store import Store
from secfc.agreement.toml_file import FileSchema, check_values
from secfc.codes import Code
from secfc.errors import AgreementError, MessageError, ParameterError, SealError, StorageError
from secfc.options import MAX_ROWS
from secfc.protocol.complete import Complete, complete
from secfc.protocol.deposits import Call, copies_of
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity

_LOG = logging.getLogger(__name__)
_SIGNED = b"secfc holding 1"
_ENTRY_BYTES = 256  # more than the entry of an owner takes in a file
_LINE_BYTES = 128  # more than a signature takes as text
_MOST_SERIAL = 1000  # more holdings of one member come from a program that does not end
Number = Annotated[int, Field(ge=1)]


class HeldSchema(FileSchema):
    """A deposit that a member holds."""

    owner: Number
    name: Short
    rows: Annotated[int, Field(ge=1, le=MAX_ROWS)]
    deposit: Hex32  # digest of the part that all members receive


class RefusedSchema(FileSchema):
    """An owner that a member refuses."""

    owner: Number
    name: Short
    reason: Short


class HoldingSchema(FileSchema):
    """A holding's file."""

    format: Literal["secfc holding 1"]
    job: Hex32
    member: Number
    serial: Annotated[int, Field(ge=1, le=_MOST_SERIAL)]
    held: Annotated[list[HeldSchema], Field(repr=False)]
    refused: Annotated[list[RefusedSchema], Field(repr=False)]
    signature: str

    @property
    def entries(self) -> "list[HeldSchema | RefusedSchema]":
        """The entries of all owners."""
        return [*self.held, *self.refused]

    def statement(self) -> bytes:
        """The bytes that are signed."""
        return _statement(self._body())

    def to_bytes(self) -> bytes:
        """The content of its file: a line with the signature, then what is signed."""
        return self.signature.encode() + b"\n" + self._body()

    def _body(self) -> bytes:
        return _canonical(self.model_dump(exclude={"signature"}))


def _statement(body: bytes) -> bytes:
    """The statement that a member signs about the bytes of its holding."""
    return _SIGNED + hashlib.sha256(body).digest()


@dataclass(frozen=True, kw_only=True)
class Holding:
    """The deposits that a member holds and refuses, by owner."""

    held: Mapping[int, tuple[int, bytes]] = field(repr=False)  # rows and digest
    refused: Mapping[int, str]
    names: Mapping[int, str] = field(repr=False)

    @classmethod
    def of(cls, schema: HoldingSchema) -> "Holding":
        """The holding in a file."""
        return cls(
            held={one.owner: (one.rows, bytes.fromhex(one.deposit)) for one in schema.held},
            refused={one.owner: one.reason for one in schema.refused},
            names={one.owner: one.name for one in schema.entries},
        )


def signed_holding(
    agreement: Agreement, *, member: int, identity: Identity, holding: Holding, serial: int
) -> HoldingSchema:
    """The file of a member's holding, signed."""
    names = holding.names
    schema = HoldingSchema(
        format="secfc holding 1",
        job=agreement.digest.hex(),
        member=member,
        serial=serial,
        held=[
            HeldSchema(owner=owner, name=names[owner], rows=rows, deposit=said.hex())
            for owner, (rows, said) in sorted(holding.held.items())
        ],
        refused=[
            RefusedSchema(owner=owner, name=names[owner], reason=reason)
            for owner, reason in sorted(holding.refused.items())
        ],
        signature="",
    )
    return schema.model_copy(update={"signature": encoded(identity.sign(schema.statement()))})


def holding_of(data: bytes, agreement: Agreement, *, member: int) -> HoldingSchema:
    """The holding in a file; AgreementError unless this member signed it for this job, about its owners."""
    name = f"the holding of {agreement.names[member - 1]}"
    # Anybody can write a file. So nothing is parsed before the signature of its bytes is verified.
    line, _, body = data.partition(b"\n")
    try:
        signature = decoded(line[:_LINE_BYTES].decode())
        agreement.consortium.roster.verify(member, signature, _statement(body), what="its holding")
    except (ParameterError, ValueError, SealError):
        raise AgreementError(f"{name}: it did not sign this file", code=Code.BAD_SIGNATURE) from None
    try:
        values = json.loads(body)
        if isinstance(values, dict):
            values["signature"] = line.decode()
        schema = check_values(values, HoldingSchema, name=name)
    except (ParameterError, ValueError, RecursionError) as error:
        raise AgreementError(f"{name}: {error}") from None
    if schema.job != agreement.digest.hex() or schema.member != member:
        raise AgreementError(f"{name}: of another job, or another member")
    numbers = [one.owner for one in schema.entries]
    if len(set(numbers)) < len(numbers) or max(numbers, default=0) > owners_of(agreement):
        raise AgreementError(f"{name}: an owner that there is not, or twice")
    return schema


def owners_of(agreement: Agreement) -> int:
    """The largest number that an owner can have."""
    assert agreement.owners is not None
    return agreement.job.n * agreement.owners.most


def call_of(agreement: Agreement, keys: Sequence[bytes] | None = None) -> Call:
    """The call for deposits of a job (`secfc.protocol.deposits`). It precedes any run, so its run is 0."""
    assert agreement.owners is not None
    owners = owners_of(agreement)
    job = agreement.job
    if job.owners is not None:
        raise ParameterError("the job has deposits already")
    return Call(
        job=job,
        session=Session(
            run=bytes(RUN_ID_BYTES), agreement=agreement.digest, roster=agreement.consortium.roster
        ),
        keys=[b""] * owners if keys is None else keys,
        most_rows=(agreement.owners.most_rows,) * owners,
    )


@dataclass(frozen=True, kw_only=True)
class Deposits:
    """The files of a job's deposits in its store."""

    agreement: Agreement
    store: Store

    @classmethod
    def of(cls, agreement: Agreement) -> "Deposits":
        """The deposits of a job that was read from a file; ParameterError for a job without owners."""
        if agreement.store is None:
            raise ParameterError("the job has no owners that deposit rows ([owners] in the job file)")
        return cls(agreement=agreement, store=Store(agreement.store))

    @cached_property
    def folder(self) -> str:
        """Folder of this job."""
        return self.agreement.digest.hex()[:32]

    def piece(self, member: int, owner: int) -> str:
        """Path of an owner's deposit for a member."""
        return f"{self.folder}/deposits/{member}/{owner}"

    def labels(self, run: bytes, member: int) -> str:
        """Path of the labels that a member sealed to owners."""
        return f"{self.folder}/labels/{run.hex()}/{member}"

    def write_runs(self, member: int, runs: Sequence[bytes]) -> None:
        """Publish the runs in which a member takes part, at most as many as were agreed."""
        self.store.write(self._runs(member), b"".join(runs[: self.agreement.runs]))

    def runs(self) -> list[bytes]:
        """Runs that enough members name, sorted: with fewer no owner has enough equal copies of labels."""
        named: Counter[bytes] = Counter()
        for _, data in self.of_members(self._runs, most=RUN_ID_BYTES * self.agreement.runs):
            size = RUN_ID_BYTES
            named.update({data[at : at + size] for at in range(0, len(data) - size + 1, size)})
        return sorted(run for run, count in named.items() if count >= copies_of(self.agreement.job))

    def _runs(self, member: int) -> str:
        return f"{self.folder}/runs/{member}"

    def of_members(self, path: Callable[[int], str], *, most: int) -> Iterator[tuple[int, bytes]]:
        """One file of each member that has left it, at the path for its number.

        What cannot be read is passed over with a warning: one member's file must not keep the others' from
        being read. StorageError if nothing can be read.
        """
        read, failed = False, None
        for member in range(1, self.agreement.job.n + 1):
            try:
                data = self.store.read(path(member), most=most)
            except StorageError as error:
                _LOG.warning("passed over: %s", error)
                failed = failed or StorageError(str(error), code=error.code)
                continue
            if data is not None:
                read = True
                yield member, data
        if failed is not None and not read:
            raise failed

    def numbers(self, member: int) -> list[int]:
        """Owners that have left a file for a member, ascending; files with other names are ignored."""
        most = owners_of(self.agreement)
        names = self.store.names(f"{self.folder}/deposits/{member}", lambda name: _number(name, most))
        return sorted(map(int, names))

    def deposit(self, member: int, owner: int) -> tuple[Certificate, bytes]:
        """What an owner has left for a member, and its certificate, neither checked.

        MessageError where there is none or it is of another owner, StorageError as `Store.read`.
        """
        data = self.store.read(self.piece(member, owner), most=self._most_bytes)
        if data is None:
            raise MessageError("there is no such file")
        certificate, deposit = unpacked(data)
        if certificate.number != owner:
            raise MessageError(f"its certificate is of owner {certificate.number}")
        if int.from_bytes(deposit[:4], "little") != owner:
            raise MessageError("a deposit of another owner")
        return certificate, deposit

    @cached_property
    def _most_bytes(self) -> int:
        """Of a deposit's file."""
        assert self.agreement.owners is not None
        return MOST_BYTES + call_of(self.agreement).deposit_bytes(self.agreement.owners.most_rows)

    def write_holding(self, schema: HoldingSchema) -> None:
        """Publish a member's signed holding."""
        self.store.write(f"{self.folder}/holdings/{schema.member}-{schema.serial}", schema.to_bytes())

    @property
    def closed(self) -> bool:
        """Whether a member has signed that it takes nothing more."""
        for member, serials in self._serials().items():
            try:
                self._signed(member, serials)
            except (AgreementError, StorageError):
                continue
            return True
        return False

    def holdings(self, serials: Mapping[int, int] | None = None) -> dict[int, HoldingSchema]:
        """Of each member the last holding that it has signed, or the one with its serial.

        Anybody can write a file: a warning tells of those that are passed over. AgreementError names members
        of whom there is none.
        """
        found, names = self._serials(), self.agreement.names[: self.agreement.job.n]
        missing = [name for member, name in enumerate(names, 1) if member not in found]
        if missing:
            raise AgreementError(f"{', '.join(missing)} did not close the deposits (secfc deposit close)")
        found |= {member: [serial] for member, serial in (serials or {}).items()}
        return {member: self._signed(member, of_member) for member, of_member in found.items()}

    def _serials(self) -> dict[int, list[int]]:
        """Those that files of each member's holdings are named by, the greatest first."""
        found: dict[int, list[int]] = {}
        for name in self.store.names(f"{self.folder}/holdings", self._place):
            member, serial = self._place(name)
            found.setdefault(member, []).append(serial)
        return {member: sorted(serials, reverse=True) for member, serials in sorted(found.items())}

    def _place(self, name: str) -> tuple[int, ...]:
        """Member and serial that a file is named by; nothing for any other name."""
        member, _, serial = name.partition("-")
        place = _number(member, self.agreement.job.n), _number(serial, _MOST_SERIAL)
        return place if all(place) else ()

    def _signed(self, member: int, serials: Sequence[int]) -> HoldingSchema:
        """The first of these holdings that its member has signed; if there is none, the first one's error."""
        most, name = _ENTRY_BYTES * (owners_of(self.agreement) + 4), self.agreement.names[member - 1]
        first: AgreementError | StorageError | None = None
        for serial in serials:
            try:
                data = self.store.read(f"{self.folder}/holdings/{member}-{serial}", most=most)
                schema = holding_of(data or b"", self.agreement, member=member)
                if schema.serial != serial:
                    raise AgreementError(f"the holding of {name}: of another serial")
            except (AgreementError, StorageError) as error:
                _LOG.warning("holding %d of %s was passed over: %s", serial, name, error)
                # A new one: the traceback of `error` refers to the whole file.
                first = first or type(error)(str(error), code=error.code)
            else:
                return schema
        assert first is not None
        raise first


@dataclass(frozen=True, kw_only=True)
class Closed:
    """A job with the deposits that count."""

    agreement: Agreement  # with the rows of each owner
    complete: Complete
    names: Mapping[int, str] = field(repr=False)  # of owners, by number

    @property
    def left_out(self) -> list[str]:
        """The owners that are left out and why, a line for each."""
        texts = self.complete.left_out.items()
        return [f"{self.names.get(owner, 'owner')} (owner {owner}): {text}" for owner, text in texts]


def closed(
    deposits: Deposits, own: HoldingSchema | None = None, serials: Mapping[int, int] | None = None
) -> Closed:
    """The deposits that all members hold alike, by what each of them has signed last, or with its serial.

    `own` is what the member that asks has signed last itself. Raises AgreementError when a member has signed
    none, or no deposit is complete.
    """
    signed = deposits.holdings(serials)
    if own is not None:
        signed[own.member] = own
    agreement = deposits.agreement
    holdings = {member: Holding.of(schema) for member, schema in signed.items()}
    found = complete(call_of(agreement), holdings)
    if not any(found.owners):
        raise AgreementError("no deposit is complete at all members")
    names: dict[int, str] = {}
    for one in holdings.values():
        for owner, name in one.names.items():
            names.setdefault(owner, name)
    last = max(owner for owner, rows in enumerate(found.owners, 1) if rows)  # owners after it have no rows
    return Closed(
        agreement=agreement.with_deposits(found.owners[:last], found.deposits), complete=found, names=names
    )


def deposited(agreement: Agreement) -> Agreement:
    """The agreement of a run; with owners it includes the deposits that count. Raises as `closed`."""
    if agreement.owners is None or agreement.job.owners is not None:
        return agreement
    return closed(Deposits.of(agreement)).agreement


def _number(text: str, most: int) -> int:
    """A number from 1 to `most` in the form that this program writes; 0 for any other text."""
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(most)) and text[0] != "0"
    return int(text) if plain and int(text) <= most else 0


def _canonical(values: Any) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
