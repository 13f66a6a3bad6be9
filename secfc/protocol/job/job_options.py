"""A job as options, as calls, job files and JSON give it, and back."""

from dataclasses import asdict, dataclass
from typing import Any

from secfc.protocol.job.cases import (
    Centres,
    Cluster,
    Coded,
    Compare,
    Deposited,
    Described,
    Disclosed,
    LabelsOnly,
    Method,
    Noise,
    Own,
    Predict,
    Rows,
    Start,
    Union,
)
from secfc.protocol.job.job import Job
from secfc.protocol.job.options import AgreedClustering, CentreNoise, Resampling, again


@dataclass(frozen=True, kw_only=True)
class JobOptions(AgreedClustering, CentreNoise, Resampling):
    """The options of a job, of which `secfc.protocol.job.making.make_job` makes a `Job`.

    `Job` describes n, t, ell, d, bound and seed, and its cases most others.

    Parameters
    ----------
    init : {"random", "separation", "k-means++", "labels"}
        A job has no "auto", because `secfc.run` and job files have already replaced it.
    compared : tuple of int
        Numbers of clusters that are compared, ascending; the last is k. () for k alone.
    reveal_to : tuple of int
        Clients to whom centres are opened, ascending.
    comparers : tuple of int
        With disclosure "labels" by default clients 1, 2 and 3 if t = 1, else client 1 and two helpers.
    owners, deposits : tuple of int and str, optional
        The fields of `Deposited`. None: the clients hold the rows.
    totals : tuple of int
        As in `Own`. Only where the clients hold the rows, and without row IDs.
    described : tuple of int
        The `categories` of `Described`; () describes no column.
    smallest_cell : int, optional
        The `smallest` of `Described`.
    """

    n: int
    k: int
    t: int
    ell: int
    d: int
    bound: float
    init: Start = "random"
    n_init: int = again(AgreedClustering, "n_init", default=1, kind="int", text="Starts.")
    compared: tuple[int, ...] = ()
    reveal_to: tuple[int, ...] = ()
    predict: bool = False
    reveal_spread: int | None = None
    comparers: tuple[int, ...] = ()
    seed: int | None = None
    owners: tuple[int, ...] | None = None
    deposits: str | None = None
    weighted: bool = False
    totals: tuple[int, ...] = ()
    described: tuple[int, ...] = ()
    smallest_cell: int | None = None


def job_of(options: JobOptions) -> Job:
    """The job of options that go together (`secfc.protocol.job.making`)."""
    return Job(
        rows=_rows(options),
        method=_method(options),
        disclosure=_disclosure(options),
        opened=_opened(options),
        n=options.n,
        t=options.t,
        ell=options.ell,
        d=options.d,
        bound=options.bound,
        precision=options.precision,
        step=None if options.step is None else float(options.step),
        max_liars=options.max_liars,
        seed=options.seed,
    )


def as_options(job: Job) -> dict[str, Any]:
    """The options of a job by name, as JSON values but for tuples."""
    method, opened, noise = job.method, job.opened, job.opened.noise
    found = JobOptions(
        n=job.n,
        k=job.k,
        t=job.t,
        ell=job.ell,
        d=job.d,
        bound=job.bound,
        precision=job.precision,
        step=job.step,
        max_liars=job.max_liars,
        seed=job.seed,
        init=method.init,
        n_init=method.n_init,
        max_iter=method.max_iter,
        tol_moved=method.tol_moved,
        compared=method.compared,
        resamples=method.resamples,
        predict=isinstance(method, Predict),
        disclosure=job.disclosure.name,
        comparers=job.comparers,
        reveal_inertia=job.disclosure.inertia,
        reveal_to=opened.to,
        reveal_spread=opened.spread,
        centres_epsilon=None if noise is None else noise.epsilon,
        centres_delta=None if noise is None else noise.delta,
        ids_cap=job.rows.cap if isinstance(job.rows, Union) else None,
        owners=job.rows.owners if isinstance(job.rows, Deposited) else None,
        deposits=job.rows.digest if isinstance(job.rows, Deposited) else None,
        weighted=job.rows.weighted,
        totals=job.rows.totals,
        described=() if opened.described is None else opened.described.categories,
        smallest_cell=None if opened.described is None else opened.described.smallest,
    )
    return asdict(found)


def _rows(options: JobOptions) -> Rows:
    if options.ids_cap is not None:
        return Union(options.ids_cap)
    if options.owners is not None and options.deposits is not None:
        return Deposited(tuple(options.owners), options.deposits)
    return Own(options.weighted, tuple(options.totals))


def _method(options: JobOptions) -> Method:
    if options.predict:
        return Predict(k=options.k)
    common: dict[str, Any] = {
        "init": options.init,
        "n_init": options.n_init,
        "max_iter": options.max_iter,
        "tol_moved": abs(float(options.tol_moved)),  # 0, 0.0 and -0.0 are one job
        "resamples": options.resamples,
    }
    if options.compared:
        return Compare(compared=tuple(options.compared), **common)
    return Cluster(k=options.k, **common)


def _disclosure(options: JobOptions) -> Disclosed:
    if options.disclosure == "coded":
        return Coded()
    usual = (1, 2, 3) if options.t == 1 else (1, options.n + 1, options.n + 2)
    return LabelsOnly(tuple(options.comparers or ()) or usual, options.reveal_inertia)


def _opened(options: JobOptions) -> Centres:
    noise = None
    if options.centres_epsilon is not None and options.centres_delta is not None:
        noise = Noise(float(options.centres_epsilon), float(options.centres_delta))
    described = None
    if options.described and options.smallest_cell is not None:
        described = Described(tuple(options.described), options.smallest_cell)
    return Centres(
        to=tuple(options.reveal_to), spread=options.reveal_spread, noise=noise, described=described
    )
