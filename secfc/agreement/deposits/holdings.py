"""Signed lists of the deposits that each member holds. A deposit counts if all members hold it.

::

    content = canonical JSON of held and refused
    signed  = "secfc holding 1" | agreement (32) | member (2) | serial (2) | SHA-256 of the content (32)
    file    = signature, in base64 | digest of the content, in hexadecimal (a line each) | content

With its signature a member says that it takes nothing more. It may sign again that it leaves owners out: of
each member the holding with the greatest serial counts that it has signed. All members have to hold the same,
so one decides nothing but who is left out. Whoever has seen other holdings than the others has another
agreement for the run (`Agreement.run_digest`), and no part in it.
"""

import hashlib
import json
import logging
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Annotated

from pydantic import Field

from secfc.agreement.deposits.admission import MOST_BYTES, Certificate, unpacked
from secfc.agreement.deposits.complete import Complete, complete
from secfc.agreement.deposits.store import Store
from secfc.agreement.job_file import Agreement
from secfc.agreement.schemas import Hex32, decoded, encoded
from secfc.agreement.statement import Short
from secfc.crypto.handshake import Session
from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.crypto.identity import SIGNATURE_BYTES, Identity
from secfc.errors import AgreementError, MessageError, ParameterError, SealError, SecFCError, StorageError
from secfc.errors.codes import Code
from secfc.field.residues import MAX_ROWS
from secfc.protocol.job.cases import Deposited
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.sharing.deposits import Call
from secfc.tables.toml_file import FileSchema, ListOf, check_values

