"""What a party adds to the totals of a schema's columns, and the statistics that follow from them."""

from collections.abc import Callable, Sequence
from itertools import islice

from secfc.errors import LimitError
from secfc.field.array_types import Floats, Ints
from secfc.operations.beginning.totals import Addends, Totals
from secfc.prepare.column_transform import Preparation
from secfc.prepare.schema import Schema
from secfc.prepare.statistics import of_column, opened
from secfc.prepare.tables import Checked


def addends_of(
    table: Checked, schema: Schema, *, n: int, t: int, rows_of: Callable[[Preparation], Floats]
) -> Addends:
    """What one of n parties adds. `rows_of` makes its rows once the statistics are known."""
    values: dict[str, Floats | Ints] = {**table.numbers, **table.categories}
    parts = [of_column(values[column.name], column) for column in schema.opened]

    def made(totals: Totals) -> Floats:
        left, found = iter(totals.numbers), {}
        for column, holders in zip(schema.opened, totals.holders, strict=True):
            own = list(islice(left, column.totals))
            found[column.name] = opened(own, column, holders=holders, smallest=schema.smallest)
        return rows_of(Preparation(schema=schema, statistics=found))

    return Addends(
        m=table.rows,
        holds=tuple(one.count >= schema.smallest for one in parts),
        numbers=tuple(number for one in parts for number in one.numbers),
        check=lambda holders: check_holders(schema, holders, n=n, t=t),
        rows_of=made,
    )


def check_holders(schema: Schema, holders: Sequence[int], *, n: int, t: int) -> None:
    """Require t + 2 holders of each column that is opened; LimitError otherwise.

    Then at least two holders are outside any t clients, each with `smallest` values in the total. Each
    client counts as one holder at most, so t clients that lie add at most t holders.
    """
    least, smallest = t + 2, schema.smallest
    few = [
        f"column {column.name!r} {count}"
        for column, count in zip(schema.opened, holders, strict=True)
        if count < least
    ]
    if few:
        raise LimitError(
            f"parties with at least {smallest} {'value' if smallest == 1 else 'values'}: t + 2 = "
            f"{least} of {n} are needed, because otherwise totals could disclose the "
            f"values of one party; {', '.join(few)}"
        )
