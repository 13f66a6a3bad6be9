"""Writes a first job file from answers."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from pathlib import Path

from secfc.agreement.job_file import JobSchema
from secfc.agreement.secret_files import write_new
from secfc.errors import ParameterError
from secfc.tables.toml_file import TomlFile, as_toml

_MOST_DAYS = 3650


def write_job(
    path: Path,
    *,
    title: str,
    columns: Sequence[str],
    prepare: str | None,
    days: int,
    k: int,
    t: int,
    ell: int,
    seed: int | None,
) -> None:
    """Write a new job file; `columns` are texts such as "age=0:120". Its roster need not exist yet.

    ParameterError names the answer that cannot be used. Nothing is written then.
    """
    if not 0 < days <= _MOST_DAYS:
        raise ParameterError(f"--days: 1 to {_MOST_DAYS} are possible, {days} was given")
    if bool(columns) == (prepare is not None):
        raise ParameterError("--column: name columns with their ranges, or a schema with --prepare")
    ranges: dict[str, tuple[str, str]] = {}
    for given in columns:
        name, ends = _column(given)
        if name in ranges:
            raise ParameterError(f"--column: {name!r} is given twice")
        ranges[name] = ends
    expires = (datetime.now(UTC) + timedelta(days=days)).date()
    lines = [f"title = {as_toml(title)}", 'roster = "roster.toml"', f"expires = {expires.isoformat()}"]
    lines += [] if prepare is None else [f"prepare = {as_toml(prepare)}"]
    lines += ["", "[clustering]", f"k = {k}", f"t = {t}", f"ell = {ell}"]
    lines += [] if seed is None else [f"seed = {seed}"]
    if ranges:
        lines += [
            "",
            "[columns]",
            *(f"{as_toml(name)} = [{low}, {high}]" for name, (low, high) in ranges.items()),
        ]
    text = "\n".join([*lines, ""])
    TomlFile(path, text).check(JobSchema)
    write_new(path, text.encode())


def _column(given: str) -> tuple[str, tuple[str, str]]:
    name, _, ends = given.rpartition("=")
    low, _, high = ends.partition(":")
    try:
        values = float(low), float(high)
    except ValueError:
        values = (0.0, -1.0)
    if not name or not all(map(isfinite, values)) or values[0] > values[1]:
        raise ParameterError(f"--column: {given!r}: NAME=LOW:HIGH is needed, such as age=0:120")
    return name, (_number(values[0]), _number(values[1]))


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
