"""Inputs and results of all drivers."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from secfc.drivers.costs import Costs
from secfc.drivers.deposits.committee import Committee
from secfc.errors import ParameterError, SecFCError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.kernels.threads import Threads, cores
from secfc.kmeans.clustering import LabelResult, SearchResult
from secfc.kmeans.consensus import Resampled
from secfc.kmeans.sets import set_sizes, unreadable
from secfc.operations.ending.cells import Counted, OwnColumns
from secfc.protocol.gathering import Faults
from secfc.protocol.job.cases import Own, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import MAX_THREADS
from secfc.protocol.progress import Progress
from secfc.protocol.server import Server
from secfc.psu.tokens import RowIds

if TYPE_CHECKING:  # these modules import libraries that most simulations do not need
    from secfc.prepare.by_cluster import Table1
    from secfc.prepare.schema import Schema

OnProgress = Callable[[Progress], None]

OPENED = "centres", "deviations", "resampled", "counted"
"""What clients learn besides labels, where it is opened: attributes of a `Client` and of an `Outcome`."""

_OF_EACH = "k", "n_iter", "converged", "inertia", "equal_starts", "near_starts"
"""What is known of each k compared."""


def check_deadline(seconds: object) -> None:
    """Raise ParameterError unless this is None or a valid waiting time in seconds."""
    number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
    if seconds is not None and not (number and 0 < seconds < threading.TIMEOUT_MAX):  # type: ignore[operator]
        raise ParameterError("deadline: None or a number of seconds > 0 is needed")


def check_threads(threads: object) -> None:
    """Raise ParameterError unless this is None or a valid number of threads."""
    number = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if threads is not None and not (number and 1 <= threads <= MAX_THREADS):  # type: ignore[operator]
        raise ParameterError(f"threads: None or an integer from 1 to {MAX_THREADS} is needed")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One run: the job and the input of each party."""

    job: Job
    rows: list[Floats] = field(repr=False)  # of each client, or owner, shape (m_j, d)
    starts: list[Labels] | None = field(repr=False)  # by client, if the job begins with labels
    names: list[str]  # names of the clients in errors
    limits: Limits | list[Limits]  # the same for every party, or a list by client
    weights: list[Ints] | None = field(default=None, repr=False)  # by client, if ``job.rows.weighted``
    columns: list[Ints] | None = field(default=None, repr=False)  # by client, if the job describes columns
    schema: "Schema | None" = field(default=None, repr=False)  # of these
    # Salt of hashed IDs, for a simulation that can be repeated. None: it follows from the introductions.
    salt: bytes | None = field(default=None, repr=False)
    ids: list[RowIds] | None = field(default=None, repr=False)  # with membership privacy
    threads: int | None = None  # per process; None: its share of the cores
    deadline: float | None = None  # seconds for a party's process to answer; None: no limit
    committee: Committee | None = None  # if owners deposit rows for the clients

    def __post_init__(self) -> None:
        # Drivers identify parties by name.
        for name, count in Counter(self.parties).items():
            if count > 1:
                raise ParameterError(f"parties: {count} are called {name!r}")

    def threads_of(self, processes: int = 1) -> Threads:
        """Threads of one of so many processes."""
        return Threads(self.threads or cores(processes))

    def limits_of(self, party: int) -> Limits:
        """Limits of a party. A helper has none of its own."""
        if not isinstance(self.limits, list):
            return self.limits
        return self.limits[party - 1] if party <= self.job.n else Limits()

    @property
    def parties(self) -> tuple[str, ...]:
        """Names of clients and helpers in errors."""
        return self.job.names_of(self.names)

    def input_of(self, party: int) -> dict[str, Any]:
        """Rows, start labels, weights, row IDs, columns and limits of a party, as arguments of `Client`."""
        rows = self.rows if self.committee is None else None
        given = {"rows": rows, "start": self.starts, "weights": self.weights, "ids": self.ids}
        own: dict[str, Any] = {
            name: None if of_clients is None or party > self.job.n else of_clients[party - 1]
            for name, of_clients in given.items()
        }
        if own["rows"] is None:
            own["rows"] = np.empty((0, self.job.d))
        columns = None if self.columns is None or party > self.job.n else self.columns[party - 1]
        own["columns"] = None if columns is None else OwnColumns(values=columns)
        return own | {"limits": self.limits_of(party)}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Figures about the best start of a run.

    With disclosure "labels" the history is empty, near_ties is None, and so is an inertia that was not
    opened.
    """

    k: int
    n_iter: int
    converged: bool
    inertia: float | None  # in the data's units squared
    history: list[float]
    near_ties: int | None
    equal_starts: int | None  # as in `secfc.Result`
    near_starts: int | None
    faults: Faults
    # Of each cluster, nan without rows, in the data's units and without unit; or empty.
    spreads: list[float] = field(repr=False)
    silhouettes: list[float] = field(repr=False)
    found: list[dict[str, Any]]  # `_figures` of each k compared, else of k alone


@dataclass(frozen=True, kw_only=True)
class Outcome(Figures):
    """The result of a run.

    Labels are those that each client received. For a client that vanished they are the server's. They are -1
    for rows of a client that was left out, or that vanished where the server does not know them, and for
    rows whose label its client could not read: `unreadable` has what it is told, by client.
    """

    labels: list[Labels] = field(repr=False)
    # With membership privacy: indices of each party's rows in the union. -1 for a client that vanished, and
    # for a row that is not in the union.
    union_rows: list[Ints] | None = field(repr=False)
    start: Labels = field(repr=False)  # sets whose means were the first centres, -1 for a row in none
    found_labels: Labels = field(repr=False)  # shape (len(found), m)
    costs: Costs
    run_id: str  # in hexadecimal
    centres: Floats | None = field(default=None, repr=False)  # shape (k, d), if revealed to a client
    deviations: Floats | None = field(default=None, repr=False)  # likewise
    resampled: Resampled | None = None  # as clients learned it
    counted: Counted | None = field(default=None, repr=False)  # if columns were described
    table: "Table1 | None" = field(default=None, repr=False)  # likewise, made by a caller who knows names
    lost: dict[int, SecFCError] = field(default_factory=dict)  # clients whose process ended or broke, and why
    unreadable: dict[int, str] = field(default_factory=dict)

    def by_party(self, labels: Labels) -> list[Labels]:
        """Labels of each party's rows, from those of all rows or, if there is one, of the union."""
        if self.union_rows is None:
            return np.split(labels, np.cumsum([part.size for part in self.labels])[:-1])
        # A party that vanished has -1 in place of its row numbers.
        return [np.where(rows < 0, np.int32(-1), labels[rows]) for rows in self.union_rows]


