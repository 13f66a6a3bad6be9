"""What a client refuses, whatever the server asks and whatever the job says."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secfc.array_types import Ints, Labels
from secfc.codes import Code
from secfc.errors import LimitError, ParameterError
from secfc.params import Job, check_positive, check_smallest_spread
from secfc.row_layout import Layout

SINGLETON_STARTS = frozenset({"k-means++"})  # starts that ask for distances to single rows


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a client refuses, whatever the server asks.

    Parameters
    ----------
    smallest_set : int
        A round with a non-empty set of fewer rows is refused. 1 refuses nothing: relocation of emptied
        clusters makes sets of one row. Of rows with weights a set counts for the number of its heaviest row
        that would weigh as much, rounded down: never more than it has rows.
    most_rounds : int, optional
        Rounds answered, those counted once that are asked again of other comparers; the job's own largest
        number by default.
    most_rows : int, optional
        Rows of all parties together, of each of which a client keeps a share; a job of more ends the run for
        this party before memory is taken for them. Only `MAX_ROWS` bounds them by default.
    never_shared : tuple of str
        Columns whose presence among those to be clustered ends the run for this party before anything is made
        of its rows. Names are known where a DataFrame or a file gives them.
    reveal_centres : bool
        Whether the party consents to opening the centres of the final clusters to the clients that the job
        names; it refuses such a job otherwise. What it opens are sums over at least `smallest_set` rows, a
        recipient's own not counted.
    reveal_inertia : bool
        Whether the party consents to opening the inertia of the result where the disclosure is "labels"; it
        refuses such a job otherwise. With others everybody is told it.
    predict : bool
        Whether the party consents to predicting the cluster of rows that no centre is made of; it refuses
        such a job otherwise. `smallest_set` holds for the sets that the centres are the means of.
    reveal_spread : int, optional
        Whether the party consents to opening the spreads of the final clusters too, and the rows of others
        that a cluster has at least then, 10 or more; the inertia too. None, the default, is no consent.

    Notes
    -----
    No full barrier: a set S in one round and S with one more row in the next give that row by difference.
    """

    smallest_set: int = 1
    most_rounds: int | None = None
    most_rows: int | None = None
    never_shared: tuple[str, ...] = ()
    reveal_centres: bool = False
    reveal_inertia: bool = False
    predict: bool = False
    reveal_spread: int | None = None

    def __post_init__(self) -> None:
        check_positive("limits.smallest_set", self.smallest_set)
        for name in ("reveal_centres", "reveal_inertia", "predict"):
            if not isinstance(given := getattr(self, name), bool):
                raise ParameterError(f"limits.{name}: a bool is needed, {type(given).__name__} was given")
        object.__setattr__(self, "never_shared", _names("limits.never_shared", self.never_shared))
        for name in ("most_rounds", "most_rows"):
            if (most := getattr(self, name)) is not None:
                check_positive(f"limits.{name}", most)
        if self.reveal_spread is not None:
            check_smallest_spread("limits.reveal_spread", self.reveal_spread)

    def enforce(self, job: Job, *, client: int, smallest: int, round_: int) -> None:
        """Raise LimitError when a round has too small a set, or is one too many."""
        if smallest < self.smallest_set:
            raise LimitError(
                f"client {client} answers for sets of at least {self.smallest_set} rows, "
                f"round {round_} has one of {smallest}",
                code=Code.LIMIT_SMALLEST_SET,
            )
        most = min(self.most_rounds or job.max_rounds, job.max_rounds)
        if round_ > most:
            raise LimitError(
                f"client {client} answers {most} rounds, the server asks for round {round_}",
                code=Code.LIMIT_ROUNDS,
            )

    def check_start(self, job: Job, *, name: str, m: int | None = None) -> None:
        """Raise LimitError, before a share is made, for too many rows or sets that must be too small.

        `m` counts the rows of all parties, once they are known.
        """
        if self.smallest_set > 1 and job.init in SINGLETON_STARTS:
            raise LimitError(
                f"{name} answers for sets of at least {self.smallest_set} rows, init={job.init!r} asks about "
                f"single rows",
                code=Code.LIMIT_SMALLEST_SET,
            )
        if m is not None and self.most_rows is not None and m > self.most_rows:
            raise LimitError(
                f"{name} keeps shares of {self.most_rows} rows at most, the parties have {m}",
                code=Code.LIMIT_ROWS,
            )
        if m is not None and not job.predict and m < job.k * self.smallest_set:
            raise LimitError(
                f"{name} answers for sets of at least {self.smallest_set} rows, {m} rows cannot make "
                f"k={job.k} of them",
                code=Code.TOO_FEW_ROWS,
            )

    def check_consent(self, job: Job, *, name: str) -> None:
        """Raise LimitError, before anything is sent, if the job does what the party does not consent to."""
        for limit, asked, what in (
            ("reveal_centres", job.reveal_to, "revealing centres"),
            ("reveal_inertia", job.reveal_inertia, "revealing the inertia"),
            ("predict", job.predict, "predicting"),
            ("reveal_spread", job.reveal_spread, "revealing spreads"),
        ):
            if asked and not getattr(self, limit):
                raise LimitError(f"{name} does not consent to {what} (limits.{limit})", code=Code.NO_CONSENT)
        if job.reveal_spread is not None and job.reveal_spread < (self.reveal_spread or 0):
            raise LimitError(
                f"{name} consents to revealing spreads of at least {self.reveal_spread} rows "
                f"(limits.reveal_spread), the job reveals those of {job.reveal_spread}",
                code=Code.NO_CONSENT,
            )

    def check_columns(self, columns: Sequence[str], *, name: str) -> None:
        """Raise LimitError if one of the columns is never shared."""
        forbidden = [column for column in columns if column in self.never_shared]
        if forbidden:
            raise LimitError(f"{name}: column {forbidden[0]!r} is never shared, by the party's own limits")

    def check_revealed(self, job: Job, *, name: str, layout: Layout, labels: Labels) -> None:
        """Raise LimitError if a cluster to open is too small, or too small without a recipient's own rows.

        `labels`, shape (m,), int32, are of all rows that are in.
        """
        if not job.reveal_to:
            return
        self._check_opened(job, layout.hidden_among(labels, job.k), name=name, others="")
        for client in job.reveal_to if not layout.common else ():
            others = layout.hidden_among(labels, job.k, client)
            # A cluster of a recipient's own rows alone tells it nothing, but that nobody else is in it.
            self._check_opened(job, others, name=name, others=f" that are not client {client}'s, who gets it")

    def _check_opened(self, job: Job, sizes: Ints, *, name: str, others: str) -> None:
        for what, smallest in (("centres", self.smallest_set), ("spreads", job.reveal_spread or 1)):
            small = np.flatnonzero((sizes > 0) & (sizes < smallest))
            if not small.size:
                continue
            raise LimitError(
                f"{name} opens {what} of at least {smallest} rows, cluster {small[0]} has "
                f"{sizes[small[0]]}{others}",
                code=Code.LIMIT_SMALLEST_SET,
            )


def _names(name: str, given: object) -> tuple[str, ...]:
    """Names as a tuple; a list is what JSON makes of one."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise ParameterError(f"{name}: a tuple of column names is needed, {type(given).__name__} was given")
    return tuple(given)
