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
from secfc.protocol.messages import RUN_ID_BYTES


def open_totals(terms: Terms, tables: Sequence[Checked]) -> Preparation:
    """Open the schema's statistics among parties in this process; LimitError if too few hold values."""
    identities = [Identity() for _ in tables]  # for this run only
    roster = Roster(tuple(one.public for one in identities))
    session = terms.session(run=secrets.token_bytes(RUN_ID_BYTES), roster=roster)
    preparers = {
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
    # Messages are encoded as between processes, and delivered in the order they were sent.
    post = deque(encode(message) for one in preparers.values() for message in one.start())
    while post:
        message = decode(post.popleft())
        post.extend(map(encode, preparers[message.recipient].receive(message)))
    statistics = preparers[1].statistics
    assert statistics is not None
    return Preparation(schema=terms.schema, statistics=statistics)
