"""Scores of starts at one of the trio, to find the best start."""

from secfc.array_types import Floats


class Scores:
    """Scores of starts at one of the trio: masked at evaluators, masks at the dealer.

    Attributes
    ----------
    best, last : ndarray of shape (P,), float64, or None
        Of the best start so far, and of the last one while it is compared with that.
    """

    def __init__(self) -> None:
        self.best: Floats | None = None
        self.last: Floats | None = None

    def __repr__(self) -> str:
        return "Scores()"

    def settle(self, *, better: bool) -> None:
        """Keep the better one."""
        if better:
            self.best = self.last
        self.last = None
