"""What the trio compares at a time, numbered: the slots of a round."""


class Slots:
    """Slots of a round; what is compared of a part of an answer at first has the part's number."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.farthest = parts  # the farthest rows of emptied clusters; the cores of parts follow
        self.score = self.core(parts)  # of a start that has ended
        self.outcome = self.score + 1  # the dealer is told which start is better
        self.inertia = self.outcome + 1  # of the result, where it is opened
        self.least = self.inertia + 1  # which candidate of a start is chosen
        self.draw = self.least + 1  # the next candidates
        self.count = self.draw + 1

    def core(self, part: int) -> int:
        """The core of a part."""
        return self.parts + 1 + part

    def part_of_core(self, slot: int) -> int | None:
        """The part whose core this is, None for another slot."""
        part = slot - self.core(0)
        return part if 0 <= part < self.parts else None
