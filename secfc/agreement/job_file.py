"""The job file, on which all organisations agree. Job and roster together are the agreement."""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isqrt, nextafter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from secfc.agreement.consortium import Consortium, read_roster
from secfc.agreement.deposits.store import checked_store, store_of
from secfc.agreement.schemas import with_options
from secfc.crypto.handshake import Session
from secfc.errors import AgreementError, ParameterError
from secfc.errors.codes import Code
from secfc.field.fixed_point import step_of
from secfc.field.residues import MAX_ROWS
from secfc.prepare.schema import Schema, check_described
from secfc.protocol.job.cases import Deposited, Own, Start
from secfc.protocol.job.job import Job
from secfc.protocol.job.job_options import JobOptions
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job, make_job
from secfc.protocol.job.options import AUTO, AgreedClustering, CentreNoise, Resampling
from secfc.protocol.job.thresholds import COMPARERS, MAX_OWNERS, SMALLEST_CELL, default_start
from secfc.tables.column_names import normal
from secfc.tables.toml_file import FileSchema, ListOf, TableOf, TomlFile
from secfc.version import PROTOCOL_BYTES

Range = tuple[float, float]  # least and largest value
Fault = Callable[..., ParameterError]
"""Makes an error from a text and the keys of the wrong value, by default those before the text's colon."""

_DIGEST = b"secfc agreement 2"
_DEPOSITED = b"secfc agreement with deposits 1"
_TITLE_MOST = 200
_MOST_RUNS = 1000  # with owners: each looks for labels of so many
_SEED_BITS = 63


@with_options(AgreedClustering)
@with_options(CentreNoise)
@with_options(Resampling)
class ClusteringSchema(FileSchema):
    """Parameters of the job; defaults are those of `secfc.run`."""

    k: int
    t: int
    ell: int
    compared: ListOf[int] = Field(default=[])
    predict: bool = JobOptions.predict
    init: Literal[Start, "auto"] = AUTO
    comparers: ListOf[str] = Field(default=[])
    reveal_centres: ListOf[str] = Field(default=[])
    reveal_spread: int | None = JobOptions.reveal_spread
    weighted: bool = JobOptions.weighted
    seed: int | None = Field(default=None, ge=0, lt=1 << _SEED_BITS)


class LimitsSchema(FileSchema):
    """Limits of the job: what every party refuses."""

    smallest_set: int = 1
    most_rounds: int | None = None


class OwnersSchema(FileSchema):
    """The owners that deposit rows, if the parties of the roster are a committee."""

    most: int = Field(ge=1)  # owners that each party of the roster may admit
    most_rows: int = Field(ge=1)  # of one owner
    until: date | None = None  # last day, in UTC, for deposits; None: until the parties close them
    store: Annotated[str, AfterValidator(checked_store)] = "deposits"  # folder beside the job file, or URL


