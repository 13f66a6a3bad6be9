"""`run`: k-means over the rows of several parties."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal, TypeGuard, cast, get_args

import numpy as np

from secfc.api.arguments import written_out
from secfc.api.by_party import (
    HeldIds,
    check_told,
    committee_of,
    comparers_of,
    computing_parties,
    described_of,
    limits_of,
    membership,
    recipients,
    reveal_of,
    smallest_spread,
    weights_of,
)
from secfc.api.given_centres import nearest_given
from secfc.api.options import Driver, Ids, Reveal, RunOptions, Threshold, given_options
from secfc.api.result import Result
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.in_process import run_in_process
from secfc.drivers.multiprocess import run_multiprocess
from secfc.drivers.setup import OnProgress, Outcome, Setup, check_deadline, check_threads
from secfc.errors import (
    ConvergenceWarning,
    DataError,
    FaultWarning,
    ParameterError,
    PrecisionWarning,
    PrivacyWarning,
    ThresholdError,
    each,
)
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Labels
from secfc.kmeans.sets import set_sizes
from secfc.lagrange.basis import recovery_threshold
from secfc.operations.ending.noise import noise_of
from secfc.protocol.gathering import Faults
from secfc.protocol.job.cases import Own, Predict, Start, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import LARGEST_SHARE, Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.job.options import (
    Auto,
    Disclosure,
    Iterating,
    check_choice,
    check_seed,
    options_of,
    shared,
)
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.job.thresholds import ELEVEN, default_start, default_threshold, fitting
from secfc.protocol.progress import Progress
from secfc.report.fault_texts import described_faults
from secfc.sharing.row_checks import as_labels, check_rows, largest_norm
from secfc.tables.parties import Party, as_parties, in_order, is_frame
from secfc.tables.rounding import few_steps, rounded_away

_CALLER = 5
"""Stack level of a warning in `run_outcome`, so that it points to the line that called `run` or similar."""

_NAMED_STARTS = options_of(RunOptions)["init"][1].choices
_DRIVERS: dict[Driver, Callable[[Setup, OnProgress | None], Outcome]] = {
    "in-process": run_in_process,
    "multiprocess": run_multiprocess,
}


@written_out(Threshold, RunOptions)
def run(
    parties: Sequence[Any] | Mapping[str, Any],
    k: int,
    t: int | None = None,
    ell: int | None = None,
    *,
    init: Any = "auto",
    n_init: int | Auto = "auto",
    max_iter: int = 300,
    seed: int | None = None,
    disclosure: Disclosure = "labels",
    ids: Ids = None,
    sample_weight: Sequence[Any] | None = None,
    reveal: Reveal | None = None,
    limits: Limits | Sequence[Limits] | None = None,
    bound: float | None = None,
    step: float | None = None,
    precision: int = 32,
    tol_moved: float = 0.0,
    max_liars: int = 0,
    comparers: Sequence[int] | None = None,
    committee: int | Sequence[int] | None = None,
    describe: Sequence[Any] | Mapping[str, Any] | None = None,
    driver: Driver = "in-process",
    threads: int | None = None,
    deadline: float | None = None,
    progress: Callable[[Progress], None] | Literal["bar"] | None = None,
) -> Result:
    """Cluster the rows of all parties as Lloyd's k-means would if they were pooled (SecFC).

    Parameters
    ----------
    parties : sequence of array of shape (m_j, d), DataFrame (pandas, Polars) or SciPy sparse matrix
        One per client, numbers only; a party may be empty. Or a dict of them by name: errors and warnings
        show the names, the result has the dict's order, and what an option has for each party may be a dict
        with the same names. A sparse matrix is converted to a dense one, because shares are dense.
    k : int
        Number of clusters.
    **options
        In the order of the signature.

    Returns
    -------
    Result

    Raises
    ------
    SecFCError
        The text names the party, the argument and the wrong number. Nothing has been shared then.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ended the best start, or clusters of the result have no rows.
    FaultWarning
        If clients vanished or lied and the run continued without them.
    PrecisionWarning
        If the given bound is so large that most rows are rounded to few different values. If the bound is
        computed from the data, and one row or columns far from 0 make it too large, it is a DataError.
    PrivacyWarning
        If segments are so narrow that the server sees distances of single columns, if t or ell is chosen by
        default for fewer than eleven parties, and if one party has more than half of all rows or weight.

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
    options = given_options(locals())
    if describe is not None:
        from secfc.prepare.describing import taken_apart  # noqa: PLC0415 - imports pyarrow only for columns

        parties, tables = taken_apart(parties, describe)
        options = replace(options, describe=tables)
    try:
        result = run_parties(as_parties(parties), options, k=k, t=t, ell=ell)
        return replace(result, parties=tuple(parties)) if isinstance(parties, Mapping) else result
    except ThresholdError as error:
        if t is None or ell is None:
            raise
        n = len(committee_of(committee, len(parties)))
        fits = fitting(n, t, ell)
        if not fits or n >= recovery_threshold(t, ell):
            raise
        fit = f"secfc.run(parties, k={k}, t={fits[0][0]}, ell={fits[0][1]})"
        raise ThresholdError(f"{error}: {fit}") from None


