"""What the server reports to its driver of the progress of a run."""

from dataclasses import dataclass

from secfc.protocol.messages import Phase


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a run, for a person who watches it.

    Attributes
    ----------
    phase : str
    waiting_for : int
        Number of clients whose message the server still needs to continue.
    round, iteration : int
        Number of the round, and of finished iterations in the current start.
    moved : int or None
        Rows whose label changed in the last iteration. None where nobody knows it.
    inertia : float or None
        Inertia of the last iteration, in the data's units squared.
    sent_bytes : int
        Bytes sent by all parties so far, counted by the driver. 0 from the server itself.
    """

    phase: Phase
    waiting_for: int
    round: int = 0
    iteration: int = 0
    moved: int | None = 0
    inertia: float | None = None
    sent_bytes: int = 0
