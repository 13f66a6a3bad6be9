"""`predict`: the cluster of rows that were not in a run, from the labels of the rows that were."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from secfc.api.arguments import written_out
from secfc.api.by_party import check_consent, check_list, limits_of, weights_of
from secfc.api.options import Driver, RunOptions, Threshold, given_options
from secfc.api.result import Result
from secfc.api.run import by_position, is_number, run_outcome
from secfc.drivers.costs import Costs
from secfc.errors import ParameterError, each
from secfc.field.array_types import Ints, Labels
from secfc.field.fixed_point import MAX_STEPS
from secfc.protocol.gathering import Faults
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import Disclosure, check_positive
from secfc.protocol.progress import Progress
from secfc.report.frames import frame_of
from secfc.sharing.row_checks import as_labels, check_rows, largest_norm
from secfc.tables.parties import Party, as_parties, in_order


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The clusters of new rows.

    Attributes
    ----------
    labels : list of ndarray of shape (new rows of the party,), int32
        One array per party; a pandas Series with the DataFrame's index where the party gave a DataFrame.
    near_ties : int or None
        Comparisons that floating point could not decide and exact integers did.
    faults, costs, job, run_id, parties, cluster_names
        As in `secfc.Result`.
    """

    labels: list[Any] = field(repr=False)
    near_ties: int | None
    faults: Faults
    costs: Costs
    job: Job
    run_id: str
    parties: tuple[str, ...] = field(default=(), repr=False)
    cluster_names: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line for each new row, as by `secfc.Result.to_frame`."""
        return frame_of(self.labels, self.parties, self.cluster_names)


@written_out(Threshold, RunOptions)
def predict(
    parties: Sequence[Any] | Mapping[str, Any],
    labels: Sequence[Any] | Mapping[str, Any] | Result,
    new_rows: Sequence[Any] | Mapping[str, Any],
    k: int,
    t: int | None = None,
    ell: int | None = None,
    *,
    disclosure: Disclosure = "labels",
    sample_weight: Sequence[Any] | None = None,
    limits: Limits | Sequence[Limits] | None = None,
    bound: float | None = None,
    step: float | None = None,
    precision: int = 32,
    max_liars: int = 0,
    comparers: Sequence[int] | None = None,
    driver: Driver = "in-process",
    threads: int | None = None,
    deadline: float | None = None,
    progress: Callable[[Progress], None] | Literal["bar"] | None = None,
) -> Prediction:
    """Find the nearest centre of rows that were not in a run, without revealing these rows or the centres.

    The centres are the means of the rows of `parties` by their `labels`; new rows do not change them. All
    rows are shared anew. Arithmetic on the quantised rows is exact; ties go to the lowest cluster. All
    parties learn which rows are new and which clusters are empty, and with disclosure "labels" nobody learns
    a label but its owner. With "coded" all parties learn all labels, and the server the distance of every
    row, old and new, to every centre (docs/threat-model.md, What predicting gives away). Every party must
    consent in `limits` by ``Limits(predict=True)``, and `smallest_set` applies to the clusters. `bound`
    covers old and new rows.

    Parameters
    ----------
    parties : sequence, or dict by name, of array of shape (m_j, d), DataFrame or sparse matrix
        The rows of the run, one array per party. `labels` and `new_rows` may be dicts with the same names.
    labels : sequence of integer array of shape (m_j,), or Result
        ``result.labels``, or the result, whose names of clusters the prediction keeps. Rows with -1, as those
        of a party that was left out, are not shared and do not count in a centre. A cluster without rows has
        no centre and is never predicted.
    new_rows : sequence of array of shape (new rows, d), DataFrame or sparse matrix
        One array per party, with the columns of `parties`; a party may have none.
    k : int
        Number of clusters of the run.
    **options
        As for `secfc.run`, in the order of the signature.

    Returns
    -------
    Prediction

    Raises
    ------
    SecFCError
        As `secfc.run`. A party that vanishes before all rows are shared ends the prediction, because the
        centres would change without its rows.

    Examples
    --------
    >>> import numpy as np, secfc
    >>> parties = [np.array([[0.0], [0.1]]), np.array([[9.0], [9.1]]), np.array([[0.2]])]
    >>> labels = [[0, 0], [1, 1], [0]]
    >>> new = [np.array([[1.0]]), [], np.array([[8.0], [0.3]])]
    >>> consent = secfc.Limits(predict=True)
    >>> prediction = secfc.predict(parties, labels, new, k=2, t=1, ell=1, limits=consent)
    >>> [found.tolist() for found in prediction.labels]
    [[0], [], [1, 0]]
    """
    options = given_options(locals())
    members, added = _members(parties, new_rows)
    of = labels if isinstance(labels, Result) else None
    if of is not None and of.job.k != k:
        raise ParameterError(f"k: the result has {of.job.k} clusters, {k} was given")
    given: Any = labels if of is None else of.labels
    found = predict_members(members, added, given, options, k=k, t=t, ell=ell)
    names: dict[str, Any] = {"parties": tuple(parties)} if isinstance(parties, Mapping) else {}
    names |= {} if of is None else {"cluster_names": of.cluster_names}
    return replace(found, **names) if names else found


def predict_members(
    members: list[Party],
    added: list[Party],
    labels: Sequence[Any] | Mapping[str, Any],
    options: RunOptions,
    *,
    k: int,
    t: int | None,
    ell: int | None,
) -> Prediction:
    """`predict` for parties that already have names: `members` with old rows, `added` with new rows."""
    check_positive("k", k)
    options = by_position(options, members)
    check_consent("predict", members, limits_of(options.limits, members))
    bound, step = options.bound, options.step
    if bound is None:
        bound = max(each(lambda one: largest_norm(one.rows, name=one.name), [*members, *added]))
    if is_number(bound) and 0 <= bound <= sys.float_info.max:
        if not (is_number(step) and 0 < step <= sys.float_info.max and bound <= MAX_STEPS * step):
            step = None  # the job tells what is wrong with it
        for one in (*members, *added):
            check_rows(one.rows, name=one.name, d=one.rows.shape[1], bound=float(bound), step=step)
    given = _labels(labels, members, k)
    both, starts, weights = [], [], list[Ints]()
    of_rows = weights_of(options.sample_weight, members)
    for at, (member, new, of_old) in enumerate(zip(members, added, given, strict=True)):
        kept = of_old >= 0
        if of_rows is not None:  # weights of new rows are in no sum
            weights.append(np.concatenate([of_rows[at][kept], np.ones(new.rows.shape[0], dtype=np.int64)]))
        rows = np.concatenate([member.rows[kept], new.rows])
        both.append(Party(name=member.name, rows=rows, columns=member.columns or new.columns))
        starts.append(np.concatenate([of_old[kept], np.full(new.rows.shape[0], -1, dtype=np.int32)]))
    options = replace(options, sample_weight=weights or None, init=starts, max_iter=1)
    outcome, job, _ = run_outcome(both, options, k=k, t=t, ell=ell, predict=True)
    return Prediction(
        labels=[
            new.align(found[start < 0])
            for new, found, start in zip(added, outcome.labels, starts, strict=True)
        ],
        near_ties=outcome.near_ties,
        faults=outcome.faults,
        costs=outcome.costs,
        job=job,
        run_id=outcome.run_id,
    )


def _members(parties: Any, new_rows: Any) -> tuple[list[Party], list[Party]]:
    """The parties with their old rows and with their new rows, with equal columns."""
    members = as_parties(parties)
    new_rows = in_order("new_rows", new_rows, members)
    if not isinstance(new_rows, list | tuple):
        raise ParameterError("new_rows: a list with one array or DataFrame per party is needed")
    if len(new_rows) != len(members):
        raise ParameterError(
            f"new_rows: rows of {len(new_rows)} parties were given, there are {len(members)} parties"
        )
    names = [member.name for member in members] + [f"new_rows[{j}]" for j in range(len(members))]
    old = parties.values() if isinstance(parties, Mapping) else parties
    together = as_parties([*old, *new_rows], names)
    return together[: len(members)], together[len(members) :]


def _labels(labels: Any, members: list[Party], k: int) -> list[Labels]:
    labels = in_order("labels", labels, members)
    check_list("labels", labels, members)
    checked = [
        as_labels(given, name=member.name, m=member.rows.shape[0], k=k, least=-1, what="labels")
        for member, given in zip(members, labels, strict=True)
    ]
    if max(array.max(initial=-1) for array in checked) < 0:
        raise ParameterError("labels: at least one row needs a label, because otherwise there is no centre")
    return checked