def run_parties(
    members: list[Party], options: RunOptions, *, k: int, t: int | None, ell: int | None
) -> Result:
    """`run` for parties that already have names."""
    outcome, job, held = run_outcome(members, options, k=k, t=t, ell=ell)
    return _result(outcome, members, job, held)


def run_outcome(
    members: list[Party], options: RunOptions, **parameters: Any
) -> tuple[Outcome, Job, HeldIds | None]:
    """The driver's outcome, the job and the IDs.

    `parameters` are those of the job that are no options: k, t, ell, and `compared` or `predict`.
    """
    check_choice("driver", options.driver, get_args(Driver))
    options = by_position(options, members)
    given = parameters["t"], parameters["ell"]
    computing = computing_parties(members, options)
    t, ell = default_threshold(len(computing), *given, max_liars=options.max_liars)
    parameters |= {"t": t, "ell": ell}
    seed, progress = options.seed, options.progress
    seed = int(seed) if isinstance(seed, np.integer) else seed
    check_seed(seed)
    check_deadline(options.deadline)
    check_threads(options.threads)
    limits = limits_of(options.limits, members)
    for member, own in zip(members, limits, strict=True):
        own.check_columns(member.columns, name=member.name)
    if progress is not None and progress != "bar" and not callable(progress):
        raise ParameterError(f"progress: 'bar' or a callable is needed, {type(progress).__name__} was given")
    held = None
    if options.ids is not None:
        held = membership(members, options.ids, seed=seed)
    parameters |= {"seed": seed, "n": len(computing)}
    setup = _setup(members, options, held=held, limits=limits, parameters=parameters)
    _check_steps(setup, members, options)
    if options.committee is not None:
        setup = _deposited(setup, computing, options)
    if None in given and len(computing) < ELEVEN:
        chosen = f"{len(computing)} parties: t = {t} and ell = {ell} by default"
        promised = PrivacyWarning(f"{chosen}; up to {t} of the parties together learn nothing")
        warnings.warn(promised, stacklevel=_CALLER)
    warning = setup.job.privacy_warning()
    if warning is not None:
        warnings.warn(warning, stacklevel=_CALLER)
    with _watched(progress, setup.job) as on_progress:
        outcome = _DRIVERS[options.driver](setup, on_progress)
    outcome = _with_table(outcome, setup)
    told = []
    if outcome.faults != Faults():
        told.append(described_faults(outcome.faults, setup.job, setup.parties))
    if setup.job.opened.to and outcome.centres is None:
        told.append("too few clients were left to open the centres")
    told += map(str, outcome.lost.values())
    told += [f"{members[j - 1].name}: {text}" for j, text in outcome.unreadable.items()]
    if told:
        warnings.warn(FaultWarning("; ".join(told)), stacklevel=_CALLER)
    if not outcome.converged:
        text = f"max_iter: {setup.job.method.max_iter} iterations did not converge"
        warnings.warn(ConvergenceWarning(text), stacklevel=_CALLER)
    if not isinstance(setup.job.method, Predict):
        _warn_of_empty(np.concatenate(outcome.labels), outcome.k)
    return outcome, setup.job, held


def _with_table(outcome: Outcome, setup: Setup) -> Outcome:
    """The outcome with the table of described columns, if they were opened."""
    counted, schema = outcome.counted, setup.schema
    if counted is None or schema is None:
        return outcome
    from secfc.prepare.by_cluster import Table1  # noqa: PLC0415 - imports pyarrow only for columns

    names = tuple(setup.names[client - 1] for client in counted.clients)
    return replace(outcome, table=Table1(schema=schema, counted=counted, parties=names))


def by_position(options: RunOptions, members: list[Party]) -> RunOptions:
    """The options with lists instead of dicts by the parties' names."""
    found = {name: getattr(options, name) for name in ("init", "limits", "sample_weight")}
    given = {name: value for name, value in found.items() if isinstance(value, Mapping)}
    return replace(options, **{name: in_order(name, value, members) for name, value in given.items()})


