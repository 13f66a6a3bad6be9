"""Checks a site's files and rows against the job before the site signs. Everything stays at the site."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from secfc.agreement.deposits.admission import own_certificate
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.key_files import read_ids_key, read_key
from secfc.agreement.rows import SiteRows, read_rows
from secfc.agreement.site_file import Site
from secfc.crypto.identity import Identity
from secfc.errors import DataError, SecFCError, all_of
from secfc.tables.ids import row_ids
from secfc.tables.reading import check_ids_differ


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A site's files and rows that passed the checks."""

    agreement: Agreement
    identity: Identity = field(repr=False)
    rows: SiteRows = field(repr=False)


def check_site(site: Site) -> Checked:
    """Check everything of a site against its copy of the job.

    Raises a SecFCError with a line for everything that is wrong, and never a value.
    """
    agreement, identity = read_job(site.job), read_key(site.key)
    wrong: list[SecFCError] = []
    rows: list[SiteRows] = []

    def look(at: Callable[[], object]) -> None:
        try:
            at()
        except SecFCError as error:
            wrong.append(error)

    if agreement.owners is not None and site.party not in agreement.names:
        look(lambda: own_certificate(site, agreement, identity.public))
    else:
        look(lambda: agreement.consortium.number_of(site.party, identity.public, file=site.key))
    if wrong:  # the roster is another one, so further checks are meaningless
        raise wrong[0]
    look(lambda: site.check(agreement))
    look(lambda: agreement.check_date(datetime.now(UTC).date()))
    look(lambda: rows.append(read_rows(site, agreement)))
    if rows and agreement.has_rows(site.party):
        look(lambda: _check_count(rows[0], agreement, site.party))
    if site.ids_key is not None:
        look(lambda: _check_ids(site, rows))
    elif rows:
        look(lambda: check_ids_differ(rows[0].table.ids, f"{site.party}: {rows[0].table.path}"))
    if wrong:
        raise all_of(wrong)
    return Checked(agreement=agreement, identity=identity, rows=rows[0])


def _check_count(rows: SiteRows, agreement: Agreement, name: str) -> None:
    count = rows.table.rows.shape[0]
    most = None if agreement.owners is None else agreement.owners.most_rows
    if not count or (most is not None and count > most):
        possible = "1 or more" if most is None else f"1 to {most}"
        raise DataError(f"{name}: {rows.table.path}: it has {count} rows; {possible} are possible")


def _check_ids(site: Site, rows: list[SiteRows]) -> None:
    assert site.ids_key is not None
    key = read_ids_key(site.ids_key)
    if rows and rows[0].ids is not None:
        row_ids(rows[0].ids, key=key, name=site.party)
