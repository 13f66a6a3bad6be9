"""One organisation's side of a run. It reads its own files and writes labels and a signed statement. The
transport of its messages (a pipe or a federation) calls this object.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secfc.agreement.job_file import Agreement
from secfc.agreement.key_files import read_ids_key, read_key
from secfc.agreement.logs.beginning import open_log
from secfc.agreement.logs.disk import write_errors
from secfc.agreement.logs.run_log import RunLog
from secfc.agreement.public_errors import COMPLETE, PublicError
from secfc.agreement.rows import SiteRows, read_rows
from secfc.agreement.signatures import check_signed, signatures_path
from secfc.agreement.site_file import Site
from secfc.agreement.statement import Sent, SignedStatement, Statement, now, sign_statement, statement_by
from secfc.crypto.handshake import transcript_of
from secfc.drivers.calls.failures import detail
from secfc.drivers.deposits.collecting import SEALED, Collected, Member
from secfc.drivers.sites.past_runs import STATEMENT, PastRuns, delete_logs_beside, report_of
from secfc.drivers.taking import TakingPart
from secfc.errors import AgreementError, SecFCError
from secfc.field.array_types import Bools, Floats, Labels
from secfc.kmeans.sets import unreadable
from secfc.operations.beginning.totals import Addends
from secfc.operations.ending.cells import OwnColumns
from secfc.prepare.by_cluster import Table1
from secfc.prepare.column_transform import Preparation
from secfc.prepare.contributing import addends_of
from secfc.prepare.preparation_file import PREPARATION, write_preparation
from secfc.prepare.tables import Checked
from secfc.protocol.client import Client
from secfc.protocol.job.cases import Deposited, Union
from secfc.protocol.messages import Message, Plan
from secfc.protocol.messages.wire import envelope
from secfc.psu.tokens import RowIds
from secfc.tables.ids import row_ids
from secfc.tables.number_texts import bytes_text
from secfc.tables.outputs import write_json
from secfc.tables.reading import write_centres, write_labels

_LOG = logging.getLogger(__name__)

LABELS, CENTRES, SPREADS, SIZES = "labels.csv", "centres.csv", "spreads.csv", "sizes.csv"
STABILITY, TABLE = "stability.json", "table1.csv"
"""Files of a run in the site's results. With a preparation also `PREPARATION`."""

UNREADABLE = "unreadable.txt"
"""The same if some own labels cannot be read. It is no log, which others may collect."""


