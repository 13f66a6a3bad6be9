"""Subcommands and their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import secfc
from secfc.cli.bench import bench
from secfc.cli.endings import plain_endings
from secfc.cli.files import Options, run_files, sources
from secfc.cli.flare import flare
from secfc.cli.job import audit, job
from secfc.cli.keys import ids_key, keygen, roster
from secfc.cli.prepare import prepare
from secfc.cli.reproduce import reproduce
from secfc.limits import Limits

app = typer.Typer(
    help="Exact, secure k-means over data that may not be pooled.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(bench, name="bench")
app.add_typer(flare, name="flare")
app.add_typer(roster, name="roster")
app.add_typer(job, name="job")
app.command(epilog="Example: secfc keygen north.key --name north --organisation 'North Hospital'")(keygen)
app.command(name="ids-key", epilog="Example: secfc ids-key ids.key")(ids_key)
app.command(epilog="Example: secfc audit job.summary.json --job job.toml")(audit)
app.command(epilog="Example: secfc prepare a.csv b.csv c.csv --schema schema.toml --t 1 --out prepared")(
    prepare
)
app.command(epilog="Example: secfc reproduce notebook --data-dir data")(reproduce)


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


# Options that several commands have.
Threshold = Annotated[int, typer.Option("--t", help="Colluding parties that learn nothing.")]
Segments = Annotated[int, typer.Option("--ell", help="Segments of a row; 2(ell + t) - 1 parties are needed.")]
Columns = Annotated[str, typer.Option(help="Columns to cluster, separated by commas; all by default.")]
Dropped = Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="Column of row IDs: not clustered, written beside the labels.")
]
Membership = Annotated[
    bool,
    typer.Option("--membership", help="Hide whose rows are whose: share by the union of the IDs of --id."),
]
IdsCap = Annotated[
    int | None,
    typer.Option(help="Public bound on all rows; by default from the data. With --membership."),
]
MaxIter = Annotated[int, typer.Option(help="Most iterations of a start.")]
Precision = Annotated[int, typer.Option(help="Bits of a row relative to the bound.")]
Bound = Annotated[float | None, typer.Option(help="Public bound on a row's norm; by default from the data.")]
DriverOption = Annotated[DriverName, typer.Option(help="All parties in one process, or a process each.")]
Deadline = Annotated[
    float | None,
    typer.Option(help="Seconds without progress after which parties that are waited for are given up."),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"secfc {secfc.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Exact, secure k-means over data that may not be pooled."""


