"""How a comparison is cut into gates: chunks of bits, and trees of nodes."""

from dataclasses import dataclass
from functools import cache

from secfc.errors import ParameterError
from secfc.options import Link


@dataclass(frozen=True, kw_only=True)
class GateWidths:
    """Widths of the gates. Wider ones take fewer exchanges and more bytes from the dealer.

    A leaf compares `chunk` bits, for which 2**chunk - 1 are dealt. A node of the lowest level joins
    `first_fan` leaves, one of another level `fan` nodes, and an AND `fan` wires.
    """

    chunk: int = 3
    first_fan: int = 3
    fan: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.chunk <= 6:
            raise ParameterError(f"chunk: 1 to 6 bits are possible, {self.chunk} was given")
        for name in ("first_fan", "fan"):
            # With two, a node could be left with a single wire, which has its mask already.
            if not 3 <= getattr(self, name) <= 6:
                raise ParameterError(f"{name}: 3 to 6 are possible, {getattr(self, name)} was given")


USUAL = GateWidths()
WIDE = GateWidths(chunk=4, first_fan=5, fan=6)


@dataclass(frozen=True, kw_only=True)
class Few:
    """Pairs of centres, over all rows of a question, that cost less than an exchange of the evaluators.

    `at_once` more are compared rather than champions first; `wide` are compared with `WIDE` gates.
    """

    at_once: int
    wide: int

    def widths(self, pairs: int) -> GateWidths:
        """Widths of gates for so many pairs."""
        return WIDE if pairs <= self.wide else USUAL


FEW: dict[Link, Few] = {
    "lan": Few(at_once=1 << 14, wide=1 << 14),
    "wan": Few(at_once=1 << 17, wide=1 << 15),
}
"""By link. In a LAN an exchange costs the work for a message, in a WAN 50 ms, in which 2 MB come at 40 MB/s.

A pair of a row takes about 70 bytes, and wide gates 40 more. Champions first take five exchanges more, wide
gates one less (docs/decisions/041-comparing-by-three.md).
"""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Nodes of one level that take `size` wires each, one behind the other from wire `offset` on.

    `last` is the level's last node alone: whether all its wires are equal is asked of nobody.
    """

    offset: int
    count: int
    size: int
    last: bool = False

    @property
    def dealt(self) -> int:
        """Bits that are dealt for a node of a comparison."""
        equal = (1 << self.size - 1) - self.size if self.last else self.dealt_and
        return self.dealt_and + equal

    @property
    def dealt_and(self) -> int:
        """Bits that are dealt for an AND: of each product of two masks or more."""
        return (1 << self.size) - 1 - self.size


def level(wires: int, fan: int, *, compares: bool) -> tuple[Group, ...]:
    """The nodes that join two wires or more, of nearly equal sizes, at most `fan`.

    `compares` tells the last node apart.
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
    """Levels of nodes until one wire is left; the last fan-in is that of all further levels."""
    found: list[tuple[Group, ...]] = []
    while wires > 1:
        found.append(level(wires, fans[min(len(found), len(fans) - 1)], compares=compares))
        wires = sum(group.count for group in found[-1])
    return tuple(found)
