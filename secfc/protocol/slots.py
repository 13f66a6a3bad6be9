"""What the trio compares at a time, numbered: the slots of a round."""

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Slots:
    """Slots of a round; what is compared of a part of an answer at first has the part's number."""

    parts: int

    @cached_property
    def farthest(self) -> int:
        """The farthest rows of emptied clusters."""
        return self.parts

    def core(self, part: int) -> int:
        """The core of a part."""
        return self.parts + 1 + part

    def part_of_core(self, slot: int) -> int | None:
        """The part whose core this is, None for another slot."""
        part = slot - self.core(0)
        return part if 0 <= part < self.parts else None

    @cached_property
    def score(self) -> int:
        """The score of a start that has ended."""
        return self.core(self.parts)

    @cached_property
    def outcome(self) -> int:
        """The dealer is told which start is better."""
        return self.score + 1

    @cached_property
    def inertia(self) -> int:
        """The inertia of the result, where it is opened."""
        return self.outcome + 1

    @cached_property
    def least(self) -> int:
        """Which candidate of a start is chosen."""
        return self.inertia + 1

    @cached_property
    def draw(self) -> int:
        """The next candidates."""
        return self.least + 1

    @cached_property
    def count(self) -> int:
        """Slots in all."""
        return self.draw + 1