def public_result(of: "ServerReport", job: Job) -> dict[str, Any]:
    """What all parties know of a result, as JSON takes it; distances, even counted, are the server's alone.

    `counts` are the rows of each client that are in, `by_party` those in each cluster. They are None with
    membership privacy, where nobody knows; `by_party` where owners know labels of their own rows alone, and
    `sizes` where that holds in a run that is one program.
    """
    counts = by_party = None
    if not isinstance(job.rows, Union):
        counts = list(of.counts)
    if isinstance(job.rows, Own) and not job.own_labels:
        parts = np.split(of.labels, np.cumsum(of.counts)[:-1])
        by_party = [set_sizes(part, of.k).tolist() for part in parts]
    return {name: getattr(of, name) for name in (*_OF_EACH, "near_ties")} | {
        "history": list(of.history),
        "faults": asdict(of.faults),
        "counts": counts,
        "by_party": by_party,
        "sizes": next(one["sizes"] for one in of.found if one["k"] == of.k),
        "compared": [
            {
                key: None if isinstance(value, float) and not isfinite(value) else value
                for key, value in one.items()
            }
            for one in (of.found if len(of.found) > 1 else [])
        ],
    }


@dataclass(frozen=True, kw_only=True)
class ServerReport(Figures):
    """The server's report to its driver."""

    start: Labels = field(repr=False)  # of the rows in the run, shape (m,); likewise `labels`
    labels: Labels = field(repr=False)
    counts: list[int]  # rows of each client in the run
    found_labels: Labels = field(repr=False)  # shape (len(found), m)

    @classmethod
    def of(cls, server: Server, job: Job) -> "ServerReport":
        """The report of a server that is done."""
        clustering = server.outcome
        assert clustering is not None
        measured = clustering if isinstance(clustering, SearchResult) else None
        known = _figures(clustering, job)
        return cls(
            spreads=[_in_data_units(one, job) for one in measured.spreads] if measured else [],
            silhouettes=measured.silhouettes if measured else [],
            found=[_figures(one, job) for one in server.found],
            found_labels=np.array([one.labels for one in server.found], dtype=np.int32),
            start=clustering.start,
            labels=clustering.labels,
            counts=list(server.layout.counts),
            **{name: known[name] for name in _OF_EACH},
            history=[job.in_data_units(inertia) for inertia in measured.history] if measured else [],
            near_ties=measured.near_ties if measured else None,
            faults=server.faults,
        )

    def outcome(
        self,
        received: Mapping[int, Labels],
        held: Sequence[int],
        costs: Costs,
        union_rows: Mapping[int, Ints] | None = None,
        *,
        run_id: str,
        opened: Mapping[str, Any] | None = None,
        lost: Mapping[int, SecFCError] | None = None,
    ) -> Outcome:
        """The outcome: labels as clients `received` them, and the server's for the others.

        `held` counts the rows of every client, also of clients that are not in the run. With membership
        privacy only a client knows which rows of the union are its own: `union_rows`, shape (m_j,), int64,
        by client. `opened` has what clients learned, by name as in `OPENED`.
        """
        outside = [np.full(rows, -1, dtype=np.int32) for rows in held]
        own = outside if union_rows is not None else self._spread(self.labels, outside)

        def place(labels: Labels) -> Labels:
            return labels if union_rows is not None else np.concatenate(self._spread(labels, outside))

        labels = [received.get(j, labels) for j, labels in enumerate(own, 1)]
        found = [place(one) for one in self.found_labels]
        rows = None
        if union_rows is not None:
            rows = [union_rows.get(j, out.astype(np.int64)) for j, out in enumerate(outside, 1)]
        if self.found[0]["sizes"] is None:  # only owners know labels, those of the result
            every = np.concatenate(labels)
            if rows is not None:
                numbers, every = np.concatenate(rows), self.labels.copy()
                every[numbers[numbers >= 0]] = np.concatenate(labels)[numbers >= 0]
            found = [
                every if one["k"] == self.k else unknown
                for one, unknown in zip(self.found, found, strict=True)
            ]
        return Outcome(
            labels=labels,
            union_rows=rows,
            start=place(self.start),
            costs=costs,
            run_id=run_id,
            **opened or {},
            lost=dict(lost or {}),
            unreadable={j: told for j, one in received.items() if (told := unreadable(one))},
            **{one.name: getattr(self, one.name) for one in fields(Figures)},
            found_labels=np.array(found, dtype=np.int32),
        )

    def _spread(self, labels: Labels, outside: list[Labels]) -> list[Labels]:
        """Labels of the rows in the run, by client. `outside` for a client that is not in the run."""
        parts = np.split(labels, np.cumsum(self.counts)[:-1])
        return [part if part.size else out for part, out in zip(parts, outside, strict=True)]


def _in_data_units(distance: float, job: Job) -> float:
    """A distance that may be NaN, for a cluster without rows, in the data's units."""
    return distance if isnan(distance) else job.distance_in_data_units(Fraction(distance))


def _figures(clustering: LabelResult, job: Job) -> dict[str, Any]:
    measured, best = clustering if isinstance(clustering, SearchResult) else None, clustering.best
    measures = asdict(clustering.measures) if clustering.measures else {}
    return {
        "k": clustering.k,
        "n_iter": clustering.n_iter,
        "converged": clustering.converged,
        "inertia": job.in_data_units(measured.inertia) if measured else clustering.opened,
        "sizes": None if job.own_labels else set_sizes(clustering.labels, clustering.k).tolist(),
        "equal_starts": best.equal if best else None,
        "near_starts": best.near if best else None,
        **measures,
    }
