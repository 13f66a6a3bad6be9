"""A site's ledger: of which of its own rows sums were opened, in all runs with the same results folder.

Sums over two sets of rows that differ by few of them give the sum over these few. So before a site lets a
column be described, it compares the sets of its rows in the column's cells with those of all openings before.
It refuses if these together would determine the sum over a group of fewer rows than the smallest cell, as
targeted attacks on several releases do (arXiv 2511.07073). Sums are linear, so this is row reduction.

A row is known by a keyed digest of its ID, or of all its values: the key follows from the site's own. What
other sites hold is not known here. Each keeps its own ledger.
"""

import hashlib
import hmac
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from secfc.agreement.logs.disk import write_errors
from secfc.agreement.secret_files import read_private_text, replace_secret
from secfc.crypto.identity import Identity
from secfc.errors import ParameterError, StorageError
from secfc.field.array_types import Bools, Ints
from secfc.tables.toml_file import FileSchema, ListOf, TableOf, check_values

MOST_OPENINGS = 100
"""Openings that a ledger keeps, no more: row reduction of as many of 10,000 rows takes half a minute."""

_MOST_BYTES = 1 << 28
_PRIME = (1 << 31) - 1
"""Row reduction is modulo this prime: its products fit int64."""

_ORDERS = 100
"""Most orders of small patterns that are looked at. A group of few rows that none shows is not found."""

_WORK = 1 << 29
"""About so many products are computed for all orders, some seconds."""

_MARK_BYTES = 16
_MARK_ROOM = 2 * _MARK_BYTES + 4
_CELL_ROOM = 1 << 10
"""Bytes of a cell in the file without its rows: of the name of its column, and of the opening."""

_WAIT = 60.0
"""Seconds to wait for another process of the site that asks the ledger."""


class _Opening(FileSchema):
    """Sums that were opened in a run: by column the rows in each cell, as bits of the marks' positions."""

    run: str
    job: str
    date: str
    cells: TableOf[str, ListOf[Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]]]
    refused: ListOf[str]


class _File(FileSchema):
    """The file of a ledger. `marks` are digests of rows, in hexadecimal."""

    key: str
    marks: ListOf[str]
    openings: ListOf[_Opening]


