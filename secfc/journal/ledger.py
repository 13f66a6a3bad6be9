"""What a party has taken from and sent to each other party, in numbers, and what it may have to send again.

Messages between two parties keep their order, so the count of those that one has from the other tells which
those are. A party that makes a message again from its journal need not keep it; one that drops frames from
its journal keeps what they caused until the recipient has it on its own disk.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from secfc.errors import StorageError
from secfc.journal.records import Buffer


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A message: its index among the messages to its recipient, from 0."""

    recipient: int
    index: int
    message: Buffer = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Stands:
    """What a journal has, for a carrier that has lost count.

    Attributes
    ----------
    taken : int
        Frames.
    taken_from, sent_to : dict of int to int
        Messages among them by sender, and those that they caused by recipient.
    forgotten : dict of int to int
        Of these the first so many, which cannot be made again.
    """

    taken: int
    taken_from: dict[int, int]
    sent_to: dict[int, int]
    forgotten: dict[int, int]


class Ledger:
    """Counts, and messages that are not settled: not known to be on their recipient's disk.

    Parameters
    ----------
    keeps : bool
        Whether messages are kept here until they are settled.

    Attributes
    ----------
    taken_from : Counter
        Messages by sender.
    sent_to : Counter
        Messages by recipient.
    unsettled : deque of Sent
    """

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self.taken_from: Counter[int] = Counter()
        self.sent_to: Counter[int] = Counter()
        self.unsettled: deque[Sent] = deque()
        self._settled: Counter[int] = Counter()

    def __repr__(self) -> str:
        return f"Ledger(unsettled={len(self.unsettled)})"

    def send(self, recipients: Iterable[int], messages: Sequence[Buffer]) -> list[Sent]:
        """Number messages."""
        numbered = []
        for recipient, message in zip(recipients, messages, strict=True):
            numbered.append(Sent(recipient=recipient, index=self.sent_to[recipient], message=message))
            self.sent_to[recipient] += 1
        if self._keeps:
            self.unsettled.extend(one for one in numbered if one.index >= self._settled[one.recipient])
        return numbered

    def skip(self, recipients: Iterable[int]) -> None:
        """Number messages that nobody needs again."""
        self.sent_to.update(recipients)

    def before(self, recipients: Sequence[int], carried: Sequence[int | None]) -> bool:
        """Whether the next messages, to these, were all carried."""
        return all(
            self.sent_to[one] + more <= _limit(carried, one) for one, more in Counter(recipients).items()
        )

    def settle(self, recipient: int, count: int) -> None:
        """The recipient has the first so many on its disk, or will need none: they need not be kept."""
        self._settled[recipient] = count
        self.unsettled = deque(
            one for one in self.unsettled if one.recipient != recipient or one.index >= count
        )

    def check(self, left: Sequence[Sent], carried: Sequence[int | None]) -> None:
        """Raise StorageError unless these are all that was sent and not carried."""
        here = Counter(one.recipient for one in left)
        for recipient, count in enumerate(carried):
            sent = self.sent_to[recipient]
            if count is not None and here[recipient] != sent - count:
                raise StorageError(
                    f"it has {here[recipient]} of {sent} messages to party {recipient} left to send, but the "
                    f"first {count} were carried"
                )


def not_carried(messages: Iterable[Sent], carried: Sequence[int | None]) -> list[Sent]:
    """Those that are still to be sent.

    Parameters
    ----------
    messages : iterable of Sent
    carried : sequence of int or None
        Messages that were carried to each party, 0 first; None where it needs none of those made until now.
    """
    return [one for one in messages if one.index >= _limit(carried, one.recipient)]


def _limit(carried: Sequence[int | None], recipient: int) -> float:
    count = carried[recipient]
    return float("inf") if count is None else count
