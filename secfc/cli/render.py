"""Output for people: warnings, log lines and tables."""

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from secfc.api.progress_bar import plain_console
from secfc.drivers.costs import Costs
from secfc.errors import (
    ColumnWarning,
    ConvergenceWarning,
    FaultWarning,
    ParameterError,
    PrecisionWarning,
    PrivacyWarning,
)
from secfc.protocol.gathering import Faults
from secfc.protocol.job.job import Job
from secfc.report.fault_texts import described_faults
from secfc.tables.number_texts import bytes_text

_OURS = (ColumnWarning, ConvergenceWarning, FaultWarning, PrecisionWarning, PrivacyWarning)


_stderr = ContextVar("_stderr", default=False)  # whether standard output is for a program


@contextmanager
def people_on_stderr() -> Iterator[None]:
    """Print what is for people to standard error: a program reads standard output."""
    token = _stderr.set(True)
    try:
        yield
    finally:
        _stderr.reset(token)


def console() -> Console:
    """Where people read results; markup in names, such as brackets, is not interpreted."""
    out: Console = plain_console(stderr=_stderr.get(), markup=False, highlight=False)
    return out


def say(text: str) -> None:
    """Print a line for people that only the terminal wraps, so that a path can be copied."""
    console().print(text, soft_wrap=True)


def plain(text: str) -> None:
    """Print a text for people as it is."""
    typer.echo(text, nl=False, err=_stderr.get())


def error_console() -> Console:
    """Standard error, for progress and errors."""
    out: Console = plain_console(stderr=True, markup=False, highlight=False)
    return out


@contextmanager
def our_warnings() -> Iterator[None]:
    """Print our own warnings at once as one line each on standard error; others as Python prints them."""
    with warnings.catch_warnings():
        python_shows = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, _OURS):
                error_console().print(f"{category.__name__}:", style="yellow", end=" ")
                error_console().print(str(message), soft_wrap=True)
            else:
                python_shows(message, category, *place, **more)

        warnings.showwarning = show
        yield


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """One line of a log."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname, "logger": record.name, "text": record.getMessage()}
        return json.dumps(line | {"run": getattr(record, "run", None)})


@contextmanager
def log_file(path: Path | None, *, as_json: bool) -> Iterator[None]:
    """Append secfc's log lines to a file, as texts or as a JSON object each."""
    if path is None:
        yield
        return
    try:
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"--log: {path} cannot be written ({error.strerror})") from None
    text = logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s")
    handler.setFormatter(_JsonLines() if as_json else text)
    logger = logging.getLogger("secfc")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
        handler.close()


def threshold_line(job: Job) -> str:
    """The threshold inequality in words."""
    return (
        f"{job.n} clients, t = {job.t} may collude, ell = {job.ell} segments: a round needs "
        f"2(ell + t) - 1 = {job.threshold} answers"
    )


def faults_line(out: Console, faults: Faults, job: Job, names: Sequence[str]) -> None:
    """Print who vanished or lied, if anybody. `names` are the clients', and those of named helpers."""
    said = described_faults(faults, job, names)
    if said:
        out.print("parties with faults:", style="yellow", end=" ")
        out.print(said, markup=False, soft_wrap=True)


def cost_table(costs: Costs, job: Job) -> Table:
    """Costs per phase and role."""
    table = Table(title="Cost per phase and role", title_justify="left")
    table.add_column("phase")
    table.add_column("role")
    for heading in ("CPU seconds", "bytes sent", "messages"):
        table.add_column(heading, justify="right")
    clients = f"{job.n} clients" + (f", {job.helpers} helper{'s' * (job.helpers > 1)}" if job.helpers else "")
    for phase in costs.phases:
        role = clients if phase.role == "client" else "server"
        table.add_row(
            phase.phase, role, f"{phase.seconds:.3f}", bytes_text(phase.sent_bytes), str(phase.messages)
        )
    table.add_section()
    table.add_row(
        "all",
        "",
        f"{sum(phase.seconds for phase in costs.phases):.3f}",
        bytes_text(sum(phase.sent_bytes for phase in costs.phases)),
        str(len(costs.messages)),
    )
    return table
