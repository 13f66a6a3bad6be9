"""Open totals among parties that are objects in this process."""

import secrets
from collections.abc import Generator, Sequence

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError, ThresholdError
from secfc.field.array_types import Floats
from secfc.field.primes import PRIMES
from secfc.kernels import choose
from secfc.operations.beginning.totals import TOTAL_PRIMES, Addends, Totals, totals_of
from secfc.prepare.column_transform import Preparation
from secfc.prepare.contributing import addends_of
from secfc.prepare.schema import Schema
from secfc.prepare.tables import Checked
from secfc.protocol.job.thresholds import MAX_CLIENTS
from secfc.protocol.parties.inbox import Inbox
from secfc.protocol.parties.party import COORDINATOR, Party, Roles
from secfc.sharing.codewords import Codewords


def check_threshold(n: int, t: object) -> None:
    """Raise ParameterError, or `ThresholdError`, unless any t of n parties may collude: n >= 2t + 1."""
    if isinstance(t, bool) or not isinstance(t, int) or t < 1:
        raise ParameterError(f"t: an integer from 1 is needed, {t!r} was given")
    if n > MAX_CLIENTS:
        raise ParameterError(f"parties: at most {MAX_CLIENTS}, {n} were given")
    if n < 2 * t + 1:
        fits = f"at most t={(n - 1) // 2} fits" if n > 2 else "no t fits fewer than 3 parties"
        raise ThresholdError(f"t: n >= 2t + 1 must hold, but {n} < 2 * {t} + 1; with {n} parties {fits}")


def open_totals(schema: Schema, t: int, tables: Sequence[Checked]) -> Preparation:
    """Open the schema's statistics among parties in this process; LimitError if too few hold values.

    They run the same operation as parties of an agreed job, and hand each other what they send.
    """
    if not schema.opened:
        return Preparation(schema=schema, statistics={})
    n, found = len(tables), list[Preparation]()

    def kept(preparation: Preparation) -> Floats:
        found.append(preparation)
        return np.empty((0, 0))

    addends = [addends_of(table, schema, n=n, t=t, rows_of=kept) for table in tables]
    for totals, one in zip(_played(schema, t, addends), addends, strict=True):
        one.rows_of(totals)
    return found[0]


def _played(schema: Schema, t: int, addends: Sequence[Addends]) -> list[Totals]:
    """What each party learns."""
    n, run = len(addends), secrets.token_bytes(32)
    code = Codewords(n=n, t=t, ell=1, primes=tuple(prime.p for prime in PRIMES[:TOTAL_PRIMES]))
    roles = Roles(n=n, dealer=COORDINATOR, first=COORDINATOR, second=COORDINATOR)
    kernels = choose(n * sum(column.totals for column in schema.opened))
    parties = [
        Party(
            number=number,
            roles=roles,
            code=code,
            kernels=kernels,
            masks=MaskSource(),
            transcript=run,
            secrets={},
            inbox=Inbox(frozenset(roles.everybody)),
        )
        for number in roles.everybody
    ]
    sizes = [column.totals for column in schema.opened]
    programs: list[Generator[None, None, Totals | None]] = [
        totals_of(me, sizes, addends[me.number - 1] if me.holds else None) for me in parties
    ]
    found = dict[int, Totals]()
    while len(found) < n:
        for me, program in zip(parties, programs, strict=True):
            try:
                next(program)
            except StopIteration as end:
                if end.value is not None:
                    found[me.number] = end.value
            for recipient, place, data in me.outbox:
                parties[recipient].inbox.put(me.number, place, data)
            me.outbox.clear()
    return [found[number] for number in roles.holders]
