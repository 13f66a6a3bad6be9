"""Options that several commands have."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from secfc.errors import ParameterError
from secfc.limits import Limits
from secfc.params import Job


class StartName(StrEnum):
    """Starts that a command line can name."""

    random = "random"
    separation = "separation"
    plus_plus = "k-means++"


class DisclosureName(StrEnum):
    """What the server receives."""

    distances = "distances"
    coded = "coded"


class DriverName(StrEnum):
    """Drivers that run on one machine."""

    in_process = "in-process"
    multiprocess = "multiprocess"


REFUSED, MACHINE = "What every party refuses", "How the parties are run, and what is shown"
"""Headings of the help."""

OPENED = "What is opened, if every party consents"
"""Likewise."""

Files = Annotated[
    list[Path] | None, typer.Argument(help="One file per party: .csv with a header, .parquet or .npy.")
]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        help="A party's database (postgresql://host/name, sqlite:///file or duckdb:///file, without a "
        "password), or a .csv or .parquet file to query; repeatable.",
    ),
]
Queries = Annotated[
    list[str] | None,
    typer.Option("--query", help="SELECT for each --from, or one for all; a file is the table 'data'."),
]
Dropped = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out, separated by commas; repeatable.")
]
Precision = Annotated[int, typer.Option(help="Bits of a row relative to the bound.")]
Deadline = Annotated[
    float | None,
    typer.Option(
        help="Seconds without progress after which parties that are waited for are given up.",
        rich_help_panel=MACHINE,
    ),
]


def names_of(texts: str | list[str] | None) -> tuple[str, ...]:
    """Names that commas separate, in one text or in several."""
    given = [texts] if isinstance(texts, str) else texts or []
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the parties are run, and what each of them refuses."""

    smallest_set: Annotated[
        int,
        typer.Option(
            help="Every party refuses rounds with a set of fewer rows, 0 excepted.", rich_help_panel=REFUSED
        ),
    ] = 1
    most_rounds: Annotated[
        int | None, typer.Option(help="Rounds that every party answers at most.", rich_help_panel=REFUSED)
    ] = None
    most_rows: Annotated[
        int | None,
        typer.Option(
            help="Rows of all parties that every party keeps shares of at most.", rich_help_panel=REFUSED
        ),
    ] = None
    never_share: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that end the run if they are to be clustered, separated by commas; repeatable.",
            rich_help_panel=REFUSED,
        ),
    ] = None
    bound: Annotated[
        float | None, typer.Option(help="Public bound on a row's norm; by default from the data.")
    ] = None
    storage: Annotated[
        Path | None,
        typer.Option(
            help="Folder for shares, and for journals from which killed parties go on.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--no-resume",
            help="Go on with the run in --storage whose command was killed, by that command; or remove it.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    driver: Annotated[
        DriverName,
        typer.Option(help="All parties in one process, or a process each.", rich_help_panel=MACHINE),
    ] = DriverName.multiprocess
    deadline: Deadline = None
    log: Annotated[
        Path | None, typer.Option(help="Append log lines to this file.", rich_help_panel=MACHINE)
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=MACHINE)
    ] = False
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="No progress bar, and no table of what is in --out.",
            rich_help_panel=MACHINE,
        ),
    ] = False

    @property
    def goes_on(self) -> bool:
        """Whether the same command can go on with a run that was interrupted."""
        return self.storage is not None and self.driver is DriverName.multiprocess

    def limits(self) -> Limits:
        """What every party refuses."""
        return Limits(
            smallest_set=self.smallest_set,
            most_rounds=self.most_rounds,
            most_rows=self.most_rows,
            never_shared=names_of(self.never_share),
        )

    def arguments(self) -> dict[str, Any]:
        """Arguments of the Python function, by name."""
        return {
            "limits": self.limits(),
            "bound": self.bound,
            "storage": self.storage,
            "resume": self.resume,
            "driver": self.driver.value,
            "deadline": self.deadline,
            "progress": None if self.quiet else "bar",
        }


