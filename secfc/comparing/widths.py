"""How a comparison is split into gates: chunks of bits, and trees of nodes."""

from dataclasses import dataclass
from functools import cache

from secfc.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class GateWidths:
    """Widths of the gates. Wider gates need fewer exchanges and more bytes from the dealer.

    A leaf compares `chunk` bits, for which 2**chunk - 1 are dealt. A node of the lowest level joins
    `first_fan` leaves. A node of another level joins `fan` nodes, and an AND `fan` wires.
    """

    chunk: int = 3
    first_fan: int = 3
    fan: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.chunk <= 6:
            raise ParameterError(f"chunk: 1 to 6 bits are possible, {self.chunk} was given")
        for name in ("first_fan", "fan"):
            # With two, a node could have a single wire left, which has its mask already.
            if not 3 <= getattr(self, name) <= 6:
                raise ParameterError(f"{name}: 3 to 6 are possible, {getattr(self, name)} was given")


USUAL = GateWidths()
WIDE = GateWidths(chunk=4, first_fan=5, fan=6)


FEW = 1 << 14
"""Number of pairs of centres, over all rows of a question, that cost less than one more exchange.

Up to so many extra pairs, all pairs are compared at once instead of champions first. Up to so many pairs are
compared with `WIDE` gates. In a LAN an exchange costs the work for a message. A pair of a row takes about 70
bytes, and 40 more with wide gates. Champions first need five exchanges more, wide gates one less
(docs/decisions/041-comparing-by-three.md).
"""


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
