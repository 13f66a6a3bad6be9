"""Options of several commands."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secfc.api.options import (
    ChooseOptions,
    Driver,
    Execution,
    OfData,
    Reveal,
    RunOptions,
    Starting,
    Threshold,
)
from secfc.cli.grouped import typer_option
from secfc.errors import ParameterError
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.options import (
    MACHINE,
    OPENED,
    Agreed,
    AgreedClustering,
    CentreNoise,
    Resampling,
    again,
    shared,
)
from secfc.tables.sources.text_format import TextFormat

if TYPE_CHECKING:  # imported only by the commands that need it
    from secfc.prepare.column_transform import Preparation

REFUSED = "Limits of every party"  # a heading of the help

ONE_FILE_PER_PARTY = typer.Argument(
    help="One file per party: .csv, .tsv (or .gz of these), .xlsx, .parquet, .npy, or a site file (.toml)."
)
Files = Annotated[list[Path] | None, ONE_FILE_PER_PARTY]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        help="A party's database (postgresql://host/name, sqlite:///file or duckdb:///file, without a "
        "password), or a .csv, .tsv or .parquet file that --query reads; repeatable.",
    ),
]
Queries = Annotated[
    list[str] | None,
    typer.Option(
        "--query", help="One SELECT for each --from, or one for all; the table of a file is called 'data'."
    ),
]
Dropped = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out, separated by commas; repeatable.")
]
Deadline = Annotated[float | None, typer_option(Execution, "deadline")]


def names_of(texts: str | list[str] | None) -> tuple[str, ...]:
    """Names separated by commas, in one text or in several."""
    given = [texts] if isinstance(texts, str) else texts or []
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _refusal(text: str) -> Any:
    return typer.Option(help=f"Every party refuses {text}.", rich_help_panel=REFUSED)


@dataclass(frozen=True, kw_only=True, repr=False)
class Refusing:
    """What every party refuses."""

    smallest_set: Annotated[int, _refusal("a round with a set of fewer rows; empty sets are allowed")] = 1
    most_rounds: Annotated[int | None, _refusal("to answer more rounds than this")] = None
    most_rows: Annotated[int | None, _refusal("to keep shares of more rows than this")] = None
    largest_share: Annotated[
        float | None,
        _refusal(
            "to share if one party has more than this part of all rows, or of all weight: above 0, up to 1. "
            "Without it there is a warning above one half"
        ),
    ] = None
    never_share: Annotated[
        list[str] | None,
        _refusal(
            "to share these columns; the run ends if one is to be clustered. Separated by commas; repeatable"
        ),
    ] = None

    def refusals(self) -> Limits:
        """The limits of every party."""
        return Limits(
            smallest_set=self.smallest_set,
            most_rounds=self.most_rounds,
            most_rows=self.most_rows,
            largest_share=self.largest_share,
            never_shared=names_of(self.never_share),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Running(Execution, Refusing, TextFormat):
    """How the parties are run, and the format of their files."""

    driver: Driver = again(Execution, "driver", default="multiprocess")
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Print no progress and no costs, only warnings; choose-k prints its table.",
            rich_help_panel=MACHINE,
        ),
    ] = False

    @property
    def text_format(self) -> TextFormat:
        """The given format of text files."""
        return TextFormat(**shared(self, TextFormat))

    def options(self, **more: Any) -> RunOptions:
        """The options of a Python function; `more` adds or replaces some."""
        own = {"limits": self.refusals(), "progress": None if self.quiet else "bar"}
        return RunOptions(**shared(self, RunOptions) | own | more)


@dataclass(frozen=True, kw_only=True, repr=False)
class Prepared:
    """The preparation of the files, if they were prepared."""

    prepared: Annotated[
        Path | None,
        typer.Option(
            help="The preparation.json of prepared files. It gives columns and bound, and --step if every "
            "column has one and there is no --precision. Opened centres, spreads and the centres of --init "
            "are in the data's units.",
        ),
    ] = None

    @cached_property
    def preparation(self) -> "Preparation | None":
        """The preparation, or None; ParameterError for another file."""
        from secfc.prepare.preparation_file import read_preparation

        return None if self.prepared is None else read_preparation(self.prepared)

    def check_prepared(self, **given: object) -> None:
        """Raise ParameterError for options whose values the preparation already gives."""
        for name, one in given.items():
            if self.prepared is not None and one:
                raise ParameterError(f"--{name}: not with --prepared, which gives columns and bound")


@dataclass(frozen=True, kw_only=True, repr=False)
class Predicting(Running, Prepared):
    """How the parties of a prediction are run."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ClusteringFiles(Running, OfData, Starting, AgreedClustering, Threshold, Prepared):
    """What is clustered and how, who compares, and who consents."""

    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to cluster, separated by commas; repeatable; all by default."),
    ] = None
    drop: Dropped = None
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Column of row IDs. It is not clustered; it is written beside the labels. With "
            "--membership, IDs are compared as text in Unicode's NFC without blanks at either end; case "
            "and leading zeros count.",
        ),
    ] = None
    membership: Annotated[
        bool,
        typer.Option(
            "--membership",
            help="Hide which party has which rows: rows are shared by the union of the IDs of --id.",
        ),
    ] = False
    compared_by: Annotated[
        str | None,
        typer.Option(
            "--comparers",
            help="With --disclosure labels: the three parties that compare, by the names of their files, "
            "dealer first, separated by commas; 'helper' is a party without rows. By default the first "
            "three parties if t = 1, else the first party and two helpers.",
        ),
    ] = None
    consent: Annotated[
        str | None,
        typer.Option(
            help="Parties that consent to what is opened, or 'all'. With --reveal-spread NAME=ROWS allows "
            "spreads of clusters with at least ROWS rows of others, 10 or more; with --describe ROWS are the "
            "fewest of its own rows in a cell, 5 by default. Separated by commas. Here "
            "you consent for all of them; across organisations each party consents in its own site "
            "file.",
            rich_help_panel=OPENED,
        ),
    ] = None

    def check(self) -> None:
        """Raise ParameterError for options that exclude each other."""
        if self.membership and self.id_column is None:
            raise ParameterError("--membership: --id must name the column of row IDs")
        if self.ids_cap is not None and not self.membership:
            raise ParameterError("--ids-cap: only with --membership")
        self.check_prepared(columns=self.columns, drop=self.drop, bound=self.bound)

    def options(self, **more: Any) -> RunOptions:
        """The options of a Python function; IDs are read from the files."""
        own: dict[str, Any] = {}
        if self.preparation is not None:
            own["bound"] = self.preparation.bound
            if self.step is None and self.precision == Agreed.precision:
                own["step"] = self.preparation.step
        return super().options(**own | more)


