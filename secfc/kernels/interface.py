"""Types that kernels take and return."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from secfc.field.array_types import Bools, Floats, Labels, Shares

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The set of each row with the least quotient, as far as float64 can tell.

    Attributes
    ----------
    labels : ndarray of shape (rows,), int32
        Ties go to the lowest index.
    own : ndarray of shape (P, rows), float32
        The digits of D for this set.
    second : ndarray of shape (rows,), float64
        The least quotient of the other sets, inf if all others are empty.
    contested : ndarray of shape (rows,), bool
        Whether another quotient is within the tolerance of the least.
    largest : float
        The largest of all quotients, 0 if there are none.
    """

    labels: Labels = field(repr=False)
    own: Shares = field(repr=False)
    second: Floats = field(repr=False)
    contested: Bools = field(repr=False)
    largest: float = field(repr=False)
