"""The public plan of a batch of rows: how comparisons are split into gates, and how much is dealt."""

from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

import numpy as np

from secfc.field.array_types import Bools, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.kernels.gates import ONES, WORD_BYTES, words_of
from secfc.kernels.interface import Words
from secfc.kernels.threads import parts


@dataclass(frozen=True, kw_only=True)
class GateWidths:
    """Widths of the gates. Wider gates need fewer exchanges and more bytes from the dealer.

    A leaf compares `chunk` bits, 1 to 6, for which 2**chunk - 1 are dealt. A node of the lowest level joins
    `first_fan` leaves. A node of another level joins `fan` nodes, and an AND `fan` wires: 3 to 6. With two, a
    node could have a single wire left, which has its mask already.
    """

    chunk: int = 3
    first_fan: int = 3
    fan: int = 4


USUAL = GateWidths()
WIDE = GateWidths(chunk=4, first_fan=5, fan=6)


FEW = 1 << 14
"""Numbers, over all rows, up to which they are compared with `WIDE` gates: that costs less than one more
exchange. In a LAN an exchange costs the work for a message. A number takes about 70 bytes, and 40 more with
wide gates (docs/decisions/041-comparing-by-three.md)."""


_PIECE = 8192
"""Words of leaves per step: 512 KiB with eight products of each, half an L2 cache."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Consecutive nodes of one level, from wire `offset` on, that take `size` wires each.

    `last` is the level's last node alone: no gate needs to know whether all its wires are equal.
    """

    offset: int
    count: int
    size: int
    last: bool = False

    @property
    def dealt(self) -> int:
        """Bits dealt for a node of a comparison."""
        equal = (1 << self.size - 1) - self.size if self.last else self.dealt_and
        return self.dealt_and + equal

    @property
    def dealt_and(self) -> int:
        """Bits dealt for an AND: one for each product of two or more masks."""
        return (1 << self.size) - 1 - self.size


def level(wires: int, fan: int, *, compares: bool) -> tuple[Group, ...]:
    """The nodes that join two or more wires, of nearly equal sizes, at most `fan`.

    With `compares` the last node is a group of its own.
    """
    nodes = -(-wires // fan)
    size, larger = divmod(wires, nodes)
    groups = [
        Group(offset=0, count=larger, size=size + 1),
        Group(offset=larger * (size + 1), count=nodes - larger, size=size),
    ]
    if compares:
        end = groups.pop()
        groups.append(Group(offset=end.offset, count=end.count - 1, size=size))
        groups.append(Group(offset=wires - size, count=1, size=size, last=True))
    return tuple(group for group in groups if group.count)


@cache
def levels(wires: int, fans: tuple[int, ...], *, compares: bool = False) -> tuple[tuple[Group, ...], ...]:
    """Levels of nodes until one wire is left. The last fan-in is that of all further levels."""
    found: list[tuple[Group, ...]] = []
    while wires > 1:
        found.append(level(wires, fans[min(len(found), len(fans) - 1)], compares=compares))
        wires = sum(group.count for group in found[-1])
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """Which ANDs of the signs of a row's `columns` are made.

    `inputs` are the columns that each AND takes, shape (n, outputs). `negated` says whether it takes their
    negations.
    """

    columns: int
    inputs: Ints = field(repr=False)
    negated: Bools = field(repr=False)

    @property
    def outputs(self) -> int:
        """Bits per row."""
        return int(self.inputs.shape[1])


@lru_cache(maxsize=8)
def below_zero(columns: int) -> Bracket:
    """One output for each column: it is below 0."""
    every = np.arange(columns)[np.newaxis]
    return Bracket(columns=columns, inputs=every, negated=np.zeros((1, columns), dtype=np.bool_))


@lru_cache(maxsize=8)
def wins(slots: int) -> Bracket:
    """One output for each of two or more slots but the last: no other beats it, ties to the lowest number.

    Columns are pairs a < b of slots, below 0 if b strictly beats a.
    """
    first, second = np.triu_indices(slots, 1)
    number = np.zeros((slots, slots), dtype=np.int64)
    number[first, second] = number[second, first] = np.arange(first.size)
    slot, other = np.nonzero(~np.eye(slots, dtype=np.bool_))
    return Bracket(
        columns=first.size,
        inputs=number[slot, other].reshape(slots, -1).T[:, :-1],
        negated=(other > slot).reshape(slots, -1).T[:, :-1],
    )


class BatchPlan:
    """A batch: rows of residues, each compared as the bracket says. Few are compared by wide gates."""

    def __init__(self, primes: tuple[int, ...], rows: int, bracket: Bracket) -> None:
        self.bracket, self.rows, self.columns = bracket, rows, bracket.columns
        self.radix = MixedRadix(primes)
        self.widths = WIDE if bracket.columns * rows <= FEW else USUAL

    @cached_property
    def words(self) -> int:
        """W, words that hold a bit of each row."""
        return words_of(self.rows)

    @cached_property
    def per_digit(self) -> int:
        """Chunks per mixed-radix digit."""
        return -(-max(self.radix.primes).bit_length() // self.widths.chunk)

    @cached_property
    def chunks(self) -> int:
        """Leaves per column."""
        return self.per_digit * len(self.radix.primes)

    @cached_property
    def wires(self) -> int:
        """Words of a wire, over all columns."""
        return self.columns * self.words

    @cached_property
    def leaf(self) -> int:
        """Bits dealt for a leaf."""
        return (1 << self.widths.chunk) - 1

    @cached_property
    def leaves(self) -> int:
        """Words of all leaves' wires."""
        return self.chunks * self.wires

    @cached_property
    def pieces(self) -> list[slice]:
        """Words of leaves that are computed at a time."""
        return parts(self.leaves, -(-self.leaves // _PIECE))

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
        """Levels above the signs."""
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
