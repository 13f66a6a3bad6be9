"""What later commands read of the folder that `secfc run` wrote: its summary, and the job."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import Field

from secfc.agreement.statement import Count, Text
from secfc.cli.run_command import SUMMARY
from secfc.errors import DataError, ParameterError
from secfc.protocol.job.job import Job
from secfc.protocol.job.job_options import JobOptions
from secfc.protocol.job.making import make_job
from secfc.report.coordinator_schema import CostsSchema, EndSchema, Part
from secfc.tables.toml_file import ListOf, TableOf, check_values, read_json


class _Party(Part):
    file: str
    rows: Count
    labels: str


class _Result(EndSchema):
    sizes: ListOf[Count]


class Summary(Part):
    """The used part of a run's summary."""

    run: Text
    parameters: dict[str, Any]
    columns: ListOf[str] = Field(min_length=1)
    id: str | None
    weight: str | None
    parties: ListOf[_Party]
    result: _Result
    costs: CostsSchema
    versions: TableOf[Text, Text]


def read_run(folder: Path) -> tuple[Summary, Job]:
    """A run's summary and its job; ParameterError or DataError for another file, and for no job."""
    path = folder / SUMMARY
    told = check_values(read_json(path), Summary, name=str(path))
    known = {one.name for one in fields(JobOptions)}
    try:
        job = make_job(**{name: value for name, value in told.parameters.items() if name in known})
    except TypeError:  # one is missing
        raise ParameterError(f"{path}: parameters: not those of a secfc run") from None
    if len(told.parties) != job.n:
        raise DataError(f"{path}: parties: {len(told.parties)}, but n is {job.n}")
    return told, job
