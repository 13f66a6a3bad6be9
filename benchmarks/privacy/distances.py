"""Attack c: the server places rows from the distances it decodes."""

from collections.abc import Iterator

from benchmarks.privacy.geometry import memberships, observed, placed, procrustes_error
from benchmarks.privacy.rows import PLACED, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Floats


def seen(watched: Watched) -> tuple[Floats, Floats]:
    """The server's view: squared distances (m, c), and the centres as weighted sums of rows (c, m)."""
    return observed(watched.server.distances), memberships(watched.server.questions, watched.job.k)


def by_centres(watched: Watched, *, swept: str, value: float, counts: list[int]) -> Iterator[AttackRow]:
    """Attack c: the error up to a rigid motion, by number of centres, in the order they were seen."""
    squared, weights = seen(watched)
    d = watched.job.d
    for count in counts:
        if count > len(weights):
            break
        points = placed(squared[:, :count], weights[:count], d)
        yield PLACED.row(
            procrustes_error(points, watched.rows),
            job=watched.job,
            m=len(watched.rows),
            attack="c-centres",
            adversary="server",
            swept="centres",
            value=count,
            note=f"{swept}={value:g}; up to a rigid motion; d + 1 = {d + 1}",
        )
