"""What a driver is given and what it gives back, whichever driver it is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from secfc._arrays import Floats, Ints, Labels
from secfc.drivers.costs import Costs
from secfc.kmeans.search import Clustering
from secfc.params import Job, Limits
from secfc.protocol.server import Progress
from secfc.psu.tokens import Tokens

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One run: the job, and what each party brings.

    Attributes
    ----------
    job : Job
    rows : list of ndarray of shape (m_j, d), float64
    starts : list of ndarray of shape (m_j,), int32, or None
        Start labels, when ``job.init`` is "labels".
    tokens : list of Tokens or None
        Of the rows' IDs, with membership privacy.
    names : list of str
        What errors call the parties.
    limits : Limits
        The same at every client of a simulation.
    seed : int or None
        Of public choices.
    storage : Path or None
        Folder for the clients' shares; None keeps them in memory.
    """

    job: Job
    rows: list[Floats] = field(repr=False)
    starts: list[Labels] | None = field(repr=False)
    names: list[str]
    limits: Limits
    seed: int | None
    storage: Path | None = None
    tokens: list[Tokens] | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run gave.

    Attributes
    ----------
    labels : list of ndarray of shape (m_j,), int32
        As each client received them.
    union_rows : list of ndarray of shape (m_j,), int64, or None
        With membership privacy, where each party's rows are in the union.
    start : ndarray of shape (m,), int32
        The sets whose means were the first centres, -1 for a row in none.
    n_iter, converged, inertia, history, near_ties
        Of the best start; inertia in the data's units squared.
    costs : Costs
    """

    labels: list[Labels] = field(repr=False)
    union_rows: list[Ints] | None = field(repr=False)
    start: Labels = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float
    history: list[float]
    near_ties: int
    costs: Costs


@dataclass(frozen=True, kw_only=True)
class ServerReport:
    """What the server tells its driver of the best start, inertia in the data's units squared."""

    start: Labels = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float
    history: list[float]
    near_ties: int

    @classmethod
    def of(cls, clustering: Clustering, job: Job) -> "ServerReport":
        """The report of a finished search."""
        return cls(
            start=clustering.start,
            n_iter=clustering.n_iter,
            converged=clustering.converged,
            inertia=job.in_data_units(clustering.inertia),
            history=[job.in_data_units(inertia) for inertia in clustering.history],
            near_ties=clustering.near_ties,
        )
