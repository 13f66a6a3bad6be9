"""What a job opens of the final sets by consent, from the sets and rows that all parties share."""

from collections.abc import Generator

from secfc.errors import LimitError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints
from secfc.operations.beginning.rows import SharedRows
from secfc.operations.ending.centres import Opened, opened_centres
from secfc.operations.ending.large_enough import lacking
from secfc.operations.ending.noise import Noise, shared_noise
from secfc.operations.ending.spreads import sums_of_squares
from secfc.operations.reduction import reduced
from secfc.operations.sums import weighted
from secfc.protocol.job.job import Job
from secfc.protocol.parties.party import Party
from secfc.sharing.shared import Shared, joined


def revealed(
    me: Party,
    job: Job,
    shared: SharedRows,
    sets: Shared,
    *,
    weights: Ints,
    noise: Noise | None,
    smallest: int,
) -> Generator[None, None, Opened | None]:
    """What the job opens to this client of sets, shape (k, m), of the rows that are in.

    `smallest` is the fewest rows of others in a set of which all clients consent to open the mean.
    LimitError, with no sum or size opened, if a set has fewer, but some.
    """
    width, own = shared.rows.width, recipients(job, shared)
    if not own:
        return None
    least = max(smallest, job.opened.spread or 1)
    refuse((yield from lacking(me, sets, weights, own, least)), least)
    each = weighted(sets, weights)
    parts = [each.sum(1).reshape(-1, 1), shared.rows.sums(each)]
    if job.opened.spread is not None:
        parts.append((yield from sums_of_squares(me, each, shared.rows)))
    # Noise comes first: whoever goes on after sums are reduced has seen the same of it as both evaluators. So
    # a server that tells parties different dealers has nothing opened with two sums of noise.
    more = None if noise is None else (yield from shared_noise(me, job, noise, shared))
    found = yield from reduced(me, joined(parts, 1))
    sums = found[:, 1 : width + 1] if more is None else found[:, 1 : width + 1] + more
    return (
        yield from opened_centres(
            me,
            job,
            own,
            sums=sums,
            sizes=found[:, 0],
            squares=None if job.opened.spread is None else found[:, width + 1 :],
            weight=int(weights.sum()),
            reach=0 if noise is None else noise.reach,
        )
    )


def recipients(job: Job, shared: SharedRows) -> dict[int, slice]:
    """The clients to whom a job opens something, but for those that are lost, and each one's own rows."""
    layout = shared.layout
    left = [one for one in job.opened.to if one not in shared.lost and one not in shared.cheats]
    return {one: slice(0, 0) if layout.common else layout.rows(one) for one in left}


def refuse(whom_it_lacks: list[int], least: int) -> None:
    """LimitError if a set has too few rows for some recipients."""
    if whom_it_lacks:
        whom = ", ".join(map(str, whom_it_lacks))
        raise LimitError(
            f"centres are opened only of clusters with {least} rows or more that are not the recipient's, or "
            f"none; for clients {whom} a cluster has fewer, and no centre was opened",
            code=Code.LIMIT_SMALLEST_SET,
        )
