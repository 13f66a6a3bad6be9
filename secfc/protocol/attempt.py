"""Who compares with disclosure "labels": the job's first three, and reserves in the places of lost ones.

An *attempt* is all questions to the same three parties, the *trio*: a dealer and two evaluators. When one of
them is lost, the next reserve takes its place, and all questions are asked again from the first on: values
kept from round to round are masked for one trio alone. No party changes its place, so no dealer evaluates and
no evaluator deals.
"""

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property

from secfc.comparing.role import Comparer
from secfc.errors import MessageError
from secfc.params import COMPARERS, Job

_LABEL = b"secfc attempt 1"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An attempt at a run's questions, from round `since` on.

    `comparers` are the job's: dealer, first and second evaluator, then reserves in order. `lost` are those
    that no longer compare, in the order in which they were replaced. A reserve that was lost before it could
    take a place is among them, as if it had taken it. MessageError when a party in `lost` does not compare,
    or no reserve is left.
    """

    comparers: tuple[int, ...]
    lost: tuple[int, ...] = ()
    since: int = 1

    def __post_init__(self) -> None:
        _ = self.trio

    @cached_property
    def trio(self) -> tuple[int, int, int]:
        """Dealer, first and second evaluator."""
        places, reserves = list(self.comparers[:COMPARERS]), iter(self.comparers[COMPARERS:])
        for client in self.lost:
            if client not in places:
                raise MessageError(f"client {client} is lost as a comparer, and does not compare")
            reserve = next(reserves, None)
            if reserve is None:
                raise MessageError(f"client {client} is lost as a comparer, and no reserve is left")
            places[places.index(client)] = reserve
        dealer, first, second = places
        return dealer, first, second

    @cached_property
    def who(self) -> dict[Comparer, int]:
        """The client or helper in each place."""
        return dict(zip(Comparer, self.trio, strict=True))

    @property
    def dealer(self) -> int:
        """The dealer."""
        return self.trio[0]

    @cached_property
    def places(self) -> list[set[int]]:
        """The trio, each as a set of one."""
        return [{one} for one in self.trio]

    @property
    def evaluators(self) -> tuple[int, int]:
        """The first and the second evaluator."""
        _, first, second = self.trio
        return first, second

    @property
    def range_round(self) -> int:
        """Number of the round before the first question, in which rows are shown to be within the bound."""
        return self.since - 1

    def question(self, round_: int) -> int:
        """Number of a round's question, from 1. A question has the same number in every attempt."""
        return round_ - self.since + 1

    def again(self, client: int, since: int) -> "Attempt":
        """The next attempt, when `client` of the trio is lost. Raises what the constructor does."""
        return Attempt(comparers=self.comparers, lost=(*self.lost, client), since=since)

    def precedes(self, lost: tuple[int, ...]) -> bool:
        """Whether the list `lost` begins with this attempt's list."""
        return lost[: len(self.lost)] == self.lost

    def digest(self, question: bytes) -> bytes:
        """SHA-256 of a question's digest and this attempt at it."""
        place = struct.pack(f"<IH{len(self.lost)}H", self.since, len(self.lost), *self.lost)
        return hashlib.sha256(_LABEL + place + question).digest()


def may_be_sent(kind: str, job: Job, sender: int, recipient: int) -> bool:
    """Whether `sender` may send this type of message to `recipient` in some attempt of a job."""
    if job.disclosure != "labels":
        return False
    reserves = job.comparers[COMPARERS:]
    places = [{one, *reserves} for one in job.trio]
    again = [{one} for one in job.recheckers]
    return any(is_sent(kind, trio, job.n, sender, recipient) for trio in (places, again) if trio)


def is_sent(kind: str, places: list[set[int]], n: int, sender: int, recipient: int) -> bool:
    """Whether `sender` sends this type of message to `recipient`, with n clients.

    `places` are the possible dealers, first evaluators and second evaluators.
    """
    dealers, first, second = places
    match kind:
        case "SpareMasks":
            return sender in dealers and recipient <= n
        case "MaskedAnswer":
            return sender <= n and recipient in first
        case "MaskedDistances":
            return sender in first and recipient in second
    return kind == "Compared" and {sender, recipient} <= dealers | first | second
