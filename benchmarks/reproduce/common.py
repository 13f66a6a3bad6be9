"""Rows of a reproduction: figures compared with the paper, and SecFC run on the same rows."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

import secfc
from plaintext_baselines import ExactLloyd
from secfc.field.array_types import Floats, Ints

_T = TypeVar("_T")
Verdict = Literal["agrees", "differs", "holds", "fails", "no figure"]

LARGEST_T = 4
"""secfc's default. The papers' 100 clients would need t = 34, with the same labels and more work."""


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """One figure of a paper, compared with ours.

    Attributes
    ----------
    name : str
        The method.
    setting : str
        Data and parameters.
    measure : str
    paper : float or None
        The published figure; None if the paper only draws it or describes it in words.
    claim : str
        In that case, what the paper says; "" if nothing can be checked.
    ours : float
    tolerance : float or None
        Largest distance to `paper` that agrees. None if there is no figure.
    verdict : {"agrees", "differs", "holds", "fails", "no figure"}
        The first two for a figure, the next two for a claim.
    note : str
        A sentence; never "" if the verdict is "differs" or "fails".
    secfc : float
        SecFC's value in the same measure, on the same rows.
    same_labels, rows : int
        Number of rows with the same label from SecFC and from exact Lloyd on the pooled rows, both from the
        same start; number of all rows. Both are sums over all runs.
    decimals : int
        Places that the figures are shown with.
    """

    name: str
    setting: str
    measure: str
    paper: float | None
    claim: str
    ours: float
    tolerance: float | None
    verdict: Verdict
    note: str
    secfc: float
    same_labels: int
    rows: int
    decimals: int
    at: tuple[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """The argument of every experiment.

    Attributes
    ----------
    quick : bool
        Minutes: fewer runs and, if a note says so, fewer rows.
    folder : Path or None
        Where data files are.
    tell : callable
        Takes lines of progress, for people.
    """

    quick: bool
    folder: Path | None
    tell: Callable[[str], None] = field(default=lambda line: None, repr=False)

    def steps(self, things: Sequence[_T], what: str = "run") -> Iterator[_T]:
        """The things in turn, each told before it is worked on."""
        for number, thing in enumerate(things, start=1):
            self.tell(f"  {what} {number} of {len(things)}")
            yield thing


@dataclass(frozen=True, kw_only=True)
class SecureRun:
    """SecFC on some parties' rows, compared with exact Lloyd on the pooled rows.

    Attributes
    ----------
    labels : list of ndarray of shape (m_j,), int64
        One array per party given.
    centres : ndarray of shape (clusters in use, d), float64
        Means of the clusters, for measures that need them. SecFC shows centres to nobody; this benchmark has
        all rows and computes them.
    same, rows : int
    """

    labels: list[Ints]
    centres: Floats
    same: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class Secure:
    """SecFC's column: its mean value over runs, and the number of rows labelled as by exact Lloyd."""

    value: float
    same: int
    rows: int

    @classmethod
    def over(cls, runs: Iterable[SecureRun], value: Callable[[SecureRun], float]) -> "Secure":
        """The column for one measure."""
        listed = list(runs)
        return cls(
            value=fmean(value(run) for run in listed),
            same=sum(run.same for run in listed),
            rows=sum(run.rows for run in listed),
        )


