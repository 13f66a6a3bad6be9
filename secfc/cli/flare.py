"""`secfc flare`: runs across organisations on NVIDIA FLARE. docs/deployment.md walks through it."""

import tempfile
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from secfc.cli.job import CoordinatorKey, Report, SiteFiles, SummaryFile, write_page
from secfc.cli.render import console
from secfc.errors import ParameterError, PartyError
from secfc.escaping import shown
from secfc.outputs import check_new_file, check_report, replace_text

flare = typer.Typer(help="Runs across organisations on NVIDIA FLARE.", no_args_is_help=True)

_DEADLINE = 600.0
_TIMEOUT = 86400.0

JobFile = Annotated[
    Path, typer.Argument(help="The job file that all organisations have signed; signatures are beside it.")
]
Deadline = Annotated[float, typer.Option(help="Seconds that a site has to answer a call.")]
Resumable = Annotated[
    bool,
    typer.Option(
        "--resumable",
        help="The coordinator keeps a log in the server's kit: a run that was interrupted goes on when the "
        "job is submitted again. Sites keep theirs in the storage of their site files.",
    ),
]


class SideName(StrEnum):
    """Whose startup kit it is."""

    server = "server"
    site = "site"


@flare.command(epilog="Example: secfc flare export job.toml flare-job")
def export(
    job: JobFile,
    folder: Annotated[Path, typer.Argument(help="The folder to write; must not exist.")],
    deadline: Deadline = _DEADLINE,
    resumable: Resumable = False,
) -> None:
    """Write the folder that a FLARE server takes for a job: configuration only, no code and no data."""
    from secfc.drivers.flare.jobs import export_job

    export_job(job, folder, deadline=deadline, resumable=resumable)
    console().print(f"{folder}: submit it with nvflare job submit -j {folder}")


@flare.command(epilog="Example: secfc flare kit site hospital-a")
def kit(
    side: Annotated[SideName, typer.Argument(help="Whose kit it is.")],
    folder: Annotated[Path, typer.Argument(help="The startup kit that FLARE's provisioning made.")],
) -> None:
    """Have a startup kit refuse jobs that ship code, and allow the one class of secfc that it needs."""
    from secfc.drivers.flare.kits import CLASSES, prepare_kit

    prepare_kit(folder, side.value)
    console().print(f"{folder}: no code is taken from others; of classes, {CLASSES[side.value]} only")


@flare.command(epilog="Example: secfc flare poc job.toml north.toml south.toml west.toml")
def poc(
    job: JobFile,
    sites: SiteFiles,
    summary: SummaryFile = None,
    report: Report = None,
    key: CoordinatorKey = None,
    workspace: Annotated[
        Path | None, typer.Option(help="Folder to keep kits and logs in; by default none are kept.")
    ] = None,
    deadline: Deadline = _DEADLINE,
    timeout: Annotated[float, typer.Option(help="Seconds until the whole job is given up.")] = _TIMEOUT,
) -> None:
    """Run a job on this machine with a real FLARE server and site processes and mutual TLS.

    Labels and signed statements are where the site files say, the summary of all statements beside the job.
    """
    with tempfile.TemporaryDirectory(prefix="secfc-flare-") as scratch:
        from secfc.agreement.job_file import read_job
        from secfc.agreement.keys import COORDINATOR_KEY
        from secfc.agreement.statement import read_summary
        from secfc.drivers.agreed import in_order
        from secfc.drivers.flare.jobs import export_job

        if find_spec("nvflare") is None:
            raise ParameterError(
                "NVIDIA FLARE is not installed: pip install '.[flare]' in a checkout of secfc"
            )
        from secfc.drivers.flare.federation import Federation

        agreement = read_job(job)
        files = in_order(agreement, sites)
        path = summary or job.with_suffix(".summary.json")
        check_new_file("--summary", path)
        check_report(report)
        folder = workspace or Path(scratch) / "workspace"
        if folder.exists():
            raise ParameterError(f"--workspace: {folder} already exists")
        export_job(job, Path(scratch) / "job", deadline=deadline)
        with Federation(folder, agreement.names) as federation:
            for name, file in zip(agreement.names, files, strict=True):
                federation.join(name, file)
            federation.give_key(key or job.with_name(COORDINATOR_KEY))
            federation.start()
            number, written = federation.run(Path(scratch) / "job", timeout=timeout)
            if written is None:
                reason = federation.status(number)
                raise PartyError(f"FLARE ended the job before the coordinator wrote a summary: {reason}")
            replace_text(path, written.read_text(encoding="utf-8"))
        write_page(report, path, agreement)
        told = read_summary(path).coordinator
        if told["ended"] != "complete":
            raise PartyError(f"{told['ended']}")
        out = console()
        for name, why in told["lost"].items():
            out.print(f"{shown(name)} was lost: {shown(why)}", soft_wrap=True)
        end = "converged" if told["result"]["converged"] else "stopped at max_iter"
        out.print(f"{end} after {told['result']['n_iter']} iterations")
        out.print(f"{path}: secfc audit {path} --job {job}", soft_wrap=True)
