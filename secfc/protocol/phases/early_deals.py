"""Deals of a union's next stage, kept while they are too early."""

from collections import Counter

from secfc.crypto.channel import TAG_BYTES
from secfc.errors import MessageError
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import UnionDeal
from secfc.protocol.messages.accepted import turn_error
from secfc.protocol.messages.encodings import MOST_DEALT_BYTES


class EarlyDeals:
    """Parts that cannot be opened yet, at most `WINDOW` from each client."""

    def __init__(self) -> None:
        self.held: list[UnionDeal] = []
        self._known = Counter[int]()  # parts, by sender

    def hold(self, message: UnionDeal, *, stage: int) -> None:
        """Keep a deal of the next stage. MessageError if it is too large or not the sender's next."""
        sender, size, most = message.sender, len(message.sealed.payload), MOST_DEALT_BYTES + TAG_BYTES
        if message.round != stage:
            raise MessageError(f"UnionDeal: of stage {message.round} from client {sender} out of turn")
        known = self._known[sender]
        if message.part != known or known == WINDOW:
            text = f"UnionDeal: part {message.part} from client {sender} out of turn"
            raise turn_error(message.part, known)(text)
        if size > most:
            raise MessageError(
                f"UnionDeal: {size} sealed bytes from client {sender}, no part has more than {most}"
            )
        self._known[sender] += 1
        self.held.append(message)
