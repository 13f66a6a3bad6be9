"""A site's own file: paths of its rows and its key, and what it refuses. It never leaves the site."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from secfc.agreement.job_file import Agreement
from secfc.agreement.schemas import with_options
from secfc.errors import LimitError
from secfc.errors.codes import Code
from secfc.protocol.job.cases import Predict, Union
from secfc.protocol.job.limits import LARGEST_SHARE
from secfc.protocol.job.options import MAX_THREADS, Computing, Disclosure, shared
from secfc.protocol.job.thresholds import SMALLEST_CELL, SMALLEST_SPREAD
from secfc.tables.column_names import normal, normal_all
from secfc.tables.site_rows import RowsSchema, own_form
from secfc.tables.sources.own_form import OwnForm
from secfc.tables.toml_file import FileSchema, ListOf, TomlFile

_CONSENTS = {
    "reveal_centres",
    "reveal_inertia",
    "reveal_spread",
    "reveal_tables",
    "open_statistics",
    "predict",
    "describe",
}
"""Limits that are consents: if only these are broken, the error code is NO_CONSENT."""


class DataSchema(RowsSchema):
    """The source of rows, and columns that are not clustered."""

    id: str | None = None
    start: str | None = None
    weight: str | None = None


class OwnLimitsSchema(FileSchema):
    """What a site refuses in a job."""

    smallest_set: int = Field(default=1, ge=1)
    most_rounds: int | None = Field(default=None, ge=1)
    most_rows: int | None = Field(default=None, ge=1)
    largest_share: float = Field(default=LARGEST_SHARE, gt=0, le=1)
    least_t: int = Field(default=1, ge=1)
    least_segment_columns: int = Field(default=1, ge=1)
    most_precision: int | None = Field(default=None, ge=1)
    disclosure: ListOf[Disclosure] | None = Field(default=None, min_length=1)
    reveal_centres: ListOf[str] = Field(default=[])
    reveal_inertia: bool = False
    predict: bool = False
    reveal_tables: bool = False
    reveal_spread: int | None = Field(default=None, ge=SMALLEST_SPREAD)
    open_statistics: int | None = Field(default=None, ge=1)
    describe: int | None = Field(default=None, ge=SMALLEST_CELL)
    columns: ListOf[str] | None = Field(default=None, min_length=1)


@with_options(Computing)
class SiteSchema(FileSchema):
    """A site file."""

    party: str
    job: str
    key: str
    results: str
    storage: str | None = None
    ids_key: str | None = None
    certificate: str | None = None
    data: DataSchema | None = None
    limits: OwnLimitsSchema = OwnLimitsSchema()


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of a site's rows."""

    rows: OwnForm
    # Row IDs: not clustered, written beside the labels. With membership privacy the union is made of them.
    id_column: str | None = None
    start_column: str | None = None  # start labels
    weight_column: str | None = None  # how many times each row counts


