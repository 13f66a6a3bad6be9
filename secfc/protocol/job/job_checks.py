"""The checks of a new job: each parameter alone, pairs (`combinations`), and what a parameter needs.

A rule is a pair: whether the job breaks it, and the text of the error. A rule may rely on those before it.
"""

import sys
from collections.abc import Iterator
from itertools import chain, pairwise
from math import inf, isfinite
from typing import get_args

from secfc.errors import ParameterError, ThresholdError
from secfc.field.fixed_point import MAX_STEPS
from secfc.protocol.job.combinations import check_combinations
from secfc.protocol.job.job_values import JobValues
from secfc.protocol.job.option_checks import (
    check_bool,
    check_choice,
    check_option,
    check_positive,
    check_seed,
)
from secfc.protocol.job.options import AgreedClustering, choices_of, options_of
from secfc.protocol.job.retired import retired_option
from secfc.protocol.job.thresholds import (
    COMPARERS,
    MAX_CLIENTS,
    MAX_CLUSTERS,
    MAX_ROUNDS,
    SMALLEST_SPREAD,
    Start,
    fitting,
)

_Rules = Iterator[tuple[bool, str]]


def check_job(job: JobValues) -> None:
    """Check a new job, and give each parameter one form: 1 and 1.0 are one job.

    ParameterError names the parameter and says what would fit; `ThresholdError` for too few clients.
    """
    for name in ("n", "k", "t", "ell", "d"):
        check_positive(name, getattr(job, name))
    if job.disclosure == "labels" and not job.comparers:
        _set(job, "comparers", (1, 2, 3) if job.t == 1 else (1, job.n + 1, job.n + 2))
    for name in ("compared", "reveal_to", "comparers", "owners"):
        given = getattr(job, name)
        _set(job, name, None if given is None else tuple(given))  # JSON gives a list
    for name, (one, what) in options_of(AgreedClustering).items():
        if getattr(job, name) is not None or one.default is not None:
            check_option(name, getattr(job, name), what, choices_of(one))
    _set(job, "tol_moved", abs(float(job.tol_moved)))  # 0, 0.0 and -0.0 are one job
    for name in ("predict", "weighted", "reveal_inertia"):
        check_bool(name, getattr(job, name))
    check_choice("init", job.init, get_args(Start))
    check_seed(job.seed)
    check_combinations(job)
    first = _of_numbers, _of_step, _of_comparers, _of_compared, _of_recipients, _of_predict
    for broken, text in chain.from_iterable(
        rules(job) for rules in (*first, _of_spread, _of_owners, _of_noise)
    ):
        if broken:
            raise ParameterError(text)
    _check_threshold(job)


def check_smallest_spread(name: str, value: object) -> None:
    """Raise ParameterError unless a value is an integer of at least `SMALLEST_SPREAD`."""
    check_positive(name, value)
    if isinstance(value, int) and value < SMALLEST_SPREAD:
        raise ParameterError(
            f"{name}: at least {SMALLEST_SPREAD} rows are needed, because sums of fewer rows disclose them; "
            f"{value} was given"
        )