class JobSchema(FileSchema):
    """A job file."""

    title: str
    roster: str
    expires: date
    runs: int = Field(default=1, ge=1)
    prepare: str | None = None
    describe: str | None = None
    clustering: ClusteringSchema
    columns: TableOf[str, ListOf[float]] = Field(default={})
    limits: LimitsSchema = LimitsSchema()
    owners: OwnersSchema | None = None


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The agreement of all organisations: job and roster."""

    title: str
    expires: date  # last day, in UTC, on which a run may begin
    runs: int  # number of runs in which a party takes part
    job: Job
    columns: dict[str, Range]  # clustered columns, in order, with the range of their values
    preparation: Schema | None  # how sites compute these columns from their own columns
    described: Schema | None  # columns that are not clustered, and are described by cluster
    limits: Limits  # what every client refuses
    consortium: Consortium
    owners: OwnersSchema | None  # None: the clients hold the rows
    _content: JobSchema = field(repr=False)
    store: str | None = None  # where deposits are, if the job was read from a file
    holdings: tuple[str, ...] = ()  # digests in hexadecimal, one a member, once deposits are closed

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parties, client 1 first, helpers last."""
        return self.consortium.names

    def helps(self, name: str) -> bool:
        """Whether a party is a helper, which has no rows."""
        return name in self.names[self.job.n :]

    def has_rows(self, name: str) -> bool:
        """Whether a party, or an owner, has rows. Helpers and committee members have none."""
        return name not in self.names[0 if self.owners is not None else self.job.n :]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that a site reads, in order, with their agreed names."""
        if self.preparation is None:
            return tuple(self.columns)
        return tuple(column.name for column in self.preparation.columns)

    @property
    def describes(self) -> tuple[str, ...]:
        """Described columns that a site reads too, with their agreed names."""
        return () if self.described is None else tuple(column.name for column in self.described.columns)

    @property
    def opened(self) -> tuple[str, ...]:
        """Columns of the sites whose mean and deviation over all parties are opened first."""
        return _opened_by(self.preparation)

    def to_json(self) -> str:
        """The canonical content of job and roster: two agreements are equal if and only if their texts are.

        Names of keys are sorted and numbers are Python's shortest; columns are a list, as their order counts,
        and the roster and the schema of a preparation stand in it, so where these lie does not matter. Starts
        stand as they were decided, never as "auto", and so does the step.
        """
        job = self._content.model_dump(exclude={"roster", "prepare", "describe", "owners"})
        if self.owners is not None:
            until = self.owners.until
            job["owners"] = self.owners.model_dump()
            job["owners"]["until"] = None if until is None else until.isoformat()
        job["clustering"] |= {
            "init": self.job.method.init,
            "n_init": self.job.method.n_init,
            "step": self.job.step,
        }
        job["expires"] = self.expires.isoformat()
        job["columns"] = [[name, *values] for name, values in self._content.columns.items()]
        content = {"job": job, "roster": self.consortium.to_dict()}
        if self.preparation is not None:
            content["prepare"] = self.preparation.to_dict()
        if self.described is not None:
            content["describe"] = self.described.to_dict()
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the protocol's version, the canonical content and the job's parameters."""
        content = hashlib.sha256(self.to_json().encode()).digest()
        job = replace(self.job, rows=Own()) if isinstance(self.job.rows, Deposited) else self.job
        parts = (_DIGEST, PROTOCOL_BYTES, content, job.digest, self.consortium.roster.digest)
        return hashlib.sha256(b"".join(parts)).digest()

    @cached_property
    def run_digest(self) -> bytes:
        """The digest to which a run is bound; with owners it covers what members signed that they hold."""
        if not isinstance(self.job.rows, Deposited):
            return self.digest
        parts = (_DEPOSITED, self.digest, self.job.digest, *map(bytes.fromhex, self.holdings))
        return hashlib.sha256(b"".join(parts)).digest()

    def with_deposits(self, owners: Sequence[int], deposits: str, holdings: Sequence[str]) -> "Agreement":
        """The agreement with the rows of each owner, a digest of their deposits, and one of each holding."""
        job = changed_job(self.job, owners=tuple(owners), deposits=deposits)
        return replace(self, job=job, holdings=tuple(holdings))

    @property
    def deposit_values(self) -> list[Any]:
        """Arguments for `with_deposits`, as JSON values. Empty without deposits that count."""
        rows = self.job.rows
        return [rows.owners, rows.digest, self.holdings] if isinstance(rows, Deposited) else []

    def check_date(self, today: date) -> None:
        """Raise AgreementError if the job has expired."""
        if today > self.expires:
            text = f"the job {self.digest.hex()[:16]} expired on {self.expires.isoformat()}"
            raise AgreementError(text, code=Code.EXPIRED)

    def session(self, run: bytes) -> Session:
        """The session of a run of this agreement."""
        return Session(run=run, agreement=self.run_digest, roster=self.consortium.roster)


def read_job(path: Path) -> Agreement:
    """The agreement of a job file and of the roster and schema files that it names.

    ParameterError has file and line, what is wrong and what is possible.
    """
    file = TomlFile(path)
    schema = file.check(JobSchema)
    consortium = read_roster(path.parent / schema.roster)
    preparation = None if schema.prepare is None else Schema.read(path.parent / schema.prepare)
    described = None if schema.describe is None else Schema.read(path.parent / schema.describe)

    def fault(text: str, *keys: str) -> ParameterError:
        return file.error(*(keys or text.split(":", 1)[0].split(".")), text=text)

    agreement = _agreement(schema, consortium, preparation, described, fault)
    if schema.owners is None:
        return agreement
    return replace(agreement, store=store_of(schema.owners.store, path.absolute().parent))


