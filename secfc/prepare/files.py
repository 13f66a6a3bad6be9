"""`prepare_files`: a process per party, each with its own file; this process carries what it cannot read.

Every party's file is checked before anybody is told who the others are, so nothing is shared unless all fit.
"""

import json
import queue
import secrets
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from secfc.drivers import framing
from secfc.drivers.failures import error_of
from secfc.drivers.processes import end_programs, how_it_ended, start_program
from secfc.errors import CheatError, DataError, MessageError, PartyError, SecFCError
from secfc.outputs import whole_folder
from secfc.prepare.party import checked_file, source_to_json, write_prepared
from secfc.prepare.roles import Terms
from secfc.prepare.schema import Schema
from secfc.prepare.statistics import Statistics
from secfc.prepare.summary import SUMMARY, read_summary, write_summary
from secfc.prepare.tables import Checked
from secfc.prepare.transform import Preparation
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.protocol.wire import envelope
from secfc.sources.query import Query


@dataclass(frozen=True, kw_only=True)
class PreparedFiles:
    """What `prepare_files` returns.

    Attributes
    ----------
    files : tuple of Path
        Prepared files, in the order of the parties.
    preparation : Preparation
    mended : tuple of dict
        For each party its rows, and by column how many values were missing and clipped; known to it alone.
    """

    files: tuple[Path, ...]
    preparation: Preparation
    mended: tuple[Mapping[str, Any], ...] = field(repr=False)


def prepare_files(
    files: Sequence[Path | Query],
    schema: Schema,
    *,
    t: int,
    out: Path,
    id_column: str | None = None,
    drop: Sequence[str] = (),
) -> PreparedFiles:
    """Prepare one file per party, each in a process of its own.

    Parameters
    ----------
    files : sequence of Path or Query
        .csv with a header, .parquet, or queries, whose prepared files are .parquet.
    schema : Schema
    t : int
        Parties that may collude; 2t + 1 parties are needed.
    out : Path
        Folder for the prepared files and `SUMMARY`; must not hold anything. Written whole or not at all.
    id_column : str, optional
        Column of row IDs, which is written beside the prepared columns.
    drop : sequence of str
        Columns that are left out.

    Raises
    ------
    SecFCError
        Naming the party, and what is wrong with every file that does not fit; `out` is then as it was.
    """
    terms = Terms(n=len(files), t=t, schema=schema)
    with whole_folder("--out", out) as draft:
        targets = [draft / name for name in _names(files)]
        run = secrets.token_bytes(RUN_ID_BYTES).hex()
        setups = [
            {
                "party": number,
                "n": terms.n,
                "t": terms.t,
                "schema": schema.to_dict(),
                "run": run,
                "name": str(file),
                "source": source_to_json(file),
                "id": id_column,
                "drop": list(drop),
                "out": str(target),
            }
            for number, (file, target) in enumerate(zip(files, targets, strict=True), start=1)
        ]
        with _Parties(setups) as parties:
            mended = parties.introduce()
            statistics = parties.prepare()
        preparation = Preparation(schema=schema, statistics=statistics)
        write_summary(draft / SUMMARY, preparation)
    return PreparedFiles(
        files=tuple(out / target.name for target in targets), preparation=preparation, mended=tuple(mended)
    )


def prepare_by(
    files: Sequence[Path | Query],
    summary: Path,
    *,
    out: Path,
    id_column: str | None = None,
    drop: Sequence[str] = (),
) -> PreparedFiles:
    """Prepare files by what is known already: nobody else is asked, and nothing is shared.

    Parameters
    ----------
    files : sequence of Path or Query
    summary : Path
        The `SUMMARY` of a preparation.
    out, id_column, drop
        As for `prepare_files`.

    Raises
    ------
    SecFCError
        As `prepare_files`; `out` is then as it was.
    """
    preparation = read_summary(summary)
    checked = check_files(files, preparation.schema, id_column=id_column, drop=drop)
    prepared = [
        preparation.apply(rows, name=str(file)) for file, (_, rows) in zip(files, checked, strict=True)
    ]
    with whole_folder("--out", out) as draft:
        targets = [draft / name for name in _names(files)]
        for target, (table, _), rows in zip(targets, checked, prepared, strict=True):
            write_prepared(target, preparation.names, rows, table, id_column)
        write_summary(draft / SUMMARY, preparation)
    return PreparedFiles(
        files=tuple(out / target.name for target in targets),
        preparation=preparation,
        mended=tuple(rows.mended for _, rows in checked),
    )


def check_files(
    files: Sequence[Path | Query], schema: Schema, *, id_column: str | None = None, drop: Sequence[str] = ()
) -> list[tuple[pa.Table, Checked]]:
    """Files and their agreed columns; nothing is shared.

    Raises
    ------
    DataError
        What is wrong with all files that do not fit.
    """
    fit, problems = [], []
    for file in files:
        try:
            fit.append(checked_file(file, schema, id_column=id_column, drop=drop))
        except DataError as error:
            problems.append(error)
    if problems:
        raise _together(problems)
    return fit


