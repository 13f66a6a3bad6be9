"""Slots: the numbered comparisons that the trio makes in a round."""


class Slots:
    """Slots of a round. The first comparison of a part has the part's number."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.farthest = parts  # farthest rows, for emptied clusters; then the cores of parts
        self.score = self.core(parts)  # score of an ended start
        self.outcome = self.score + 1  # to the dealer: which start is better
        self.inertia = self.outcome + 1  # inertia of the result, where it is opened
        self.least = self.inertia + 1  # choice of a candidate of a start
        self.draw = self.least + 1  # draw of the next candidates
        self.count = self.draw + 1

    def core(self, part: int) -> int:
        """The slot of a part's core."""
        return self.parts + 1 + part

    def part_of_core(self, slot: int) -> int | None:
        """The part whose core has this slot, None for another slot."""
        part = slot - self.core(0)
        return part if 0 <= part < self.parts else None
