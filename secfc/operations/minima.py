"""The state of one comparer between the steps of k-means++ (`secfc.operations.plus_plus_steps`)."""

import numpy as np

from secfc.comparing.matches import reduced
from secfc.errors import MessageError, SecFCError
from secfc.field.array_types import Bools, Floats, Ints
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, unpack
from secfc.field.primes import primes_above
from secfc.kernels.interface import Bytes
from secfc.kmeans.plus_plus import DRAW_BITS


def start_residues(radius: int, rows: int) -> int:
    """Number of primes of every round of a start: for a draw, |total R - sum 2**32| < Q / 2.

    A candidate is one row, so D <= (2 radius)**2, and sums are at most m times that. If rows have weights,
    `rows` is the sum of the weights. Minima and totals differ by less. ParameterError if all primes together
    are not enough.
    """
    limit = 2 * (rows * (2 * radius) ** 2 << DRAW_BITS)
    return primes_above(limit, what=f"draws by distances of {rows} rows")


class Minima:
    """Least distances of all rows to the chosen rows: y at an evaluator, r at the dealer.

    In a step `add` takes the minima with each candidate, some rows at a time. Then `totals` are compared, and
    `keep` keeps the minima of the chosen candidate. The next candidates are drawn by `sums`. The primes are
    those of all rounds of the start. In sums a row counts as many times as its weight, if there are
    `weights`, shape (m,).
    """

    def __init__(self, *, rows: int, primes: tuple[int, ...], weights: Ints | None = None) -> None:
        self._rows, self.primes = rows, primes
        self._weights = None if weights is None else weights.astype(np.float64)
        self._closest: Bytes | None = None  # (P, 3 m)
        self._asked: Bytes | None = None  # (P, candidates, 3 m)
        self._added: Bools = np.zeros(rows, dtype=np.bool_)

    def __repr__(self) -> str:
        return f"Minima(rows={self._rows})"

    def closest(self, rows: slice) -> PackedResidues | None:
        """The kept minima of some rows, shape (P, 1, n). None in the first step, which adds D itself."""
        if self._closest is None:
            return None
        found = PackedResidues.empty((len(self.primes), 1, rows.stop - rows.start))
        found.planes()[:, 0] = self._closest[:, _octets(rows)]
        return found

    def add(self, rows: slice, least: PackedResidues) -> None:
        """Store minima of some rows with each candidate, shape (P, c, n). Each row once before `keep`."""
        candidates = least.shape[1] if self._asked is None else self._asked.shape[1]
        expected = len(self.primes), candidates, rows.stop - rows.start
        if least.shape != expected:
            raise MessageError(f"residues of shape {least.shape} given, {expected} needed")
        if self._asked is None:
            shape = len(self.primes), candidates, BYTES_PER_RESIDUE * self._rows
            self._asked = np.empty(shape, dtype=np.uint8)
        self._asked[:, :, _octets(rows)] = least.planes()
        self._added[rows] = True

    def totals(self) -> Floats:
        """Sums over all rows, shape (P, c), canonical."""
        asked = self._whole()
        # Exact: below 2**24 times at most 2**29 rows, or weights.
        sums = [[float(self._weighed(one).sum()) for one in plane] for plane in asked]
        return reduced(np.array(sums), self.primes)

    def keep(self, candidate: int) -> None:
        """Keep the minima of the chosen candidate."""
        self._closest = self._whole()[:, candidate].copy()
        self._asked = None
        self._added[:] = False

    def sums(self) -> Floats:
        """Running sums of the kept minima, shape (P, m), canonical."""
        if self._closest is None:
            raise SecFCError("no minima are kept yet")
        return reduced(np.cumsum(self._weighed(self._closest), axis=1), self.primes)

    def _weighed(self, packed: Bytes) -> Floats:
        found = unpack(packed)
        return found if self._weights is None else found * self._weights

    def _whole(self) -> Bytes:
        if self._asked is None or not self._added.all():
            raise SecFCError("minima of some rows are missing")
        return self._asked


def _octets(rows: slice) -> slice:
    return slice(BYTES_PER_RESIDUE * rows.start, BYTES_PER_RESIDUE * rows.stop)