def _set(job: JobValues, name: str, value: object) -> None:
    object.__setattr__(job, name, value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _clients(numbers: tuple[int, ...]) -> str:
    return f"clients {', '.join(map(str, numbers))} (client 1 is the first party)"


def _of_numbers(job: JobValues) -> _Rules:
    yield job.k > MAX_CLUSTERS, f"k: at most {MAX_CLUSTERS} clusters, {job.k} was given"
    yield job.n > MAX_CLIENTS, f"parties: at most {MAX_CLIENTS}, {job.n} were given"
    known = isinstance(job.bound, float) and isfinite(job.bound) and job.bound >= 0
    yield not known, f"bound: a finite number >= 0 is needed, {job.bound!r} was given"


def _of_step(job: JobValues) -> _Rules:
    step = job.step
    if step is None:
        return
    yield not _is_number(step), f"step: a number is needed, {type(step).__name__} was given"
    possible = 0 < step <= sys.float_info.max
    yield not possible, f"step: a finite number above 0 is needed, {step!r} was given"
    _set(job, "step", float(step))
    yield (
        job.bound > MAX_STEPS * job.unit,
        f"step: the bound {job.bound!r} has more than 2**{MAX_STEPS.bit_length() - 1} steps of "
        f"{job.step!r}; leave step out, precision is cheaper then",
    )
    least = sys.float_info.min  # smaller floats have fewer digits than the decimal number
    yield step < least, f"step: at least {least!r} is needed, {job.step!r} was given"


def _of_comparers(job: JobValues) -> _Rules:
    comparers = job.comparers
    if job.disclosure != "labels":
        return
    for client in comparers:
        check_positive("comparers", client)
    reserves = f"; reserves: {retired_option('reserves')}" if len(comparers) > COMPARERS else ""
    yield (
        not COMPARERS == len(set(comparers)) == len(comparers),
        f"comparers: three different parties are needed; given were {_clients(comparers)}{reserves}",
    )
    yield (
        {one for one in comparers if one > job.n} != set(range(job.n + 1, job.parties + 1)),
        f"comparers: clients have the numbers 1 to {job.n}, helpers {job.n + 1}, {job.n + 2} and so on; "
        f"given were {_clients(comparers)}",
    )


def _of_compared(job: JobValues) -> _Rules:
    if not job.compared:
        return
    for k in job.compared:
        check_positive("compared", k)
    ascending = all(a < b for a, b in pairwise(job.compared)) and job.compared[-1] == job.k
    yield not ascending, f"compared: ascending numbers up to k={job.k} are needed"
    yield (
        not job.tells_inertia,
        "reveal_inertia: True is needed to compare several k with disclosure 'labels', because they are "
        "compared by their inertia; every party must consent (in a command --reveal-inertia --consent all)",
    )


def _of_recipients(job: JobValues) -> _Rules:
    for client in job.reveal_to:
        check_positive("reveal_centres", client)
    yield (
        any(a >= b for a, b in pairwise(job.reveal_to)) or max(job.reveal_to, default=1) > job.n,
        f"reveal_centres: different clients of 1 to {job.n} are needed, ascending",
    )


def _of_predict(job: JobValues) -> _Rules:
    yield (
        job.predict and (job.init, job.max_iter) != ("labels", 1),
        "predict: init='labels' and max_iter=1 are needed, because a prediction moves no centre",
    )


def _of_spread(job: JobValues) -> _Rules:
    if job.reveal_spread is None:
        return
    check_smallest_spread("reveal_spread", job.reveal_spread)
    yield not job.reveal_to, "reveal_spread: only with reveal_centres; the same parties receive the spreads"


def _of_owners(job: JobValues) -> _Rules:
    yield (job.owners is None) != (job.deposits is None), "owners, deposits: both are needed, or none"
    if job.owners is None:
        return
    for rows in job.owners:
        wrong = isinstance(rows, bool) or not isinstance(rows, int) or rows < 0
        yield wrong, f"owners: numbers of rows are needed, {rows!r} was given"


def _of_noise(job: JobValues) -> _Rules:
    for name, below, range_ in (
        ("centres_epsilon", inf, "above 0"),
        ("centres_delta", 1, "above 0 and below 1"),
    ):
        value = getattr(job, name)
        if value is not None:
            possible = _is_number(value) and 0 < value < below
            yield not possible, f"{name}: a number {range_} is needed, {value!r} was given"
            _set(job, name, float(value))
    given = job.centres_epsilon is not None
    both = "centres_epsilon: only with centres_delta, and centres_delta only with it"
    yield given != (job.centres_delta is not None), both
    recipients = "centres_epsilon: only with reveal_centres, to whose parties centres are opened"
    yield given and not job.reveal_to, recipients


def _check_threshold(job: JobValues) -> None:
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
            f"max_iter, n_init: the job has {job.max_rounds} rounds, {MAX_ROUNDS} are possible"
        )
    if n < job.threshold + 2 * job.max_liars:
        most = (n - job.threshold) // 2
        raise ThresholdError(
            f"max_liars: n >= R + 2A must hold, but {n} < {job.threshold} + 2 * {job.max_liars}; "
            f"with {n} clients, t={t} and ell={ell} at most max_liars={most} fits"
        )