def _warn_of_empty(labels: Labels, k: int) -> None:
    """Warn if clusters have no rows. `labels` are those of all rows."""
    empty = np.flatnonzero(set_sizes(labels, k) == 0)
    if empty.size:
        which = ", ".join(map(str, empty))
        text = f"k: {empty.size} of {k} clusters have no rows ({which}); there may be fewer different rows"
        warnings.warn(ConvergenceWarning(text), stacklevel=_CALLER + 1)


def _check_steps(setup: Setup, members: list[Party], options: RunOptions) -> None:
    """If rounding is too coarse: DataError for a bound computed from the data, a warning for a given one."""
    precision = setup.job.precision
    if setup.job.step is not None or not rounded_away(setup.rows, bound=setup.job.bound, precision=precision):
        return
    if options.bound is None:
        names = [member.name for member in members]
        raise DataError(few_steps(setup.rows, names=names, precision=precision), code=Code.OUT_OF_RANGE)
    text = f"precision: {precision} bits of the bound round half of all rows to few different values"
    warnings.warn(PrecisionWarning(text), stacklevel=_CALLER + 1)


def _deposited(setup: Setup, computing: list[str], options: RunOptions) -> Setup:
    """The setup of a committee's run, after owners have dealt their rows to it."""
    keeps = options.driver == "multiprocess"
    committee = Committee.of(setup.job, setup.rows, keeps=keeps, threads=setup.threads_of())
    limits = setup.limits[0] if isinstance(setup.limits, list) else setup.limits
    return replace(setup, job=committee.job, committee=committee, names=computing, limits=limits)


def _watched(
    progress: OnProgress | Literal["bar"] | None, job: Job
) -> AbstractContextManager[OnProgress | None]:
    if progress == "bar":
        from secfc.api.progress_bar import progress_bar  # noqa: PLC0415 - imports rich only for a bar

        return progress_bar(n=job.n)
    return nullcontext(None if isinstance(progress, str) else progress)


def _setup(
    members: list[Party],
    options: RunOptions,
    *,
    held: HeldIds | None,
    limits: list[Limits],
    parameters: dict[str, Any],
) -> Setup:
    """Check everything that can be checked before a party is started."""
    bound, init, deadline = options.bound, options.init, options.deadline
    if bound is None:
        bound = max(each(lambda member: largest_norm(member.rows, name=member.name), members))
    if not is_number(bound):
        raise ParameterError(f"bound: a number is needed, {type(bound).__name__} was given")
    if isinstance(bound, int) and abs(bound) > sys.float_info.max:
        raise ParameterError("bound: it exceeds the largest float64")
    reveal = reveal_of(options.reveal)
    agreed: dict[str, Any] = shared(options, Iterating) | parameters
    agreed |= {
        "reveal_inertia": reveal.inertia,
        "centres_epsilon": reveal.epsilon,
        "centres_delta": reveal.delta,
    }
    if held is not None:
        agreed["ids_cap"] = held.cap
    described = described_of(options.describe, members, limits)
    agreed |= described.of_job
    init_name, agreed["n_init"] = default_start(
        _start_name(init),
        options.n_init,
        disclosure=options.disclosure,
        compared="compared" in parameters,
    )
    for name, one in agreed.items():
        if isinstance(one, np.integer | np.floating):
            agreed[name] = one.item()
    job = make_job(
        d=members[0].rows.shape[1],
        bound=float(bound),
        init=init_name,
        reveal_to=recipients(reveal.centres, members, limits),
        comparers=comparers_of(options.comparers, parameters["n"]),
        reveal_spread=smallest_spread(reveal.spread, members, limits),
        weighted=options.sample_weight is not None,
        owners=None if options.committee is None else (),
        deposits=None if options.committee is None else "",
        **agreed,
    )
    if options.committee is not None:  # until owners have dealt
        job = replace(job, rows=Own())
    check_told(job, members, limits)

    def check(member: Party) -> None:
        check_rows(member.rows, name=member.name, d=job.d, bound=job.bound, step=job.step)

    each(check, members)
    weights = weights_of(options.sample_weight, members)
    layout = Layout(
        tuple(member.rows.shape[0] for member in members),
        weights=None if weights is None else np.concatenate(weights),
    )
    layout.check(job)
    if job.opened.noise is not None:
        noise_of(job, layout)
    if not isinstance(job.rows, Union):  # else nobody knows whose rows are whose
        _check_shares(job, layout, members, limits)
    starts = None
    if isinstance(init, list | tuple):
        starts = _start_labels(init, members, job)
    elif not isinstance(init, str):
        starts = _labels_by_centres(init, members, job)
    return Setup(
        job=job,
        rows=[member.rows for member in members],
        starts=starts,
        weights=weights,
        ids=None if held is None else held.hashed,
        salt=None if held is None else held.salt,
        columns=described.values,
        schema=described.schema,
        names=[member.name for member in members],
        limits=limits,
        deadline=None if deadline is None else float(deadline),
        threads=None if options.threads is None else int(options.threads),
    )


