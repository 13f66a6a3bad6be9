"""What a client refuses, independent of the server and the job."""

from collections.abc import Sequence
from dataclasses import dataclass

from secfc.errors import LimitError, ParameterError
from secfc.errors.codes import Code
from secfc.protocol.job.cases import Predict
from secfc.protocol.job.job import Job
from secfc.protocol.job.making import check_smallest_cell, check_smallest_spread
from secfc.protocol.job.options import check_bool, check_positive, check_share
from secfc.protocol.job.row_layout import Layout

LARGEST_SHARE = 0.5
"""The default of `Limits.largest_share` in agreed jobs; above it `secfc.run` warns. It slows down
a party that chooses rows so that labels disclose others' rows, and does not stop it (docs/threat-model.md,
"Measured attacks on labels")."""

MOST_TOLD = (1 << 32) - 1
"""The largest `smallest_set` that others are told: no run has so many rows."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a client refuses, whatever the others ask for.

    Parameters
    ----------
    smallest_set : int
        The client refuses a round with a non-empty set of fewer rows. 1 refuses nothing: relocation of empty
        clusters makes sets of one row. Where nobody learns a label but its owner, the limit is only about
        first sets, unless they are drawn in secret. In a prediction it is about the sets whose means are the
        centres, and where centres are opened about the final clusters without a recipient's rows. Then
        everybody learns the largest limit and whether a set is smaller. With weights, a set counts for its
        total weight divided by its heaviest row's weight, rounded down. This is never more than its number
        of rows.
    most_rounds : int, optional
        Most rounds that the client answers. By default the largest number of the job.
    most_rows : int, optional
        Most rows of all parties together; a client keeps a share of each row. A larger job ends the run for
        this party before memory is allocated. By default the only bound is `MAX_ROWS`.
    largest_share : float, optional
        The most that one party, or one owner in a committee's run, may have of all rows, and of all weight:
        above 0, up to 1. If a party has more, the run ends for this client before its rows are shared, with
        that party's name. Once others are left out, it ends before the first round. By default nothing is
        refused, and `secfc.run` warns above one half unless every party has set this limit. In agreed jobs
        the default is one half. There is no such check in predictions, and none with `ids`, where nobody
        knows whose rows are whose.
    never_shared : tuple of str
        If one of these columns is to be clustered, the run ends for this party before it computes anything
        from its rows. Names are known if a DataFrame or a file has them.
    reveal_centres : bool
        Whether the party consents to opening the centres of the final clusters to the clients that the job
        names. Without consent it refuses such a job. The opened values are sums over at least `smallest_set`
        rows, not counting a recipient's own rows.
    reveal_inertia : bool
        Whether the party consents to opening the inertia of the result with disclosure "labels". Without
        consent it refuses such a job. With "coded" all parties learn the inertia.
    predict : bool
        Whether the party consents to predicting the cluster of rows that do not contribute to the centres.
        Without consent it refuses such a job. `smallest_set` applies to the sets whose means are the centres.
    reveal_tables : bool
        Whether the party consents to resamples, and to opening to all clients how many rows each two
        clusters of two partitions share. Without consent it refuses such a job.
    reveal_spread : int, optional
        The smallest number of other parties' rows, 10 or more, in a cluster whose spread the party consents
        to open. The consent covers the inertia too. None, the default, is no consent.
    describe : int, optional
        The smallest number of the party's own rows, 2 or more, in a cell of a table for which it consents to
        describe columns by cluster. None, the default, is no consent.

    Notes
    -----
    These limits are not complete: a set S in one round and S plus one row in the next give that row by
    subtraction.
    """

    smallest_set: int = 1
    most_rounds: int | None = None
    most_rows: int | None = None
    largest_share: float | None = None
    never_shared: tuple[str, ...] = ()
    reveal_centres: bool = False
    reveal_inertia: bool = False
    predict: bool = False
    reveal_tables: bool = False
    reveal_spread: int | None = None
    describe: int | None = None

    def __post_init__(self) -> None:
        check_positive("limits.smallest_set", self.smallest_set)
        for name in ("reveal_centres", "reveal_inertia", "predict", "reveal_tables"):
            check_bool(f"limits.{name}", getattr(self, name))
        object.__setattr__(self, "never_shared", _names("limits.never_shared", self.never_shared))
        for name in ("most_rounds", "most_rows"):
            if (most := getattr(self, name)) is not None:
                check_positive(f"limits.{name}", most)
        if self.largest_share is not None:
            check_share("limits.largest_share", self.largest_share)
        if self.reveal_spread is not None:
            check_smallest_spread("limits.reveal_spread", self.reveal_spread)
        if self.describe is not None:
            check_smallest_cell("limits.describe", self.describe)

    def enforce(self, job: Job, *, client: int, smallest: int, round_: int) -> None:
        """Raise LimitError if a round has too small a set or its number is too large."""
        if smallest < self.smallest_set:
            raise LimitError(
                f"client {client} answers for sets of at least {self.smallest_set} rows, but round "
                f"{round_} has a set of {smallest}",
                code=Code.LIMIT_SMALLEST_SET,
            )
        self.check_round(job, client=client, round_=round_)

    def check_round(self, job: Job, *, client: int, round_: int) -> None:
        """Raise LimitError if the number of a round is too large."""
        most = min(self.most_rounds or job.max_rounds, job.max_rounds)
        if round_ > most:
            raise LimitError(
                f"client {client} answers {most} rounds at most, but round {round_} would begin",
                code=Code.LIMIT_ROUNDS,
            )

    def check_rows(self, job: Job, *, name: str, m: int) -> None:
        """Raise LimitError, before a share is made, if m rows of all parties are too many, or too few."""
        if self.most_rows is not None and m > self.most_rows:
            raise LimitError(
                f"{name} keeps shares of {self.most_rows} rows at most, but the parties have {m}",
                code=Code.LIMIT_ROWS,
            )
        if not isinstance(job.method, Predict) and m < job.k * self.smallest_set:
            raise LimitError(
                f"{name} answers for sets of at least {self.smallest_set} rows, but {m} rows are too few "
                f"for k={job.k} such sets",
                code=Code.TOO_FEW_ROWS,
            )

    def check_shares(self, job: Job, layout: Layout, *, name: str, names: Sequence[str] = ()) -> None:
        """Raise LimitError if a party, or owner, has more than `largest_share` of all rows or of all weight.

        `names` are those of the parties, or owners, of the layout. Without names the error has a number.
        """
        if self.largest_share is None or isinstance(job.method, Predict):
            return
        for share, party, amount in layout.largest_shares():
            if share > self.largest_share:
                number = f"{'owner' if layout.deposited else 'client'} {party}"
                raise LimitError(
                    f"{name} allows one party a share of {self.largest_share} of all rows and of all weight "
                    f"(limits.largest_share), but {names[party - 1] if names else number} has {amount}",
                    code=Code.LIMIT_SHARE,
                    clients=() if layout.deposited else (party,),
                    owners=(party,) if layout.deposited else (),
                )

    def check_consent(self, job: Job, *, name: str) -> None:
        """Raise LimitError, before anything is sent, if the job does what the party does not consent to."""
        for limit, asked, what in (
            ("reveal_centres", job.opened.to, "revealing centres"),
            ("reveal_inertia", job.disclosure.inertia, "revealing the inertia"),
            ("predict", isinstance(job.method, Predict), "predicting"),
            ("reveal_tables", job.method.resamples, "revealing tables of resamples"),
            ("reveal_spread", job.opened.spread, "revealing spreads"),
            ("describe", job.opened.described, "describing columns by cluster"),
        ):
            if asked and not getattr(self, limit):
                raise LimitError(f"{name} does not consent to {what} (limits.{limit})", code=Code.NO_CONSENT)
        described = job.opened.described
        cell = None if described is None else described.smallest
        for limit, smallest, what in (
            ("reveal_spread", job.opened.spread, "revealing spreads of clusters"),
            ("describe", cell, "describing columns by cells"),
        ):
            least = getattr(self, limit)
            if smallest is not None and smallest < (least or 0):
                consent = f"{name} consents to {what} of at least {least} rows (limits.{limit})"
                raise LimitError(f"{consent}, but the job has {smallest}", code=Code.NO_CONSENT)

    def told(self, job: Job) -> int:
        """The `smallest_set` that others are told: 1 if nothing is opened of sets that nobody sees."""
        return min(self.smallest_set, MOST_TOLD) if job.opened.to or job.hides_start else 1

    def check_columns(self, columns: Sequence[str], *, name: str) -> None:
        """Raise LimitError if one of the columns is never shared."""
        forbidden = [column for column in columns if column in self.never_shared]
        if forbidden:
            raise LimitError(
                f"{name}: the party's limits forbid sharing column {forbidden[0]!r} (limits.never_shared)"
            )


def _names(name: str, given: object) -> tuple[str, ...]:
    """Names as a tuple; JSON gives a list."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise ParameterError(f"{name}: a tuple of column names is needed, {type(given).__name__} was given")
    return tuple(given)