class Participant(TakingPart):
    """A party from its site file, if the job keeps its limits and all parties have signed it."""

    def __init__(self, site: Site, agreement: Agreement) -> None:
        self._site, self.agreement = site, agreement
        name, self._identity = site.party, read_key(site.key)
        number = agreement.consortium.number_of(name, self._identity.public, file=site.key)
        super().__init__(number=number, name=name, job=agreement.job, log=_LOG)
        site.check(self.agreement)
        check_signed(self.agreement, signatures_path(site.job))
        site.check_inputs(self.agreement)
        self._past = PastRuns(site, agreement)
        self._collected: Collected | None = None  # owners' deposits, in a committee
        self._ids_key = None if site.ids_key is None else read_ids_key(site.ids_key)
        self.preparation: Preparation | None = None  # of its rows, once it is known
        self._run: bytes | None = None  # set while the run's results are not written
        self._rows: SiteRows
        self._known_by: list[str] | None = None  # rows, for the ledger
        self._of_run: RunLog | None = None  # the log of its calls, if it keeps one
        self._introductions: str | None = None
        self._took_part: list[str] = []
        self._iterations: int | None = None
        self._converged: bool | None = None

    @property
    def seconds(self) -> list[list[str | float]]:
        """As of any party. Empty with membership privacy: the time depends on how many rows it has."""
        return [] if isinstance(self._job.rows, Union) else super().seconds

    @property
    def standing(self) -> str:
        """State of the run here: phase, round, rows of all parties that moved if it knows, and bytes sent."""
        asked = ""
        if self._client is not None and self._client.round:
            moved = self._client.moved
            asked = f", round {self._client.round}"
            asked += "" if moved is None else f": {moved} rows moved"
        written = self._run is None and self._introductions is not None
        return f"{'close' if written else super().standing}{asked}, {bytes_text(self.meter.sent_bytes)} sent"

    def open_log(self, run: bytes) -> RunLog | None:
        """The log of the calls of a run, new or resumed. None without a folder for it.

        The coordinator begins no other run of a job while one can continue. So logs of other runs of the job
        are deleted.
        """
        path = self._past.log_path(run)
        self._read(run, goes_on=path is not None and path.exists())
        if path is None:
            return None
        delete_logs_beside(path)
        log, self._secrets = open_log(
            path,
            run=run.hex(),
            party=self.number,
            given=[self.agreement.run_digest, self._ids_key or b"", *self._rows.content()],
            names=["ephemeral", "masks"],
            more={"deposits": self.agreement.deposit_values},
        )
        self._began, self._of_run = log.header["began"], log
        return log

    def open(self, run: bytes) -> list[bytes | memoryview]:
        """Take part in a run that is new, of a job that has not expired. Return its first messages."""
        if self._of_run is None:
            self._read(run)
        storage = self._site.storage
        if storage is not None:
            with write_errors(f"{self.name}: storage: {storage}"):
                storage.mkdir(parents=True, exist_ok=True)
        rows, number, described = self._rows, self.number, self._job.opened.described
        with self.meter.work("identify", number):
            if isinstance(self._job.rows, Deposited) and number <= self._job.n:
                member = Member.of(self._site)
                signed = member.holding(self.agreement.holdings[number - 1])
                self._collected = Collected(member, run, signed.holding, self._of_run)
            messages = self._join(
                storage=self._site.storage,
                threads=self._site.threads,
                names=self.agreement.names,
                rows=rows.table.rows if rows.unprepared is None else self._addends(rows.unprepared),
                identity=self._identity,
                # These limits are the job's. They are at least as strict as the site's own. The site consents
                # to what is revealed to whom, otherwise it would have refused the job.
                limits=replace(
                    self.agreement.limits,
                    most_rows=self._site.refuses.most_rows,
                    largest_share=self._site.refuses.largest_share,
                    reveal_centres=True,
                    reveal_inertia=True,
                    reveal_spread=self._job.opened.spread,
                    predict=True,
                    reveal_tables=True,
                    describe=None if described is None else described.smallest,
                ),
                start=rows.start,
                weights=rows.weights,
                ids=self._hashed(rows),
                deposits=self._collected,
                columns=self._columns(rows),
            )
            if rows.unprepared is None:
                self._rows = rows.without_rows()
            return messages

    def _addends(self, unprepared: Checked) -> Addends:
        schema = self.agreement.preparation
        assert schema is not None
        known = {name: ~np.isnan(one) for name, one in unprepared.numbers.items()}
        known |= {name: one >= 0 for name, one in unprepared.categories.items()}
        opened = [column.name for column in schema.opened]
        names = zip(self._own_names(opened), opened, strict=True)
        self._noted({own: known[name][np.newaxis] for own, name in names}, smallest=None)
        return addends_of(unprepared, schema, n=self._job.n, t=self._job.t, rows_of=self._prepared)

    def _prepared(self, preparation: Preparation) -> Floats:
        """The rows, once all know means and deviations."""
        self.preparation = preparation
        made = self._rows.prepared(preparation, name=self.name)
        self._rows = made.without_rows()
        return made.table.rows

    def _columns(self, rows: SiteRows) -> OwnColumns | None:
        """Its described columns, and what its ledger refuses of them."""
        described = self._job.opened.described
        if described is None or rows.described is None:
            return None

        def refuses(cells: Bools) -> Bools:
            by_column = cells.reshape(described.columns, -1, cells.shape[1])
            names = self._own_names(self.agreement.describes)
            refused = self._noted(dict(zip(names, by_column[1:], strict=True)), smallest=described.smallest)
            return np.repeat([False, *(name in refused for name in names)], by_column.shape[1])

        return OwnColumns(values=rows.described, refuses=refuses)

    def _own_names(self, columns: Sequence[str]) -> list[str]:
        """The names that columns of the job have at this site."""
        assert self._site.source is not None
        return self._site.source.rows.own_names(columns)

    def _noted(self, cells: Mapping[str, Bools], *, smallest: int | None) -> set[str]:
        """Write down in the ledger of which own rows sums are opened, by column; return what it refuses.

        Without `smallest` it is not asked.
        """
        assert self._run is not None
        run, job = self._run.hex(), self.agreement.digest.hex()
        with self._past.ledger(self._identity) as ledger:
            rows = ledger.positions(self._known_by or [])
            if smallest is not None:
                return ledger.consent(run, job, cells, rows, smallest=smallest)
            ledger.note(run, job, cells, rows)
            return set()

    def _most_cells(self) -> int:
        """Most cells that it writes down in a run."""
        opened, schema = self._job.opened, self.agreement.preparation
        described = 0 if opened.described is None else opened.described.numbers
        centres = len(self.agreement.inputs) if opened.to and opened.noise is None else 0
        return self._job.k * (described + centres) + (0 if schema is None else len(schema.opened))

    def _note_centres(self, labels: Labels) -> None:
        """Write down the clusters of its rows, if their centres were opened to somebody without noise."""
        opened = self._job.opened
        if opened.to and opened.noise is None and self._known_by is not None:
            clusters = labels == np.arange(self._job.k)[:, np.newaxis]
            names = self._own_names(self.agreement.inputs)
            self._noted(dict.fromkeys(names, clusters), smallest=None)

    def _hashed(self, rows: SiteRows) -> RowIds | None:
        """Its hashed IDs, with membership privacy. From here on only the run has the key."""
        key, self._ids_key = self._ids_key, None
        if rows.ids is None or key is None:
            return None
        return row_ids(rows.ids, key=key, name=self.name)

    def _read(self, run: bytes, *, goes_on: bool = False) -> None:
        if not goes_on:
            self._past.check_date()
            self._past.check(run)
            if self._past.has_been(run):  # results are never overwritten
                raise AgreementError(f"{self.name}: the run {run.hex()} has been: see {self._site.results}")
        self._run, self._began, self._session = run, now(), self.agreement.session(run)
        self._rows = read_rows(self._site, self.agreement)
        self._known_by = self._rows.known_by
        if self._known_by is not None:
            with self._past.ledger(self._identity) as ledger:
                if not goes_on:  # it may have taken this run's openings
                    # before anything is shared
                    ledger.check_room(len(self._known_by), self._most_cells())
        if self.agreement.preparation is not None and self._rows.unprepared is None:
            self.preparation = Preparation(schema=self.agreement.preparation, statistics={})

    def _receive(self, client: Client, message: Message) -> list[Message]:
        run = self._run
        assert run is not None
        if isinstance(message, Plan):
            self._past.count(run)
        replies = client.receive(message)
        if isinstance(message, Plan):
            present = {j: one for j, one in enumerate(message.introductions, 1) if one is not None}
            self._introductions = transcript_of(self._session, present).hex()
            shown = zip(self.agreement.names, message.introductions, strict=True)
            self._took_part = [name for name, one in shown if one is not None]
        if client.ended is not None:
            self._iterations, self._converged = client.ended
        return replies

    def close(self, ended: str) -> SignedStatement | None:
        """Write labels, own centres and spreads and the signed statement into a folder. Forget the rest.

        `ended` is how the run ended for a party without labels. If writing fails, nothing is forgotten and it
        can be tried again. None if no run was opened or it is already closed.
        """
        if self._run is None:
            return None
        run, done = self._run, self._client if self.done else None
        labels = None if done is None else done.labels
        if self._of_run is not None:  # the process may have been killed after it had written the results
            written = self._past.statement(run)
            if written is not None:
                self._publish(run)
                self._end()
                return written
        stated = self._statement(run, ended if labels is None else COMPLETE)
        if labels is not None:
            self._note_centres(labels)
        signed, sealed = sign_statement(stated, self._identity), None if done is None else done.sealed_labels
        with self._past.new_results(run) as folder:
            if labels is not None and self.agreement.has_rows(self.name):
                write_labels(folder / LABELS, self._rows.table, labels)
                if told := unreadable(labels):
                    (folder / UNREADABLE).write_text(told + "\n", encoding="utf-8")
            if done is not None:
                self._write_opened(folder, done)
            if self.preparation is not None:
                write_preparation(folder / PREPARATION, self.preparation)
            if self._collected is not None and sealed is not None:
                (folder / SEALED).write_bytes(self._collected.labels_file(sealed))
            write_json(folder / STATEMENT, signed.model_dump())
        self._publish(run)
        self._end()
        return signed

    def _write_opened(self, folder: Path, done: Client) -> None:
        """Write what was opened to it, in the units of its schema."""
        centres, spreads, sizes, counted = done.centres, done.deviations, done.opened_sizes, done.counted
        columns = list(self.agreement.columns)
        if self.preparation is not None:
            centres = None if centres is None else self.preparation.restore(centres)
            spreads = None if spreads is None else self.preparation.restore_spreads(spreads)
        for name, values in ((CENTRES, centres), (SPREADS, spreads)):
            if values is not None:
                write_centres(folder / name, columns, values)
        if sizes is not None:
            write_centres(folder / SIZES, ["size"], sizes[:, np.newaxis])
        if done.resampled is not None:
            write_json(folder / STABILITY, done.resampled.to_dict())
        if counted is not None and self.agreement.described is not None:
            parties = tuple(self.agreement.names[client - 1] for client in counted.clients)
            table = Table1(schema=self.agreement.described, counted=counted, parties=parties)
            table.to_csv(folder / TABLE)

    def _publish(self, run: bytes) -> None:
        """Write owners' labels to the store. If it cannot be reached now, the site's own file stays."""
        path = self._site.results / run.hex() / SEALED
        if self._collected is None or not path.exists():
            return
        try:
            self._collected.publish()
        except (SecFCError, OSError) as error:
            _LOG.error("%s; labels of owners are in %s: secfc deposit close stores them", detail(error), path)

    def end(self, ended: str) -> dict[str, Any]:
        """Call `close`. Return the report as JSON values."""
        return report_of(self.close(ended))

    def _end(self) -> None:
        self._run = self._client = None

    def ending(self, error: SecFCError) -> str:
        """How the run ended, by an error of this party."""
        return replace(PublicError.of(error), party=self.number).ending(self.agreement.names)

    def _encoded(self, messages: list[Message]) -> list[bytes | memoryview]:
        encoded = super()._encoded(messages)
        for data in encoded:
            self.meter.sent(envelope(data), len(data))
        return encoded

    def _statement(self, run: bytes, ended: str) -> Statement:
        sent: dict[str, list[int]] = defaultdict(list)
        for record in self.meter.costs().messages:
            sent[record.kind].append(record.size)
        return statement_by(
            self.agreement,
            self.number,
            run=run,
            began=self._began,
            introductions=self._introductions,
            deposits=self.agreement.run_digest.hex() if isinstance(self._job.rows, Deposited) else None,
            holdings=list(self.agreement.holdings),
            took_part=self._took_part,
            sent={kind: Sent(messages=len(sizes), bytes=sum(sizes)) for kind, sizes in sorted(sent.items())},
            ended=ended,
            iterations=self._iterations,
            converged=self._converged,
        )
