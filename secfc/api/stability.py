"""`stability`: how much clusters change if rows are drawn again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from secfc.api.arguments import written_out
from secfc.api.choose_k import Choice, OfEachK, choice_of, numbers_of, only_the_inertia
from secfc.api.options import Driver, Reveal, RunOptions, StabilityOptions, Threshold, given_options
from secfc.api.run import run_outcome
from secfc.errors import ParameterError, TooManyFaultsError
from secfc.field.array_types import Floats, Ints
from secfc.kmeans.consensus import Stable
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import Auto
from secfc.protocol.progress import Progress
from secfc.report.compared import stable_lines
from secfc.tables.parties import Party, as_parties
from secfc.tables.printed import html_table, pandas, text_table


@dataclass(frozen=True, kw_only=True)
class Stability(OfEachK[Stable]):
    """Result of `stability`: a `Stable` for each k. Index it by k; with one k it has its attributes.

    With one k clusters have the numbers that `secfc.run` gives them with the same seed and options, and
    ``found.jaccard[list(result.cluster_order)]`` is in the order of ``result.ordered()``. With several k the
    numbers are others.

    Attributes
    ----------
    by_k : tuple of Stable
        By ascending k.
    labels : list of ndarray of shape (m_j,), int32
        One per party; a Series where the party gave a DataFrame. Of the clustering of all rows with
        `labels_k` clusters: with several k the best by the inertia, if it was opened, else the smallest.
    labels_k : int
    again : int
        How many resamples had fewer different rows than k, and were drawn again.
    choice : Choice or None
        The comparison of several k, if the inertia was opened.
    faults, costs, job
        As in `secfc.Result`.
    """

    by_k: tuple[Stable, ...]
    labels: list[Any] = field(repr=False)
    labels_k: int
    again: int
    choice: Choice | None = field(repr=False)

    def __iter__(self) -> Iterator[Stable]:
        return iter(self.by_k)

    @property
    def _only(self) -> Stable:
        if len(self.by_k) > 1:
            raise ParameterError(f"k: one of {', '.join(str(one.k) for one in self)}, as in stability[k]")
        return self.by_k[0]

    @property
    def jaccard(self) -> Floats:
        """See `Stable`."""
        return self._only.jaccard

    @property
    def ari(self) -> float:
        """See `Stable`."""
        return self._only.ari

    @property
    def aris(self) -> Floats:
        """See `Stable`."""
        return self._only.aris

    @property
    def dispersion(self) -> float:
        """See `Stable`."""
        return self._only.dispersion

    @property
    def tables(self) -> Ints:
        """See `Stable`."""
        return self._only.tables

    def to_dict(self) -> dict[str, Any]:
        """The measures and tables, for JSON."""
        return {"stability": [one.to_dict() for one in self], "again": self.again}

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each k and cluster."""
        columns = "k", "cluster", "size", "jaccard", "ari", "dispersion"
        lines = [
            (one.k, h, one.sizes[h], one.jaccard[h], one.ari, one.dispersion)
            for one in self
            for h in range(one.k)
        ]
        return pandas().DataFrame(lines, columns=columns)

    def plot_stability(self, names: Sequence[str] | None = None) -> Any:
        """How often clusters come again, as a matplotlib figure; with one k by cluster and `names`."""
        from secfc.report.plots import plot_stability  # noqa: PLC0415 - an extra

        return plot_stability(self, names)

    def __str__(self) -> str:
        return text_table(stable_lines(self), ">>>><")

    def _repr_html_(self) -> str:
        return html_table(stable_lines(self), f"Stability over {self.job.method.resamples} resamples")


@written_out(Threshold, StabilityOptions)
def stability(
    parties: Sequence[Any] | Mapping[str, Any],
    k: int | Sequence[int],
    t: int | None = None,
    ell: int | None = None,
    *,
    resamples: int = 20,
    init: str = "auto",
    n_init: int | Auto = "auto",
    max_iter: int = 300,
    seed: int | None = None,
    reveal: Reveal | None = None,
    limits: Limits | Sequence[Limits] | None = None,
    bound: float | None = None,
    step: float | None = None,
    precision: int = 32,
    tol_moved: float = 0.0,
    max_liars: int = 0,
    comparers: Sequence[int] | None = None,
    driver: Driver = "in-process",
    threads: int | None = None,
    deadline: float | None = None,
    progress: Callable[[Progress], None] | Literal["bar"] | None = None,
) -> Stability:
    """Cluster all rows, then bootstrap samples of them on the same sharing, and compare the partitions.

    A sample draws as many rows as there are, with replacement, by a public coin. It is clustered, and all
    rows get the label of the nearest mean. Nobody learns these labels. Clients learn how many rows each two
    clusters of two partitions share, so every party must consent
    (``limits=secfc.Limits(reveal_tables=True)``). Each sample is a run with 0.63 of the rows.

    Parameters
    ----------
    parties : sequence
        As for `secfc.run`.
    k : int or sequence of int
        Number of clusters, or several.
    **options
        As for `secfc.choose_k`. Several k are compared by their inertia too if `reveal` opens it.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import numpy as np, secfc
    >>> rng = np.random.default_rng(0)
    >>> parties = [rng.normal(size=(10, 2)) + np.arange(10)[:, np.newaxis] % 2 * 9 for _ in range(3)]
    >>> consent = secfc.Limits(reveal_tables=True)
    >>> found = secfc.stability(parties, 2, t=1, ell=1, resamples=3, seed=0, limits=consent)
    >>> found.jaccard.tolist(), found.ari, found.dispersion
    ([1.0, 1.0], 1.0, 1.0)
    """
    options = given_options(locals())
    return stability_of(as_parties(parties), options, k=k, t=t, ell=ell, resamples=resamples)


def stability_of(
    members: list[Party],
    options: RunOptions,
    *,
    k: int | Sequence[int],
    t: int | None,
    ell: int | None,
    resamples: int,
) -> Stability:
    """`stability` for parties that already have names."""
    only_the_inertia(options, "stability")
    if resamples == 0:
        raise ParameterError("resamples: 2 or more are needed, 0 was given")
    asked: dict[str, Any] = {"k": k}
    if not isinstance(k, int | np.integer):
        wanted = numbers_of(k)
        asked = {"k": wanted[-1], "compared": wanted}
    outcome, job, _ = run_outcome(members, options, t=t, ell=ell, resamples=resamples, **asked)
    if outcome.resampled is None:
        raise TooManyFaultsError("too few clients were left to tell how partitions overlap")
    compared, by_k = job.method.compared and job.tells_inertia, outcome.resampled.stable
    return Stability(
        by_k=by_k,
        labels=[member.align(part) for member, part in zip(members, outcome.labels, strict=True)],
        labels_k=outcome.k,
        again=outcome.resampled.again,
        choice=choice_of(outcome, members, job, by_k) if compared else None,
        faults=outcome.faults,
        costs=outcome.costs,
        job=job,
    )