def _names(files: Sequence[Path | Query]) -> list[str]:
    """A name for each prepared file; files of one name are told apart by their position."""
    stems = [file.stem for file in files]
    csv = [isinstance(file, Path) and file.suffix.lower() == ".csv" for file in files]
    return [
        (stem if stems.count(stem) == 1 else f"{stem}-{at}") + (".csv" if one else ".parquet")
        for at, (stem, one) in enumerate(zip(stems, csv, strict=True), start=1)
    ]


class _Parties:
    """The processes, and a thread for each that reads what it says.

    What a party says is always read, so it comes back to read what it is told: writing cannot block for ever.
    """

    def __init__(self, setups: Sequence[dict[str, Any]]) -> None:
        self._setups = {setup["party"]: setup for setup in setups}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._threads: list[threading.Thread] = []
        # (party, frame kind, payload); a kind of b"" is the end of the party's output, its payload why
        self._events: queue.SimpleQueue[tuple[int, bytes, bytes]] = queue.SimpleQueue()

    def __enter__(self) -> "_Parties":
        try:
            for party in self._setups:
                self._processes[party] = start_program("secfc.prepare.party")
            for party in self._setups:
                thread = threading.Thread(target=self._read, args=(party,), daemon=True)
                thread.start()
                self._threads.append(thread)
        except BaseException:
            self._end(kindly=False)
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(kindly=kind is None)

    def introduce(self) -> list[Mapping[str, Any]]:
        """Have every party check its file; then tell all of them everybody's public keys.

        Raises
        ------
        DataError
            What is wrong with all files that do not fit.
        """
        for party, setup in self._setups.items():
            self._tell(party, framing.JSON, json.dumps(setup).encode())
        said, wrong = self._collect("identity")
        if wrong:
            raise _together([wrong[party] for party in sorted(wrong)])
        keys = [said[party]["identity"] for party in self._setups]
        for party in self._setups:
            self._tell(party, framing.JSON, json.dumps({"roster": keys}).encode())
        return [said[party]["mended"] for party in self._setups]

    def prepare(self) -> dict[str, Statistics]:
        """Carry messages until every party has written its file; the statistics.

        Raises
        ------
        SecFCError
            The first party's that has one.
        """
        said, wrong = self._collect("statistics")
        if wrong:
            raise next(iter(wrong.values()))
        known = [said[party]["statistics"] for party in self._setups]
        if any(one != known[0] for one in known):
            raise CheatError("the parties have different statistics")
        return {name: Statistics(**values) for name, values in known[0].items()}

    def _collect(self, key: str) -> tuple[dict[int, dict[str, Any]], dict[int, SecFCError]]:
        """Read until all parties have said this: what they said, and the errors of those that did not."""
        said: dict[int, dict[str, Any]] = {}
        wrong: dict[int, SecFCError] = {}
        while len(said) + len(wrong) < len(self._setups):
            party, kind, payload = self._events.get()
            if kind == framing.MESSAGE:
                self._carry(party, payload)
            elif kind == framing.JSON and "error" in (event := json.loads(payload)):
                wrong[party] = error_of(event, name=self._name(party))
            elif kind == framing.JSON:
                said[party] = event
            elif party not in said and party not in wrong:
                ended = f"its process ended without a result ({how_it_ended(self._processes[party])})"
                wrong[party] = PartyError(f"{self._name(party)}: {payload.decode() or ended}")
            if wrong and key != "identity":
                break  # the others wait for this party
        return said, wrong

    def _carry(self, party: int, payload: bytes) -> None:
        try:
            header = envelope(payload)
        except MessageError as error:
            raise PartyError(f"{self._name(party)}: {error}") from None
        if header.sender != party or header.recipient not in self._processes:
            raise PartyError(f"{self._name(party)}: a forged sender or unknown recipient")
        self._tell(header.recipient, framing.MESSAGE, payload)

    def _tell(self, party: int, kind: framing.FrameKind, payload: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended, which is told where its output ends
            framing.write_frame(cast(BinaryIO, self._processes[party].stdin), kind, payload)

    def _read(self, party: int) -> None:
        stream = cast(BinaryIO, self._processes[party].stdout)
        try:
            while (frame := framing.read_frame(stream)) is not None:
                self._events.put((party, *frame))
        except (EOFError, OSError, ValueError) as error:
            self._events.put((party, b"", f"its output cannot be read: {error}".encode()))
        else:
            self._events.put((party, b"", b""))

    def _end(self, *, kindly: bool) -> None:
        end_programs(self._processes.values(), kindly=kindly)
        for thread in self._threads:
            thread.join()  # the output that it reads has ended
        for process in self._processes.values():
            with suppress(OSError):
                cast(BinaryIO, process.stdout).close()

    def _name(self, party: int) -> str:
        return str(self._setups[party]["name"])


def _together(errors: Sequence[SecFCError]) -> SecFCError:
    """Errors about several files as one; of other kinds the first."""
    other = next((error for error in errors if not isinstance(error, DataError)), None)
    return other or DataError("\n".join(map(str, errors)))