def secure_run(
    parties: Sequence[Floats],
    k: int,
    *,
    seed: int,
    starts: int = 1,
    committee: int | None = None,
    max_iter: int = 300,
) -> SecureRun:
    """Run SecFC and exact Lloyd from the same start, the paper's center separation.

    Parameters
    ----------
    parties : sequence of ndarray of shape (m_j, d)
        A third party without rows joins two parties, because SecFC needs three.
    k : int
    seed : int
        Of the first start; both draw the same from it.
    starts : int
        Of several starts, the one of least inertia is kept, if the central method has as many. Labels are
        compared in all of them.
    committee : int, optional
        The first `committee` parties compute, and each party deals its own rows to them. A simulation in one
        process holds the shares of all computing parties.
    max_iter : int
    """
    members = [np.asarray(rows, dtype=np.float64) for rows in parties]
    joined = [*members, *[members[0][:0]] * (3 - len(members))]
    t, ell = threshold_for(committee or len(joined), joined[0].shape[1])
    pool = np.concatenate(members)
    best, labels, same = np.inf, np.zeros(0, dtype=np.int64), 0
    for number in range(seed * starts, (seed + 1) * starts):
        with warnings.catch_warnings():
            # `max_iter` may end the run on purpose. Then both have done the same number of iterations.
            warnings.simplefilter("ignore", secfc.ConvergenceWarning)
            warnings.simplefilter("ignore", SklearnConvergenceWarning)
            result = secfc.run(
                joined,
                k,
                t,
                ell,
                committee=committee,
                init="separation",
                seed=number,
                max_iter=max_iter,
                disclosure="coded",
            )
            exact = ExactLloyd(k, init="separation", random_state=number, max_iter=max_iter).fit(joined)
        found = np.concatenate([np.asarray(own, dtype=np.int64) for own in result.labels])
        same += int((found == np.concatenate(exact.labels_)).sum())
        assert result.inertia is not None
        if result.inertia < best:
            best, labels = result.inertia, found
    return SecureRun(
        labels=list(np.split(labels, np.cumsum([len(rows) for rows in members])[:-1])),
        centres=means(pool, labels),
        same=same,
        rows=starts * len(pool),
    )


def threshold_for(n: int, d: int) -> tuple[int, int]:
    """Choose t and ell for n >= 3 clients: t = ceil(n/3) as in the paper's Figure 1, at most 4.

    Then the largest ell with segments of at least three columns; `secfc` warns about fewer columns.
    """
    t = min(math.ceil(n / 3), (n + 1) // 2 - 1, LARGEST_T)
    return t, max(1, min((n + 1) // 2 - t, d // 3))


def means(rows: Floats, labels: Ints) -> Floats:
    """Means of the clusters that have rows, in ascending order of their labels."""
    return np.array([rows[labels == one].mean(axis=0) for one in np.unique(labels)])


def judged(
    *,
    name: str,
    setting: str,
    measure: str,
    paper: float,
    ours: float,
    tolerance: float,
    otherwise: str,
    secure: Secure,
    decimals: int,
    note: str = "",
) -> FigureRow:
    """A row with a published figure. `otherwise` is its note if the figures differ."""
    agrees = abs(ours - paper) <= tolerance
    return FigureRow(
        name=name,
        setting=setting,
        measure=measure,
        paper=paper,
        claim="",
        ours=ours,
        tolerance=tolerance,
        verdict="agrees" if agrees else "differs",
        note=note if agrees else otherwise,
        secfc=secure.value,
        same_labels=secure.same,
        rows=secure.rows,
        decimals=decimals,
    )


def claimed(
    *,
    name: str,
    setting: str,
    measure: str,
    ours: float,
    secure: Secure,
    decimals: int,
    claim: str = "",
    holds: bool = True,
    otherwise: str = "",
    note: str = "",
) -> FigureRow:
    """A row that the paper describes in words or, without a `claim`, a row without anything to check."""
    verdict: Verdict = "no figure" if not claim else "holds" if holds else "fails"
    return FigureRow(
        name=name,
        setting=setting,
        measure=measure,
        paper=None,
        claim=claim,
        ours=ours,
        tolerance=None,
        verdict=verdict,
        note=otherwise if verdict == "fails" else note,
        secfc=secure.value,
        same_labels=secure.same,
        rows=secure.rows,
        decimals=decimals,
    )


def best_half(runs: Sequence[Floats], score: Sequence[float]) -> Floats:
    """Mean over the half of the runs (rounded up) with the lowest score, as in DWF's tables.

    Parameters
    ----------
    runs : sequence of ndarray of shape (measures,)
    score : sequence of float
    """
    order = np.argsort(score, kind="stable")[: (len(score) + 1) // 2]
    return np.asarray(np.mean([runs[one] for one in order], axis=0))
