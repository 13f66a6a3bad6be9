"""A site's own file: where its rows are, what it refuses, which job it agreed to."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from secfc.errors import ParameterError
from secfc.params import Limits
from secfc.sealing.identity import Identity

SITE_FILE = "secfc.toml"
"""Its name, in the `local` folder of the site's FLARE workspace."""

_KEYS = {
    "": {"job", "key", "data", "results", "storage", "limits"},
    "data": {"path", "columns", "drop", "id"},
    "limits": {"smallest_set", "most_rounds"},
}


@dataclass(frozen=True, kw_only=True)
class SiteConfig:
    """What a site has decided for itself.

    Attributes
    ----------
    job : Path
        The site's own copy of the job file: other jobs are refused.
    key : Path
        Its private key, in hexadecimal; only the site's own user may read the file.
    data : Path
        Its rows: .csv, .parquet or .npy.
    columns, drop : tuple of str
    id_column : str or None
    results : Path
        Folder for labels and summaries, a folder per run.
    storage : Path or None
        Folder for its shares; None: memory.
    limits : Limits
    """

    job: Path
    key: Path
    data: Path
    results: Path
    columns: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id_column: str | None = None
    storage: Path | None = None
    limits: Limits


def read_site_config(path: Path) -> SiteConfig:
    """The configuration in this file; relative paths are relative to its folder.

    Raises
    ------
    ParameterError
        Naming the file and the key.
    """
    path = path.resolve()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: {error}") from None
    _check_keys(path, "", values)
    data, limits = _table(path, values, "data"), _table(path, values, "limits")

    def place(table: dict[str, Any], name: str, shown: str) -> Path:
        return path.parent / _text(path, shown, table.get(name))

    return SiteConfig(
        job=place(values, "job", "job"),
        key=place(values, "key", "key"),
        data=place(data, "path", "data.path"),
        results=place(values, "results", "results"),
        columns=_names(path, "data.columns", data.get("columns", [])),
        drop=_names(path, "data.drop", data.get("drop", [])),
        id_column=_text(path, "data.id", data["id"]) if "id" in data else None,
        storage=place(values, "storage", "storage") if "storage" in values else None,
        limits=Limits(**limits),
    )


def read_identity(path: Path) -> Identity:
    """The identity whose private key this file holds."""
    try:
        return Identity(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise ParameterError(f"{path}: not a private key in hexadecimal") from None


def _check_keys(path: Path, name: str, table: dict[str, Any]) -> None:
    unknown = sorted(set(table) - _KEYS[name])
    if unknown:
        shown = f"{name}.{unknown[0]}" if name else unknown[0]
        raise ParameterError(f"{path}: unknown key {shown!r}; {', '.join(sorted(_KEYS[name]))} are possible")


def _table(path: Path, values: dict[str, Any], name: str) -> dict[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise ParameterError(f"{path}: {name} is a table")
    _check_keys(path, name, table)
    return table


def _text(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{path}: {name} is needed, a text")
    return value


def _names(path: Path, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ParameterError(f"{path}: {name} is a list of texts")
    return tuple(value)
