"""Attack o: what a server reads that decodes the distances of all pairs of rows.

OmniFC (J. Yan, X. Liu, Z.-Y. Zhang: *OmniFC: Rethinking federated clustering via lossless and secure distance
reconstruction*, arXiv:2505.13071) shares rows by Lagrange coding, as secfc does, and has the server decode
these distances in one round. It calls that secure because shares are. Here the server has the distances of
whole rows; decoding gives it those of each segment.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.privacy.integers import columns_in, placed_by_rows, shape_of_pairs, up_to_order_and_sign
from benchmarks.privacy.rows import EXACT, AttackRow
from secfc.field.array_types import Floats, Objects
from secfc.field.fixed_point import quantise
from secfc.protocol.job.job import Job


def pair_distances(rows: Objects) -> Objects:
    """Squared distances, shape (m, m), of rows as Python integers, shape (m, d)."""
    inner = rows @ rows.T
    norms = np.diag(inner)
    found: Objects = norms[:, np.newaxis] + norms - 2 * inner
    return found


def by_pairs(job: Job, rows: Floats) -> Iterator[AttackRow]:
    """Columns that the server finds alone, and everybody's values with two rows of a client."""
    true = quantise(rows, job.unit).astype(np.int64).astype(object)
    shape = shape_of_pairs(pair_distances(true), job.d)
    found = None if shape is None else columns_in(shape)
    common: dict[str, Any] = {"job": job, "m": len(true), "against": "OmniFC", "swept": "d", "value": job.d}
    yield EXACT.row(
        up_to_order_and_sign(found, true),
        attack="o-pairs",
        adversary="server",
        **common,
        note="up to the order, direction and shift of columns; one round",
    )
    yield EXACT.row(
        placed_by_rows(found, true, 2),
        attack="o-pairs",
        adversary="server + client",
        **common,
        note="values of everybody else, exactly; one round, two rows known",
    )
