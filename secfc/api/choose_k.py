"""`choose_k`: clusterings for several numbers of clusters from one sharing, compared by distances only."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from textwrap import fill
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from secfc.api.arguments import written_out
from secfc.api.by_party import reveal_of
from secfc.api.options import ChooseOptions, Driver, Ids, Reveal, RunOptions, Threshold, given_options
from secfc.api.run import run_outcome
from secfc.drivers.costs import Costs
from secfc.drivers.setup import Outcome
from secfc.errors import ParameterError
from secfc.field.array_types import Ints
from secfc.kmeans.consensus import Stable
from secfc.kmeans.sets import set_sizes
from secfc.protocol.gathering import Faults
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import Auto, Disclosure
from secfc.protocol.progress import Progress
from secfc.report.compared import MEASURES, Recommendation, StableByK, is_defined, recommended, table
from secfc.tables.parties import Party, as_parties
from secfc.tables.printed import html_table, text_table

_WIDTH = 80  # of the table as text


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """The best clustering with one number of clusters.

    Attributes
    ----------
    k : int
    inertia : float
        In the data's units squared.
    silhouette : float or None
        Simplified silhouette, 0 to 1. It compares each row's distance to its own centre with the distance to
        the next centre. Greater is better. None with disclosure "labels".
    calinski_harabasz : float
        Greater is better.
    davies_bouldin : float or None
        Less is better. None with disclosure "labels".
    n_iter : int
    converged : bool
    equal_starts, near_starts : int or None
        As for `secfc.Result`.
    sizes : ndarray of shape (k,), int64, or None
        None where no party learns labels of this clustering.
    labels : list of ndarray of shape (m_j,), int32, or None
        One per party; a Series where the party gave a DataFrame. None likewise: with disclosure "labels"
        owners learn the labels of the best k alone.

    Notes
    -----
    The three measures are nan if fewer than two clusters have rows, or if there are as many clusters as rows.
    """

    k: int
    inertia: float
    silhouette: float | None
    calinski_harabasz: float
    davies_bouldin: float | None
    n_iter: int
    converged: bool
    equal_starts: int | None
    near_starts: int | None
    sizes: Ints | None = field(repr=False)
    labels: list[Any] | None = field(repr=False)


Each = TypeVar("Each", Candidate, Stable)


@dataclass(frozen=True, kw_only=True)
class OfEachK(ABC, Generic[Each]):
    """A result with a part for each k, ascending. Index it by k. The attributes are as in `secfc.Result`."""

    faults: Faults
    costs: Costs = field(repr=False)
    job: Job = field(repr=False)

    @abstractmethod
    def __iter__(self) -> Iterator[Each]:
        """The parts."""

    def __getitem__(self, k: int) -> Each:
        for one in self:
            if one.k == k:
                return one
        raise ParameterError(f"k: {k} was not asked for, but {', '.join(str(one.k) for one in self)} were")


@dataclass(frozen=True, kw_only=True)
class Choice(OfEachK[Candidate]):
    """Result of `choose_k`: a `Candidate` for each k. Index it by k.

    Attributes
    ----------
    candidates : tuple of Candidate
        By ascending k.
    best : int
        The k whose labels the clients are sent: that with the greatest simplified silhouette; with
        disclosure "labels" the greatest Calinski-Harabasz. Of equal candidates the smallest k.
    faults, costs, job
        As in `secfc.Result`.
    stability : tuple
        That of each k, if it was measured by `secfc.stability`; else empty.
    """

    candidates: tuple[Candidate, ...]
    best: int
    stability: tuple[Any, ...] = field(default=(), repr=False)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def recommend(self, stability: StableByK | None = None) -> Recommendation:
        """The number of clusters for which most speaks (``.k``), and a sentence with the reason (``.text``).

        Stability comes first where it is known: of this choice, or that of another `secfc.stability`.
        """
        found = recommended(self.candidates, self.stability if stability is None else stability)
        if found.k is None or self[found.k].labels is not None:
            return found
        return Recommendation(found.k, f"{found.text} The labels here are those of k = {self.best}.")

    def to_dict(self) -> dict[str, Any]:
        """Everything except labels and single messages, for JSON; an undefined measure is None."""
        return {
            "best": self.best,
            "recommendation": self.recommend().text,
            "candidates": [
                {name: value for name, value in vars(one).items() if name != "labels"}
                | {name: value if is_defined(value := getattr(one, name)) else None for name in MEASURES}
                | {"sizes": None if one.sizes is None else one.sizes.tolist()}
                for one in self
            ],
            "costs": self.costs.to_dict(),
        }

    def __str__(self) -> str:
        headings, *rows = table(self.candidates, self.stability)
        parted = [one.replace("-", "- ").split() for one in headings]  # so 80 columns are enough
        heads = [("", *parts) if len(parts) == 1 else parts for parts in parted]
        shown = text_table([*zip(*heads, strict=True), *rows], ">" * len(headings))
        return f"{shown}\n{fill(self.recommend().text, _WIDTH)}"

    def _repr_html_(self) -> str:
        return html_table(table(self.candidates, self.stability), self.recommend().text)

    def plot_k(self, stability: StableByK | None = None) -> Any:
        """What the candidates are compared by, one below the other, as a matplotlib figure.

        The recommended k is marked. `stability` is as for `recommend`.
        """
        from secfc.report.plots import plot_k  # noqa: PLC0415 - an extra

        return plot_k(self.candidates, self.stability if stability is None else stability)


@written_out(Threshold, ChooseOptions)
def choose_k(
    parties: Sequence[Any] | Mapping[str, Any],
    ks: Sequence[int],
    t: int | None = None,
    ell: int | None = None,
    *,
    init: str = "auto",
    n_init: int | Auto = "auto",
    max_iter: int = 300,
    seed: int | None = None,
    disclosure: Disclosure = "labels",
    ids: Ids = None,
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
) -> Choice:
    """Cluster with every k of a range on one sharing, and compare the clusterings.

    The comparison uses only the distances of the iterations. What is learned in `secfc.run` is learned for
    every k. With disclosure "labels" everybody learns the inertia of each k and of one cluster, so every
    party must consent (``reveal=secfc.Reveal(inertia=True)``). Labels are those of the best k alone.

    Parameters
    ----------
    parties : sequence
        As for `secfc.run`.
    ks : sequence of int
        Numbers of clusters, such as ``range(2, 11)``.
    **options
        As for `secfc.run`, in the order of the signature. `reveal` opens the inertia and nothing else.

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np, secfc
    >>> rng = np.random.default_rng(0)
    >>> parties = [rng.normal(size=(20, 2)) + rng.integers(3, size=(20, 1)) * 9 for _ in range(3)]
    >>> given = {"reveal": secfc.Reveal(inertia=True), "limits": secfc.Limits(reveal_inertia=True)}
    >>> choice = secfc.choose_k(parties, range(2, 5), t=1, ell=1, n_init=2, seed=0, **given)
    >>> choice.best, choice[3].sizes.tolist(), choice[2].sizes
    (3, [16, 22, 22], None)
    """
    options = given_options(locals())
    return choose_members(as_parties(parties), options, ks=ks, t=t, ell=ell)


def choose_members(
    members: list[Party], options: RunOptions, *, ks: Sequence[int], t: int | None, ell: int | None
) -> Choice:
    """`choose_k` for parties that already have names."""
    wanted = numbers_of(ks)
    only_the_inertia(options, "choose_k")
    outcome, job, _ = run_outcome(members, options, k=wanted[-1], t=t, ell=ell, compared=wanted)
    return choice_of(outcome, members, job)


def numbers_of(ks: Sequence[int]) -> tuple[int, ...]:
    """The different numbers of clusters, ascending."""
    try:
        given = np.asarray(list(ks))
        wanted = sorted(set(given.astype(np.int64, casting="safe").tolist())) if given.size else []
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("ks: a sequence of integers is needed") from None
    if not wanted:
        raise ParameterError("ks: no number of clusters is given")
    return tuple(wanted)


def only_the_inertia(options: RunOptions, name: str) -> None:
    """Raise ParameterError if more is to be opened than the function with this name opens."""
    reveal, others = reveal_of(options.reveal), [one.name for one in fields(Reveal) if one.name != "inertia"]
    if opened := [name for name in others if getattr(reveal, name) is not getattr(Reveal, name)]:
        raise ParameterError(f"reveal: {name} opens only the inertia, {', '.join(opened)} was given")


def choice_of(outcome: Outcome, members: list[Party], job: Job, stability: StableByK = ()) -> Choice:
    """The candidates of a run that compared several k by their inertia."""
    candidates = []
    for figures, labels in zip(outcome.found, outcome.found_labels, strict=True):
        known: dict[str, Any] = {"sizes": None, "labels": None}
        if figures["sizes"] is not None or figures["k"] == outcome.k:
            own = outcome.by_party(labels)
            parts = [member.align(part) for member, part in zip(members, own, strict=True)]
            known = {"sizes": set_sizes(labels, figures["k"]), "labels": parts}
        candidates.append(Candidate(**(figures | known)))
    return Choice(
        candidates=tuple(candidates),
        best=outcome.k,
        faults=outcome.faults,
        costs=outcome.costs,
        job=job,
        stability=tuple(stability),
    )
