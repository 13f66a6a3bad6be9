"""Steps of a start by k-means++ (`secfc.kmeans.plus_plus.PlusPlus`), by the trio.

A round asks about candidates as sets of one row, so y and r are of squared distances to them. Each of the
three has `secfc.comparing.minima.Minima`. A step takes three kinds of roles:

1. *Nearer*, for each part of the rows, but not in the first step: the least of each row's distance to the
   chosen rows and that to a candidate, under new masks. Nothing is opened.
2. *Least*: which candidate has the least total, the first of equals, and whether that total is 0. This is
   opened to all three.
3. *Draw* (`secfc.comparing.draw`): a row for each public R below 2**32, which is opened.

All of a step may have the same keys: purposes differ, and parts are of the place of a key.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

import numpy as np

from secfc.array_types import Bools, Floats
from secfc.codes import Code
from secfc.comparing.arena import Arena
from secfc.comparing.batch import DealtHalves, Slice, deal, evaluate
from secfc.comparing.keys import Keys
from secfc.comparing.matches import Knockout, packed
from secfc.comparing.plan import BatchPlan, Bracket
from secfc.comparing.role import Comparer, Data, EvaluatorRole, Role, Sending, Steps, Turn
from secfc.comparing.slicing import to_rows
from secfc.comparing.widths import GateWidths
from secfc.errors import CheatError, MessageError, SecFCError
from secfc.field.packing import PackedResidues, unpack
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes

_WORD = 8
"""Bytes."""

_WIDTHS = GateWidths()


def _pairs(closest: PackedResidues, asked: PackedResidues, primes: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Each row's least distance so far, and that to each candidate, shape (P, 1, c n)."""
    expected = len(primes), 1, asked.shape[2]
    if closest.shape != expected or asked.shape[0] != len(primes):
        raise MessageError(f"residues of shapes {closest.shape} and {asked.shape} do not fit")
    first = np.tile(unpack(closest.planes()), (1, 1, asked.shape[1]))
    return first, unpack(asked.planes()).reshape(len(primes), 1, -1)


def _match(pairs: Floats, primes: tuple[int, ...], widths: GateWidths) -> Knockout:
    return Knockout(primes=primes, pairs=pairs.shape[2], widths=widths, residues=1, nearer=True)


def most_nearer_bytes(rows: int, candidates: int, primes: int) -> int:
    """Bytes that the dealer sends for a part of so many rows, with the usual widths."""
    match = Knockout(primes=primes_of(primes), pairs=1, widths=_WIDTHS, residues=1, nearer=True)
    return match.dealt_for(rows * candidates)


def _least(found: Floats, shape: tuple[int, int, int], primes: tuple[int, ...]) -> PackedResidues:
    residues = PackedResidues.empty(shape)
    residues.planes()[:] = packed(found.reshape(shape), primes)
    return residues


class NearerDealer(Role):
    """C in a step's first role: it deals for a part of the rows.

    Parameters
    ----------
    primes : tuple of int
    closest : PackedResidues
        Masks of the least distances so far (`Minima.closest`), shape (P, 1, n).
    asked : PackedResidues
        r of the distances to the candidates, shape (P, c, n).
    keys : tuple of two Keys
        With E0 and with E1.
    kernels : Kernels
    arena : Arena
    widths : GateWidths, optional

    Attributes
    ----------
    least : PackedResidues
        Masks of the minima with each candidate, shape (P, c, n), for `Minima.add`; once the role has begun.
    """

    least: PackedResidues

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        closest: PackedResidues,
        asked: PackedResidues,
        keys: tuple[Keys, Keys],
        kernels: Kernels,
        arena: Arena,
        widths: GateWidths = _WIDTHS,
    ) -> None:
        first, second = _pairs(closest, asked, primes)
        self._shape, self._primes, self._match = asked.shape, primes, _match(second, primes, widths)
        super().__init__(Comparer.DEALER, self._play(first, second, keys, kernels, arena))

    def _play(
        self, first: Floats, second: Floats, keys: tuple[Keys, Keys], kernels: Kernels, arena: Arena
    ) -> Steps:
        found, dealt = self._match.deal(
            first, second, keys=keys, stage="nearer", kernels=kernels, arena=arena
        )
        self.least = _least(found, self._shape, self._primes)
        yield (Sending(recipient=Comparer.E1, data=dealt),), {}


