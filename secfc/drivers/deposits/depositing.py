"""An owner's side of deposits. It writes a file for each member, and opens its labels after a run.

An owner keeps a receipt of each deposit next to its results. Nobody can open the labels without it.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from secfc.agreement.check import check_site
from secfc.agreement.deposits.admission import own_certificate
from secfc.agreement.deposits.holdings import Deposits, call_of, closed, owners_of
from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import read_key
from secfc.agreement.logs.beginning import keyed_digest
from secfc.agreement.logs.disk import make_folder
from secfc.agreement.rows import SiteRows, read_rows
from secfc.agreement.schemas import Hex32
from secfc.agreement.secret_files import OWNER_ONLY, numbers_in, read_private_text, write_new
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import Site
from secfc.drivers.deposits.committee import kernels_of
from secfc.drivers.deposits.owner_labels import labels_for, most_bytes
from secfc.drivers.sites.past_runs import PastRuns
from secfc.errors import AgreementError, DataError, SecFCError, StorageError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Labels
from secfc.kmeans.sets import unreadable
from secfc.sharing.deposits import Call, Owner
from secfc.tables.reading import write_labels
from secfc.tables.toml_file import FileSchema, TomlFile, read_text, toml_text

LABELS = "labels.csv"
_JOB = "job.digest"
"""A file beside the labels that an owner has opened: the job that they are of."""

_RECEIPT_HEAD = "# This receipt opens the labels of a deposit. Keep it secret; there is no other copy."
_RECEIPTS = ".receipts"  # suffix of a folder next to the results
_MARK_KEY_BYTES = 32


class ReceiptSchema(FileSchema):
    """A receipt's file."""

    job: Hex32
    rows: Annotated[int, Field(ge=1)]
    mark_key: Hex32
    mark: str  # a digest of all data of the site under this key: labels are of these rows alone
    secret: Annotated[Hex32, Field(repr=False)]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Labels that an owner has opened. `told` is what it is to know of them."""

    folder: Path
    rows: int
    told: str = ""


class Depositor:
    """An owner, from its site file and certificate. AgreementError if a party has not signed the job."""

    def __init__(self, site: Site) -> None:
        self._site, agreement = site, read_job(site.job)
        self.agreement, identity = agreement, read_key(site.key)
        self._deposits = Deposits.of(agreement)
        check_signed(agreement, signatures_path(site.job))
        self._certificate, self._identity = own_certificate(site, agreement, identity.public), identity
        results = site.results
        self._receipts = results.with_name(results.name + _RECEIPTS) / agreement.digest.hex()[:32]

    def deposit(self) -> int:
        """Write a file for each member. Return the number of rows. The last deposit before closing counts."""
        agreement, name = self.agreement, self._site.party
        assert agreement.owners is not None
        until = agreement.owners.until
        if until is None:
            if self._deposits.closed:
                text = f"{name}: a member has closed the deposits, so a new deposit does not count"
                raise AgreementError(text)
        elif datetime.now(UTC).date() > until:  # a member that signs before that day ends stops nobody
            text = f"{name}: deposits were possible until the end of {until.isoformat()}"
            raise AgreementError(text, code=Code.EXPIRED)
        rows, certificate = check_site(self._site).rows, self._certificate
        count: int = rows.table.rows.shape[0]
        owner = Owner(
            self._call(),
            number=certificate.number,
            identity=self._identity,
            rows=rows.table.rows,
            kernels=kernels_of(agreement.job, count),
        )
        pieces = owner.deposit()
        self._keep(owner, rows)
        for member, piece in enumerate(pieces, 1):
            self._deposits.write(member, certificate, piece)
        return count

    def open(self) -> list[Opened]:
        """Open the labels that members wrote for this owner in each run. Write those that are new.

        An error of a run is raised if no other run has new labels.
        """
        receipts, call = list(self._kept()), self._call()
        if not receipts:
            raise AgreementError(f"{self._site.party}: {self._receipts}: there is no receipt of a deposit")
        found: list[Opened] = []
        failed: SecFCError | None = None
        left_out: SecFCError | None = None
        past = PastRuns(self._site, self.agreement)
        for run in self._deposits.runs():
            target = self._site.results / run.hex()
            if self._is_opened(target):
                found.append(Opened(folder=target, rows=0))
                continue
            try:
                copies = self._copies(run)
                if not copies:  # the run has not ended, or failed
                    continue
                why = "" if any(copies.values()) else self._left_out()
                if why:
                    left_out = TooManyFaultsError(f"{self._site.party}: the run {run.hex()}: {why}")
                    continue
                receipt, labels = self._opened(call, receipts, run, copies)
                if target.exists():
                    raise AgreementError(
                        f"{self._site.party}: {target}: it has results of another job or site"
                    )
            except (TooManyFaultsError, StorageError, AgreementError) as error:
                # A new one: the traceback of `error` refers to all copies.
                failed = failed or type(error)(str(error), code=error.code)
                continue
            rows = read_rows(self._site, self.agreement)
            if receipt.mark != keyed_digest(rows.content(), bytes.fromhex(receipt.mark_key)):
                raise DataError(f"{self._site.party}: {rows.table.path}: not the rows that were deposited")
            with past.new_results(run) as folder:
                write_labels(folder / LABELS, rows.table, labels)
                (folder / _JOB).write_text(self.agreement.digest.hex(), encoding="utf-8")
            found.append(Opened(folder=target, rows=labels.size, told=unreadable(labels)))
        if failed is not None and not any(one.rows for one in found):
            raise failed
        if left_out is not None and not found:
            raise left_out
        return found

    def _is_opened(self, folder: Path) -> bool:
        """Whether a run's folder has labels of this job; another job's run may have the same number."""
        path = folder / _JOB
        return path.exists() and read_text(path) == self.agreement.digest.hex()

    def _opened(
        self, call: Call, receipts: list[ReceiptSchema], run: bytes, copies: Mapping[int, bytes]
    ) -> tuple[ReceiptSchema, Labels]:
        for receipt in receipts:
            owner = Owner.of_receipt(
                call,
                number=self._certificate.number,
                count=receipt.rows,
                receipt=bytes.fromhex(receipt.secret),
            )
            try:
                return receipt, owner.open(copies, run)
            except TooManyFaultsError as error:
                why = error
        raise TooManyFaultsError(f"{self._site.party}: the run {run.hex()}: {why}")

    def _left_out(self) -> str:
        """Why this owner was left out, by what members signed; a file without its labels says nothing."""
        number = self._certificate.number
        try:
            found = closed(self._deposits).complete
        except (AgreementError, StorageError):
            return ""
        if found.owners[number - 1]:
            return ""
        why = found.left_out.get(number, "no member has a deposit of it")
        return f"no member has labels of owner {number}: it was left out, {why}"

    def _copies(self, run: bytes) -> dict[int, bytes]:
        """What each member that has a file of labels in the store says it sealed to this owner number."""
        assert self.agreement.owners is not None
        rows, number, k = self.agreement.owners.most_rows, self._certificate.number, self.agreement.job.k
        most = most_bytes(owners=owners_of(self.agreement), rows=rows, k=k)
        files = self._deposits.of_members(partial(self._deposits.labels, run), most=most)
        return {member: labels_for(data, number, rows=rows, k=k) for member, data in files}

    def _call(self) -> Call:
        keys = [b""] * owners_of(self.agreement)
        keys[self._certificate.number - 1] = self._certificate.key
        return call_of(self.agreement, keys)

    def _keep(self, owner: Owner, rows: SiteRows) -> None:
        """Write a receipt before anybody has the deposit."""
        key = secrets.token_bytes(_MARK_KEY_BYTES)
        receipt = ReceiptSchema(
            job=self.agreement.digest.hex(),
            rows=rows.table.rows.shape[0],
            mark_key=key.hex(),
            mark=keyed_digest(rows.content(), key),
            secret=owner.receipt.hex(),
        )
        text = toml_text(_RECEIPT_HEAD, receipt.model_dump())
        make_folder(self._receipts)
        number = max(numbers_in(self._receipts, ".toml"), default=0) + 1
        write_new(self._receipts / f"{number}.toml", text.encode(), mode=OWNER_ONLY)

    def _kept(self) -> Iterator[ReceiptSchema]:
        for number in reversed(numbers_in(self._receipts, ".toml")):
            path = self._receipts / f"{number}.toml"
            read_private_text(path, what="a receipt")
            yield TomlFile(path).check(ReceiptSchema)