def _agreement(
    schema: JobSchema,
    consortium: Consortium,
    preparation: Schema | None,
    described: Schema | None,
    fault: Fault,
) -> Agreement:
    if not (schema.title.isprintable() and 0 < len(schema.title) <= _TITLE_MOST):
        raise fault(f"title: 1 to {_TITLE_MOST} printable characters are possible")
    if consortium.coordinator is None:
        raise fault("roster: [coordinator] is missing, the party that runs the server (secfc roster add)")
    columns, ranges = _columns(schema, preparation, fault)
    values = schema.clustering.model_dump(exclude={"reveal_centres", "comparers"})
    values["compared"] = tuple(schema.clustering.compared)
    if schema.clustering.predict:
        values |= _of_prediction(schema.clustering, fault)
    values["init"], values["n_init"] = default_start(
        values["init"],
        values["n_init"],
        disclosure=values["disclosure"],
        compared=bool(values["compared"]),
    )
    reveal_to, comparers = (
        _numbers(getattr(schema.clustering, name), consortium, fault, name=name)
        for name in ("reveal_centres", "comparers")
    )
    clients, helpers = len(consortium.members), len(consortium.helpers)
    compare = range(clients + 1, clients + helpers + 1)
    if compare and not comparers and values["disclosure"] == "labels":
        comparers = (*range(1, COMPARERS + 1 - len(compare)), *compare)
    values |= {"reveal_to": tuple(sorted(reveal_to)), "comparers": comparers}
    opened = _opened_by(preparation)
    if opened and schema.clustering.ids_cap is not None:  # type: ignore[attr-defined]
        raise fault(
            "prepare: not with membership privacy (clustering.ids_cap): opening means and deviations of "
            f"{', '.join(opened)} discloses how many values the parties hold"
        )
    values |= _described(described, columns, preparation, fault)
    values["totals"] = () if preparation is None else tuple(one.totals for one in preparation.opened)
    try:
        bound = norm_bound(ranges)
        values["step"] = _step(schema.clustering, preparation, bound)
        job = make_job(n=clients, d=len(columns), bound=bound, **values)
    except ParameterError as error:
        name = re.split(r"[: ]", str(error), maxsplit=1)[0]
        given = name in values
        keys = ("clustering", name) if given else (name if name in ("columns", "describe") else "clustering",)
        raise type(error)(*fault(str(error), *keys).args) from None
    if job.helpers != helpers:
        needed = f"the job needs {job.helpers} helpers, the roster has {helpers}"
        ways = "secfc roster add --helper, clustering.comparers, or another clustering.disclosure"
        raise fault(f"roster: {needed} ({ways})")
    try:
        limits = Limits(**schema.limits.model_dump())
    except ParameterError as error:
        raise fault(str(error)) from None
    if schema.owners is not None:
        _check_owners(schema.owners, job, opened, fault, runs=schema.runs)
    if limits.smallest_set > MAX_ROWS:
        raise fault(f"limits.smallest_set: at most {MAX_ROWS} rows are possible")
    return Agreement(
        title=schema.title,
        expires=schema.expires,
        runs=schema.runs,
        job=job,
        columns=columns,
        preparation=preparation,
        described=described,
        limits=limits,
        consortium=consortium,
        owners=schema.owners,
        _content=schema,
    )


def _described(
    described: Schema | None, columns: Collection[str], preparation: Schema | None, fault: Fault
) -> dict[str, Any]:
    """What the job says of described columns. ParameterError unless these can be, and are not clustered."""
    if described is None:
        return {}
    try:
        check_described(described)
    except ParameterError as error:
        raise fault(f"describe: {error}") from None
    clustered = {*columns, *(one.name for one in (() if preparation is None else preparation.columns))}
    for column in described.columns:
        if column.name in clustered:
            raise fault(f"describe: column {column.name!a} is clustered")
    return {"described": described.categories, "smallest_cell": max(described.smallest, SMALLEST_CELL)}


def _check_owners(
    owners: OwnersSchema, job: Job, opened: tuple[str, ...], fault: Fault, *, runs: int
) -> None:
    """Raise ParameterError for options that do not work with a committee, or for too many owners or runs."""
    if runs > _MOST_RUNS:
        raise fault(f"runs: at most {_MOST_RUNS} are possible where owners deposit rows", "runs")
    asked = job.n * owners.most
    if asked > MAX_OWNERS or asked * owners.most_rows > MAX_ROWS:
        raise fault(
            f"owners: {job.n} parties admit {asked} owners of {owners.most_rows} rows, at most "
            f"{MAX_OWNERS} owners and {MAX_ROWS} rows in all are possible"
        )
    if opened:
        raise fault(
            "prepare: not with a committee: only parties with rows can open means of "
            f"{', '.join(opened)}, and its members have no rows"
        )
    try:
        changed_job(job, owners=(), deposits="")
    except ParameterError as error:
        raise fault(str(error), "owners") from None


