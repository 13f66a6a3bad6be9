"""`secfc flare`: runs across organisations on NVIDIA FLARE. docs/deployment.md walks through it."""

import json
import tempfile
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from secfc.cli.endings import plain_endings
from secfc.cli.render import console
from secfc.drivers.flare.jobs import export_job, read_agreement, read_job_file
from secfc.drivers.flare.kits import CLASSES, prepare_kit
from secfc.errors import ParameterError, PartyError

flare = typer.Typer(help="Runs across organisations on NVIDIA FLARE.", no_args_is_help=True)

_DEADLINE = 600.0
_TIMEOUT = 86400.0

JobFile = Annotated[Path, typer.Argument(help="The job file that all organisations have agreed to.")]
Deadline = Annotated[float, typer.Option(help="Seconds that a site has to answer a call.")]


class SideName(StrEnum):
    """Whose startup kit it is."""

    server = "server"
    site = "site"


@flare.command(epilog="Example: secfc flare export job.toml flare-job")
def export(
    job: JobFile,
    folder: Annotated[Path, typer.Argument(help="The folder to write; must not exist.")],
    deadline: Deadline = _DEADLINE,
) -> None:
    """Write the folder that a FLARE server takes for a job: configuration only, no code and no data."""
    with plain_endings():
        export_job(read_job_file(job), folder, deadline=deadline)
        console().print(f"{folder}: submit it with nvflare job submit -j {folder}")


@flare.command(epilog="Example: secfc flare kit site hospital-a")
def kit(
    side: Annotated[SideName, typer.Argument(help="Whose kit it is.")],
    folder: Annotated[Path, typer.Argument(help="The startup kit that FLARE's provisioning made.")],
) -> None:
    """Have a startup kit refuse jobs that ship code, and allow the one class of secfc that it needs."""
    with plain_endings():
        prepare_kit(folder, side.value)
        console().print(f"{folder}: no code is taken from others; of classes, {CLASSES[side.value]} only")


@flare.command(epilog="Example: secfc flare poc job.toml --sites configurations")
def poc(
    job: JobFile,
    sites: Annotated[
        Path | None, typer.Option(help="Folder with NAME.toml of each site; by default the job file's.")
    ] = None,
    workspace: Annotated[
        Path | None,
        typer.Option(help="Folder to keep kits and logs in; by default none are kept."),
    ] = None,
    deadline: Deadline = _DEADLINE,
    timeout: Annotated[float, typer.Option(help="Seconds until the whole job is given up.")] = _TIMEOUT,
) -> None:
    """Run a job on this machine with a real FLARE server and site processes and mutual TLS.

    Each site writes its labels where its own configuration says.
    """
    with plain_endings(), tempfile.TemporaryDirectory(prefix="secfc-flare-") as scratch:
        if find_spec("nvflare") is None:
            raise ParameterError("NVIDIA FLARE is not installed: pip install 'secfc[flare]'")
        from secfc.drivers.flare.federation import Federation  # noqa: PLC0415 - needs secfc[flare]

        text = read_job_file(job)
        names = read_agreement(text).sites
        configs = {name: (sites or job.parent) / f"{name}.toml" for name in names}
        missing = [str(config) for config in configs.values() if not config.is_file()]
        if missing:
            raise ParameterError(f"{missing[0]}: no such file; each site has a configuration of its own")
        folder = workspace or Path(scratch) / "workspace"
        if folder.exists():
            raise ParameterError(f"--workspace: {folder} already exists")
        export_job(text, Path(scratch) / "job", deadline=deadline)
        with Federation(folder, names) as federation:
            for name, config in configs.items():
                federation.join(name, config)
            federation.start()
            number, summary = federation.run(Path(scratch) / "job", timeout=timeout)
            if summary is None:
                reason = federation.status(number)
                raise PartyError(f"FLARE ended the job before the coordinator wrote a summary: {reason}")
        if summary["ended"] != "complete":
            raise PartyError(f"{summary['ended']}")
        console().print_json(json.dumps(summary))
