"""Steps of a start by k-means++ (`secfc.kmeans.plus_plus`), by the trio.

A round asks about candidates as sets of one row, so y and r are of squared distances to them. Each of the
three has a `secfc.operations.minima.Minima`. A step has three kinds of roles:

1. *Nearer*, for each part of the rows, but not in the first step. It finds the minimum of each row's distance
   to the chosen rows and its distance to a candidate, under new masks. It opens nothing.
2. *Least* opens to all three which candidate has the least total, ties to the first, and whether that total
   is 0.
3. *Draw* (`secfc.operations.draw`) opens a row for each public R below 2**32.

All roles of a step may use the same `Keys`: their purposes differ, and the part is in each key.
"""

from typing import Unpack

import numpy as np

from secfc.comparing.batch import DealerTools, EvaluatorTools, GateDealer, GateEvaluator, Opening
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.matches import Knockout
from secfc.comparing.role import Comparer, Role, Sending, Steps
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Floats
from secfc.field.packing import PackedResidues, pack_canonical
from secfc.field.primes import primes_of
from secfc.kernels.interface import Bytes


class _Nearer:
    """The first role of a step. A match is each row's least distance so far and that to each candidate."""

    def __init__(self, primes: tuple[int, ...], closest: PackedResidues, asked: PackedResidues) -> None:
        expected = len(primes), 1, asked.shape[2]
        if closest.shape != expected or asked.shape[0] != len(primes):
            raise MessageError(f"residues of shapes {closest.shape} and {asked.shape} do not fit")
        self._primes, self._shape = primes, asked.shape
        # Packed, both of (P, 1, c n) residues.
        self.first = np.tile(closest.planes(), (1, 1, asked.shape[1]))
        self.second = asked.planes().reshape(len(primes), 1, -1)
        pairs = asked.shape[1] * asked.shape[2]
        self.match = Knockout(primes=primes, pairs=pairs, residues=1, nearer=True)

    def least(self, found: Bytes) -> PackedResidues:
        """Minima with each candidate, shape (P, c, n)."""
        residues = PackedResidues.empty(self._shape)
        planes = residues.planes()
        planes[:] = found.reshape(planes.shape)
        return residues


def most_nearer_bytes(rows: int, candidates: int, primes: int) -> int:
    """Bytes that the dealer sends for a part of so many rows."""
    match = Knockout(primes=primes_of(primes), pairs=1, residues=1, nearer=True)
    return match.dealt_for(rows * candidates)


class NearerDealer(GateDealer):
    """C in a step's first role: it deals for a part of the rows.

    `closest` are masks of the least distances so far (`Minima.closest`), (P, 1, n). `asked` is r of the
    distances to the candidates, (P, c, n).
    """

    least: PackedResidues
    """Masks of the minima with each candidate, shape (P, c, n), for `Minima.add`, once the role has begun."""

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        closest: PackedResidues,
        asked: PackedResidues,
        **tools: Unpack[DealerTools],
    ) -> None:
        super().__init__(self._play(_Nearer(primes, closest, asked)), **tools)

    def _play(self, nearer: _Nearer) -> Steps:
        found, dealt = nearer.match.deal(nearer.first, nearer.second, "nearer", **self._tools)
        self.least = nearer.least(found)
        yield (Sending(recipient=Comparer.E1, data=dealt),), {}


class NearerEvaluator(GateEvaluator):
    """E0 or E1 in a step's first role: it opens nothing. It has masked distances, as in `NearerDealer`."""

    least: PackedResidues
    """Masked minima, shape as in `NearerDealer`, once the role has ended."""

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        closest: PackedResidues,
        asked: PackedResidues,
        **tools: Unpack[EvaluatorTools],
    ) -> None:
        super().__init__(self._play(_Nearer(primes, closest, asked)), **tools)

    def _play(self, nearer: _Nearer) -> Steps:
        dealt = yield from self._dealt(nearer.match.dealt)
        steps = nearer.match.evaluate(nearer.first, nearer.second, "nearer", dealt, **self._tools)
        [found] = yield from self._exchanged(steps)
        self.least = nearer.least(found)


class _Least:
    """Which total is least, and whether it is 0. Only the totals are secret.

    The last step draws no row, so it does not ask whether the total is 0.
    """

    def __init__(self, totals: Floats, primes: tuple[int, ...], *, last: bool) -> None:
        if totals.shape[0] != len(primes) or totals.ndim != 2:
            raise MessageError(f"totals of shape {totals.shape} given for {len(primes)} primes")
        self.opening: Opening | None = None
        self.found: tuple[int, bool] | None = None
        self._last, self._count = last, totals.shape[1]
        if last and self._count == 1:
            self.found = 0, False
            return
        columns, bracket = totals, Bracket.all_pairs(self._count) if last else Bracket.least(self._count)
        if not last:  # 0 is public, and so is its mask
            columns = np.concatenate([totals, np.zeros((len(primes), 1))], axis=1)
        plan = BatchPlan.of_columns(primes, 1, bracket, columns=columns.shape[1])
        residues = pack_canonical(columns[..., np.newaxis])
        self.opening = Opening(stage="least", plans=[plan], residues=residues)

    def read(self, bits: Bools) -> None:
        """Read the opened bits, shape (outputs, 1)."""
        won = bits[: self._count, 0] if self._count > 1 else np.ones(1, dtype=np.bool_)
        if np.count_nonzero(won) != 1:
            text = "an opened candidate is not one-hot: an evaluator or the dealer has lied"
            raise CheatError(text, code=Code.BAD_MESSAGE)
        self.found = int(won.argmax()), not self._last and not bits[-1, 0]


class _Choosing(Role):
    """A role that learns which total is least."""

    _found: _Least

    @property
    def best(self) -> int:
        """The candidate of least total, ties to the first, once it is known."""
        return self._known(self._found.found, "candidate")[0]

    @property
    def is_zero(self) -> bool:
        """Whether that total is 0. False in the last step."""
        return self._known(self._found.found, "candidate")[1]


class LeastDealer(GateDealer, _Choosing):
    """C in a step's second role. Totals are masks (`Minima.totals`), shape (P, c)."""

    def __init__(
        self, *, primes: tuple[int, ...], totals: Floats, last: bool, **tools: Unpack[DealerTools]
    ) -> None:
        self._found = _Least(totals, primes, last=last)
        super().__init__(self._play(), **tools)

    def _play(self) -> Steps:
        if self._found.opening is not None:
            self._found.read((yield from self._told_bits(self._found.opening, "bits", "big")))


class LeastEvaluator(GateEvaluator, _Choosing):
    """E0 or E1 in a step's second role. Totals are masked."""

    def __init__(
        self, *, primes: tuple[int, ...], totals: Floats, last: bool, **tools: Unpack[EvaluatorTools]
    ) -> None:
        self._found = _Least(totals, primes, last=last)
        super().__init__(self._play(), **tools)

    def _play(self) -> Steps:
        if self._found.opening is not None:
            bits = yield from self._opened(self._found.opening)
            self._found.read(bits)
            self._tell(np.packbits(bits).tobytes())
        yield from self._end()
