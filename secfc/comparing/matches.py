"""Matches of entries in the search for the farthest rows (`secfc.operations.farthest`), and of minima.

An entry is a row's D to its own centre and the row's number, both masked. The evaluators know y, the dealer
r, and y - r modulo each prime is the entry. Both are packed. A *knockout* compares two entries of one set.
The farther one continues under new masks, and nobody learns which it is. The *final* compares all remaining
entries, one of each set, with each other and opens which is the farthest.
"""

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from secfc.comparing.batch import DealerTools, Dealing, Evaluating, EvaluatorTools
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.dealer_keys import Keys
from secfc.comparing.masking import add_residues
from secfc.comparing.role import Comparer
from secfc.comparing.widths import USUAL, GateWidths, Group
from secfc.crypto.keystream import ResidueStream
from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Bools, Floats
from secfc.field.packing import BYTES_PER_RESIDUE, pack_canonical, unpack
from secfc.field.residues import canonical, centred, reduce
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.kernels.slicing import WORD_BYTES, to_rows, words_of

ENTRY = 2
"""Residues of an entry modulo each prime: D and the row's number."""

_TIE = (Group(offset=0, count=1, size=2, last=True),)
"""The node l1 ^ e1 l2: strictly farther, or equally far with a lower number."""


class Knockout:
    """Pairs of entries of equal weight: the second continues if it is strictly farther, otherwise the first.

    `residues` is the number of residues of an entry modulo each prime. The first residue is compared. With
    `nearer` the second continues if it is strictly nearer.
    """

    def __init__(
        self,
        *,
        primes: tuple[int, ...],
        pairs: int,
        widths: GateWidths = USUAL,
        residues: int = ENTRY,
        nearer: bool = False,
    ) -> None:
        # The outcome of a pair of columns is whether the second is less than the first.
        self._plan = BatchPlan.of_columns(primes, pairs, Bracket.pair(), columns=2, widths=widths)
        self._primes, self._pairs, self._residues, self._nearer = primes, pairs, residues, nearer
        # For a choice: the bit, and both masks of each residue.
        self._choice = 1 + 2 * residues

    def __repr__(self) -> str:
        return f"Knockout(pairs={self._pairs})"

    @property
    def dealt(self) -> int:
        """Bytes of the dealer's message to E1."""
        return self.dealt_for(self._pairs)

    def dealt_for(self, pairs: int) -> int:
        """Bytes of that message for another number of pairs."""
        of_word = self._plan.dealt // words_of(self._pairs)
        of_choice = BYTES_PER_RESIDUE * len(self._primes) * self._choice
        return WORD_BYTES * of_word * words_of(pairs) + of_choice * pairs

    def deal(
        self, first: Bytes, second: Bytes, stage: str, **tools: Unpack[DealerTools]
    ) -> tuple[Bytes, memoryview]:
        """Masks of the entries that continue, shape (P, c, 3 n), from those of the pairs. And E1's bytes."""
        keys, kernels, of_gates = tools["keys"], tools["kernels"], WORD_BYTES * self._plan.dealt
        dealt = np.empty(self.dealt, dtype=np.uint8)
        dealing = Dealing(stage, dealt[:of_gates].view(np.uint64), **tools)
        dealing.signs(self._plan, self._columns(first, second))
        flips = to_rows(dealing.masks((1, self._plan.words)), self._pairs)[0]
        of_e0 = self._drawn(keys[0], f"{stage} choice", self._choice, kernels)
        of_e1 = dealt[of_gates:].reshape(of_e0.shape)

        def deal(at: int) -> None:
            kernels.deal_choice((first[at], second[at]), flips, of_e0[at], self._primes[at], of_e1[at])

        kernels.threads.each(deal, range(len(self._primes)), size=of_e0.size // BYTES_PER_RESIDUE)
        masks, more = (self._drawn(one, f"{stage} masks", self._residues, kernels) for one in keys)
        add_residues(masks, more, self._primes, kernels)
        return masks, dealt.data

    def evaluate(
        self, first: Bytes, second: Bytes, stage: str, dealt: Bytes, **tools: Unpack[EvaluatorTools]
    ) -> Generator[NDArray[Any], NDArray[Any], Bytes]:
        """The masked entries that continue, and this evaluator's half of all their masks except the first.

        The result has shape (P, 2 c - 1, 3 n), the masked entries (P, c, 3 n). E0 does not read `dealt`.
        CheatError if the other evaluator sends numbers that are no residues.
        """
        of_gates, keys, kernels = WORD_BYTES * self._plan.dealt, tools["keys"], tools["kernels"]
        gates = Evaluating(stage, dealt[:of_gates], **tools)
        signs = yield from gates.signs(self._plan, self._columns(first, second))
        deltas, _ = yield from gates.open(signs[np.newaxis])
        opened = to_rows(deltas, self._pairs)[0]
        if gates.first:
            halves = self._drawn(keys, f"{stage} choice", self._choice, kernels)
        else:
            halves = dealt[of_gates:].reshape(len(self._primes), self._choice, -1)
        masks = self._drawn(keys, f"{stage} masks", self._residues, kernels)
        mine = np.empty_like(masks)

        def choose(at: int) -> None:
            pair, p = (first[at], second[at]), self._primes[at]
            kernels.choose_entries(pair, opened, halves[at], masks[at], gates.first, p, mine[at])

        kernels.threads.each(choose, range(len(self._primes)), size=halves.size // BYTES_PER_RESIDUE)
        others = yield mine
        if kernels.refused(others, self._primes) >= 0:
            peer = Comparer.E1 if gates.first else Comparer.E0
            text = f"the {peer.value} has sent entries that are not below their prime"
            raise CheatError(text, code=Code.BAD_MESSAGE)
        add_residues(mine, others, self._primes, kernels)
        return np.concatenate([mine, masks[:, 1:]], axis=1)

    def _columns(self, first: Bytes, second: Bytes) -> Bytes:
        pair = (first, second) if self._nearer else (second, first)
        return np.stack([one[:, 0] for one in pair], axis=1)

    def _drawn(self, keys: Keys, purpose: str, columns: int, kernels: Kernels) -> Bytes:
        """Residues from the key of a purpose, prime by prime."""
        drawn = np.empty((len(self._primes), columns, BYTES_PER_RESIDUE * self._pairs), dtype=np.uint8)
        ResidueStream(keys.key(purpose, 0), kernels).fill(drawn, self._primes)
        return drawn


class Final:
    """Two or more entries with public weights: finds the one that no other beats, ties to the lowest number.

    Every entry is compared with every other: strictly farther, strictly nearer, and lower number. The weights
    are |S|^2 of each entry's set.
    """

    def __init__(
        self, *, primes: tuple[int, ...], weights: Sequence[int], widths: GateWidths = USUAL
    ) -> None:
        self._primes, self._weights, self._entries = primes, weights, len(weights)
        rivals = self._entries - 1
        every = np.arange(rivals)
        # Five groups of columns, see `_columns`.
        bracket = Bracket(
            first=np.concatenate([every + group * rivals for group in (0, 1, 3)]),
            second=np.concatenate([every + group * rivals for group in (1, 2, 4)]),
            inputs=every[:, np.newaxis],
            negated=np.zeros((rivals, 1), dtype=np.bool_),
        )
        self._plan = BatchPlan.of_columns(primes, self._entries, bracket, columns=5 * rivals, widths=widths)

    def __repr__(self) -> str:
        return f"Final(entries={self._entries})"

    @cached_property
    def _width(self) -> int:
        return (self._entries - 1) * self._plan.words

    @property
    def dealt(self) -> int:
        """Bytes of the dealer's message to E1."""
        return WORD_BYTES * (self._plan.dealt + _TIE[0].dealt * self._width)

    def deal(self, entries: Bytes, stage: str, **tools: Unpack[DealerTools]) -> bytes:
        """The bytes for E1, from the masks of the entries, shape (P, 2, 3 n)."""
        dealt = np.empty(self.dealt // WORD_BYTES, dtype=np.uint64)
        dealing = Dealing(stage, dealt, **tools)
        dealing.signs(self._plan, self._columns(entries))
        masks = dealing.masks((3, self._width))
        dealing.nodes(_TIE, masks[:2], masks[2:])
        if self._plan.conjunction:
            masks = dealing.masks((self._entries - 1, self._plan.words))
            dealing.ands(self._plan.conjunction, masks)
        return dealt.tobytes()

    def evaluate(
        self, entries: Bytes, stage: str, dealt: Bytes, **tools: Unpack[EvaluatorTools]
    ) -> Generator[NDArray[Any], NDArray[Any], Bools]:
        """Which of the masked entries won, shape (n,). `dealt` is as in `Knockout.evaluate`."""
        gates = Evaluating(stage, dealt, **tools)
        signs = yield from gates.signs(self._plan, self._columns(entries))
        farther, nearer, lower = signs.reshape(3, self._width)
        equal = farther ^ nearer
        wires = np.stack([farther, lower, ~equal if gates.first else equal])
        deltas, halves = yield from gates.open(wires)
        ties = gates.nodes(_TIE, (deltas[:2], deltas[2:]), (halves[:2], halves[2:]), "ties")
        beats = ties[0].reshape(-1, self._plan.words)
        if self._plan.conjunction:
            deltas, halves = yield from gates.open(beats)
            won = yield from gates.ands(self._plan.conjunction, deltas, halves)
        else:
            won = beats[0]
        others = yield won
        found: Bools = to_rows((won ^ others)[np.newaxis], self._entries)[0]
        return found

    def _columns(self, entries: Bytes) -> Bytes:
        """Columns w_b x_a, w_a x_b, w_b x_a, number of b, number of a; a meets each b, cyclically."""
        every = np.arange(self._entries)
        rival = (every + every[1:, np.newaxis]) % self._entries
        groups = np.empty((len(self._primes), 5, *rival.shape))
        for group, (x, number), p in zip(groups, unpack(entries), self._primes, strict=True):
            weight = np.array([float(centred(one, p)) for one in self._weights])
            group[:3] = weight[rival] * x, weight * x[rival], weight[rival] * x
            group[3], group[4] = number[rival], number
        columns = reduced(groups, self._primes).reshape(len(self._primes), -1, self._entries)
        return pack_canonical(columns)


def reduced(values: Floats, primes: Sequence[int]) -> Floats:
    """Canonical residues of integers below 2**52, shape (P, ...)."""
    found = np.empty(values.shape)
    for plane, out, p in zip(values, found, primes, strict=True):
        canonical(reduce(plane, p, out), p, out)
    return found
