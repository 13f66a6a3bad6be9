"""`run`: k-means over the rows of several parties, from arrays to labels."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeGuard, Unpack, cast, get_args

import numpy as np

from secfc._arrays import Labels
from secfc._membership import Membership, membership
from secfc._options import Clustering, Driver, Recipients, Watcher
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import OnProgress, Outcome, Setup, check_deadline, check_resume
from secfc.drivers.storage import check_storage
from secfc.errors import (
    ConvergenceWarning,
    DataError,
    FaultWarning,
    LimitError,
    ParameterError,
    PrecisionWarning,
    ThresholdError,
)
from secfc.kmeans.sets import set_sizes
from secfc.limits import Limits
from secfc.params import Comparison, Disclosure, Job, Start, UnionMethod, fitting, recovery_threshold
from secfc.parties import Party, as_parties
from secfc.result import Result
from secfc.row_layout import Layout
from secfc.rows import check_labels, check_rows, few_steps, largest_norm, rounded_away

_NAMED_STARTS = ("random", "separation", "k-means++")
_DRIVERS: dict[Driver, Callable[[Setup, OnProgress | None], Outcome]] = {
    "in-process": run_in_process,
    "multiprocess": run_multiprocess,
}


def run(
    parties: Sequence[Any],
    k: int,
    t: int = 4,
    ell: int = 2,
    *,
    init: str | Sequence[Any] = "random",
    n_init: int = 1,
    max_iter: int = 300,
    precision: int = 32,
    bound: float | None = None,
    ids: Sequence[Any] | None = None,
    id_key: bytes | None = None,
    ids_cap: int | None = None,
    union: UnionMethod = "series",
    count_duplicates: bool = False,
    disclosure: Disclosure = "distances",
    reveal_centres: Recipients = None,
    reveal_spread: bool = False,
    limits: Limits | Sequence[Limits] | None = None,
    storage: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    driver: Driver = "in-process",
    max_liars: int = 0,
    comparison: Comparison = "end",
    deadline: float | None = None,
    seed: int | None = None,
    progress: Watcher = None,
) -> Result:
    """Cluster the rows of all parties as Lloyd's k-means would if they were pooled (SecFC).

    Parameters
    ----------
    parties : sequence of array of shape (m_j, d), DataFrame (pandas, Polars) or SciPy sparse matrix
        One per client, numbers only; a party may be empty. A sparse matrix is made dense: shares have no
        zeros to leave out.
    k : int
        Clusters.
    t : int
        Clients that may collude and still learn nothing about other clients' rows.
    ell : int
        Segments a row is split in: more make shares and iterations cheaper and need more clients. At least
        2(ell + t) - 1 clients are needed.
    init : {"random", "separation", "k-means++"} or sequence of integer arrays of shape (m_j,)
        "random": the means of a random partition (the paper). "separation": the cores after one Lloyd step
        from a random partition, rows at most a third as far from their centre as from any other (the paper,
        section 5). "k-means++": single rows drawn by their distance to those drawn before, of several
        candidates the best, as scikit-learn's; the server learns every row's distance to each candidate, and
        a client whose `limits` forbid sets of one row refuses. Or start labels, one array a party, each
        cluster with at least one row.
    n_init : int
        Starts; the result of least inertia is returned. Sharing is paid once.
    max_iter : int
        Most iterations of a start.
    precision : int
        Bits of a row relative to the bound, 1 to 52; rows are rounded to nearest.
    bound : float, optional
        Public bound on the Euclidean norm of a row. By default the largest norm in the data, which only a
        simulation can know.
    ids : sequence of one sequence of row IDs per party, optional
        Switches on membership privacy: first the parties find the union of their IDs (str, int, UUID or
        bytes) so that nobody learns who holds which, then every party shares a vector for every row of it. A
        run whose parties hold an ID twice ends with an error. IDs are compared as text in Unicode's NFC
        without blanks at either end: 7 is "7", but "007", "a" and "A" are other IDs.
    id_key : bytes of length 32, optional
        Hashes the IDs; shared by the clients and unknown to the server. By default a random one, and with
        a seed one that follows from it: a simulation can be repeated, a deployment must give its own.
    ids_cap : int, optional
        Public bound on the rows of all parties together; hides how many each holds. By default that number
        itself, which only a simulation can know.
    union : {"series", "sketch"}
        "sketch" is faster and shows a coalition of the server and clients which of its own IDs others hold
        too.
    count_duplicates : bool
        Whether that error tells by how many the parties' IDs exceed the union.
    reveal_centres : None, "all" or sequence of int
        To which parties, by position, the centres of the final clusters are opened: they learn the exact
        means (docs/threat-model.md says what follows from these). Every party must consent by its
        `limits`; the server learns nothing of them. None: to nobody.
    reveal_spread : bool
        Whether the same parties also learn each column's standard deviation in each cluster. Every party must
        consent by ``limits.reveal_spread``, the smallest cluster that it consents for; the largest of all
        these holds for all, and a run that ends with a smaller cluster opens nothing and raises LimitError.
    disclosure : {"distances", "coded"}
        What the server receives. "distances": answers under masks that cancel in their sum, which leave it
        the distances alone. "coded": every client's coded distances, as in the paper, from which it can
        compute more than distances; needed, and to be asked for, where `max_liars` > 0.
    limits : Limits or sequence of Limits, one per party, optional
        What each client refuses, and whether it consents to `reveal_centres`.
    storage : path, optional
        Folder for the clients' shares, which are else in memory; free space is checked first, and nothing
        stays behind. With the multiprocess driver every party also keeps a journal there, and one whose
        process is killed is started again and goes on where it was; without, it is absent.
    resume : bool, optional
        What becomes of a run in `storage` whose calling process was killed or interrupted. True: go on with
        it, from the parties' journals; the call must be the same, rows included. False: remove it and begin
        anew. By default a call finds it and raises StorageError. Only with the multiprocess driver.
    driver : {"in-process", "multiprocess"}
        All parties in this process, or one OS process each.
    max_liars : int
        A: clients that may share inconsistently or send wrong answers; they are found out, named in
        ``result.faults`` and heard no more, and the result stays exact. Takes n >= 2(ell + t) - 1 + S + 2A
        clients when S of them vanish. 0 checks nothing.
    comparison : {"end", "rounds"}
        When clients compare what the server gave them: after the run, or also before each answer.
    deadline : float, optional
        Seconds without progress after which the multiprocess driver counts those that are waited for as
        absent. By default only a client whose process has ended is.
    seed : int, optional
        Of public choices (the random start). Masks never depend on it.
    progress : "bar" or callable, optional
        A bar in the terminal or the notebook, or what is called with a `Progress` whenever the server has
        taken a message.

    Returns
    -------
    Result

    Raises
    ------
    SecFCError
        Naming the party, the argument and the number that is wrong; nothing has been shared then.

    Warns
    -----
    ConvergenceWarning
        When `max_iter` ended the best start.
    FaultWarning
        When clients vanished or lied and the run went on without them.
    PrecisionWarning
        When the bound is taken from the data and one row, or columns far from 0, make it so large that most
        rows are rounded to few different values.
    PrivacyWarning
        When segments are so narrow that the server sees distances of single columns.

    References
    ----------
    Songze Li, Sizai Hou, Baturalp Buyukates, Salman Avestimehr: *Secure Federated Clustering*, 2022.

    Examples
    --------
    >>> import numpy as np, secfc
    >>> rows = np.array([[0.0], [0.1], [9.0], [9.1], [0.2]])
    >>> result = secfc.run([rows[:2], rows[2:4], rows[4:]], k=2, t=1, ell=1, init=[[0, 0], [0, 1], [1]])
    >>> [labels.tolist() for labels in result.labels]
    [[0, 0], [1, 1], [0]]
    """
    try:
        return run_parties(
            as_parties(parties),
            k=k,
            t=t,
            ell=ell,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            precision=precision,
            bound=bound,
            ids=ids,
            id_key=id_key,
            ids_cap=ids_cap,
            union=union,
            count_duplicates=count_duplicates,
            disclosure=disclosure,
            reveal_centres=reveal_centres,
            reveal_spread=reveal_spread,
            limits=limits,
            storage=storage,
            resume=resume,
            driver=driver,
            max_liars=max_liars,
            comparison=comparison,
            deadline=deadline,
            seed=seed,
            progress=progress,
        )
    except ThresholdError as error:
        fits = fitting(len(parties), t, ell)
        if not fits or len(parties) >= recovery_threshold(t, ell):
            raise
        call = f"secfc.run(parties, k={k}, t={fits[0][0]}, ell={fits[0][1]})"
        raise ThresholdError(f"{error}: {call}") from None


def run_parties(
    members: list[Party],
    *,
    k: int,
    t: int,
    ell: int,
    init: str | Sequence[Any],
    n_init: int,
    reveal_centres: Recipients = None,
    reveal_spread: bool = False,
    **options: Unpack[Clustering],
) -> Result:
    """`run` for parties that have names of their own."""
    outcome, job, held = run_outcome(
        members,
        k=k,
        t=t,
        ell=ell,
        init=init,
        n_init=n_init,
        reveal_centres=reveal_centres,
        reveal_spread=reveal_spread,
        stacklevel=4,
        **options,
    )
    return _result(outcome, members, job, held)


def run_outcome(
    members: list[Party],
    *,
    init: str | Sequence[Any],
    bound: float | None = None,
    ids: Sequence[Any] | None = None,
    id_key: bytes | None = None,
    ids_cap: int | None = None,
    reveal_centres: Recipients = None,
    reveal_spread: bool = False,
    limits: Limits | Sequence[Limits] | None = None,
    storage: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    driver: Driver = "in-process",
    deadline: float | None = None,
    seed: int | None = None,
    progress: Watcher = None,
    stacklevel: int = 3,
    **parameters: Any,
) -> tuple[Outcome, Job, Membership | None]:
    """What the driver gave, the job and the IDs; warnings are about the line that called the caller."""
    if driver not in get_args(Driver):
        allowed = ", ".join(repr(one) for one in get_args(Driver))
        raise ParameterError(f"driver: {allowed} are possible, {driver!r} was given")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise ParameterError("seed: None or an integer >= 0 is needed")
    check_deadline(deadline)
    check_resume(resume, possible=storage is not None and driver == "multiprocess")
    own = limits_of(limits, members)
    for member, one in zip(members, own, strict=True):
        one.check_columns(member.columns, name=member.name)
    if progress is not None and progress != "bar" and not callable(progress):
        raise ParameterError(f"progress: 'bar' or a callable is needed, {type(progress).__name__} was given")
    of_union = (parameters.get("union", "series"), parameters.get("count_duplicates", False))
    if ids is None and (id_key, ids_cap, *of_union) != (None, None, "series", False):
        raise ParameterError("id_key, ids_cap, union, count_duplicates: only with ids")
    held = None if ids is None else membership(members, ids, key=id_key, cap=ids_cap, seed=seed)
    setup = _setup(
        members,
        held=held,
        init=init,
        bound=bound,
        limits=own,
        storage=storage,
        resume=resume,
        journals=driver == "multiprocess",
        seed=seed,
        reveal_to=_recipients(reveal_centres, members, own),
        reveal_spread=_smallest_spread(reveal_spread, members, own),
        deadline=None if deadline is None else float(deadline),
        **parameters,
    )
    if bound is None and rounded_away(setup.rows, bound=setup.job.bound, precision=setup.job.precision):
        text = few_steps(setup.rows, names=setup.names, precision=setup.job.precision)
        warnings.warn(PrecisionWarning(text), stacklevel=stacklevel)
    warning = setup.job.privacy_warning()
    if warning is not None:
        warnings.warn(warning, stacklevel=stacklevel)
    with _watched(progress, setup.job) as on_progress:
        outcome = _DRIVERS[driver](setup, on_progress)
    faults = outcome.faults.describe([member.name for member in members])
    if setup.job.reveal_to and outcome.centres is None:
        faults = "; ".join(filter(None, (faults, "too few were left to open the centres")))
    if faults:
        warnings.warn(
            FaultWarning("; ".join([faults, *map(str, outcome.lost.values())])), stacklevel=stacklevel
        )
    if not outcome.converged:
        text = f"max_iter: {setup.job.max_iter} iterations did not converge"
        warnings.warn(ConvergenceWarning(text), stacklevel=stacklevel)
    return outcome, setup.job, held


def limits_of(given: object, members: list[Party]) -> list[Limits]:
    """Each party's limits."""
    if given is None:
        return [Limits()] * len(members)
    each = list(given) if isinstance(given, list | tuple) else [given] * len(members)
    limits = [one for one in each if isinstance(one, Limits)]
    if len(limits) < len(each):
        other = next(type(one).__name__ for one in each if not isinstance(one, Limits))
        raise ParameterError(f"limits: a secfc.Limits is needed, {other} was given")
    if len(limits) != len(members):
        raise ParameterError(f"limits: of {len(limits)} parties, there are {len(members)}")
    return limits


