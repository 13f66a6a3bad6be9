"""The program of a party that prepares its own file: `secfc.prepare.files` starts it.

It alone reads the file, and it writes the prepared one. What it tells whoever started it are encoded messages
for the other parties, its public key, how many values it had to mend, and the statistics.
"""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from secfc.array_types import Floats
from secfc.drivers import framing
from secfc.drivers.processes import speak
from secfc.errors import DataError
from secfc.prepare.roles import Preparer, Terms
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked, checked, read
from secfc.prepare.transform import Preparation, sums_of
from secfc.prepare.wire import decode, encode
from secfc.randomness import MaskSource
from secfc.sealing.identity import Identity, Roster
from secfc.sources.query import Origin, Query


def main() -> int:
    """Prepare one party's file."""
    return speak(_run)


def _run(inbox: BinaryIO, outbox: BinaryIO) -> None:
    setup = framing.read_json(inbox)
    terms = Terms(n=setup["n"], t=setup["t"], schema=Schema.of(setup["schema"]))
    source = source_from_json(setup["source"])
    table, rows = checked_file(source, terms.schema, id_column=setup["id"], drop=setup["drop"])
    identity = Identity()
    framing.write_json(outbox, {"identity": identity.public.hex(), "mended": rows.mended})
    roster = Roster(tuple(map(bytes.fromhex, framing.read_json(inbox)["roster"])))
    preparer = Preparer(
        number=setup["party"],
        terms=terms,
        session=terms.session(run=bytes.fromhex(setup["run"]), roster=roster),
        identity=identity,
        sums=sums_of(rows, terms.schema),
        masks=MaskSource(),
    )
    messages = preparer.start()
    while True:
        for message in messages:
            framing.write_frame(outbox, framing.MESSAGE, encode(message))
        if preparer.statistics is not None:
            break
        frame = framing.read_frame(inbox)
        if frame is None:
            raise EOFError
        messages = preparer.receive(decode(frame[1]))
    preparation = Preparation(schema=terms.schema, statistics=preparer.statistics)
    prepared = preparation.apply(rows, name=str(source))
    write_prepared(Path(setup["out"]), preparation.names, prepared, table, setup["id"])
    totals = {name: asdict(one) for name, one in preparation.statistics.items()}
    framing.write_json(outbox, {"statistics": totals})


def source_to_json(source: Path | Query) -> dict[str, Any]:
    """A file or query as JSON takes it; `source_from_json` makes it of that again."""
    if not isinstance(source, Query):
        return {"file": str(source)}
    origin = source.origin
    path = None if origin.path is None else str(origin.path)
    return {"kind": origin.kind, "path": path, "url": origin.url, "query": source.query, "name": source.name}


def source_from_json(given: dict[str, Any]) -> Path | Query:
    """The file or query that a party reads."""
    if "file" in given:
        return Path(given["file"])
    path = None if given["path"] is None else Path(given["path"])
    origin = Origin(kind=given["kind"], path=path, url=given["url"])
    return Query(origin=origin, query=given["query"], name=given["name"])


def checked_file(
    path: Path | Query, schema: Schema, *, id_column: str | None, drop: Sequence[str]
) -> tuple[pa.Table, Checked]:
    """A party's file and its agreed columns.

    Raises
    ------
    DataError
        Naming the file and, for everything that is wrong, the column and the first row; never a value.
    """
    table = read(path, schema, as_text=() if id_column is None else (id_column,))
    if id_column in {name for column in schema.columns for name in (column.name, *column.prepared)}:
        raise DataError(f"{path}: column {id_column!r} has the row IDs and is in the schema")
    # What this file lacks, another party's may have; a mistyped name leaves a column, which is told below.
    table = table.drop_columns([one for one in drop if one in table.column_names])
    others = () if id_column is None else (id_column,)
    return table, checked(table, schema, name=str(path), others=others)


def write_prepared(
    path: Path, names: Sequence[str], rows: Floats, table: pa.Table, id_column: str | None
) -> None:
    """Write the prepared columns, row IDs before them."""
    columns: dict[str, Any] = {} if id_column is None else {id_column: table.column(id_column)}
    for at, name in enumerate(names):
        columns[name] = pa.array(rows[:, at])
    prepared = pa.table(columns)
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(prepared, path)
    else:
        pyarrow.parquet.write_table(prepared, path)


if __name__ == "__main__":
    sys.exit(main())
