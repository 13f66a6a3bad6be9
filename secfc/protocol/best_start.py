"""How starts ended at one of the trio, to find the best start and its inertia."""

from dataclasses import dataclass, field

from secfc.array_types import Floats, Ints


@dataclass(frozen=True, kw_only=True)
class EndedStart:
    """Sums of D over the rows of each label: masked at evaluators, masks at the dealer."""

    sums: Floats = field(repr=False)  # (P, k)
    sizes: Ints = field(repr=False)  # of the sets that the distances are to


class Starts:
    """Starts that have ended."""

    def __init__(self) -> None:
        self.best: EndedStart | None = None
        self.last: EndedStart | None = None  # while it is compared with the best one so far

    def __repr__(self) -> str:
        return "Starts()"

    def end(self) -> EndedStart:
        """The best one, behind which starts with another number of clusters follow, or none."""
        best, self.best = self.best, None
        assert best is not None
        return best

    def settle(self, *, better: bool) -> None:
        """Keep the better one."""
        if better:
            self.best = self.last
        self.last = None
