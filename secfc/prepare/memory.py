"""`prepare`: tables in memory, all parties in this process."""

import secrets
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from secfc.array_types import Floats
from secfc.errors import ParameterError
from secfc.prepare.roles import Preparer, Terms
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked, as_table, checked
from secfc.prepare.transform import Preparation, sums_of
from secfc.prepare.wire import decode, encode
from secfc.protocol.messages import RUN_ID_BYTES, Message
from secfc.randomness import MaskSource
from secfc.sealing.identity import Identity, Roster


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What `prepare` returns.

    Attributes
    ----------
    rows : list of ndarray of shape (m_j, d), float64
    preparation : Preparation
    """

    rows: list[Floats] = field(repr=False)
    preparation: Preparation


def prepare(
    parties: Sequence[Any], schema: Schema, *, t: int, names: Sequence[str] | None = None
) -> Prepared:
    """Check every party's table against the schema and transform all alike.

    Means and deviations are opened as totals over all parties, from shares of which any t tell nothing, and
    only of columns of which t + 2 parties hold values. All parties run in this process, each as an object of
    its own that gives the others nothing but encoded messages.

    Parameters
    ----------
    parties : sequence of DataFrame (pandas or Polars), pyarrow.Table or mapping from column name to values
    schema : Schema
    t : int
        Parties that may collude; 2t + 1 parties are needed.
    names : sequence of str, optional
        What errors call the parties.

    Returns
    -------
    Prepared

    Raises
    ------
    DataError
        Naming the party and, for everything that is wrong with its table, column and row number; never a
        value. Nothing has been shared then.
    LimitError
        Too few parties hold values of a column.
    ParameterError

    Examples
    --------
    >>> from secfc.prepare import Column, Schema, prepare
    >>> schema = Schema(columns=(Column(name="age", low=0, high=120, scale="standardise"),))
    >>> done = prepare([{"age": [20.0]}, {"age": [40.0]}, {"age": [60.0]}], schema, t=1)
    >>> [round(float(rows[0, 0]), 3) for rows in done.rows]
    [-1.225, 0.0, 1.225]
    >>> round(done.preparation.statistics["age"].mean, 3)
    40.0
    """
    called = list(names) if names is not None else [f"parties[{j}]" for j in range(len(parties))]
    if len(called) != len(parties):
        raise ParameterError(f"names: {len(called)} names of {len(parties)} parties")
    terms = Terms(n=len(parties), t=t, schema=schema)
    tables = [
        checked(as_table(party, name), schema, name=name) for party, name in zip(parties, called, strict=True)
    ]
    preparation = open_totals(terms, tables)
    rows = [preparation.apply(table, name=name) for table, name in zip(tables, called, strict=True)]
    return Prepared(rows=rows, preparation=preparation)


def open_totals(terms: Terms, tables: Sequence[Checked]) -> Preparation:
    """Open means and deviations among parties in this process; LimitError for too few holders."""
    preparers = _preparers(terms, tables)
    _deliver(preparers)
    statistics = preparers[1].statistics
    assert statistics is not None
    return Preparation(schema=terms.schema, statistics=statistics)


def _preparers(terms: Terms, tables: Sequence[Checked]) -> dict[int, Preparer]:
    """Every party, with an identity for this run alone."""
    identities = [Identity() for _ in tables]
    session = terms.session(
        run=secrets.token_bytes(RUN_ID_BYTES), roster=Roster(tuple(one.public for one in identities))
    )
    return {
        number: Preparer(
            number=number,
            terms=terms,
            session=session,
            identity=identity,
            sums=sums_of(table, terms.schema),
            masks=MaskSource(),
        )
        for number, (table, identity) in enumerate(zip(tables, identities, strict=True), start=1)
    }


def _deliver(preparers: dict[int, Preparer]) -> None:
    """Carry messages, encoded as between processes, in the order they were sent, until there are none."""
    post: deque[bytes | memoryview] = deque()

    def send(messages: list[Message]) -> None:
        post.extend(map(encode, messages))

    for preparer in preparers.values():
        send(preparer.start())
    while post:
        message = decode(post.popleft())
        send(preparers[message.recipient].receive(message))
