"""Shares and deals that arrived too early. A client keeps them until the message they depend on arrives."""

from collections import Counter
from dataclasses import replace

from secfc.errors import MessageError
from secfc.params import Job
from secfc.protocol.bounds import MOST_DEALT_BYTES, Bounds
from secfc.protocol.messages import Share, UnionDeal
from secfc.protocol.turns import turn_error
from secfc.row_layout import WINDOW
from secfc.sealing.channel import TAG_BYTES, Sealed


class EarlyDeals:
    """Deals of the next stage of a union, at most `WINDOW` parts from each client."""

    def __init__(self) -> None:
        self.held: list[UnionDeal] = []
        self._known = Counter[int]()  # parts, by sender

    def hold(self, message: UnionDeal, *, stage: int) -> None:
        """Keep a part that cannot be opened yet. MessageError if it is too large or not the sender's next."""
        if message.round != stage:
            raise MessageError(
                f"UnionDeal: of stage {message.round} from client {message.sender} out of turn"
            )
        _check_next(message, self._known, most=MOST_DEALT_BYTES + TAG_BYTES)
        self._known[message.sender] += 1
        self.held.append(message)


class EarlyShares:
    """Shares that arrived before the plan, at most `WINDOW` parts from each client."""

    def __init__(self, job: Job) -> None:
        self.held: list[Share] = []
        self._known = Counter[int]()
        self._most, self._tolerant = Bounds(job).share + TAG_BYTES, job.max_liars > 0
        self.spoilt: set[int] = set()  # senders of unreadable shares, where liars are tolerated

    def hold(self, message: Share) -> None:
        """As `EarlyDeals.hold`. Where liars are tolerated, a share that is too large counts as unreadable."""
        if len(message.sealed.payload) > self._most and self._tolerant:
            message = replace(message, sealed=Sealed(payload=b""))
        _check_next(message, self._known, most=self._most)
        self._known[message.sender] += 1
        self.held.append(message)


def _check_next(message: Share | UnionDeal, parts: Counter[int], *, most: int) -> None:
    kind, size = type(message).__name__, len(message.sealed.payload)
    known = parts[message.sender]
    if message.part != known or known == WINDOW:
        text = f"{kind}: part {message.part} from client {message.sender} out of turn"
        raise turn_error(message.part, known)(text)
    if size > most:
        raise MessageError(
            f"{kind}: {size} sealed bytes from client {message.sender}, no part has more than {most}"
        )
