"""Experiments in parts. Finished parts are kept in a file, so that an interrupted command can continue."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from benchmarks.reproduce.common import Context, FigureRow
from secfc.errors import DataError
from secfc.tables.outputs import replace_text
from secfc.version import VERSION


@dataclass(frozen=True)
class Part:
    """Rows of an experiment that are measured together, and a name that identifies them."""

    name: str
    rows: Callable[[], Iterable[FigureRow]]


def one_part(rows: Callable[[Context], Iterable[FigureRow]]) -> Callable[[Context], Iterator[Part]]:
    """Make a single part from a function that yields all rows."""

    @wraps(rows)
    def parts(context: Context) -> Iterator[Part]:
        yield Part("all", lambda: rows(context))

    return parts


@dataclass(frozen=True)
class _Done:
    rows: list[FigureRow]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """The file. It is not continued with another experiment, effort, version or data folder."""

    experiment: str
    quick: bool
    secfc: str
    data: str
    parts: dict[str, _Done]


class Measuring:
    """An experiment's parts, measured one by one.

    Parameters
    ----------
    experiment : str
    parts : iterable of Part
    context : Context
    path : Path
        Where parts that are done are kept until `forget`.

    Raises
    ------
    DataError
        If no experiment wrote the file at `path`.
    """

    def __init__(
        self,
        experiment: str,
        parts: Iterable[Part],
        *,
        context: Context,
        path: Path,
    ) -> None:
        self._parts, self._path, self._tell = list(parts), path, context.tell
        begun = _Kept(
            experiment=experiment, quick=context.quick, secfc=VERSION, data=str(context.folder), parts={}
        )
        found = _read(path)
        goes_on = found is not None and replace(found, parts={}) == begun
        self._kept = found if found is not None and goes_on else begun
        for name in self._kept.parts:
            self._tell(f"{name}: taken from {path}")

    @property
    def standing(self) -> str:
        """How many parts are finished, and where they are."""
        if not self._kept.parts:
            return "no part was done"
        done = f"{len(self._kept.parts)} of {len(self._parts)} parts are in {self._path}"
        return f"{done}; the same command goes on from there"

    def rows(self) -> list[FigureRow]:
        """Measure the unfinished parts; return the rows of all parts, in order."""
        done = self._kept.parts
        for number, part in enumerate(self._parts, start=1):
            if part.name not in done:
                self._tell(f"part {number} of {len(self._parts)}, {part.name}")
                began = time.monotonic()
                rows = list(part.rows())
                seconds = time.monotonic() - began
                done[part.name] = _Done(rows, seconds)
                left = len(self._parts) - len(done)
                more = left * sum(one.seconds for one in done.values()) / len(done)
                self._tell(f"  {seconds:.0f} s" + (f"; about {more:.0f} s left" if left else ""))
                replace_text(self._path, json.dumps(asdict(self._kept), allow_nan=False))
        return [row for part in self._parts for row in done[part.name].rows]

    def forget(self) -> None:
        """Remove the file, after everything was shown."""
        self._path.unlink(missing_ok=True)


def _read(path: Path) -> _Kept | None:
    if not path.exists():
        return None
    try:
        return TypeAdapter(_Kept).validate_json(path.read_bytes(), strict=True)
    except (ValidationError, OSError):
        raise DataError(f"{path}: not parts of an experiment; remove it, or work in another folder") from None