_LOG = logging.getLogger(__name__)
_SIGNED = b"secfc holding 1"
_PLACE = struct.Struct("<HH")
_LINES = 4 * -(-SIGNATURE_BYTES // 3) + 1, 2 * DIGEST_BYTES + 1
_HEAD_BYTES = sum(_LINES)  # of a file, before its content
_ENTRY_BYTES = 256  # more than the entry of an owner takes in a file
_MOST_SERIAL = 1000  # more holdings of one member come from a program that does not end
_TRIED = 3  # files of a member that are read in full, each up to 256 bytes an owner
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
    """The content of a holding's file."""

    held: Annotated[ListOf[HeldSchema], Field(repr=False)]
    refused: Annotated[ListOf[RefusedSchema], Field(repr=False)]


@dataclass(frozen=True, kw_only=True)
class Holding:
    """The deposits that a member holds and refuses, by owner, and the names in their certificates."""

    held: Mapping[int, tuple[int, bytes]] = field(repr=False)  # rows and digest
    refused: Mapping[int, str]
    names: Mapping[int, str] = field(repr=False)

    @classmethod
    def of(cls, content: bytes, *, most: int, name: str) -> "Holding":
        """The holding with this content. ParameterError for any other, or an owner twice or above `most`."""
        schema = check_values(json.loads(content), HoldingSchema, name=name)
        entries: list[HeldSchema | RefusedSchema] = [*schema.held, *schema.refused]
        numbers = [one.owner for one in entries]
        if len(set(numbers)) < len(numbers) or max(numbers, default=0) > most:
            raise ParameterError(f"{name}: an owner that there is not, or twice")
        return cls(
            held={one.owner: (one.rows, bytes.fromhex(one.deposit)) for one in schema.held},
            refused={one.owner: one.reason for one in schema.refused},
            names={one.owner: one.name for one in entries},
        )

    def content(self) -> bytes:
        """The content of its file."""
        names = self.names
        held = [
            {"owner": owner, "name": names[owner], "rows": rows, "deposit": said.hex()}
            for owner, (rows, said) in sorted(self.held.items())
        ]
        refused = [
            {"owner": owner, "name": names[owner], "reason": reason}
            for owner, reason in sorted(self.refused.items())
        ]
        values = {"held": held, "refused": refused}
        return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


@dataclass(frozen=True, kw_only=True)
class SignedHolding:
    """A holding that its member has signed, and its file."""

    member: int
    serial: int
    holding: Holding
    file: bytes = field(repr=False)

    @property
    def digest(self) -> bytes:
        """Digest of its content, 32 bytes."""
        return _digest(self.file)


def signed_holding(
    agreement: Agreement, *, member: int, identity: Identity, holding: Holding, serial: int
) -> SignedHolding:
    """A member's holding, signed. AgreementError if it has signed too many."""
    if serial > _MOST_SERIAL:
        name = agreement.names[member - 1]
        raise AgreementError(f"{name}: it has signed {_MOST_SERIAL} holdings; no more are possible")
    content = holding.content()
    digest = hashlib.sha256(content).digest()
    signature = encoded(identity.sign(_signed(agreement, member, serial, digest)))
    file = f"{signature}\n{digest.hex()}\n".encode() + content
    return SignedHolding(member=member, serial=serial, holding=holding, file=file)


def holding_of(file: bytes, agreement: Agreement, *, member: int, serial: int) -> SignedHolding:
    """The holding in a file; AgreementError unless this member signed it for this job and serial.

    Its code is `Code.BAD_SIGNATURE` if the member may be innocent: others can have written the file.
    """
    name = f"the holding of {agreement.names[member - 1]}"
    # Anybody can write a file. So nothing is parsed before the signature of its bytes is verified.
    digest = signed_digest(file[:_HEAD_BYTES], agreement, member=member, serial=serial)
    content = file[_HEAD_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        raise AgreementError(f"{name}: it did not sign this content", code=Code.BAD_SIGNATURE)
    try:
        holding = Holding.of(content, most=owners_of(agreement), name="it signed what is none")
    except ParameterError as error:
        raise AgreementError(f"{name}: {error}") from None
    except (ValueError, RecursionError):
        raise AgreementError(f"{name}: it signed what is none: not JSON that can be read") from None
    return SignedHolding(member=member, serial=serial, holding=holding, file=file)


def signed_digest(head: bytes, agreement: Agreement, *, member: int, serial: int) -> bytes:
    """The digest of the content that a file must have, by its head. AgreementError as `holding_of`."""
    try:
        signature, digest = decoded(head[: _LINES[0] - 1].decode()), _digest(head)
        statement = _signed(agreement, member, serial, digest)
        agreement.consortium.roster.verify(member, signature, statement, what="its holding")
    except (ValueError, SealError):
        text = f"the holding of {agreement.names[member - 1]}: it did not sign this file"
        raise AgreementError(text, code=Code.BAD_SIGNATURE) from None
    return digest


def _digest(file: bytes) -> bytes:
    """The digest in the second line of a file."""
    return bytes.fromhex(file[_LINES[0] : _HEAD_BYTES - 1].decode())


def _signed(agreement: Agreement, member: int, serial: int, digest: bytes) -> bytes:
    return _SIGNED + agreement.digest + _PLACE.pack(member, serial) + digest


def owners_of(agreement: Agreement) -> int:
    """The largest number that an owner can have."""
    assert agreement.owners is not None
    return agreement.job.n * agreement.owners.most


def call_of(agreement: Agreement, keys: Sequence[bytes] | None = None) -> Call:
    """The call for deposits of a job (`secfc.sharing.deposits`). It precedes any run, so its run is 0."""
    assert agreement.owners is not None
    owners = owners_of(agreement)
    job = agreement.job
    if isinstance(job.rows, Deposited):
        raise ParameterError("the job has deposits already")
    return Call(
        job=job,
        session=Session(
            run=bytes(RUN_ID_BYTES), agreement=agreement.digest, roster=agreement.consortium.roster
        ),
        keys=[b""] * owners if keys is None else keys,
        most_rows=(agreement.owners.most_rows,) * owners,
    )


def deposit_in(file: bytes | None, owner: int) -> tuple[Certificate, bytes]:
    """The certificate and the deposit in an owner's file, not checked. MessageError for another's file."""
    if file is None:
        raise MessageError("there is no such file")
    certificate, deposit = unpacked(file)
    if certificate.number != owner:
        raise MessageError(f"its certificate is of owner {certificate.number}")
    if int.from_bytes(deposit[:4], "little") != owner:
        raise MessageError("a deposit of another owner")
    return certificate, deposit


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
        """Publish the runs in which a member took part, at most as many as were agreed."""
        self.store.write(self._runs(member), b"".join(runs[: self.agreement.runs]))

    def runs(self) -> list[bytes]:
        """Runs that an honest member names, sorted: at most max(t, A) others do."""
        named: Counter[bytes] = Counter()
        for _, data in self.of_members(self._runs, most=RUN_ID_BYTES * self.agreement.runs):
            size = RUN_ID_BYTES
            named.update({data[at : at + size] for at in range(0, len(data) - size + 1, size)})
        liars = max(self.agreement.job.t, self.agreement.job.max_liars)
        return sorted(run for run, count in named.items() if count > liars)

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
        return sorted(set(map(int, names)))  # a store may list a file twice

    def deposit(self, member: int, owner: int) -> tuple[Certificate, bytes]:
        """What an owner has left for a member, and its certificate, as `deposit_in` and `Store.read`."""
        return deposit_in(self.store.read(self.piece(member, owner), most=self.most_bytes), owner)

    def write(self, member: int, certificate: Certificate, deposit: bytes) -> None:
        """Write an owner's deposit for a member."""
        self.store.write(self.piece(member, certificate.number), certificate.packed() + deposit)

    @cached_property
    def most_bytes(self) -> int:
        """Of a deposit's file."""
        assert self.agreement.owners is not None
        return MOST_BYTES + call_of(self.agreement).deposit_bytes(self.agreement.owners.most_rows)

    def write_holding(self, signed: SignedHolding) -> None:
        """Publish a member's signed holding."""
        self.store.write(self._holding(signed.member, signed.serial), signed.file)

    @property
    def closed(self) -> bool:
        """Whether a member has signed that it takes nothing more."""
        serials = self._serials().items()
        return any(True for member, of_member in serials for _ in self._signed(member, of_member))

    def holdings(self, stated: Mapping[int, bytes] | None = None) -> dict[int, SignedHolding]:
        """Of each member the last holding that it has signed, or the one with the digest that is stated.

        Anybody can write a file: a warning tells of those that are passed over. AgreementError names members
        of whom there is none.
        """
        found, names = self._serials(), self.agreement.names[: self.agreement.job.n]
        missing = [name for member, name in enumerate(names, 1) if member not in found]
        if missing:
            text = f"the store has no signed holding of {', '.join(missing)}"
            raise AgreementError(f"{text}; each member writes its own with secfc deposit close")
        return {member: self._last(member, found[member], (stated or {}).get(member)) for member in found}

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

    def _holding(self, member: int, serial: int) -> str:
        return f"{self.folder}/holdings/{member}-{serial}"

    def _signed(self, member: int, serials: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Serials, and digests, of those files whose heads their member has signed. Only heads are read."""
        for serial in serials:
            try:
                head = self.store.head(self._holding(member, serial), _HEAD_BYTES)
                digest = signed_digest(head or b"", self.agreement, member=member, serial=serial)
            except (AgreementError, StorageError) as error:
                self._passed_over(member, serial, error)
            else:
                yield serial, digest

    def _last(self, member: int, serials: Sequence[int], stated: bytes | None) -> SignedHolding:
        """The first of these holdings that its member has signed, or the one that is stated.

        AgreementError if that is no holding: the signature proves that the member wrote it. Of files whose
        content is not the one that was signed only the first `_TRIED` are read.
        """
        most = _HEAD_BYTES + _ENTRY_BYTES * (owners_of(self.agreement) + 4)
        signed = (serial for serial, digest in self._signed(member, serials) if stated in (None, digest))
        for serial in islice(signed, _TRIED):
            try:
                file = self.store.read(self._holding(member, serial), most=most)
                return holding_of(file or b"", self.agreement, member=member, serial=serial)
            except (AgreementError, StorageError) as error:
                if error.code is Code.NOT_AGREED:
                    raise
                self._passed_over(member, serial, error)
        which = "that it signed" if stated is None else "that was stated"
        name = self.agreement.names[member - 1]
        raise AgreementError(f"the holding of {name}: no file in the store is one {which}")

    def _passed_over(self, member: int, serial: int, error: SecFCError) -> None:
        name = self.agreement.names[member - 1]
        _LOG.warning("holding %d of %s was passed over: %s", serial, name, error)


@dataclass(frozen=True, kw_only=True)
class Closed:
    """A job with the deposits that count."""

    agreement: Agreement  # with the rows of each owner
    complete: Complete
    names: Mapping[int, str] = field(repr=False)  # of owners, by number, where all members give the same

    @property
    def left_out(self) -> list[str]:
        """The owners that are left out and why, a line for each."""
        names, texts = self.names, self.complete.left_out.items()
        return [
            f"{names[owner]} (owner {owner}): {text}" if owner in names else f"owner {owner}: {text}"
            for owner, text in texts
        ]


def closed(
    deposits: Deposits, own: SignedHolding | None = None, stated: Mapping[int, bytes] | None = None
) -> Closed:
    """The deposits that all members hold alike, by the last holdings, or those that are `stated` by digest.

    `own` is what the member that asks has signed last itself. An owner to whom members give different names
    is left out. Raises AgreementError when a member has signed none, or no deposit is complete.
    """
    signed = deposits.holdings(stated)
    if own is not None:
        signed[own.member] = own
    agreement = deposits.agreement
    holdings = {member: signed[member].holding for member in sorted(signed)}
    names, disputed = _names(holdings)
    held = {member: one.held for member, one in holdings.items()}
    refused = {member: one.refused for member, one in holdings.items()}
    found = complete(call_of(agreement), held, refused, disputed)
    if not any(found.owners):
        raise AgreementError("no deposit is complete at all members")
    last = max(owner for owner, rows in enumerate(found.owners, 1) if rows)  # owners after it have no rows
    digests = [signed[member].digest.hex() for member in holdings]
    return Closed(
        agreement=agreement.with_deposits(found.owners[:last], found.deposits, digests),
        complete=found,
        names=names,
    )


def _names(holdings: Mapping[int, Holding]) -> tuple[dict[int, str], dict[int, str]]:
    """Names of owners where members give one; where they give several, the reason to leave the owner out."""
    named: dict[int, tuple[int, str]] = {}
    disputed: dict[int, str] = {}
    for member, holding in holdings.items():
        for owner, name in holding.names.items():
            first, given = named.setdefault(owner, (member, name))
            if given != name:
                text = f"member {first} has it as {given}, member {member} as {name}"
                disputed.setdefault(owner, text)
    return {owner: name for owner, (_, name) in named.items() if owner not in disputed}, disputed


def deposited(agreement: Agreement) -> Agreement:
    """The agreement of a run; with owners it includes the deposits that count. Raises as `closed`."""
    if agreement.owners is None or isinstance(agreement.job.rows, Deposited):
        return agreement
    return closed(Deposits.of(agreement)).agreement


def _number(text: str, most: int) -> int:
    """A number from 1 to `most` in the form that this program writes; 0 for any other text."""
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(most)) and text[0] != "0"
    return int(text) if plain and int(text) <= most else 0