@dataclass(frozen=True, kw_only=True)
class Clustering(Running):
    """What is clustered and how."""

    t: Annotated[int, typer.Option("--t", help="Colluding parties that learn nothing.")] = 4
    ell: Annotated[
        int, typer.Option("--ell", help="Segments of a row; 2(ell + t) - 1 parties are needed.")
    ] = 2
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to cluster, separated by commas, repeatable; all by default."),
    ] = None
    drop: Dropped = None
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Column of row IDs: not clustered, written beside the labels. With --membership, compared "
            "as text in Unicode's NFC without blanks at either end; case and leading zeros count.",
        ),
    ] = None
    membership: Annotated[
        bool,
        typer.Option(
            "--membership", help="Hide whose rows are whose: share by the union of the IDs of --id."
        ),
    ] = False
    ids_cap: Annotated[
        int | None,
        typer.Option(help="Public bound on all rows; by default from the data. With --membership."),
    ] = None
    init: Annotated[StartName, typer.Option(help="How the first sets are chosen.")] = StartName.random
    n_init: Annotated[int, typer.Option(help="Starts; the best is kept, sharing is paid once.")] = Job.n_init
    max_iter: Annotated[int, typer.Option(help="Most iterations of a start.")] = Job.max_iter
    precision: Precision = Job.precision
    seed: Annotated[int | None, typer.Option(help="Seed of public choices; masks never depend on it.")] = None
    disclosure: Annotated[
        DisclosureName,
        typer.Option(
            help="What the server receives: distances alone, or coded distances (needed with --max-liars)."
        ),
    ] = DisclosureName.distances
    max_liars: Annotated[
        int, typer.Option(help="Parties that may send wrong answers; takes two more parties for each.")
    ] = Job.max_liars
    compare_rounds: Annotated[
        bool, typer.Option("--compare-rounds", help="Parties compare each assignment before they answer.")
    ] = False

    @property
    def goes_on(self) -> bool:
        """Whether the same command can go on with a run that was interrupted."""
        return super().goes_on and not (self.membership and self.seed is None)

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises
        ------
        ParameterError
        """
        if self.membership and self.id_column is None:
            raise ParameterError("--membership: --id must name the column of row IDs")
        if self.ids_cap is not None and not self.membership:
            raise ParameterError("--ids-cap: only with --membership")

    def arguments(self) -> dict[str, Any]:
        """Arguments of the Python function, by name; IDs are read from the files."""
        return super().arguments() | {
            "t": self.t,
            "ell": self.ell,
            "ids_cap": self.ids_cap,
            "init": self.init.value,
            "n_init": self.n_init,
            "max_iter": self.max_iter,
            "precision": self.precision,
            "seed": self.seed,
            "disclosure": self.disclosure.value,
            "max_liars": self.max_liars,
            "comparison": "rounds" if self.compare_rounds else "end",
        }


@dataclass(frozen=True, kw_only=True)
class Choosing(Clustering):
    """Better starts and more of them, since clusterings are compared."""

    init: Annotated[StartName, typer.Option(help="How the first sets are chosen.")] = StartName.plus_plus
    n_init: Annotated[
        int, typer.Option(help="Starts for each number of clusters; the best is kept, sharing is paid once.")
    ] = 5


@dataclass(frozen=True, kw_only=True)
class Revealing(Clustering):
    """Also, what is opened in the end, to whom, and who consents."""

    reveal_centres: Annotated[
        str | None,
        typer.Option(
            help="Parties, by the names of their files without the ending, or 'all', that learn the centres: "
            "each gets NAME.centres.csv in --out. Separated by commas.",
            rich_help_panel=OPENED,
        ),
    ] = None
    reveal_spread: Annotated[
        bool,
        typer.Option(
            "--reveal-spread",
            help="The same parties also learn standard deviations: NAME.spreads.csv.",
            rich_help_panel=OPENED,
        ),
    ] = False
    consent: Annotated[
        str | None,
        typer.Option(
            help="Parties that consent to that, or 'all'; NAME=ROWS consents to spreads too, of clusters "
            "with at least so many rows of others, 10 or more. Separated by commas. You speak for all of "
            "them here; across organisations each says it in its own site file.",
            rich_help_panel=OPENED,
        ),
    ] = None