class NearerEvaluator(EvaluatorRole):
    """E0 or E1 in a step's first role: it opens nothing.

    Parameters
    ----------
    me : Comparer
    primes : tuple of int
    closest : PackedResidues
        Masked least distances so far (`Minima.closest`), shape (P, 1, n).
    asked : PackedResidues
        y of the distances to the candidates, shape (P, c, n).
    keys : Keys
        With the dealer.
    kernels : Kernels
    arena : Arena
    widths : GateWidths, optional

    Attributes
    ----------
    least : PackedResidues
        Masked minima with each candidate, shape (P, c, n), for `Minima.add`; once the role has ended.
    """

    least: PackedResidues

    def __init__(
        self,
        *,
        me: Comparer,
        primes: tuple[int, ...],
        closest: PackedResidues,
        asked: PackedResidues,
        keys: Keys,
        kernels: Kernels,
        arena: Arena,
        widths: GateWidths = _WIDTHS,
    ) -> None:
        first, second = _pairs(closest, asked, primes)
        self._shape, self._primes, self._match = asked.shape, primes, _match(second, primes, widths)
        super().__init__(me, self._play(first, second, keys, kernels, arena))

    def _play(self, first: Floats, second: Floats, keys: Keys, kernels: Kernels, arena: Arena) -> Steps:
        dealt = yield from self._dealt(self._match.dealt)
        steps = self._match.evaluate(
            first,
            second,
            e0=self._e0,
            keys=keys,
            stage="nearer",
            dealt=dealt,
            kernels=kernels,
            arena=arena,
        )
        found = yield from self._exchanged(steps)
        self.least = _least(found, self._shape, self._primes)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Rows of columns whose comparison is opened."""

    plan: BatchPlan
    columns: Bytes = field(repr=False)
    stage: str


class OpeningDealer(Role):
    """A dealer that is told what was opened."""

    def __init__(self, steps: Steps, keys: tuple[Keys, Keys], kernels: Kernels, arena: Arena) -> None:
        self._keys, self._kernels, self._arena = keys, kernels, arena
        super().__init__(Comparer.DEALER, steps)

    def _deal(self, opening: Opening) -> Sending:
        dealt, stage = np.empty(opening.plan.dealt, dtype=np.uint64), opening.stage
        deal(
            opening.plan,
            Slice(packed=opening.columns, start=0, kernels=self._kernels),
            products=self._keys[0].bits(f"{stage} products", 0),
            wires=(self._keys[0].bits(f"{stage} wires", 0), self._keys[1].bits(f"{stage} wires", 0)),
            arena=self._arena,
            out=dealt,
        )
        return Sending(recipient=Comparer.E1, data=dealt.view(np.uint8).data)

    def _told(self, opening: Opening) -> Generator[Turn, Mapping[Comparer, Data], Bools]:
        """Deal, and be told what was opened, shape (outputs, rows)."""
        shape = opening.plan.bracket.outputs, opening.plan.rows
        size = -(-shape[0] * shape[1] // 8)
        told = yield (self._deal(opening),), {Comparer.E0: size, Comparer.E1: size}
        if bytes(told[Comparer.E0]) != bytes(told[Comparer.E1]):
            raise CheatError("the evaluators told the dealer of different bits", code=Code.BAD_MESSAGE)
        octets = np.frombuffer(told[Comparer.E0], dtype=np.uint8)
        return np.unpackbits(octets, count=shape[0] * shape[1]).reshape(shape).astype(np.bool_)


class OpeningEvaluator(EvaluatorRole):
    """An evaluator that opens bits."""

    def __init__(self, me: Comparer, steps: Steps, keys: Keys, kernels: Kernels, arena: Arena) -> None:
        self._keys, self._kernels, self._arena = keys, kernels, arena
        super().__init__(me, steps)

    def _opened(self, opening: Opening) -> Generator[Turn, Mapping[Comparer, Data], Bools]:
        """Bits of shape (outputs, rows)."""
        plan, stage = opening.plan, opening.stage
        dealt = yield from self._dealt(_WORD * plan.dealt)
        products = self._keys.bits(f"{stage} products", 0) if self._e0 else DealtHalves(dealt.view(np.uint64))
        steps = evaluate(
            plan,
            Slice(packed=opening.columns, start=0, kernels=self._kernels),
            first=self._e0,
            products=products,
            wires=self._keys.bits(f"{stage} wires", 0),
            arena=self._arena,
            batch=0,
        )
        return to_rows((yield from self._exchanged(steps)), plan.rows)


class _Least:
    """Which total is least, and whether it is 0: public but for the totals."""

    def __init__(self, totals: Floats, primes: tuple[int, ...], *, last: bool, widths: GateWidths) -> None:
        if totals.shape[0] != len(primes) or totals.ndim != 2:
            raise MessageError(f"totals of shape {totals.shape} given for {len(primes)} primes")
        self.opening: Opening | None = None
        self.best: int | None = None
        self.is_zero, self._last, self._count = False, last, totals.shape[1]
        if last and self._count == 1:
            self.best = 0
            return
        columns, bracket = totals, Bracket.all_pairs(self._count) if last else Bracket.least(self._count)
        if not last:  # 0 is public, and so is its mask
            columns = np.concatenate([totals, np.zeros((len(primes), 1))], axis=1)
        plan = BatchPlan.of_columns(primes, 1, bracket, columns=columns.shape[1], widths=widths)
        self.opening = Opening(plan=plan, columns=packed(columns[..., np.newaxis], primes), stage="least")

    def read(self, bits: Bools) -> None:
        """Take what was opened, shape (outputs, 1)."""
        won = bits[: self._count, 0] if self._count > 1 else np.ones(1, dtype=np.bool_)
        if np.count_nonzero(won) != 1:
            text = "an opened candidate is not one-hot: an evaluator or the dealer has lied"
            raise CheatError(text, code=Code.BAD_MESSAGE)
        self.best, self.is_zero = int(won.argmax()), not self._last and not bits[-1, 0]


class LeastDealer(OpeningDealer):
    """C in a step's second role.

    Parameters
    ----------
    primes : tuple of int
    totals : ndarray of shape (P, c), float64
        Masks (`Minima.totals`).
    last : bool
        Whether no row is to be drawn after it: then it is not asked whether the total is 0.
    keys : tuple of two Keys
        With E0 and with E1.
    kernels : Kernels
    arena : Arena
    widths : GateWidths, optional

    Attributes
    ----------
    best : int
        The candidate of least total, the first of equals, once the role has ended.
    is_zero : bool
        Whether that total is 0; False in the last step.
    """

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        totals: Floats,
        last: bool,
        keys: tuple[Keys, Keys],
        kernels: Kernels,
        arena: Arena,
        widths: GateWidths = _WIDTHS,
    ) -> None:
        self._found = _Least(totals, primes, last=last, widths=widths)
        super().__init__(self._play(), keys, kernels, arena)

    @property
    def best(self) -> int:
        """See above; SecFCError before the end."""
        return _at_end(self, self._found)[0]

    @property
    def is_zero(self) -> bool:
        """See above; SecFCError before the end."""
        return _at_end(self, self._found)[1]

    def _play(self) -> Steps:
        if self._found.opening is not None:
            self._found.read((yield from self._told(self._found.opening)))


class LeastEvaluator(OpeningEvaluator):
    """E0 or E1 in a step's second role.

    Parameters
    ----------
    me : Comparer
    primes : tuple of int
    totals : ndarray of shape (P, c), float64
        Masked (`Minima.totals`).
    last, kernels, arena, widths
        As `LeastDealer` takes them.
    keys : Keys
        With the dealer.

    Attributes
    ----------
    best : int
    is_zero : bool
        As of `LeastDealer`.
    """

    def __init__(
        self,
        *,
        me: Comparer,
        primes: tuple[int, ...],
        totals: Floats,
        last: bool,
        keys: Keys,
        kernels: Kernels,
        arena: Arena,
        widths: GateWidths = _WIDTHS,
    ) -> None:
        self._found = _Least(totals, primes, last=last, widths=widths)
        super().__init__(me, self._play(), keys, kernels, arena)

    @property
    def best(self) -> int:
        """See above; SecFCError before the end."""
        return _at_end(self, self._found)[0]

    @property
    def is_zero(self) -> bool:
        """See above; SecFCError before the end."""
        return _at_end(self, self._found)[1]

    def _play(self) -> Steps:
        if self._found.opening is not None:
            bits = yield from self._opened(self._found.opening)
            self._found.read(bits)
            self._tell(np.packbits(bits).tobytes())
        yield from self._end()


def _at_end(role: Role, found: _Least) -> tuple[int, bool]:
    if found.best is None:
        raise SecFCError(f"the {role.me.value} has no candidate")
    return found.best, found.is_zero
