"""What a job opens of public final sets by consent. Noise there is none with disclosure "coded".

Opens to recipients the sums over each set, and with spreads the sums of squares. Holders add up alone. Of a
set with another's row the sum of its shares is uniform among the sharings of the sum, because the shares of
that row are. Squares are not: all holders deal <0>, which is added.
"""

from collections.abc import Generator

import numpy as np

from secfc.field.array_types import Labels
from secfc.kmeans.sets import set_sizes
from secfc.operations.beginning.rows import BLOCK, SharedRows
from secfc.operations.ending.centres import Opened, opened_centres
from secfc.operations.ending.large_enough import plain_lacking
from secfc.operations.ending.revealing import recipients, refuse
from secfc.operations.sums import public_sets
from secfc.protocol.job.job import Job
from secfc.protocol.parties.dealing import added, dealt_by_owners
from secfc.protocol.parties.party import Party
from secfc.sharing.formula import ZERO
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared, joined


def public_revealed(
    me: Party, job: Job, shared: SharedRows, labels: Labels, k: int, *, smallest: int
) -> Generator[None, None, Opened | None]:
    """What the job opens to this client of k sets. For `smallest` and errors see `revealed`."""
    own = recipients(job, shared)
    if not own:
        return None
    least, rows = max(smallest, job.opened.spread or 1), shared.rows
    refuse(plain_lacking(labels, k, np.ones(rows.m, dtype=np.int64), own, least), least)
    sums = rows.sums((yield from public_sets(me, labels, k)))
    squares = None
    if job.opened.spread is not None:
        squares = _squares(rows, labels, k) + (yield from _zeros(me, k * rows.width)).reshape(k, rows.width)
    return (
        yield from opened_centres(
            me,
            job,
            own,
            sums=Shared(sums.primes, sums.shape, sums.residues),  # of public sets: of the degree of rows
            sizes=me.public(set_sizes(labels, k)),
            squares=squares,
            weight=rows.m,
            reach=0,
        )
    )


def _squares(rows: Rows, labels: Labels, k: int) -> Shared:
    """<sum of f^2> over each set by column, shape (k, width)."""
    step = max(1, BLOCK // (len(rows.primes) * rows.width))
    found: Shared | None = None
    for start in range(0, rows.m, step):
        block = slice(start, min(start + step, rows.m))
        columns = rows.columns(block)
        squares = columns * columns
        sums = [squares[labels[block] == h].sum(0).reshape(1, rows.width) for h in range(k)]
        part = joined(sums, 0)
        found = part if found is None else found + part
    assert found is not None
    return found


def _zeros(me: Party, size: int) -> Generator[None, None, Shared]:
    """<0>, shape (size,): the sum of what every holder that is left has dealt."""
    nothing = me.uniform(me.code.ell, 0) if me.holds else None
    dealings = yield from dealt_by_owners(me, dict.fromkeys(me.roles.holders, 0), nothing, zeros=size)
    zeros = added(me, [dealings.shares[j].zeros for j in dealings.kept] if me.holds else [], size)
    return Shared(zeros.primes, zeros.shape, zeros.residues, formula=ZERO)
