"""Rows drawn with probability proportional to masked distances: the third kind of roles of a step of a start.

For R below 2**32 the drawn row is the first i with (w_1 + ... + w_i) 2**32 > R (w_1 + ... + w_m). The left
side grows with i, so a search that opens some of these bits shows the row and nothing else. A level cuts the
remaining rows into pieces and compares at the end of each, for all draws together.
"""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from secfc.comparing.batch import DealerTools, EvaluatorTools, GateDealer, GateEvaluator, Opening
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.matches import reduced
from secfc.comparing.role import Steps
from secfc.errors import CheatError, MessageError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Floats, Ints
from secfc.field.packing import pack_canonical
from secfc.field.primes import primes_of
from secfc.field.residues import centred
from secfc.kernels.slicing import WORD_BYTES
from secfc.kmeans.plus_plus import DRAW_BITS

_PIECES = 1 << 10
"""Most pieces of a level. A million rows need two levels, and a level takes about six exchanges."""


def most_draw_bytes(rows: int, draws: int, primes: int) -> int:
    """Bytes of the largest message that the dealer sends for so many draws."""
    ends, bracket = draws * (min(rows, _PIECES) - 1), Bracket.pair()
    plan = BatchPlan.of_columns(primes_of(primes), ends, bracket, columns=2)
    return WORD_BYTES * plan.dealt


class _Search:
    """The search for the rows of all draws. All of it is public except the sums."""

    def __init__(self, sums: Floats, draws: Sequence[int], primes: tuple[int, ...]) -> None:
        if sums.ndim != 2 or sums.shape[0] != len(primes) or not sums.shape[1]:
            raise MessageError(f"sums of shape {sums.shape} given for {len(primes)} primes")
        if not draws or not all(0 <= one < 1 << DRAW_BITS for one in draws):
            raise ParameterError(f"draws: one or more below 2**{DRAW_BITS} are needed")
        self._sums, self._draws, self._primes = sums, list(draws), primes
        self._rows = sums.shape[1]
        levels, self._pieces = 0, 1
        while self._pieces**levels < self._rows:
            # The fewest pieces with which so many levels are enough.
            levels += 1
            self._pieces = 2
            while self._pieces < _PIECES and self._pieces**levels < self._rows:
                self._pieces += 1
        self.steps = [self._pieces**level for level in reversed(range(levels))]
        """Rows of a piece, level by level."""
        self.low: Ints = np.zeros(len(self._draws), dtype=np.int64)
        """First of the remaining rows. After the last level: the drawn rows."""

    def opening(self, level: int) -> Opening:
        """The comparisons of a level: for each draw, the end of each piece except the last."""
        step, ends = self.steps[level], np.arange(1, self._pieces)
        # Past the last row the sum stays the same, so the answer there is known.
        rows = np.minimum(self.low[:, np.newaxis] + step * ends - 1, self._rows - 1).reshape(-1)
        columns = np.empty((len(self._primes), 2, rows.size))
        for plane, sums, p in zip(columns, self._sums, self._primes, strict=True):
            factors = np.array([float(centred(one, p)) for one in self._draws])
            plane[0] = sums[rows] * centred(1 << DRAW_BITS, p)
            plane[1] = np.repeat(sums[-1] * factors, ends.size)
        plan = BatchPlan.of_columns(self._primes, rows.size, Bracket.pair(), columns=2)
        residues = pack_canonical(reduced(columns, self._primes))
        return Opening(stage=f"drawn {level}", plans=[plan], residues=residues)

    def read(self, level: int, bits: Bools) -> None:
        """Read the opened bits, shape (1, draws * (pieces - 1))."""
        above = bits.reshape(len(self._draws), -1)
        self.low = self.low + self.steps[level] * np.count_nonzero(~above, axis=1)
        if (above[:, :-1] & ~above[:, 1:]).any() or (self.low >= self._rows).any():
            text = "opened draws are impossible: an evaluator or the dealer has lied"
            raise CheatError(text, code=Code.BAD_MESSAGE)


class DrawDealer(GateDealer):
    """C: it learns the pieces that contain the rows, but not the rows inside the last pieces.

    `sums` are masks (`Minima.sums`), shape (P, m). `draws` are the R of each draw.
    """

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        sums: Floats,
        draws: Sequence[int],
        **tools: Unpack[DealerTools],
    ) -> None:
        self._search = _Search(sums, draws, primes)
        super().__init__(self._play(), **tools)

    def _play(self) -> Steps:
        search = self._search
        for level in range(len(search.steps) - 1):
            search.read(level, (yield from self._told_bits(search.opening(level), "bits", "big")))
        if search.steps:
            yield (self._deal(search.opening(len(search.steps) - 1)),), {}


class DrawEvaluator(GateEvaluator):
    """E0 or E1: it learns the rows. The sums are masked, and the total is not 0."""

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        sums: Floats,
        draws: Sequence[int],
        **tools: Unpack[EvaluatorTools],
    ) -> None:
        self._search = _Search(sums, draws, primes)
        self._rows: Ints | None = None
        super().__init__(self._play(), **tools)

    @property
    def rows(self) -> Ints:
        """The row of each draw, once they are known."""
        return self._known(self._rows, "rows")

    def _play(self) -> Steps:
        for level in range(len(self._search.steps)):
            bits = yield from self._opened(self._search.opening(level))
            self._search.read(level, bits)
            if level + 1 < len(self._search.steps):
                self._tell(np.packbits(bits).tobytes())
        self._rows = self._search.low
