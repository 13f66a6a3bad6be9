"""The cases of a job: whose rows are clustered, by which method, who learns distances, and what is opened.

Each case has only the parameters that it needs. Constants are what they would be in the other cases.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from secfc.protocol.job.options import Disclosure

Start = Literal["random", "separation", "k-means++", "labels"]
"""How the first sets are chosen; "labels": every client gives the labels of its rows."""


@dataclass(frozen=True)
class Own:
    """The clients hold the rows; `weighted` says whether every client gives public weights of its rows.

    With `totals` clients first open sums of all their values, so many of each column, and make rows of them.
    """

    weighted: bool = False
    totals: tuple[int, ...] = ()


@dataclass(frozen=True)
class Union:
    """The clients hold rows with IDs, and nobody learns whose rows of their union are whose.

    `cap` is a public bound on the number of rows of all clients. What is sent depends on it, not on how many
    rows each client holds.
    """

    cap: int
    weighted: ClassVar[bool] = False
    totals: ClassVar[tuple[int, ...]] = ()


@dataclass(frozen=True)
class Deposited:
    """Owners deposited rows before (`secfc.sharing.deposits`). The clients are a committee without own rows.

    `owners` is the number of rows of each owner, 0 for one that is left out; `digest`, in hexadecimal, is
    that of all deposits.
    """

    owners: tuple[int, ...]
    digest: str
    weighted: ClassVar[bool] = False
    totals: ClassVar[tuple[int, ...]] = ()

    @property
    def included(self) -> dict[int, int]:
        """Number of rows by owner, without owners that are left out."""
        return {owner: rows for owner, rows in enumerate(self.owners, 1) if rows}


Rows = Own | Union | Deposited


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Lloyd's iterations with one number of clusters, from `n_init` starts.

    They are repeated with so many `resamples` of the rows, and how partitions overlap is opened to clients.
    """

    k: int
    init: Start
    n_init: int
    max_iter: int
    tol_moved: float
    resamples: int = 0
    compared: ClassVar[tuple[int, ...]] = ()

    @property
    def starts(self) -> tuple[int, ...]:
        """Number of clusters of each start, in order."""
        return (self.k,) * self.n_init


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Several numbers of clusters, `compared`, ascending, on one sharing; each has `n_init` starts."""

    compared: tuple[int, ...]
    init: Start
    n_init: int
    max_iter: int
    tol_moved: float
    resamples: int = 0

    @property
    def k(self) -> int:
        """The largest number of clusters."""
        return self.compared[-1]

    @property
    def starts(self) -> tuple[int, ...]:
        """Number of clusters of each start, in order.

        One cluster comes first: its inertia is the sum of squares about the mean of all rows.
        """
        return 1, *(k for k in self.compared if k > 1 for _ in range(self.n_init))


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Start labels are kept. Rows with label -1 get the label of the nearest mean, in one round."""

    k: int
    init: ClassVar[Start] = "labels"
    n_init: ClassVar[int] = 1
    max_iter: ClassVar[int] = 1
    tol_moved: ClassVar[float] = 0.0
    resamples: ClassVar[int] = 0
    compared: ClassVar[tuple[int, ...]] = ()

    @property
    def starts(self) -> tuple[int, ...]:
        """Number of clusters of each start: there is one."""
        return (self.k,)


Method = Cluster | Compare | Predict


@dataclass(frozen=True)
class LabelsOnly:
    """Disclosure "labels": three parties compute the labels together, and nobody learns distances.

    `comparers` are the dealer, first and second evaluator; numbers above n are helpers, parties without rows
    and shares. With `inertia` everybody learns the inertia of the result.
    """

    comparers: tuple[int, ...]
    inertia: bool = False
    name: ClassVar[Disclosure] = "labels"


@dataclass(frozen=True)
class Coded:
    """Disclosure "coded", the paper's protocol: the server decodes the distances of each segment."""

    comparers: ClassVar[tuple[int, ...]] = ()
    inertia: ClassVar[bool] = False
    name: ClassVar[Disclosure] = "coded"


Disclosed = LabelsOnly | Coded


@dataclass(frozen=True)
class Noise:
    """(epsilon, delta)-differential privacy of one row's values, given the labels."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Described:
    """Columns that are not clustered and are described by cluster, to all clients.

    `categories` is the number of categories of each, 0 for a column of numbers. A cell is a column in a
    cluster. Parties of which each has `smallest` rows with a value in it hold a cell.
    """

    categories: tuple[int, ...]
    smallest: int

    @property
    def columns(self) -> int:
        """Number of columns, with the rows themselves."""
        return 1 + len(self.categories)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many numbers are opened of a cell, by column: the first is the number of rows."""
        return 1, *(categories or 3 for categories in self.categories)

    @property
    def numbers(self) -> int:
        """How many numbers are opened of a cluster."""
        return sum(self.widths)


@dataclass(frozen=True, kw_only=True)
class Centres:
    """What is opened at the end to the clients `to`, ascending; every client must consent (`Limits`).

    Centres, with noise if there is `noise`. With `spread` also the spread of each column in each cluster,
    which must have at least so many rows that are not a recipient's own. With `described` all clients learn
    a table of these columns.
    """

    to: tuple[int, ...] = ()
    spread: int | None = None
    noise: Noise | None = None
    described: Described | None = None