@dataclass(frozen=True, kw_only=True)
class Site:
    """The content of a site file."""

    path: Path  # of the site file
    party: str  # its name in the roster
    job: Path  # the site's own copy of the job file; other jobs are refused
    key: Path  # its private key
    results: Path  # folder for labels and statements, with a folder per run
    storage: Path | None  # folder for its shares; None: memory
    ids_key: Path | None  # the key that hashes IDs, for jobs with membership privacy
    certificate: Path | None  # of an owner, which deposits rows and is not in the roster
    threads: int  # of its process
    source: Source | None  # None for a helper, or a member of a committee
    refuses: OwnLimitsSchema
    _file: TomlFile = field(repr=False)

    def check(self, agreement: Agreement) -> None:
        """Raise LimitError with a line for each limit of this site that the job breaks."""
        broken = list(self._broken(agreement))
        if broken:
            texts = [(self._file.line("limits", key), f"limits.{key}: {text}") for key, text in broken]
            refusal = f"{self.party} refuses the job"
            code = Code.NO_CONSENT if {key for key, _ in broken} <= _CONSENTS else Code.LIMIT
            lines = "\n".join(f"{self.path}:{line}: {refusal}: {text}" for line, text in texts)
            raise LimitError(lines, code=code)

    def _broken(self, agreement: Agreement) -> Iterator[tuple[str, str]]:
        """Each limit that the job breaks, with a text that says how."""
        job, refuses = agreement.job, self.refuses
        smallest_set, most_rounds = agreement.limits.smallest_set, agreement.limits.most_rounds
        for key, asked, text in (
            ("smallest_set", smallest_set, "the job allows sets of {} rows"),
            ("most_rounds", most_rounds or job.max_rounds, "the job has up to {} rounds"),
            ("least_t", job.t, "the job has t = {}"),
            ("least_segment_columns", job.width, f"segments of the job have {{}} columns (ell = {job.ell})"),
            ("most_precision", job.bits, "the job has a precision of {} bits"),
        ):
            limit, most = getattr(refuses, key), key.startswith("most")
            if limit is not None and (asked > limit if most else asked < limit):
                allowed = f"{limit} at most" if most else f"{limit} or more"
                yield key, f"{text.format(asked)}, this site allows {allowed}"
        if refuses.disclosure is not None and job.disclosure.name not in refuses.disclosure:
            allowed = ", ".join(map(repr, refuses.disclosure))
            yield "disclosure", f"the job has {job.disclosure.name!r}, {allowed} is allowed"
        if not agreement.helps(self.party):
            for key, told, value in self._not_consented(agreement):
                yield key, f"{told}; to consent, write {key} = {value} in [limits]"
        if refuses.columns is not None:
            allowed = ", ".join(refuses.columns)
            for what, columns in (("clusters", agreement.inputs), ("describes", agreement.describes)):
                if others := [column for column in columns if column not in normal_all(refuses.columns)]:
                    yield "columns", f"the job {what} {', '.join(others)}; {allowed} are allowed"

    def _not_consented(self, agreement: Agreement) -> Iterator[tuple[str, str, str]]:
        """What the job reveals without this site's consent: the key, a text, and the value that consents."""
        job, refuses = agreement.job, self.refuses
        recipients = [agreement.names[client - 1] for client in job.opened.to]
        strangers = [party for party in recipients if party not in refuses.reveal_centres]
        if strangers:
            consented = ", ".join(refuses.reveal_centres) or "nobody"
            told = f"the job reveals centres to {', '.join(recipients)}, this site consents to {consented}"
            yield "reveal_centres", told, json.dumps(recipients, ensure_ascii=False)
        if job.disclosure.inertia and not refuses.reveal_inertia:
            what = "the inertia of each k" if job.method.compared else "the inertia"
            yield "reveal_inertia", f"the job reveals {what}", "true"
        if isinstance(job.method, Predict) and not refuses.predict:
            yield "predict", "the job predicts the cluster of rows", "true"
        if job.method.resamples and not refuses.reveal_tables:
            told = f"the job reveals how partitions of {job.method.resamples} resamples overlap"
            yield "reveal_tables", told, "true"
        described, spread = job.opened.described, job.opened.spread
        cell, names = None if described is None else described.smallest, ", ".join(agreement.describes)
        for key, smallest, told in (
            ("reveal_spread", spread, f"reveals spreads of clusters of {spread} rows of others or more"),
            ("describe", cell, f"describes {names} by cells of {cell} rows"),
        ):
            least = getattr(refuses, key)
            if smallest is not None and smallest < (least or math.inf):
                consent = "" if least is None else f", this site consents to {least} or more"
                yield key, f"the job {told}{consent}", str(smallest)
        if agreement.preparation is not None and agreement.opened:
            smallest = agreement.preparation.smallest
            told = f"the job opens means and deviations of {', '.join(agreement.opened)}"
            if smallest < (refuses.open_statistics or math.inf):
                if refuses.open_statistics is not None:
                    told += (
                        f", of {job.t + 2} parties with {smallest} values each, "
                        f"this site consents to {refuses.open_statistics} or more"
                    )
                yield "open_statistics", told, str(smallest)

    def check_inputs(self, agreement: Agreement) -> None:
        """Raise ParameterError if the file lacks an entry that the job needs, or has one it does not use."""
        job, source = agreement.job, self.source
        owner = self.party not in agreement.names
        if self.certificate is not None and not owner:
            text = (
                f"certificate: {self.party} is in the roster; only an owner that is not in the roster has a "
                "certificate"
            )
            raise self._file.error("certificate", text=text)
        if not agreement.has_rows(self.party):
            is_one = "a helper" if agreement.helps(self.party) else "in a committee"
            for key, unneeded in (("data", source is not None), ("ids_key", self.ids_key is not None)):
                if unneeded:
                    raise self._file.error(
                        key, text=f"{key}: {self.party} is {is_one} and has no rows; remove {key}"
                    )
            return
        if source is None:
            raise self._file.error(text="data is needed: the file or database of the rows")
        if isinstance(job.rows, Union) and source.id_column is None:
            raise self._file.error("data", text="data.id is needed: the job has membership privacy")
        start = f"start labels (clustering.{'predict' if isinstance(job.method, Predict) else 'init'})"
        for keys, given, used, what in (
            (
                ("ids_key",),
                self.ids_key,
                isinstance(job.rows, Union),
                "membership privacy (clustering.ids_cap)",
            ),
            (("data", "start"), source.start_column, job.method.init == "labels", start),
            (("data", "weight"), source.weight_column, job.rows.weighted, "weights (clustering.weighted)"),
        ):
            name = ".".join(keys)
            if used and given is None:
                raise self._file.error(*keys, text=f"{name} is needed: the job has {what}")
            if given is not None and not used:
                raise self._file.error(*keys, text=f"{name}: the job has no {what}")
        named = (*agreement.inputs, *agreement.describes)
        for key in ("columns", "values", "dates", "factors"):
            for column in getattr(source.rows, key):
                if column not in named:
                    possible = ", ".join(named)
                    text = f"data.{key}.{column}: the job has no such column ({possible})"
                    raise self._file.error("data", key, column, text=text)


def read_site(path: Path) -> Site:
    """The site file; relative paths in it are relative to its folder."""
    file = TomlFile(path)
    schema = file.check(SiteSchema)
    folder = path.absolute().parent
    for key in ("party", "job", "key", "results"):
        if not getattr(schema, key):
            raise file.error(key, text=f"{key} is needed, a text")
    threads = shared(schema, Computing)["threads"]
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise file.error("threads", text=f"threads: an integer from 1 to {MAX_THREADS} is needed")
    return Site(
        path=path,
        # One by default: a machine may run many sites, and no site knows how many.
        threads=threads or 1,
        party=schema.party,
        job=folder / schema.job,
        key=folder / schema.key,
        results=folder / schema.results,
        storage=None if schema.storage is None else folder / schema.storage,
        ids_key=None if schema.ids_key is None else folder / schema.ids_key,
        certificate=None if schema.certificate is None else folder / schema.certificate,
        source=None if schema.data is None else _source(file, schema.data, folder),
        refuses=schema.limits,
        _file=file,
    )


def _source(file: TomlFile, data: DataSchema, folder: Path) -> Source:
    named = {"id_column": data.id, "start_column": data.start, "weight_column": data.weight}
    own = {key: None if name is None else normal(name) for key, name in named.items()}
    return Source(rows=own_form(file, data, folder), **own)
