"""The job file: what all organisations agree to run, and the agreement that it makes with the roster."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import inf, isfinite, isqrt, nextafter
from pathlib import Path
from typing import Any

from pydantic import Field

from secfc.agreement.consortium import Consortium, RosterSchema, consortium_of, read_roster
from secfc.agreement.toml_file import Schema, TomlFile, check_values
from secfc.errors import ParameterError
from secfc.limits import SINGLETON_STARTS, Limits
from secfc.params import (
    MAX_ROWS,
    SALT_BYTES,
    Comparison,
    Disclosure,
    Job,
    Start,
    UnionMethod,
)
from secfc.protocol.dealing import covers_of
from secfc.protocol.messages import Phase
from secfc.sealing.handshake import Session

Range = tuple[float, float]
"""Least and largest value."""

_DIGEST = b"secfc agreement 1"
_TITLE_MOST = 200
_NO_RUN = bytes(SALT_BYTES).hex()
_SEED_BITS = 63


class ClusteringSchema(Schema):
    """Parameters of the job; defaults are those of `secfc.run`."""

    k: int
    t: int
    ell: int
    precision: int = Job.precision
    init: Start = Job.init
    n_init: int = Job.n_init
    max_iter: int = Job.max_iter
    disclosure: Disclosure = Job.disclosure
    max_liars: int = Job.max_liars
    comparison: Comparison = Job.comparison
    reveal_centres: list[str] = Field(default=[])
    reveal_spread: int | None = Job.reveal_spread
    ids_cap: int | None = Job.ids_cap
    union: UnionMethod = Job.union
    count_duplicates: bool = Job.count_duplicates
    seed: int | None = Field(default=None, ge=0, lt=1 << _SEED_BITS)


class LimitsSchema(Schema):
    """What the job asks the parties to bear."""

    smallest_set: int = 1
    most_rounds: int | None = None


class JobSchema(Schema):
    """A job file."""

    title: str
    roster: str
    phases: list[Phase] | None = None
    clustering: ClusteringSchema
    columns: dict[str, list[float]] = Field(min_length=1)
    limits: LimitsSchema = LimitsSchema()


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What every organisation has agreed to.

    Attributes
    ----------
    title : str
    phases : tuple of str
        That the run has, in order.
    job : Job
        With membership privacy the one of a run has a salt of its own (`job_of`).
    columns : dict of str to (float, float)
        Columns that are clustered, in order, and the range of their values.
    limits : Limits
        What every client refuses, whatever the server asks.
    seed : int or None
        Of public choices; None: the coordinator's choice.
    consortium : Consortium
    """

    title: str
    phases: tuple[Phase, ...]
    job: Job
    columns: dict[str, Range]
    limits: Limits
    seed: int | None
    consortium: Consortium
    _content: JobSchema = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parties, client 1's first."""
        return self.consortium.names

    def to_json(self) -> str:
        """The canonical content of job and roster: equal agreements give equal texts, others others.

        Names of keys are sorted and numbers are Python's shortest; columns are a list, as their order counts,
        and the roster stands in it, so where its file lies does not matter.
        """
        job = self._content.model_dump(exclude={"roster"})
        job["phases"] = list(self.phases)
        job["columns"] = [[name, *values] for name, values in self.columns.items()]
        content = {"job": job, "roster": self.consortium.to_schema().model_dump()}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical content and of the parameters that this version makes of it, 32 bytes."""
        content = hashlib.sha256(self.to_json().encode()).digest()
        return hashlib.sha256(_DIGEST + content + self.job.digest + self.consortium.roster.digest).digest()

    def job_of(self, run: bytes) -> Job:
        """The parameters of a run: with membership privacy its identifier is the salt of hashed IDs.

        Parameters
        ----------
        run : bytes of length 16
        """
        return self.job if self.job.ids_cap is None else replace(self.job, ids_salt=run.hex())

    def session(self, run: bytes) -> Session:
        """A run of this agreement.

        Parameters
        ----------
        run : bytes of length 16
        """
        return Session(run=run, agreement=self.digest, roster=self.consortium.roster)


def read_job(path: Path) -> Agreement:
    """The agreement of a job file and the roster file that it names.

    Raises
    ------
    ParameterError
        With file and line, what is wrong and what is possible; `ThresholdError` for too few clients.
    """
    file = TomlFile(path)
    schema = file.check(JobSchema)
    consortium = read_roster(path.parent / schema.roster)
    return _agreement(schema, consortium, lambda text, *keys: file.error(*keys, text=text))


def agreement_of(text: str, *, name: str) -> Agreement:
    """The agreement of canonical content that somebody sent.

    Parameters
    ----------
    text : str
    name : str
        What errors call it.

    Raises
    ------
    ParameterError
        When it is no such content.
    """

    def fault(text: str, *keys: str | int) -> ParameterError:
        return ParameterError(f"{name}: {text}")

    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise fault("not JSON") from None
    if not isinstance(values, dict) or not isinstance(values.get("job"), dict):
        raise fault("no job in it")
    job = dict(values["job"])
    columns = job.get("columns")
    if not isinstance(columns, list) or not all(
        isinstance(one, list) and len(one) == 3 and isinstance(one[0], str) for one in columns
    ):
        raise fault("columns: a list of names and ranges is needed")
    job |= {"columns": {one[0]: one[1:] for one in columns}, "roster": ""}
    schema = check_values(job, JobSchema, name=name)
    consortium, wrong = consortium_of(check_values(values.get("roster"), RosterSchema, name=name))
    if wrong:
        raise fault(wrong[0][2])
    agreement = _agreement(schema, consortium, fault)
    if agreement.to_json() != text:
        raise fault("not the canonical content of an agreement")
    return agreement


_Fault = Callable[..., ParameterError]
"""Makes the error of a text and the keys that it is about."""


def _agreement(schema: JobSchema, consortium: Consortium, fault: _Fault) -> Agreement:
    if not (schema.title.isprintable() and 0 < len(schema.title) <= _TITLE_MOST):
        raise fault(f"title: 1 to {_TITLE_MOST} printable characters are possible", "title")
    columns = _columns(schema, fault)
    values = schema.clustering.model_dump(exclude={"seed", "reveal_centres"})
    if schema.clustering.ids_cap is None:
        for name in ("union", "count_duplicates"):
            if values[name] != getattr(Job, name):
                text = f"{name}: only with ids_cap, which switches on membership privacy"
                raise fault(text, "clustering", name)
    else:
        values["ids_salt"] = _NO_RUN
    values["reveal_to"] = _recipients(schema.clustering.reveal_centres, consortium, fault)
    try:
        job = Job(n=len(consortium.members), d=len(columns), bound=norm_bound(columns.values()), **values)
    except ParameterError as error:
        name = str(error).split(":", 1)[0]
        keys = ("clustering", name) if name in values else (name if name == "columns" else "clustering",)
        raise type(error)(*fault(str(error), *keys).args) from None
    phases = phases_of(job)
    if schema.phases is not None and tuple(schema.phases) != phases:
        raise fault(f"phases: this job has {', '.join(phases)}, in this order and no others", "phases")
    try:
        limits = Limits(**schema.limits.model_dump())
    except ParameterError as error:
        text = str(error)
        raise fault(text, *text.split(":", 1)[0].split(".")) from None
    if limits.smallest_set > MAX_ROWS:
        raise fault(f"limits.smallest_set: at most {MAX_ROWS} rows are possible", "limits", "smallest_set")
    if limits.smallest_set > 1 and job.init in SINGLETON_STARTS:
        text = f"init: {job.init!r} asks about single rows, limits.smallest_set is {limits.smallest_set}"
        raise fault(text, "clustering", "init")
    return Agreement(
        title=schema.title,
        phases=phases,
        job=job,
        columns=columns,
        limits=limits,
        seed=schema.clustering.seed,
        consortium=consortium,
        _content=schema,
    )


def _recipients(parties: list[str], consortium: Consortium, fault: _Fault) -> tuple[int, ...]:
    """Client numbers of the parties that centres are revealed to."""
    keys = ("clustering", "reveal_centres")
    for party in parties:
        if party not in consortium.names:
            possible = ", ".join(consortium.names)
            raise fault(f"clustering.reveal_centres: {party!a} is no party of the roster ({possible})", *keys)
    if len(set(parties)) < len(parties):
        raise fault("clustering.reveal_centres: each party once", *keys)
    return tuple(sorted(consortium.names.index(party) + 1 for party in parties))


def _columns(schema: JobSchema, fault: _Fault) -> dict[str, Range]:
    columns: dict[str, Range] = {}
    for name, values in schema.columns.items():
        if not name.isprintable() or not name:
            raise fault(f"columns: {name!a}: a name of printable characters is needed", "columns", name)
        if len(values) != 2 or not all(map(isfinite, values)) or values[0] > values[1]:
            raise fault(
                f"columns.{name}: its range is needed, [least, largest], finite and in this order",
                "columns",
                name,
            )
        columns[name] = values[0], values[1]
    return columns


def phases_of(job: Job) -> tuple[Phase, ...]:
    """Phases that a run of this job has."""
    union: tuple[Phase, ...] = () if job.ids_cap is None else ("union",)
    check: tuple[Phase, ...] = ("check",) if covers_of(job) else ()
    return ("identify", *union, "share", *check, "iterate", "reveal")


def norm_bound(ranges: Any) -> float:
    """The least float64 that no norm of a row with values in these ranges exceeds.

    Parameters
    ----------
    ranges : iterable of (float, float)
        Of each column.

    Raises
    ------
    ParameterError
        When it exceeds the largest float64.
    """
    square = sum((Fraction(max(abs(low), abs(high))) ** 2 for low, high in ranges), Fraction(0))
    if not square:
        return 0.0
    # A root of 64 bits or more of the square times 2**shift: then float's neighbours are a step or two away.
    shift = 2 * max(0, 64 + square.denominator.bit_length() - square.numerator.bit_length() // 2)
    try:
        bound = float(Fraction(isqrt(int(square * (1 << shift))), 1 << shift // 2))
    except OverflowError:
        raise ParameterError("columns: the bound on a row's norm exceeds the largest float64") from None
    while Fraction(before := nextafter(bound, 0.0)) ** 2 >= square:
        bound = before
    while bound < inf and Fraction(bound) ** 2 < square:
        bound = nextafter(bound, inf)
    if bound == inf:
        raise ParameterError("columns: the bound on a row's norm exceeds the largest float64")
    return bound
