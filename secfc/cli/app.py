"""The subcommands and their options."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import secfc
from secfc.cli.agreed.consortium_command import consortium
from secfc.cli.agreed.deposit_command import deposit
from secfc.cli.agreed.job_command import audit, job
from secfc.cli.agreed.keys_command import ids_key, keygen, roster
from secfc.cli.command_options import (
    ONE_FILE_PER_PARTY,
    Choosing,
    Files,
    Predicting,
    Queries,
    Revealing,
    Urls,
)
from secfc.cli.endings import PlainGroup, scripted
from secfc.cli.grouped import grouped
from secfc.cli.prepare_command import prepare
from secfc.errors import missing
from secfc.protocol.job.options import OPENED

_CLUSTER, _AGREE = "Cluster", "Agree across organisations"

app = typer.Typer(
    cls=PlainGroup,
    help="Exact, secure k-means over data that may not be pooled.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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


@app.command(
    rich_help_panel=_CLUSTER,
    epilog="Example: secfc run a.csv b.csv c.csv -k 4 --t 1 --ell 1 --out result --drop label",
)
@scripted
@grouped
def run(
    k: Annotated[int, typer.Option("-k", "--clusters", help="Clusters.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results; must be new or empty.")],
    files: Files = None,
    urls: Urls = None,
    queries: Queries = None,
    report: Annotated[Path | None, typer.Option(help="Also write one self-contained HTML page.")] = None,
    *,
    options: Revealing,
) -> dict[str, Any]:
    """Cluster the rows of several files as if they were pooled; write labels per file and a summary."""
    from secfc.cli.inputs import sources
    from secfc.cli.run_command import run_files

    parties = sources(files or [], urls or [], queries or [], options.text_format)
    return run_files(parties, k, options, out=out, report=report)


@app.command(
    rich_help_panel=_CLUSTER,
    epilog="Example: secfc predict a.csv b.csv c.csv --run result --new a=admitted.csv --consent all "
    "--out predicted",
)
@scripted
@grouped
def predict(
    run: Annotated[Path, typer.Option("--run", help="Folder of results that secfc run wrote.")],
    new: Annotated[
        list[str],
        typer.Option(
            help="NAME=FILE: FILE has new rows of the party NAME, the name of its file without the ending; "
            "repeatable."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for the labels; must be new or empty.")],
    files: Files = None,
    urls: Urls = None,
    queries: Queries = None,
    consent: Annotated[
        str | None,
        typer.Option(
            help="Parties that consent to predicting, by name, separated by commas, or 'all'. Here you "
            "consent for all of them.",
            rich_help_panel=OPENED,
        ),
    ] = None,
    *,
    options: Predicting,
) -> dict[str, Any]:
    """Find the cluster of new rows, without showing them or the centres to anybody.

    FILES are those of the run. Their rows are shared again with the labels in --run, and one round of
    distances decides. k, t, ell, precision and other agreed options are those of the run.
    """
    from secfc.cli.inputs import sources
    from secfc.cli.predict_command import predict_files

    parties = sources(files or [], urls or [], queries or [], options.text_format)
    return predict_files(parties, run, new, consent, options, out=out)


@app.command(
    rich_help_panel=_CLUSTER,
    epilog="Example: secfc report result --out page.html --order size --names mild,severe",
)
@scripted
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of results that secfc run wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The HTML page to write; a new file.")],
    party: Annotated[
        str | None, typer.Option(help="The copy of this party, by the name of its file without the ending.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Order of the clusters: 'size', or a column whose means were opened.")
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="Names of the clusters in this order, separated by commas.")
    ] = None,
) -> dict[str, Any]:
    """Write the page of a run again from its folder of results. An agreed job has secfc audit --report."""
    from secfc.cli.report_command import report_folder

    report_folder(folder, out, party=party, order=order, names=names)
    return {"page": str(out)}


@app.command(rich_help_panel=_CLUSTER, epilog="Example: secfc demo")
def demo(seed: Annotated[int, typer.Option(help="Seed of the random start.")] = 0) -> None:
    """Cluster handwritten digits of five clients that do not pool them; each party is a process."""
    if find_spec("sklearn") is None:
        raise missing("scikit-learn", "secfc demo", "sklearn")
    from secfc.cli.demo_command import run_demo

    run_demo(seed=seed)


@app.command(
    rich_help_panel=_CLUSTER,
    epilog="Example: secfc choose-k a.csv b.csv c.csv --from 2 --to 8 --t 1 --ell 1 --plot k.png",
)
@scripted
@grouped
def choose_k(
    files: Annotated[list[Path], ONE_FILE_PER_PARTY],
    first: Annotated[int, typer.Option("--from", help="Smallest number of clusters.")] = 2,
    last: Annotated[int, typer.Option("--to", help="Largest number of clusters.")] = 10,
    plot: Annotated[
        Path | None, typer.Option(help="Also write a picture; needs the extra 'plots' (matplotlib).")
    ] = None,
    *,
    options: Choosing,
) -> dict[str, Any]:
    """Compare numbers of clusters on one sharing, and recommend one with the reason."""
    from secfc.cli.choose_command import print_choice
    from secfc.cli.inputs import sources

    return print_choice(
        sources(files, [], [], options.text_format), range(first, last + 1), options, plot=plot
    )


# These come after the commands above, so that help shows those first.
app.command(
    rich_help_panel=_CLUSTER,
    epilog="Example: secfc prepare a.csv b.csv c.csv --schema schema.toml --t 1 --out prepared",
)(prepare)
app.command(
    rich_help_panel=_AGREE,
    epilog="Example: secfc keygen north.key --name north --organisation 'North Hospital'",
)(keygen)
app.add_typer(roster, name="roster", rich_help_panel=_AGREE)
app.command(name="ids-key", rich_help_panel=_AGREE, epilog="Example: secfc ids-key ids.key")(ids_key)
app.add_typer(job, name="job", rich_help_panel=_AGREE)
app.add_typer(deposit, name="deposit", rich_help_panel=_AGREE)
app.command(rich_help_panel=_AGREE, epilog="Example: secfc audit job.summary.json --job job.toml")(audit)
app.add_typer(consortium, name="consortium", rich_help_panel=_AGREE)
