"""Makes jobs of options, the only place that does: which options go together, and what each of them needs.

All pairs of features that are not in `APART` go together. docs/optional.md has the same pairs, and tests run
every pair. A rule is a pair: whether it is broken, and the text of the error. A rule may rely on those before
it.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from math import inf, isfinite
from typing import Any, get_args

from secfc.errors import ParameterError, ThresholdError
from secfc.field.fixed_point import MAX_STEPS
from secfc.protocol.job.cases import Compare, LabelsOnly, Start
from secfc.protocol.job.job import Job
from secfc.protocol.job.job_options import JobOptions, as_options, job_of
from secfc.protocol.job.options import (
    AgreedClustering,
    Resampling,
    check_bool,
    check_choice,
    check_option,
    check_positive,
    check_seed,
    choices_of,
    options_of,
)
from secfc.protocol.job.thresholds import (
    COMPARERS,
    MAX_CLIENTS,
    MAX_CLUSTERS,
    MAX_ROUNDS,
    MAX_TABLED,
    SMALLEST_CELL,
    SMALLEST_SPREAD,
    fitting,
)

FEATURES: dict[str, Callable[[JobOptions], bool]] = {
    "disclosure 'labels'": lambda given: given.disclosure == "labels",
    "disclosure 'coded'": lambda given: given.disclosure == "coded",
    "comparers": lambda given: bool(given.comparers),
    "ids": lambda given: given.ids_cap is not None,
    "committee": lambda given: given.owners is not None,
    "sample_weight": lambda given: given.weighted,
    "precision": lambda given: given.precision != JobOptions.precision,
    "step": lambda given: given.step is not None,
    "predict": lambda given: given.predict,
    "compared": lambda given: bool(given.compared),
    "init by labels or centres": lambda given: given.init == "labels",
    "init 'separation'": lambda given: given.init == "separation",
    "init 'k-means++'": lambda given: given.init == "k-means++",
    "n_init": lambda given: given.n_init != 1,
    "tol_moved": lambda given: given.tol_moved > 0,
    "reveal_centres": lambda given: bool(given.reveal_to),
    "reveal_spread": lambda given: given.reveal_spread is not None,
    "reveal_inertia": lambda given: given.reveal_inertia,
    "centres_epsilon": lambda given: given.centres_epsilon is not None,
    "resamples": lambda given: given.resamples > 0,
    "max_liars": lambda given: given.max_liars > 0,
    "describe": lambda given: bool(given.described),
}
"""Features by name, and whether a job has one. "compared" is `secfc.choose_k`."""

APART = {
    ("init 'separation'", "disclosure 'labels'"): "it needs distances that the server decodes",
    ("comparers", "disclosure 'coded'"): "nobody compares",
    ("reveal_inertia", "disclosure 'coded'"): "everybody learns the inertia",
    ("centres_epsilon", "disclosure 'coded'"): "it tells distances without noise",
    ("init 'k-means++'", "disclosure 'coded'"): "the server would learn each row's distance to single rows",
    ("sample_weight", "disclosure 'coded'"): "the paper's protocol has no weights",
    ("ids", "committee"): "an owner would have to know the union",
    ("sample_weight", "ids"): "a weight tells whose row it is",
    ("predict", "ids"): "start labels would show the server which party has which rows",
    ("init by labels or centres", "ids"): "start labels would show the server which party has which rows",
    ("reveal_spread", "ids"): "nobody may know whose rows a spread counts",
    ("centres_epsilon", "ids"): "no use of both is known",
    ("sample_weight", "committee"): "a deposit has no weights",
    ("predict", "committee"): "a deposit has no start labels",
    ("init by labels or centres", "committee"): "a deposit has no start labels",
    ("reveal_centres", "committee"): "members do not know which rows are a recipient's own",
    ("reveal_spread", "committee"): "members do not know which rows are a recipient's own",
    ("centres_epsilon", "committee"): "no centres are opened",
    ("sample_weight", "compared"): "the measures are of rows",
    ("precision", "step"): "with a step rows are represented exactly",
    ("centres_epsilon", "step"): "exact rows are of no use under noise",
    ("predict", "compared"): "a prediction has one k",
    ("predict", "n_init"): "a prediction has one round",
    ("predict", "tol_moved"): "a prediction moves no centre",
    ("reveal_centres", "predict"): "a prediction opens no centre",
    ("reveal_spread", "predict"): "a prediction opens no centre",
    ("centres_epsilon", "predict"): "a prediction opens no centre",
    ("reveal_inertia", "predict"): "a prediction has no inertia",
    ("init by labels or centres", "compared"): "start labels have one k",
    ("init 'separation'", "compared"): "no use of both is known",
    ("centres_epsilon", "compared"): "the inertia of each k is told without noise",
    ("n_init", "init by labels or centres"): "there is one start",
    ("reveal_spread", "max_liars"): "the masks of sums of squares are not checked",
    ("reveal_spread", "tol_moved"): "the inertia is of earlier sets and tells more about rows that moved",
    ("centres_epsilon", "reveal_spread"): "spreads tell sums of squares without noise",
    ("centres_epsilon", "reveal_inertia"): "the inertia is told without noise",
    ("resamples", "disclosure 'coded'"): "everybody would learn the labels of every resample",
    ("resamples", "ids"): "no party's share of the rows is limited, and by that tables tell others' rows",
    ("resamples", "committee"): "tables are opened to clients, and owners do not consent to that",
    ("resamples", "sample_weight"): "a resample gives each row a weight of its own",
    ("resamples", "predict"): "a prediction moves no centre",
    ("resamples", "init by labels or centres"): "each resample has starts of its own",
    ("resamples", "centres_epsilon"): "tables tell sizes of clusters, and of changed ones, without noise",
    ("describe", "disclosure 'coded'"): "the server learns all labels, and whose rows it can tell apart",
    ("describe", "ids"): "nobody may know whose rows are in a table",
    ("describe", "committee"): "owners know their labels only after the run",
    ("describe", "sample_weight"): "a table counts rows",
    ("describe", "predict"): "a prediction opens nothing of other rows",
    ("describe", "compared"): "owners learn labels of one k alone",
    ("describe", "centres_epsilon"): "the table is told without noise",
}
"""Pairs that do not go together, with the reason."""

_Rules = Iterator[tuple[bool, str]]


def make_job(**given: Any) -> Job:
    """The job of the options of `JobOptions`, by name; lists and tuples are equal.

    ParameterError names the option and says what would fit; `ThresholdError` for too few clients.
    """
    options = JobOptions(**given)
    _check_options(options)
    _check_combinations(options)
    of_values = _of_numbers, _of_step, _of_compared, _of_predict, _of_deposits, _of_totals, _of_spread
    _check(rules(options) for rules in (*of_values, _of_noise, _of_resamples, _of_described))
    job = job_of(options)
    _check(rules(job) for rules in (_of_unit, _of_comparers, _of_inertia, _of_recipients))
    _check_threshold(job)
    return job


def changed_job(job: Job, **changes: Any) -> Job:
    """A job with other options."""
    return make_job(**as_options(job) | changes)


def _check_combinations(given: JobOptions) -> None:
    """Raise ParameterError, with both names and the reason, if two features do not go together."""
    used = {name for name, has in FEATURES.items() if has(given)}
    for (one, other), reason in APART.items():
        if one in used and other in used:
            raise ParameterError(f"{one}: not with {other}: {reason}")


def _check_options(given: JobOptions) -> None:
    """Raise ParameterError, which names the option and says what would fit, unless each has a value."""
    for name in ("n", "k", "t", "ell", "d"):
        check_positive(name, getattr(given, name))
    for name, (one, what) in (options_of(AgreedClustering) | options_of(Resampling)).items():
        if getattr(given, name) is not None or one.default is not None:
            check_option(name, getattr(given, name), what, choices_of(one))
    for name in ("predict", "weighted", "reveal_inertia"):
        check_bool(name, getattr(given, name))
    check_choice("init", given.init, get_args(Start))
    check_seed(given.seed)


def check_smallest_spread(name: str, value: object) -> None:
    """Raise ParameterError unless a value is an integer of at least `SMALLEST_SPREAD`."""
    check_positive(name, value)
    if isinstance(value, int) and value < SMALLEST_SPREAD:
        raise ParameterError(
            f"{name}: at least {SMALLEST_SPREAD} rows are needed, because sums of fewer rows disclose them; "
            f"{value} was given"
        )


def check_smallest_cell(name: str, value: object) -> None:
    """Raise ParameterError unless a value is an integer of at least `SMALLEST_CELL`."""
    check_positive(name, value)
    if isinstance(value, int) and value < SMALLEST_CELL:
        raise ParameterError(f"{name}: at least {SMALLEST_CELL} rows are needed in a cell, {value} was given")


def _check(rules: Iterable[_Rules]) -> None:
    """Raise ParameterError for the first rule that is broken."""
    for broken, text in chain.from_iterable(rules):
        if broken:
            raise ParameterError(text)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _clients(numbers: tuple[int, ...]) -> str:
    return f"clients {', '.join(map(str, numbers))} (client 1 is the first party)"


def _of_numbers(given: JobOptions) -> _Rules:
    yield given.k > MAX_CLUSTERS, f"k: at most {MAX_CLUSTERS} clusters, {given.k} was given"
    yield given.n > MAX_CLIENTS, f"parties: at most {MAX_CLIENTS}, {given.n} were given"
    known = isinstance(given.bound, float) and isfinite(given.bound) and given.bound >= 0
    yield not known, f"bound: a finite number >= 0 is needed, {given.bound!r} was given"


def _of_compared(given: JobOptions) -> _Rules:
    if not given.compared:
        return
    for k in given.compared:
        check_positive("compared", k)
    ascending = all(a < b for a, b in pairwise(given.compared)) and given.compared[-1] == given.k
    yield not ascending, f"compared: ascending numbers up to k={given.k} are needed"


def _of_predict(given: JobOptions) -> _Rules:
    yield (
        given.predict and (given.init, given.max_iter) != ("labels", 1),
        "predict: init='labels' and max_iter=1 are needed, because a prediction moves no centre",
    )


def _of_step(given: JobOptions) -> _Rules:
    step = given.step
    if step is None:
        return
    yield not _is_number(step), f"step: a number is needed, {type(step).__name__} was given"
    possible = 0 < step <= sys.float_info.max
    yield not possible, f"step: a finite number above 0 is needed, {step!r} was given"


def _of_deposits(given: JobOptions) -> _Rules:
    yield (given.owners is None) != (given.deposits is None), "owners, deposits: both are needed, or none"
    for rows in given.owners or ():
        wrong = isinstance(rows, bool) or not isinstance(rows, int) or rows < 0
        yield wrong, f"owners: numbers of rows are needed, {rows!r} was given"


def _of_totals(given: JobOptions) -> _Rules:
    own = given.ids_cap is None and given.owners is None
    yield bool(given.totals) and not own, "totals: only where clients hold the rows, and without ids"
    for size in given.totals:
        check_positive("totals", size)


def _of_spread(given: JobOptions) -> _Rules:
    if given.reveal_spread is None:
        return
    check_smallest_spread("reveal_spread", given.reveal_spread)
    text = "reveal_spread: only with reveal_centres; the same parties receive the spreads"
    yield not given.reveal_to, text


def _of_described(given: JobOptions) -> _Rules:
    both = "describe: described columns and the smallest cell are needed, or none"
    yield bool(given.described) != (given.smallest_cell is not None), both
    for categories in given.described:
        wrong = isinstance(categories, bool) or not isinstance(categories, int) or categories < 0
        yield wrong, f"describe: numbers of categories are needed, {categories!r} was given"
    if given.smallest_cell is not None:
        check_smallest_cell("describe", given.smallest_cell)


def _of_noise(given: JobOptions) -> _Rules:
    for name, below, range_ in (
        ("centres_epsilon", inf, "above 0"),
        ("centres_delta", 1, "above 0 and below 1"),
    ):
        value = getattr(given, name)
        if value is not None:
            possible = _is_number(value) and 0 < value < below
            yield not possible, f"{name}: a number {range_} is needed, {value!r} was given"
    noise = given.centres_epsilon is not None
    both = "centres_epsilon: only with centres_delta, and centres_delta only with it"
    yield noise != (given.centres_delta is not None), both
    recipients = "centres_epsilon: only with reveal_centres, to whose parties centres are opened"
    yield noise and not given.reveal_to, recipients


def _of_resamples(given: JobOptions) -> _Rules:
    if not given.resamples:
        return
    yield given.resamples < 2, "resamples: 2 or more are needed, because they are compared with each other"
    # Limits count the rows of public sets, and a resample gives them weights.
    yield given.init != "k-means++", "resamples: init='k-means++' is needed, whose first sets are secret"
    sets = given.k * (given.resamples + 1)
    yield (
        sets > MAX_TABLED,
        f"resamples: k={given.k} clusters of {given.resamples} resamples and of all rows are {sets} sets, "
        f"tables of {MAX_TABLED} are possible: at most {MAX_TABLED // given.k - 1} resamples with this k",
    )


def _of_unit(job: Job) -> _Rules:
    if job.step is None:
        return
    yield (
        job.bound > MAX_STEPS * job.unit,
        f"step: the bound {job.bound!r} has more than 2**{MAX_STEPS.bit_length() - 1} steps of "
        f"{job.step!r}; leave step out, precision is cheaper then",
    )
    least = sys.float_info.min  # smaller floats have fewer digits than the decimal number
    yield job.step < least, f"step: at least {least!r} is needed, {job.step!r} was given"


def _of_comparers(job: Job) -> _Rules:
    comparers = job.comparers
    if not isinstance(job.disclosure, LabelsOnly):
        return
    for client in comparers:
        check_positive("comparers", client)
    yield (
        not COMPARERS == len(set(comparers)) == len(comparers),
        f"comparers: three different parties are needed; given were {_clients(comparers)}",
    )
    yield (
        {one for one in comparers if one > job.n} != set(range(job.n + 1, job.parties + 1)),
        f"comparers: clients have the numbers 1 to {job.n}, helpers {job.n + 1}, {job.n + 2} and so on; "
        f"given were {_clients(comparers)}",
    )


def _of_inertia(job: Job) -> _Rules:
    yield (
        isinstance(job.method, Compare) and not (job.tells_inertia or job.method.resamples),
        "reveal_inertia: True is needed to compare several k with disclosure 'labels', because they are "
        "compared by their inertia; every party must consent (in a command --reveal-inertia --consent all)",
    )


def _of_recipients(job: Job) -> _Rules:
    recipients, n = job.opened.to, job.n
    for client in recipients:
        check_positive("reveal_centres", client)
    yield (
        any(a >= b for a, b in pairwise(recipients)) or max(recipients, default=1) > n,
        f"reveal_centres: different clients of 1 to {n} are needed, ascending",
    )


def _check_threshold(job: Job) -> None:
    n, t, ell = job.n, job.t, job.ell
    if n < job.threshold:
        fits = " or ".join(f"t={a}, ell={b}" for a, b in fitting(n, t, ell))
        end = f"with {n} clients {fits} fit" if fits else "no (t, ell) fits fewer than 3 clients"
        raise ThresholdError(
            f"too few clients: n >= 2(ell + t) - 1 must hold, but {n} < 2({ell} + {t}) - 1 = "
            f"{job.threshold}; {end}"
        )
    if job.max_rounds > MAX_ROUNDS:
        raise ParameterError(
            f"max_iter, n_init, resamples: the job has {job.max_rounds} rounds, {MAX_ROUNDS} are possible"
        )
    if n < job.threshold + 2 * job.max_liars:
        most = (n - job.threshold) // 2
        raise ThresholdError(
            f"max_liars: n >= R + 2A must hold, but {n} < {job.threshold} + 2 * {job.max_liars}; "
            f"with {n} clients, t={t} and ell={ell} at most max_liars={most} fits"
        )
