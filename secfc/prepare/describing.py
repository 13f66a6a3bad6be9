"""Described columns of a simulated run: taken out of the parties' frames, or given as tables beside them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from secfc.errors import DataError, ParameterError, each
from secfc.errors.codes import Code
from secfc.field.array_types import Ints
from secfc.prepare.by_cluster import drafted, values_of
from secfc.prepare.schema import Schema
from secfc.prepare.tables import as_table
from secfc.protocol.job.limits import Limits
from secfc.tables.parties import Party, is_frame


def taken_apart(parties: Any, given: Any) -> tuple[Any, Sequence[Any] | Mapping[str, Any]]:
    """The parties without columns that are described by name, and what each describes."""
    if isinstance(given, str):
        raise ParameterError("describe: a list of names of columns is needed, or a table for each party")
    names = list(given) if isinstance(given, Sequence) else []
    if not names or not all(isinstance(one, str) for one in names):
        return parties, given
    held = parties.items() if isinstance(parties, Mapping) else enumerate(parties)
    kept, taken = dict[Any, Any](), dict[Any, Any]()
    for key, party in held:
        where = key if isinstance(key, str) else f"parties[{key}]"
        if not is_frame(party):
            text = f"describe: {where} has no names of columns; give a table for each party instead"
            raise ParameterError(text)
        lacking = [name for name in names if name not in party.columns]
        if lacking:
            raise DataError(f"{where}: no column {lacking[0]!r} to describe", code=Code.MISSING_COLUMN)
        twice = [name for name in names if max(names.count(name), list(party.columns).count(name)) > 1]
        if twice:
            text = f"describe: {where}: column {twice[0]!r} is named twice, or is two columns"
            raise DataError(text, code=Code.REPEATED_COLUMN)
        taken[key] = party[names]
        kept[key] = party[[name for name in party.columns if name not in names]]
    if isinstance(parties, Mapping):
        return kept, taken
    return list(kept.values()), list(taken.values())


def columns_of(
    tables: Sequence[Any], members: list[Party], limits: list[Limits]
) -> tuple[Schema, list[Ints]]:
    """The schema of described columns, with ranges and categories from all parties, and each one's values."""
    found = each(_described_table, tables, members)
    names = found[0].column_names
    for member, own, table in zip(members, limits, found, strict=True):
        if sorted(table.column_names) != sorted(names) or len(set(names)) < len(names):
            text = f"describe: {member.name} and {members[0].name} need the same columns, each once"
            raise DataError(text, code=Code.MISSING_COLUMN)
        own.check_columns(table.column_names, name=member.name)
        if table.num_rows != member.rows.shape[0]:
            text = f"describe: {member.name}: {table.num_rows} rows, {member.rows.shape[0]} are clustered"
            raise DataError(text)
    schema = drafted([table.select(names) for table in found])
    values = each(lambda table, member: values_of(table, schema, name=member.name), found, members)
    return schema, values


def _described_table(given: Any, member: Party) -> pa.Table:
    """A party's described columns. Those of an array have their positions as names."""
    if isinstance(given, list | tuple | np.ndarray):
        try:
            array = np.asarray(given)
        except ValueError:
            raise DataError(f"describe: {member.name}: its rows have different lengths") from None
        if array.ndim not in (1, 2):
            raise DataError(f"describe: {member.name}: an array of shape (rows, columns) is needed")
        columns = array.T if array.ndim == 2 else [array]
        given = {str(at): column.tolist() for at, column in enumerate(columns)}
    table = as_table(given, f"describe: {member.name}")
    if not table.num_columns:
        raise DataError(f"describe: {member.name}: it has no columns", code=Code.NO_COLUMN)
    return table
