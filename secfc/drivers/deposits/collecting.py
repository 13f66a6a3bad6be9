"""A member's side of deposits: it admits owners, closes the deposits, and reads them in a run.

When a member closes the deposits it signs the number of rows and digest of each. In a run it reads them in
the store again and takes only those that it has signed. If it keeps a log, the log keeps what it took. It
keeps the channel to each owner and moves the shares to the client's points at once.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from secfc.agreement.consortium import read_roster
from secfc.agreement.deposits.admission import admit
from secfc.agreement.deposits.holdings import (
    Closed,
    Deposits,
    Holding,
    SignedHolding,
    closed,
    deposited,
    holding_of,
    signed_holding,
)
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.key_files import read_key
from secfc.agreement.logs.disk import sync_folder, write_errors
from secfc.agreement.logs.run_log import Entry, RunLog
from secfc.agreement.secret_files import OWNER_ONLY, numbers_in, write_new
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import Site
from secfc.crypto.identity import Identity
from secfc.drivers.deposits.owner_labels import owner_labels
from secfc.drivers.deposits.shelf import Shelf
from secfc.drivers.sites.past_runs import PastRuns
from secfc.errors import AgreementError, MessageError, ParameterError, SecFCError, StorageError
from secfc.field.array_types import Floats
from secfc.field.packing import PackedResidues
from secfc.protocol.job.cases import Deposited
from secfc.sharing.deposits import Intake, digest_of, sealed_labels_of
from secfc.tables.outputs import check_new_file
from secfc.tables.toml_file import read_text

SEALED = "owners.labels"
"""A file of a run in the member's results: owners' labels, sealed to the owners, as in the store."""

_DEPOSIT = "deposit"  # kind of the entries of a site's log: client is the owner, body the owner's file
_MOST_HOLDING = 1 << 29


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of the committee of a job with owners, from its site file."""

    site: Site
    agreement: Agreement
    number: int
    identity: Identity = field(repr=False)

    @classmethod
    def of(cls, site: Site) -> "Member":
        """AgreementError if the site is no member, or a party has not signed the job.

        ParameterError if the store is where the member keeps its own files: others may write to a store.
        """
        agreement, identity = read_job(site.job), read_key(site.key)
        if agreement.owners is None:
            raise ParameterError(f"{site.job}: the job has no owners that deposit rows ([owners])")
        number = agreement.consortium.number_of(site.party, identity.public, file=site.key)
        if number > agreement.job.n:
            raise AgreementError(f"{site.party}: a helper holds no deposits")
        check_signed(agreement, signatures_path(site.job))
        found = cls(site=site, agreement=agreement, number=number, identity=identity)
        store, own = Path(str(agreement.store)).resolve(), found._folder.resolve()
        if store.is_relative_to(own) or own.is_relative_to(store):
            raise ParameterError(f"owners.store: {site.party} keeps its own files of deposits in {own}")
        return found

    @property
    def _folder(self) -> Path:
        results = self.site.results
        return results.with_name(f"{results.name}.deposits")

    @property
    def _own(self) -> Path:
        return self._folder / Deposits.of(self.agreement).folder

    def admit(self, keys: Sequence[Path]) -> list[Path]:
        """Write a certificate next to each file of a public key, unless it is there. Return the paths.

        The member counts numbers by files of its own.
        """
        assert self.agreement.owners is not None
        most, folder = self.agreement.owners.most, self._own / "owners"
        given = [one for path in keys for one in read_roster(path).members]
        targets = [path.with_suffix(".certificate") for path in keys]
        if len(given) != len(keys):
            raise ParameterError("KEYS: each public key file must have one owner")
        admitted = {read_text(folder / str(number)): number for number in numbers_in(folder)}
        noted = set(admitted)
        names = {text.split()[0].lower(): text for text in admitted}
        texts = []
        for target, one in zip(targets, given, strict=True):
            said = f"{one.name} {one.key.hex()}"
            if names.setdefault(one.name.lower(), said) != said:
                raise AgreementError(f"{self.site.party}: it has admitted another key as {one.name!r}")
            number = admitted.get(said) or max(admitted.values(), default=(self.number - 1) * most) + 1
            if number > self.number * most:
                text = f"{self.site.party}: it has no number left for another owner; {most} are possible"
                raise AgreementError(f"{text} (owners.most)")
            text = admit(
                self.agreement,
                member=self.number,
                identity=self.identity,
                number=number,
                name=one.name,
                key=one.key,
            )
            if not _has_text(target, text):
                check_new_file("certificate", target)
            admitted[said] = number
            texts.append((target, text))
        for said, number in admitted.items():  # ascending, since numbers are counted
            if said not in noted:
                _noted(folder / str(number), said.encode())
        if admitted:
            with write_errors(str(folder)):
                sync_folder(folder)
        for target, text in texts:
            if not _has_text(target, text):
                write_new(target, text.encode())
        return targets

    def last_holding(self) -> SignedHolding | None:
        """The holding that it signed last. None before it has closed the deposits."""
        return next(self._signed(), None)

    def holding(self, digest: str) -> SignedHolding:
        """The holding with this digest, which it has signed. AgreementError if there is none."""
        found = next((one for one in self._signed() if one.digest.hex() == digest), None)
        if found is None:
            raise AgreementError(f"{self.site.party}: the holding {digest[:16]} that it signed is gone")
        return found

    def _signed(self) -> Iterator[SignedHolding]:
        folder = self._own / "holdings"
        for serial in sorted(numbers_in(folder), reverse=True):
            file = read_text(folder / str(serial), most=_MOST_HOLDING).encode()
            yield holding_of(file, self.agreement, member=self.number, serial=serial)

    def close(self, without: Collection[int] = ()) -> "Taken":
        """Read the deposits in the store, sign them, and take no more. Leave out the owners of these numbers.

        A member that has closed them before signs the same holding again, without the owners in `without`.
        What it has signed, and its labels of owners, are written to the store again.
        """
        deposits, last = Deposits.of(self.agreement), self.last_holding()
        assert self.agreement.owners is not None
        until, not_taken = self.agreement.owners.until, dict[int, str]()
        if until is not None and datetime.now(UTC).date() <= until:
            raise AgreementError(f"deposits are possible until the end of {until.isoformat()}, in UTC")
        if last is None:
            holding, not_taken = self._read(deposits)
            if not (holding.held or holding.refused):
                text = f"{self.site.party}: the store has no deposit for it; nothing was signed"
                raise AgreementError(text)
        else:
            holding = last.holding
        for owner in without:
            if owner not in holding.names:
                raise ParameterError(f"--without: owner {owner} has no deposit")
        leaves = {owner: "this member leaves it out" for owner in without if owner in holding.held}
        if last is None or leaves:
            holding = replace(
                holding,
                held={owner: one for owner, one in holding.held.items() if owner not in leaves},
                refused={**holding.refused, **leaves},
            )
            last = signed_holding(
                self.agreement,
                member=self.number,
                identity=self.identity,
                holding=holding,
                serial=1 if last is None else last.serial + 1,
            )
            _noted(self._own / "holdings" / str(last.serial), last.file)
        folder = self._own / "holdings"
        with write_errors(str(folder)):
            sync_folder(folder)
        deposits.write_holding(last)
        self.publish(PastRuns(self.site, self.agreement).counted)
        return Taken(holding=holding, not_taken=not_taken)

    def publish(self, runs: Iterable[bytes]) -> None:
        """Write owners' labels of these runs, where there are any, to the store. Name all its runs there.

        Runs with labels are named first, since no more than were agreed are named. What can be written is
        written. Then the first StorageError is raised, or ParameterError for a file that cannot be read.
        """
        deposits, failed = Deposits.of(self.agreement), list[SecFCError]()
        counted = PastRuns(self.site, self.agreement).counted
        counted.sort(key=lambda run: not self._sealed(run).exists())
        writes = [partial(self._store_labels, deposits, run) for run in runs if self._sealed(run).exists()]
        if counted:
            writes.append(partial(deposits.write_runs, self.number, counted))
        for write in writes:
            try:
                write()
            except (ParameterError, StorageError) as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def _store_labels(self, deposits: Deposits, run: bytes) -> None:
        path = self._sealed(run)
        with write_errors(str(path)):
            data = path.read_bytes()
        deposits.store.write(deposits.labels(run, self.number), data)

    def _sealed(self, run: bytes) -> Path:
        return self.site.results / run.hex() / SEALED

    def _read(self, deposits: Deposits) -> tuple[Holding, dict[int, str]]:
        """Read its deposits in the store. Return them, and the reasons for those not taken."""
        held: dict[int, tuple[int, bytes]] = {}
        refused, names, not_taken = dict[int, str](), dict[int, str](), dict[int, str]()
        shelf = Shelf(deposits, member=self.number, identity=self.identity)
        for block in shelf.blocks(deposits.numbers(self.number)):
            held |= block.intake.held
            refused |= block.intake.refused
            names |= block.names
            not_taken |= {
                owner: text for owner, text in block.not_taken.items() if owner not in block.intake.refused
            }
        named = {owner: names[owner] for owner in (*held, *refused)}
        return Holding(held=held, refused=refused, names=named), not_taken

    def closed(self) -> Closed:
        """The job with the deposits that count. AgreementError if this member has not closed them."""
        own = self.last_holding()
        if own is None:
            raise AgreementError(f"{self.site.party}: it has not closed the deposits (secfc deposit close)")
        return closed(Deposits.of(self.agreement), own)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The deposits that a member has signed, and those that it found and did not take, by owner."""

    holding: Holding
    not_taken: Mapping[int, str]


class Collected:
    """A member's deposits in a run, by the holding to which the run is bound. It reads them when it needs
    them, in the store or in the log of the run, if there is one.
    """

    def __init__(self, member: Member, run: bytes, signed: Holding, log: RunLog | None = None) -> None:
        self._member, self._run, self._held, self._log = member, run, dict(signed.held), log
        self._shelf = Shelf(
            Deposits.of(member.agreement), member=member.number, identity=member.identity, signed=signed
        )
        self._owners: tuple[int, ...] = ()
        self._intakes: list[Intake] = []  # their shares were moved out
        self._name = member.site.party

    def keep(self, named: Deposited) -> None:
        """Keep only the deposits of a job, and write them to the log of the run."""
        owners = named.included
        held = {owner: self._held.get(owner, (0, b"")) for owner in owners}
        said = digest_of({owner: one for owner, (_, one) in held.items()})
        if {owner: rows for owner, (rows, _) in held.items()} != owners or said != named.digest:
            raise AgreementError(f"{self._name}: it holds other deposits than the job says")
        self._held, self._owners = held, named.owners
        if self._log is None or not self._log.has(_DEPOSIT):
            self._take()

    def _take(self) -> None:
        shelf = self._shelf
        for owner, (_, said) in self._held.items():
            try:
                certificate, deposit = shelf.deposits.deposit(shelf.member, owner)
            except (MessageError, StorageError) as error:
                raise self._gone(owner, str(error)) from None
            if shelf.call.said(deposit) != said or not shelf.call.has_piece(deposit, shelf.member):
                raise self._gone(owner, "it is another one")
            if self._log is not None:  # on the disk when the call is that opens the run
                body = certificate.packed() + deposit
                self._log.append(Entry(kind=_DEPOSIT, client=owner, body=body))

    def _logged(self, log: RunLog) -> Iterator[tuple[int, bytes]]:
        """Owners and their files in the log. Nothing that is missing there is found elsewhere."""
        entries = log.entries(_DEPOSIT)
        for owner in self._held:
            entry = next(entries, None)
            yield owner, b"" if entry is None else entry.body

    def _gone(self, owner: int, why: str) -> StorageError:
        return StorageError(
            f"{self._name}: the deposit of owner {owner} that it has signed is gone: {why} (secfc deposit "
            f"close --without {owner} leaves the owner out)"
        )

    def store(self, keep: Callable[[PackedResidues, int], None], primes: int) -> int:
        """Read the deposits, check them again, and give shares to `keep` (`Intake.store`)."""
        start, logged = 0, None if self._log is None else self._logged(self._log)
        for block in self._shelf.blocks(self._held, logged):
            found = block.intake.held
            for owner in (*block.names, *block.not_taken):
                if found.get(owner) != self._held[owner]:
                    raise self._gone(owner, block.not_taken.get(owner, "it is another one"))
            start = block.intake.store(keep, primes, start)
            self._intakes.append(block.intake)
        return start

    def seal_labels(self, shares: Floats) -> bytes:
        """Shares of the labels of each owner's rows, sealed to the owner for this run, concatenated."""
        parts, start = [], 0
        for intake in self._intakes:
            stop = start + sum(rows for rows, _ in intake.held.values())
            parts.append(intake.seal_labels(shares[:, start:stop], self._run))
            start = stop
        return b"".join(parts)

    def labels_file(self, sealed: bytes) -> bytes:
        """Sealed labels as a file."""
        return owner_labels(sealed_labels_of(self._owners, sealed, self._member.agreement.job.k))

    def publish(self) -> None:
        """Write owners' labels of this run to the store."""
        self._member.publish([self._run])


def with_deposits(site: Site, agreement: Agreement) -> Agreement:
    """The agreement of a run at this site, with the deposits that count. A helper holds none of its own."""
    if agreement.owners is None or agreement.helps(site.party):
        return deposited(agreement)
    return Member.of(site).closed().agreement


def _has_text(path: Path, text: str) -> bool:
    try:
        return read_text(path) == text
    except ParameterError:
        return False


def _noted(path: Path, data: bytes) -> None:
    """Write a file of its own, whole and once. AgreementError if another process has written it meanwhile."""
    with write_errors(str(path)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for draft in path.parent.glob("*~"):  # of processes that were killed; one that is alive fails
            draft.unlink(missing_ok=True)
    try:
        write_new(path, data, mode=OWNER_ONLY)
    except ParameterError:
        if os.path.lexists(path):
            text = f"{path}: another process of this site changed it at the same time"
            raise AgreementError(text) from None
        raise