def _of_prediction(schema: ClusteringSchema, fault: Fault) -> dict[str, Any]:
    """Parameters that are fixed in every prediction; other values in a job file are refused."""
    fixed = {"init": "labels", "max_iter": 1}
    for name, value in fixed.items():
        default = ClusteringSchema.model_fields[name].default
        if getattr(schema, name) not in (value, default):
            raise fault(f"clustering.{name}: a prediction has {value!r}")
    return fixed


def _step(schema: ClusteringSchema, preparation: Schema | None, bound: float) -> float | None:
    """The step that is given, or what a preparation makes multiples of where nothing is said of bits."""
    step: float | None = schema.step  # type: ignore[attr-defined]
    if preparation is None:
        return step
    multiple = preparation.multiple_of
    if step is not None and multiple is None:
        raise ParameterError("step: the schema does not say of each column what its values are multiples of")
    given = step is not None or schema.precision != JobOptions.precision  # type: ignore[attr-defined]
    return step if given else step_of(multiple, bound)


def _numbers(parties: list[str], consortium: Consortium, fault: Fault, *, name: str) -> tuple[int, ...]:
    """Client numbers of the parties that a parameter names."""
    for party in parties:
        if party not in consortium.names:
            possible = ", ".join(consortium.names)
            raise fault(f"clustering.{name}: {party!a} is no party of the roster ({possible})")
    if len(set(parties)) < len(parties):
        raise fault(f"clustering.{name}: each party once")
    return tuple(consortium.names.index(party) + 1 for party in parties)


def _columns(
    schema: JobSchema, preparation: Schema | None, fault: Fault
) -> tuple[dict[str, Range], list[Range]]:
    """The clustered columns with their ranges, and ranges that bound a row's norm."""
    if preparation is not None:
        if schema.columns:
            raise fault("columns: not with prepare, which gives the columns and their ranges")
        return _prepared_columns(preparation, fault)
    columns: dict[str, Range] = {}
    if not schema.columns:
        raise fault("columns: at least 1 is needed, with its range; or prepare, the file of a schema")
    for name, values in schema.columns.items():
        if not name.isprintable() or not name:
            raise fault(f"columns: {name!a}: a name of printable characters is needed", "columns", name)
        if len(values) != 2 or not all(map(isfinite, values)) or values[0] > values[1]:
            raise fault(
                f"columns.{name}: its range is needed, [least, largest], finite and in this order",
                "columns",
                name,
            )
        if normal(name) in columns:
            raise fault(f"columns: two have the name {normal(name)!r}", "columns", name)
        columns[normal(name)] = values[0], values[1]
    return columns, list(columns.values())


def _prepared_columns(preparation: Schema, fault: Fault) -> tuple[dict[str, Range], list[Range]]:
    """The prepared columns, and ranges that bound a row: of a category's columns at most one is 1."""
    try:
        ranges = preparation.ranges
    except ParameterError as error:
        raise fault(f"prepare: {error}") from None
    columns = {name: ends for column, ends in ranges for name in column.prepared}
    for name in columns:
        if not name.isprintable():
            raise fault(f"prepare: column {name!a}: a name of printable characters is needed")
    return columns, [ends for _, ends in ranges]


def _opened_by(preparation: Schema | None) -> tuple[str, ...]:
    """Columns whose mean and deviation a preparation opens over all parties, or counts instead."""
    columns = () if preparation is None else preparation.opened
    counted = [f"{one.bins} bins" if one.bins else "categories" if one.categories else "" for one in columns]
    return tuple(
        f"{one.name} (counts in {parts} instead)" if parts else one.name
        for one, parts in zip(columns, counted, strict=True)
    )


def norm_bound(ranges: Any) -> float:
    """The least float64 that is at least the norm of every row with values in these ranges, one per column.

    Raises ParameterError if it exceeds the largest float64.
    """
    square = sum((Fraction(max(abs(low), abs(high))) ** 2 for low, high in ranges), Fraction(0))
    if not square:
        return 0.0
    # The integer root has 64 bits or more, so the float is at most a step or two from the result.
    shift = 2 * max(0, 64 + square.denominator.bit_length() - square.numerator.bit_length() // 2)
    try:
        bound = float(Fraction(isqrt(int(square * (1 << shift))), 1 << shift // 2))
    except OverflowError:
        bound = inf
    while Fraction(before := nextafter(bound, 0.0)) ** 2 >= square:
        bound = before
    while bound < inf and Fraction(bound) ** 2 < square:
        bound = nextafter(bound, inf)
    if bound == inf:
        raise ParameterError("columns: the bound on a row's norm exceeds the largest float64")
    return bound