def _recipients(given: object, members: list[Party], limits: list[Limits]) -> tuple[int, ...]:
    """Clients that centres are revealed to, if every party consents."""
    if given is None:
        return ()
    if isinstance(given, str) and given == "all":
        chosen = set(range(len(members)))
    else:
        chosen = set()
        for at in given if isinstance(given, list | tuple) else [given]:
            if isinstance(at, bool) or not isinstance(at, int | np.integer) or not 0 <= at < len(members):
                raise ParameterError(
                    f"reveal_centres: 'all' or positions of parties, 0 to {len(members) - 1}, are needed"
                )
            chosen.add(int(at))
    against = [one.name for one, own in zip(members, limits, strict=True) if not own.reveal_centres]
    if chosen and against:
        raise LimitError(
            f"reveal_centres: {', '.join(against)} did not consent (limits.reveal_centres); nothing was sent"
        )
    return tuple(at + 1 for at in sorted(chosen))


def _smallest_spread(given: object, members: list[Party], limits: list[Limits]) -> int | None:
    """The smallest cluster whose spread is opened, the largest of all limits; None opens none."""
    if not isinstance(given, bool):
        raise ParameterError(f"reveal_spread: a bool is needed, {type(given).__name__} was given")
    if not given:
        return None
    consented = [own.reveal_spread for own in limits if own.reveal_spread is not None]
    if len(consented) < len(members):
        against = [one.name for one, own in zip(members, limits, strict=True) if own.reveal_spread is None]
        raise LimitError(
            f"reveal_spread: {', '.join(against)} did not consent (limits.reveal_spread); nothing was sent"
        )
    return max(consented)