def _check_shares(job: Job, layout: Layout, members: list[Party], limits: list[Limits]) -> None:
    """LimitError for a party with a larger share of all rows than one of the limits allows.

    A warning for more than one half, unless every party says how much it allows.
    """
    names = [member.name for member in members]
    for own in dict.fromkeys(limits):  # of a committee's many owners all have the same
        own.check_shares(job, layout, name=names[limits.index(own)], names=names)
    if isinstance(job.method, Predict) or all(own.largest_share is not None for own in limits):
        return
    for share, party, amount in layout.largest_shares():
        if share > LARGEST_SHARE:
            text = (
                f"{names[party - 1]} has {amount}: the larger the share of a party that chooses its rows, "
                "the more of others' rows it can read from the labels; limits.largest_share refuses more"
            )
            warnings.warn(PrivacyWarning(text), stacklevel=_CALLER + 2)
            return


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number of Python or NumPy, and not a bool."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _start_name(init: object) -> Start | Auto:
    """The start's name, or "auto". For given centres it is "labels": clients give labels of their rows."""
    if isinstance(init, list | tuple) or is_frame(init) or (isinstance(init, np.ndarray) and init.ndim > 0):
        return "labels"
    if isinstance(init, str) and init in _NAMED_STARTS:
        return cast(Start | Auto, init)
    given = repr(init) if isinstance(init, str) else type(init).__name__
    allowed = ", ".join(map(repr, _NAMED_STARTS))
    raise ParameterError(
        f"init: {allowed}, an array of centres or a list of start labels is possible, {given} was given"
    )


def _start_labels(init: Sequence[Any], members: list[Party], job: Job) -> list[Labels]:
    if len(init) != len(members):
        raise ParameterError(
            f"init: start labels of {len(init)} parties were given, there are {len(members)} parties"
        )
    starts = [
        as_labels(given, name=member.name, m=member.rows.shape[0], k=job.k, least=job.least_label)
        for member, given in zip(members, init, strict=True)
    ]
    job.check_start(np.concatenate(starts))
    return starts


def _labels_by_centres(init: Any, members: list[Party], job: Job) -> list[Labels]:
    """Start labels: the nearest given centre of every row; each party computes those of its own rows."""
    centres = _as_centres(init, members, job)
    starts = [nearest_given(member.rows, centres, job.unit) for member in members]
    lonely = np.setdiff1d(np.arange(job.k), np.concatenate(starts))
    if lonely.size:
        raise ParameterError(
            f"init: {lonely.size} of {job.k} centres are not the nearest centre of any row, the first is "
            f"{lonely[0]}"
        )
    return starts


def _as_centres(init: Any, members: list[Party], job: Job) -> Floats:
    """Checked centres, shape (k, d), with columns in the order of the parties' columns."""
    needed = f"init: centres of shape ({job.k}, {job.d}) are needed"
    if not is_frame(init) and init.shape != (job.k, job.d):
        raise ParameterError(f"{needed}, {init.shape} was given")
    first = next((member for member in members if member.columns), members[0])
    (given,) = as_parties([init], ["init"], columns=first.columns, columns_of=first.name, mend="")
    if given.rows.shape != (job.k, job.d):
        raise ParameterError(f"{needed}, {given.rows.shape} was given")
    return given.rows


def _result(outcome: Outcome, members: list[Party], job: Job, held: HeldIds | None) -> Result:
    return Result(
        **shared(outcome, Result)
        | {
            "labels": [member.align(part) for member, part in zip(members, outcome.labels, strict=True)],
            "sizes": set_sizes(np.concatenate(outcome.labels), job.k),
            "history": np.array(outcome.history),
            "start": outcome.by_party(outcome.start),
            "ids": None if held is None else held.ids,
            "cluster_centers": outcome.centres,
            "cluster_std": outcome.deviations,
            "columns": next((one.columns for one in members if one.columns), ()),
            "cluster_spreads": np.array(outcome.spreads),
            "cluster_silhouettes": np.array(outcome.silhouettes),
            "job": job,
        }
    )
