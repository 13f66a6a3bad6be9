"""A site that missed the result of a run gets its labels from the copies that others sealed to it.

docs/faults.md, *Labels that a site missed*, gives the reasons for its conditions.
"""

from collections import defaultdict
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from secfc.agreement.audit import place_of
from secfc.agreement.copies import SealedCopy, open_copy, read_copy
from secfc.agreement.job_file import Agreement, read_job
from secfc.agreement.keys import read_key
from secfc.agreement.rows import read_rows
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import Site
from secfc.agreement.statement import Statement, read_summary, sign_statement, statement_by
from secfc.drivers.participant import LABELS
from secfc.drivers.past_runs import PastRuns, write_statement
from secfc.drivers.row_marks import is_marked, own_of
from secfc.errors import AgreementError, MessageError, StorageError
from secfc.journal.run_log import InUseError, RunLog
from secfc.outputs import replace_text
from secfc.params import Job
from secfc.public_errors import FETCHED
from secfc.sealing.identity import Identity
from secfc.tables import write_labels

_SHOWN = 20
"""Number of refused copies that an error lists."""


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """Labels that a site fetched."""

    folder: Path  # of the run, in the site's results
    rows: int
    makers: list[str]  # parties whose copies agree
    refused: list[str]  # why other copies were not taken


def makers_needed(job: Job) -> int:
    """Number of clients that must have made equal copies. Then one is honest, whoever colludes or lies."""
    return max(job.t, job.max_liars) + 1


def fetch_labels(site: Site, summary: Path) -> Fetched:
    """Write the labels that a site missed, from copies in a summary, into the run's folder of its results.

    Raises AgreementError if the summary is not of the site's job, if too few copies for the site agree, or if
    the site shared no rows in the run, has its labels, works on the run, or has other rows now. Raises the
    errors of `secfc.agreement.rows.read_rows` too. After an error nothing is written.
    """
    agreement, identity, name = read_job(site.job), read_key(site.key), site.party
    number = agreement.consortium.number_of(name, identity.public, file=site.key)
    check_signed(agreement, signatures_path(site.job))
    if not agreement.has_rows(name):
        what = "helper" if agreement.helps(name) else "member of a committee"
        raise AgreementError(f"{name}: a {what} has no labels")
    past = PastRuns(site, agreement)
    votes = _Votes(agreement, identity, number, past)
    read = read_summary(summary)
    if read.agreement != agreement.to_json():
        raise AgreementError(f"{summary}: it is not of the job {agreement.digest.hex()[:16]}")
    for one in read.statements:
        for copy in one.copies:
            if copy.recipient == number:
                votes.take(one.statement, copy)
    run, payload = votes.winner(f"{name}: {summary}")
    mark, folder, copied = past.noted(run), site.results / run.hex(), read_copy(payload, job=agreement.job)
    if (folder / LABELS).exists():
        raise AgreementError(f"{folder / LABELS}: the site already has its labels of this run")
    _check_idle(past, run)
    rows = read_rows(site, agreement)
    if not is_marked(mark, rows):
        raise AgreementError(f"{name}: {rows.table.path}: not the rows that it had in the run {run.hex()}")
    labels = own_of(mark, copied.labels.unpack())
    if labels is None:
        raise AgreementError(
            f"{name}: the copies have {copied.labels.size} labels, which are not those of its rows"
        )
    if folder.exists():  # it has stated how the run ended for it
        written = BytesIO()
        write_labels(written, rows.table, labels)
        replace_text(folder / LABELS, written.getvalue().decode("utf-8"))
    else:
        statement = statement_by(  # it knows nothing about its part in the run except the mark of its rows
            agreement,
            number,
            run=run,
            **{key: mark[key] for key in ("began", "introductions", "took_part")},
            sent={},
            ended=FETCHED,
            iterations=copied.n_iter,
            converged=copied.converged,
        )
        with past.new_results(run) as draft:
            write_labels(draft / LABELS, rows.table, labels)
            write_statement(draft, sign_statement(statement, identity))
    past.delete_log(run)
    makers = [agreement.names[j - 1] for j in sorted(votes.found[run, payload])]
    return Fetched(folder=folder, rows=labels.size, makers=makers, refused=votes.refused)


class _Votes:
    """Copies for a site, by maker."""

    def __init__(self, agreement: Agreement, identity: Identity, number: int, past: PastRuns) -> None:
        self._agreement, self._identity, self._number, self._past = agreement, identity, number, past
        self.found: dict[tuple[bytes, bytes], set[int]] = defaultdict(set)  # makers by run and payload
        self.refused: list[str] = []

    def take(self, statement: Statement, copy: SealedCopy) -> None:
        """Take a copy that comes with a statement, or record why not. Neither of them is trusted."""
        run, maker, agreement = bytes.fromhex(statement.run), statement.client, self._agreement
        if not 1 <= maker <= agreement.job.n or maker == self._number:
            self.refused.append(f"a copy of client {maker}, who is no other client")
            return
        name = agreement.names[maker - 1]
        introductions = self._past.noted(run).get("introductions")
        if introductions is None:
            self.refused.append(f"{name}: a copy of the run {run.hex()}, in which this site shared nothing")
        elif introductions != statement.introductions:
            self.refused.append(f"{name}: a copy of a run with other introductions than this site was shown")
        else:
            try:
                payload = open_copy(
                    copy,
                    place_of(statement, agreement),
                    roster=agreement.consortium.roster,
                    identity=self._identity,
                )
                read_copy(payload, job=agreement.job)
            except MessageError as error:
                self.refused.append(f"{name}: {error}")
            else:
                self.found[run, payload].add(maker)

    def winner(self, where: str) -> tuple[bytes, bytes]:
        """Run and payload of the equal copies. AgreementError unless enough agree, and on only one result."""
        needed = makers_needed(self._agreement.job)
        agreed = [key for key, makers in self.found.items() if len(makers) >= needed]
        if len(agreed) > 1:
            raise AgreementError(
                f"{where}: the copies are of {len(agreed)} different results, each from {needed} clients "
                "or more"
            )
        if not agreed:
            most = max(map(len, self.found.values()), default=0)
            why = "".join(f"; {one}" for one in self.refused[:_SHOWN])
            raise AgreementError(
                f"{where}: equal copies of its labels from {most} clients; {needed} are needed{why}"
            )
        return agreed[0]


def _check_idle(past: PastRuns, run: bytes) -> None:
    """Raise AgreementError while another process of the site works on the run."""
    path = past.log_path(run)
    try:
        log = None if path is None else RunLog.resume(path)
    except InUseError:
        raise AgreementError(f"{past.name}: another process works on the run {run.hex()}") from None
    except StorageError:
        return  # no process can continue it
    if log is not None:
        log.close()
