"""The public plan of a batch of rows: pairs, gates, and how much is dealt and opened."""

from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np

from secfc.comparing.widths import FEW, USUAL, WIDE, GateWidths, Group, levels
from secfc.field.array_types import Bools, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.field.residues import centred
from secfc.kernels.gates import ONES
from secfc.kernels.interface import Differences, Words
from secfc.kernels.slicing import WORD_BYTES, words_of


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """Which pairs of a row's slots are compared, and which ANDs of the outcomes are opened.

    `first` and `second`, shape (pairs,), are as in `Differences`. The outcome of a pair is whether the second
    strictly beats the first. `inputs` are the pairs that each AND takes, shape (n, outputs). `negated` says
    whether it takes their negations.
    """

    first: Ints = field(repr=False)
    second: Ints = field(repr=False)
    inputs: Ints = field(repr=False)
    negated: Bools = field(repr=False)

    @classmethod
    @lru_cache(maxsize=8)
    def all_pairs(cls, slots: int) -> "Bracket":
        """One output for each of two or more slots: no other slot beats it, ties to the lowest index."""
        first, second = np.triu_indices(slots, 1)
        number = np.zeros((slots, slots), dtype=np.int64)
        number[first, second] = number[second, first] = np.arange(first.size)
        slot, other = np.nonzero(~np.eye(slots, dtype=np.bool_))
        return cls(
            first=first,
            second=second,
            inputs=number[slot, other].reshape(slots, -1).T,
            negated=(other > slot).reshape(slots, -1).T,
        )

    @property
    def outputs(self) -> int:
        """Opened bits per row."""
        return int(self.inputs.shape[1])


@dataclass(frozen=True, kw_only=True)
class BatchPlan:
    """A batch: rows of residues from `start` on, each compared as the bracket says."""

    bracket: Bracket
    differences: Differences
    rows: int
    widths: GateWidths
    start: int = 0

    @classmethod
    def of_signs(cls, primes: tuple[int, ...], rows: int, bracket: Bracket, *, columns: int) -> "BatchPlan":
        """A batch that compares so many columns with 0, which is column `columns` of the bracket.

        It stands for any column with weight 2 while all others have weight 0. Few are compared by wide gates.
        """
        differences = Differences(
            columns=np.append(np.arange(columns), 0),
            weights=np.array([[0.0] * columns + [float(centred(2, p))] for p in primes]),
            first=bracket.first,
            second=bracket.second,
            radix=MixedRadix(primes),
        )
        widths = WIDE if bracket.first.size * rows <= FEW else USUAL
        return cls(bracket=bracket, differences=differences, rows=rows, widths=widths)

    @cached_property
    def words(self) -> int:
        """W, words that hold a bit of each row."""
        return words_of(self.rows)

    @cached_property
    def per_digit(self) -> int:
        """Chunks per mixed-radix digit."""
        return -(-max(self.differences.radix.primes).bit_length() // self.widths.chunk)

    @cached_property
    def chunks(self) -> int:
        """Leaves per pair."""
        return self.per_digit * len(self.differences.radix.primes)

    @cached_property
    def wires(self) -> int:
        """Words of a wire, over all pairs."""
        return self.bracket.first.size * self.words

    @cached_property
    def joined(self) -> int:
        """Words of a wire, over all outputs."""
        return self.bracket.outputs * self.words

    @cached_property
    def comparison(self) -> tuple[tuple[Group, ...], ...]:
        """Levels above the leaves."""
        return levels(self.chunks, (self.widths.first_fan, self.widths.fan), compares=True)

    @cached_property
    def conjunction(self) -> tuple[tuple[Group, ...], ...]:
        """Levels above the outcomes of pairs."""
        return levels(self.bracket.inputs.shape[0], (self.widths.fan,))

    @cached_property
    def dealt(self) -> int:
        """Words that the dealer sends."""
        of_pair, of_output = _dealt(self.chunks, self.bracket.inputs.shape[0], self.widths)
        return of_pair * self.wires + of_output * self.joined

    def negations(self) -> Words:
        """Words to add to the inputs of the ANDs. The shape broadcasts to (n, outputs, W)."""
        return np.where(self.bracket.negated, ONES, np.uint64(0))[..., np.newaxis]


def most_dealt_bytes(rows: int, k: int, primes: int) -> int:
    """Upper bound on the bytes of one message of the dealer about labels of so many rows.

    It covers all pairs of k centres with the usual widths, and few pairs (up to their limit) with wide ones.
    """
    slots, words = max(k, 2), words_of(rows)
    longest = max(prime.p for prime in PRIMES).bit_length()
    usual, widened = (primes * -(-longest // widths.chunk) for widths in (USUAL, WIDE))
    of_pair, of_output = _dealt(usual, slots - 1, USUAL)
    most = words * (slots * (slots - 1) // 2 * of_pair + slots * of_output)
    for few in range(2, slots + 1):  # sets without rows are not compared
        pairs = few * (few - 1) // 2
        if pairs > FEW:
            break
        of_pair, of_output = _dealt(widened, few - 1, WIDE)
        most = max(most, words_of(min(rows, FEW // pairs)) * (pairs * of_pair + few * of_output))
    return WORD_BYTES * most


@cache
def _dealt(chunks: int, joined: int, widths: GateWidths) -> tuple[int, int]:
    """Dealt words per word of a pair of so many leaves, and of an output that ANDs so many pairs."""
    nodes = levels(chunks, (widths.first_fan, widths.fan), compares=True)
    joins = levels(joined, (widths.fan,))
    leaves = ((1 << widths.chunk) - 1) * chunks
    return (
        leaves + sum(group.count * group.dealt for groups in nodes for group in groups) + 1,
        sum(group.count * group.dealt_and for groups in joins for group in groups),
    )