def _watched(progress: Watcher, job: Job) -> AbstractContextManager[OnProgress | None]:
    if progress == "bar":
        from secfc.progress import progress_bar  # noqa: PLC0415 - rich, for those who look

        return progress_bar(n=job.n, max_iter=job.max_iter)
    return nullcontext(None if isinstance(progress, str) else progress)


def _setup(
    members: list[Party],
    *,
    held: Membership | None,
    init: str | Sequence[Any],
    bound: float | None,
    limits: list[Limits],
    storage: str | os.PathLike[str] | None,
    resume: bool | None,
    journals: bool,
    seed: int | None,
    deadline: float | None,
    **parameters: Any,
) -> Setup:
    """Check everything that can be checked before a party is started."""
    if bound is None:
        bound = max(largest_norm(member.rows, name=member.name) for member in members)
    if not is_number(bound):
        raise ParameterError(f"bound: a number is needed, {type(bound).__name__} was given")
    if isinstance(bound, int) and abs(bound) > sys.float_info.max:
        raise ParameterError("bound: it exceeds the largest float64")
    if held is not None:
        parameters |= held.parameters
    for name, value in parameters.items():
        if isinstance(value, np.integer):
            parameters[name] = int(value)
    job = Job(
        n=len(members),
        d=members[0].rows.shape[1],
        bound=float(bound),
        init=_start_name(init),
        **parameters,
    )
    for member in members:
        check_rows(member.rows, name=member.name, d=job.d, bound=job.bound)
    layout = Layout(tuple(member.rows.shape[0] for member in members))
    layout.check(job)
    return Setup(
        job=job,
        rows=[member.rows for member in members],
        starts=None if isinstance(init, str) else _start_labels(init, members, job),
        ids=None if held is None else held.hashed,
        salt=None if held is None else held.salt,
        names=[member.name for member in members],
        limits=limits,
        seed=None if seed is None else int(seed),
        storage=check_storage(storage, job, layout, journals=journals),
        resume=resume,
        deadline=deadline,
    )


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number of Python or NumPy; bools are none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _start_name(init: str | Sequence[Any]) -> Start:
    if isinstance(init, list | tuple) or (isinstance(init, np.ndarray) and init.ndim > 0):
        return "labels"
    if isinstance(init, str) and init in _NAMED_STARTS:
        return cast(Start, init)
    given = repr(init) if isinstance(init, str) else type(init).__name__
    allowed = ", ".join(map(repr, _NAMED_STARTS))
    raise ParameterError(f"init: {allowed} or a list of start labels is possible, {given} was given")


