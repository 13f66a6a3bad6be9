"""What one of the trio keeps of ended starts, to find the best start and its inertia."""

from dataclasses import dataclass, field

from secfc.array_types import Floats, Ints


@dataclass(frozen=True, kw_only=True)
class EndedStart:
    """Sums of D over the rows of each label: masked sums at evaluators, their masks at the dealer."""

    sums: Floats = field(repr=False)  # (P, k)
    sizes: Ints = field(repr=False)  # of the sets to which the distances are


class Starts:
    """The best start so far, and the one compared with it."""

    def __init__(self) -> None:
        self.best: EndedStart | None = None
        self.last: EndedStart | None = None  # set while it is compared with the best one

    def __repr__(self) -> str:
        return "Starts()"

    def end(self) -> EndedStart:
        """Take out the best start. The next starts have another k, or there are none."""
        best, self.best = self.best, None
        assert best is not None
        return best

    def settle(self, *, better: bool) -> None:
        """Keep the better start."""
        if better:
            self.best = self.last
        self.last = None