@dataclass(frozen=True, kw_only=True, repr=False)
class Choosing(ClusteringFiles):
    """Options of choose-k: the start must fit every number of clusters."""

    init: str = again(ChooseOptions, "init")
    resamples: int = again(Resampling, "resamples")


@dataclass(frozen=True, kw_only=True, repr=False)
class Revealing(ClusteringFiles):
    """Options of run: a start may be a file of centres; also what is opened at the end, and to whom."""

    init: str = again(Starting, "init", choices=())
    weight_column: Annotated[
        str | None,
        typer.Option(
            "--weight",
            help="Column of weights, whole numbers of 1 or more: how many times each row counts. It is not "
            "clustered. Everybody learns the weight of every row.",
        ),
    ] = None
    described: Annotated[
        list[str] | None,
        typer.Option(
            "--describe",
            help="Columns that are not clustered and are described by cluster, in table1.csv; separated by "
            "commas; repeatable. Every party must consent.",
            rich_help_panel=OPENED,
        ),
    ] = None
    reveal_centres: Annotated[
        str | None,
        typer.Option(
            help="Parties that learn the centres, by the names of their files without the ending, or 'all'; "
            "separated by commas. Each gets NAME.centres.csv in --out.",
            rich_help_panel=OPENED,
        ),
    ] = None
    centres_epsilon: float | None = again(CentreNoise, "centres_epsilon")
    centres_delta: float | None = again(CentreNoise, "centres_delta")
    reveal_spread: bool = again(Reveal, "spread")
