"""Open totals among parties that are objects in this process."""

import secrets
from collections import deque
from collections.abc import Sequence

from secfc.crypto.identity import Identity, Roster
from secfc.crypto.randomness import MaskSource
from secfc.prepare.column_transform import Preparation, sums_of
from secfc.prepare.opening_role import Preparer, Terms
from secfc.prepare.preparing_wire import decode, encode
from secfc.prepare.tables import Checked
from secfc.protocol.messages import RUN_ID_BYTES, Message


def open_totals(terms: Terms, tables: Sequence[Checked]) -> Preparation:
    """Open the schema's statistics among parties in this process; LimitError if too few hold values."""
    preparers = _preparers(terms, tables)
    _deliver(preparers)
    statistics = preparers[1].statistics
    assert statistics is not None
    return Preparation(schema=terms.schema, statistics=statistics)


def _preparers(terms: Terms, tables: Sequence[Checked]) -> dict[int, Preparer]:
    """Every party, with an identity for this run only."""
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
    """Deliver messages, encoded as between processes, in the order they were sent, until none are left."""
    post: deque[bytes | memoryview] = deque()

    def send(messages: list[Message]) -> None:
        post.extend(map(encode, messages))

    for preparer in preparers.values():
        send(preparer.start())
    while post:
        message = decode(post.popleft())
        send(preparers[message.recipient].receive(message))