@dataclass(kw_only=True)
class Ledger:
    """The openings of a site, and the marks of the rows in them."""

    path: Path
    key: bytes = field(repr=False)
    marks: dict[str, int] = field(default_factory=dict, repr=False)  # to its position
    openings: list[_Opening] = field(default_factory=list, repr=False)

    @classmethod
    def read(cls, path: Path, key: bytes) -> "Ledger":
        """The ledger in a file, or an empty one. StorageError for a file that is no ledger of this key."""
        if not os.path.lexists(path):  # a link to what is not there, such as another disk, cannot be read
            return cls(path=path, key=key)
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise ParameterError(f"{path}: it is too large")
            value = json.loads(read_private_text(path, what="a ledger"))
            file = check_values(value, _File, name=str(path))
        except (ParameterError, ValueError, OSError) as error:
            text = f"ledger: {path} cannot be read ({error}); without it nothing of these rows is opened"
            raise StorageError(text) from None
        if not hmac.compare_digest(file.key, _key_mark(key)):
            raise StorageError(f"ledger: {path} is of another key; keep the key with which it was begun")
        marks = {mark: at for at, mark in enumerate(file.marks)}
        return cls(path=path, key=key, marks=marks, openings=list(file.openings))

    def check_room(self, rows: int, cells: int) -> None:
        """StorageError if it takes no more openings, or not so many cells of so many new rows."""
        if len(self.openings) >= MOST_OPENINGS:
            raise StorageError(f"ledger: {self.path} has {MOST_OPENINGS} openings, and takes no more")
        before = self.path.stat().st_size if self.openings else 0
        if before + rows * _MARK_ROOM + cells * ((len(self.marks) + rows) // 4 + _CELL_ROOM) > _MOST_BYTES:
            text = f"{cells} cells of {rows} rows, because a ledger has at most {_MOST_BYTES} bytes"
            raise StorageError(f"ledger: {self.path} does not take {text}")

    def positions(self, known_by: Sequence[str]) -> Ints:
        """The position of each row, new ones at the end. Equal texts are different rows, counted."""
        seen, found = Counter[str](), np.empty(len(known_by), dtype=np.int64)
        for at, text in enumerate(known_by):
            digest = hmac.digest(self.key, f"{seen[text]} {text}".encode(), "sha256")[:_MARK_BYTES].hex()
            seen[text] += 1
            found[at] = self.marks.setdefault(digest, len(self.marks))
        return found

    def consent(
        self, run: str, job: str, columns: Mapping[str, Bools], rows: Ints, *, smallest: int
    ) -> set[str]:
        """The columns that are refused, of cells of rows at these positions, shape (cells, m) each.

        All others are written down, before anything is dealt. Asked again for the same run, the ledger gives
        the same answer. StorageError if it cannot be written.
        """
        for one in self.openings:
            if one.run == run and columns.keys() <= one.cells.keys() | set(one.refused):
                return set(one.refused)
        refused, size = set[str](), len(self.marks)
        for column, cells in columns.items():
            earlier = [_of_hex(cell, size) for one in self.openings for cell in one.cells.get(column, [])]
            every = [*earlier, *(_bits(cell, rows, size) for cell in cells)]
            if determines_few(np.array(every), smallest):
                refused.add(column)
        self.note(
            run, job, {name: one for name, one in columns.items() if name not in refused}, rows, refused
        )
        return refused

    def note(
        self, run: str, job: str, columns: Mapping[str, Bools], rows: Ints, refused: Iterable[str] = ()
    ) -> None:
        """Write down what a run opens of rows at these positions, unless these sums are there."""
        size = len(self.marks)
        cells = {name: [_hex(_bits(cell, rows, size)) for cell in one] for name, one in columns.items()}
        if not refused and any(
            one.run == run and cells.items() <= one.cells.items() for one in self.openings
        ):
            return
        date = datetime.now(UTC).date().isoformat()
        self.openings.append(_Opening(run=run, job=job, date=date, cells=cells, refused=sorted(refused)))
        self._write()

    def _write(self) -> None:
        """Replace the file, completely or not at all."""
        file = _File(key=_key_mark(self.key), marks=list(self.marks), openings=self.openings)
        with write_errors(f"ledger: {self.path}", StorageError):
            replace_secret(self.path, json.dumps(file.model_dump()).encode())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from a ledger: of two runs at once each must see what the other opens.

    The system ends the lock of a process that is killed. StorageError if the lock is not free in time.
    """
    lock = path.with_name(f"{path.name}-lock")
    with write_errors(f"ledger: {lock}", StorageError):
        lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(lock, timeout=_WAIT, isolation_level=None)) as file:
            file.execute("BEGIN EXCLUSIVE")
            yield
    except sqlite3.Error as error:
        raise StorageError(f"ledger: {lock}: {error}") from None


def ledger_key(identity: Identity) -> bytes:
    """The key of marks, from the site's private key: a hash of a signature that nobody sees."""
    return hashlib.sha256(identity.sign(b"secfc ledger 1")).digest()


def determines_few(cells: Bools, smallest: int) -> bool:
    """Whether sums over cells, shape (cells, rows), determine that over a group of few rows, but some.

    Rows that are in the same cells are one pattern, and few rows are fewer than `smallest`. Differences of
    two cells are all looked at. Of what else is determined, sums in which large patterns cancel are those of
    the last rows of an echelon form that begins with large patterns. A sum with the fewest rows is a row of
    such a form in some order of the small patterns, so many orders are looked at.
    """
    cells = cells[:, cells.any(axis=0)]
    if not cells.size:
        return False
    patterns, counts = np.unique(cells, axis=1, return_counts=True)
    for one in patterns:
        differing = (one ^ patterns) @ counts
        if ((differing > 0) & (differing < smallest)).any():
            return True
    small = counts < smallest
    large_first = np.argsort(small, kind="stable")
    sums, large = _echelon(patterns[:, large_first].astype(np.int64)), int((~small).sum())
    sums, counts = sums[~sums[:, :large].any(axis=1), large:], counts[small]
    rng = np.random.default_rng(0)  # so that a ledger gives the same answer again
    orders = min(_ORDERS, 1 + _WORK // (len(sums) * sums.size)) if sums.size else 0
    for _ in range(orders):
        order = rng.permutation(counts.size)
        if (((_echelon(sums[:, order]) != 0) @ counts[order]) < smallest).any():
            return True
    return False


def _echelon(rows: Ints) -> Ints:
    """The reduced row echelon form modulo `_PRIME`, without zero rows."""
    done = 0
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[done:, column])
        if not below.size:
            continue
        pivot = done + below[0]
        rows[[done, pivot]] = rows[[pivot, done]]
        rows[done] = rows[done] * pow(int(rows[done, column]), -1, _PRIME) % _PRIME
        others = np.flatnonzero(rows[:, column])
        others = others[others != done]
        rows[others] = (rows[others] - rows[others, column, np.newaxis] * rows[done]) % _PRIME
        done += 1
        if done == len(rows):
            break
    return rows[:done]


def _key_mark(key: bytes) -> str:
    return hmac.digest(key, b"key", "sha256").hex()


def _bits(cell: Bools, rows: Ints, size: int) -> Bools:
    """A cell of rows at these positions, as bits of all positions."""
    bits = np.zeros(size, dtype=np.bool_)
    bits[rows[cell]] = True
    return bits


def _hex(cell: Bools) -> str:
    """Without zeros at the end, so that it is the same text when the ledger knows more rows."""
    return np.packbits(cell).tobytes().rstrip(b"\0").hex()


def _of_hex(cell: str, size: int) -> Bools:
    octets = bytes.fromhex(cell).ljust(-(-size // 8), b"\0")  # of no bytes NumPy makes bits at random
    return np.unpackbits(np.frombuffer(octets, dtype=np.uint8), count=size).astype(np.bool_)
