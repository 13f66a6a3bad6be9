"""The checks of a new job: each parameter alone, and which parameters do not work together.

A rule is a pair: whether the job breaks it, and the text of the error. A rule may rely on those before it.
"""

import sys
from collections.abc import Iterator
from itertools import chain, pairwise
from math import inf, isfinite
from typing import get_args

from secfc.errors import ParameterError, ThresholdError
from secfc.field.fixed_point import MAX_STEPS
from secfc.option_checks import check_bool, check_choice, check_option, check_positive, check_seed
from secfc.options import AgreedClustering, choices_of, options_of
from secfc.params import (
    COMPARERS,
    MAX_CLIENTS,
    MAX_CLUSTERS,
    MAX_ROUNDS,
    SMALLEST_SPREAD,
    Job,
    Start,
    fitting,
)

_Rules = Iterator[tuple[bool, str]]


def check_job(job: Job) -> None:
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
    first = _of_numbers, _of_step, _of_start, _of_comparers, _of_compared, _of_recipients, _of_predict
    then = _of_spread, _of_owners, _of_weights, _of_inertia, _of_noise
    for broken, text in chain.from_iterable(rules(job) for rules in (*first, *then)):
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


def _set(job: Job, name: str, value: object) -> None:
    object.__setattr__(job, name, value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _clients(numbers: tuple[int, ...]) -> str:
    return f"clients {', '.join(map(str, numbers))} (client 1 is the first party)"


def _of_numbers(job: Job) -> _Rules:
    yield job.k > MAX_CLUSTERS, f"k: at most {MAX_CLUSTERS} clusters, {job.k} was given"
    yield job.n > MAX_CLIENTS, f"parties: at most {MAX_CLIENTS}, {job.n} were given"
    known = isinstance(job.bound, float) and isfinite(job.bound) and job.bound >= 0
    yield not known, f"bound: a finite number >= 0 is needed, {job.bound!r} was given"


def _of_step(job: Job) -> _Rules:
    step = job.step
    if step is None:
        return
    yield not _is_number(step), f"step: a number is needed, {type(step).__name__} was given"
    possible = 0 < step <= sys.float_info.max
    yield not possible, f"step: a finite number above 0 is needed, {step!r} was given"
    _set(job, "step", float(step))
    yield (
        job.precision != Job.precision,
        f"precision: not with step, which represents rows exactly; {job.precision} was given",
    )
    yield (
        job.bound > MAX_STEPS * job.unit,
        f"step: the bound {job.bound!r} has more than 2**{MAX_STEPS.bit_length() - 1} steps of "
        f"{job.step!r}; leave step out, precision is cheaper then",
    )
    least = sys.float_info.min  # smaller floats have fewer digits than the decimal number
    yield step < least, f"step: at least {least!r} is needed, {job.step!r} was given"


def _of_start(job: Job) -> _Rules:
    check_choice("init", job.init, get_args(Start))
    check_seed(job.seed)
    given = job.init == "labels"
    yield (
        given and job.n_init != 1,
        f"n_init: 1 is needed with given centres or start labels, {job.n_init} was given",
    )
    yield (
        given and job.ids_cap is not None,
        "init: given centres or start labels are not possible with ids, because start labels would show the "
        "server which party has which rows",
    )
    yield (
        job.max_liars > 0 and job.disclosure == "distances",
        "max_liars: 0 or another disclosure ('coded' or 'labels') is needed, because wrong answers cannot be "
        f"located under masks that cancel; disclosure='distances' and {job.max_liars} were given",
    )


def _of_comparers(job: Job) -> _Rules:
    comparers = job.comparers
    if job.disclosure != "labels":
        for name, given in (
            ("comparers", bool(comparers)),
            ("link", job.link != "lan"),
        ):
            yield given, f"{name}: with disclosure {job.disclosure!r} nobody compares"
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


def _of_compared(job: Job) -> _Rules:
    if not job.compared:
        return
    for k in job.compared:
        check_positive("compared", k)
    ascending = all(a < b for a, b in pairwise(job.compared)) and job.compared[-1] == job.k
    yield not ascending, f"compared: ascending numbers up to k={job.k} are needed"
    yield job.init == "labels", "init: given start labels have one k, but several k are compared"
    yield (
        not job.tells_inertia,
        "reveal_inertia: True is needed to compare several k with disclosure 'labels', because they are "
        "compared by their inertia; every party must consent (in a command --reveal-inertia --consent all)",
    )


def _of_recipients(job: Job) -> _Rules:
    for client in job.reveal_to:
        check_positive("reveal_centres", client)
    yield (
        any(a >= b for a, b in pairwise(job.reveal_to)) or max(job.reveal_to, default=1) > job.n,
        f"reveal_centres: different clients of 1 to {job.n} are needed, ascending",
    )


def _of_predict(job: Job) -> _Rules:
    check_bool("predict", job.predict)
    needed = job.init, job.max_iter, job.tol_moved, job.reveal_to
    yield (
        job.predict and needed != ("labels", 1, 0.0, ()),
        "predict: init='labels', max_iter=1, tol_moved=0 and no reveal_centres are needed, because a "
        "prediction moves and opens no centre",
    )


def _of_spread(job: Job) -> _Rules:
    if job.reveal_spread is None:
        return
    check_smallest_spread("reveal_spread", job.reveal_spread)
    yield not job.reveal_to, "reveal_spread: only with reveal_centres; the same parties receive the spreads"
    yield (
        job.max_liars > 0,
        "reveal_spread: max_liars=0 is needed, because the masks of sums of squares are not checked; "
        f"{job.max_liars} was given",
    )
    yield (
        job.tol_moved > 0,
        "reveal_spread: tol_moved=0 is needed, because otherwise the inertia refers to means of earlier sets "
        f"and together with spreads discloses more about the rows that moved; {job.tol_moved!r} was given",
    )
    yield job.ids_cap is not None, "reveal_spread: not with ids (docs/decisions/024-spreads-by-consent.md)"


def _of_owners(job: Job) -> _Rules:
    yield (job.owners is None) != (job.deposits is None), "owners, deposits: both are needed, or none"
    if job.owners is None:
        return
    for rows in job.owners:
        wrong = isinstance(rows, bool) or not isinstance(rows, int) or rows < 0
        yield wrong, f"owners: numbers of rows are needed, {rows!r} was given"
    for name, asked in (
        ("ids", job.ids_cap is not None),
        ("init by labels or centres", job.init == "labels"),
        ("reveal_centres", bool(job.reveal_to)),
    ):
        yield asked, f"{name}: not with a committee (docs/decisions/051-owners-and-a-committee.md)"


def _of_weights(job: Job) -> _Rules:
    check_bool("weighted", job.weighted)
    for what, asked in (
        ("with ids", job.ids_cap is not None),
        ("with a committee", job.owners is not None),
        ("where several k are compared", bool(job.compared)),
    ):
        yield job.weighted and asked, f"sample_weight: not {what} (docs/decisions/056-weights.md)"


def _of_inertia(job: Job) -> _Rules:
    check_bool("reveal_inertia", job.reveal_inertia)
    yield (
        job.reveal_inertia and job.disclosure != "labels",
        f"reveal_inertia: only with disclosure 'labels'; with {job.disclosure!r} everybody learns the "
        "inertia",
    )
    yield job.reveal_inertia and job.predict, "reveal_inertia: a prediction has no inertia"


def _of_noise(job: Job) -> _Rules:
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
    for what, asked in (
        (f"disclosure {job.disclosure!r}, which tells distances", job.disclosure != "labels"),
        ("reveal_inertia, which tells the inertia", job.reveal_inertia),
        ("reveal_spread, which tells sums of squares", job.reveal_spread is not None),
    ):
        yield given and asked, f"centres_epsilon: not with {what} without noise"


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
            f"max_iter, n_init: the job has {job.max_rounds} rounds, {MAX_ROUNDS} are possible"
        )
    if n < job.threshold + 2 * job.max_liars:
        most = (n - job.threshold) // 2
        raise ThresholdError(
            f"max_liars: n >= R + 2A must hold, but {n} < {job.threshold} + 2 * {job.max_liars}; "
            f"with {n} clients, t={t} and ell={ell} at most max_liars={most} fits"
        )