@app.command(epilog="Example: secfc run a.csv b.csv c.csv -k 4 --t 1 --ell 1 --out result --drop label")
def run(
    k: Annotated[int, typer.Option("-k", "--clusters", help="Clusters.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results; must not hold anything.")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="One file per party: .csv with a header, .parquet or .npy.")
    ] = None,
    urls: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            help="A party's database (postgresql://host/name, sqlite:///file or duckdb:///file, without a "
            "password), or a .csv or .parquet file to query; repeatable.",
        ),
    ] = None,
    queries: Annotated[
        list[str] | None,
        typer.Option("--query", help="SELECT for each --from, or one for all; a file is the table 'data'."),
    ] = None,
    t: Threshold = 4,
    ell: Segments = 2,
    columns: Columns = "",
    drop: Dropped = "",
    id_column: IdColumn = None,
    membership: Membership = False,
    ids_cap: IdsCap = None,
    init: Annotated[StartName, typer.Option(help="How the first sets are chosen.")] = StartName.random,
    n_init: Annotated[int, typer.Option(help="Starts; the best is kept, sharing is paid once.")] = 1,
    max_iter: MaxIter = 300,
    precision: Precision = 32,
    bound: Bound = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of public choices; masks never depend on it.")
    ] = None,
    storage: Annotated[
        Path | None, typer.Option(help="Folder for shares, and for journals from which killed parties go on.")
    ] = None,
    disclosure: Annotated[
        DisclosureName,
        typer.Option(
            help="What the server receives: distances alone, or coded distances (needed with --max-liars)."
        ),
    ] = DisclosureName.distances,
    smallest_set: Annotated[
        int, typer.Option(help="Every party refuses rounds with a set of fewer rows, 0 excepted.")
    ] = 1,
    most_rounds: Annotated[int | None, typer.Option(help="Rounds that every party answers at most.")] = None,
    never_share: Annotated[
        str, typer.Option(help="Columns that end the run if they are to be clustered, separated by commas.")
    ] = "",
    driver: DriverOption = DriverName.multiprocess,
    max_liars: Annotated[
        int, typer.Option(help="Parties that may send wrong answers; takes two more parties for each.")
    ] = 0,
    compare_rounds: Annotated[
        bool, typer.Option("--compare-rounds", help="Parties compare each assignment before they answer.")
    ] = False,
    deadline: Deadline = None,
    report: Annotated[Path | None, typer.Option(help="Also write one self-contained HTML page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, not tables.")] = False,
    log: Annotated[Path | None, typer.Option(help="Append log lines to this file.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no table.")] = False,
) -> None:
    """Cluster the rows of several files as if they were pooled; write labels per file and a summary."""
    with plain_endings():
        options = Options(
            files=sources(files or [], urls or [], queries or []),
            k=k,
            out=out,
            t=t,
            ell=ell,
            columns=_names(columns),
            drop=_names(drop),
            id_column=id_column,
            membership=membership,
            ids_cap=ids_cap,
            init=init.value,
            n_init=n_init,
            max_iter=max_iter,
            precision=precision,
            bound=bound,
            seed=seed,
            storage=storage,
            disclosure=disclosure.value,
            limits=Limits(
                smallest_set=smallest_set, most_rounds=most_rounds, never_shared=_names(never_share)
            ),
            driver=driver.value,
            max_liars=max_liars,
            comparison="rounds" if compare_rounds else "end",
            deadline=deadline,
            quiet=quiet,
            report=report,
            as_json=as_json,
            log=log,
        )
        run_files(options)


@app.command(epilog="Example: secfc demo")
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the random start.")] = 0,
) -> None:
    """Eleven clients and a server, a process each, cluster handwritten digits that they may not pool."""
    from secfc.cli.demo import run_demo  # noqa: PLC0415 - scikit-learn takes a second to import

    with plain_endings():
        run_demo(seed=seed)


@app.command(epilog="Example: secfc choose-k a.csv b.csv c.csv --from 2 --to 8 --t 1 --ell 1 --plot k.png")
def choose_k(
    files: Annotated[
        list[Path], typer.Argument(help="One file per party: .csv with a header, .parquet or .npy.")
    ],
    first: Annotated[int, typer.Option("--from", help="Least number of clusters.")] = 2,
    last: Annotated[int, typer.Option("--to", help="Greatest number of clusters.")] = 10,
    t: Threshold = 4,
    ell: Segments = 2,
    columns: Columns = "",
    drop: Dropped = "",
    id_column: IdColumn = None,
    membership: Membership = False,
    ids_cap: IdsCap = None,
    init: Annotated[StartName, typer.Option(help="How the first sets are chosen.")] = StartName.plus_plus,
    n_init: Annotated[int, typer.Option(help="Starts for each number; the best is kept.")] = 5,
    max_iter: MaxIter = 300,
    precision: Precision = 32,
    bound: Bound = None,
    seed: Annotated[int | None, typer.Option(help="Seed of public choices.")] = None,
    driver: DriverOption = DriverName.multiprocess,
    deadline: Deadline = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also write a picture; needs the extra 'plots' (matplotlib).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Compare numbers of clusters on one sharing: inertia and its knee, and three measures."""
    from secfc.cli.choose import print_choice  # noqa: PLC0415

    with plain_endings():
        print_choice(
            files=files,
            ks=range(first, last + 1),
            columns=_names(columns),
            drop=_names(drop),
            id_column=id_column,
            membership=membership,
            ids_cap=ids_cap,
            plot=plot,
            as_json=as_json,
            t=t,
            ell=ell,
            init=init.value,
            n_init=n_init,
            max_iter=max_iter,
            precision=precision,
            bound=bound,
            seed=seed,
            driver=driver.value,
            deadline=deadline,
            progress=None if quiet else "bar",
        )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