def _start_labels(init: Sequence[Any], members: list[Party], job: Job) -> list[Labels]:
    if len(init) != len(members):
        raise ParameterError(f"init: start labels of {len(init)} parties, there are {len(members)}")
    starts = []
    for member, given in zip(members, init, strict=True):
        try:
            labels = np.asarray(given)
        except ValueError:
            raise DataError(f"{member.name}: start labels must be a one-dimensional integer array") from None
        if labels.shape == (0,):
            labels = labels.astype(np.int32)
        check_labels(labels, name=member.name, m=member.rows.shape[0], k=job.k, least=job.least_label)
        starts.append(labels.astype(np.int32))
    job.check_start(np.concatenate(starts))
    return starts


def _result(outcome: Outcome, members: list[Party], job: Job, held: Membership | None) -> Result:
    labels = np.concatenate(outcome.labels)
    rows = outcome.union_rows
    if rows is None:
        ends = np.cumsum([member.rows.shape[0] for member in members])[:-1]
        start = np.split(outcome.start, ends)
    else:
        start = [outcome.start[of_party] for of_party in rows]
    return Result(
        labels=[member.align(part) for member, part in zip(members, outcome.labels, strict=True)],
        n_iter=outcome.n_iter,
        converged=outcome.converged,
        inertia=outcome.inertia,
        sizes=set_sizes(labels, job.k),
        history=np.array(outcome.history),
        start=start,
        ids=None if held is None else held.ids,
        union_rows=rows,
        cluster_centers=outcome.centres,
        cluster_std=outcome.deviations,
        near_ties=outcome.near_ties,
        faults=outcome.faults,
        distance_counts=np.array(outcome.histogram, dtype=np.int64),
        distance_edges=np.linspace(0.0, outcome.largest, len(outcome.histogram) + 1),
        costs=outcome.costs,
        job=job,
        run_id=outcome.run_id,
    )
