"""The server's checks of shares: one of all when everything is dealt, or with membership privacy one a part.

Where shares of different dealers are added up nobody can be left out, so a dealer that lies ends the run by
name; who lies about what it was dealt is heard no more, and its rows stay.
"""

from collections.abc import Collection

from secfc.errors import MessageError, TooManyFaultsError
from secfc.protocol.context import SharePlan
from secfc.protocol.dealing import by_part, columns_of
from secfc.protocol.inquiry import Inquiry
from secfc.protocol.messages import SEED_BYTES, SERVER, Challenge, Evidence, Message, Report
from secfc.protocol.unread import cannot_be_honest
from secfc.protocol.witness import quorum
from secfc.randomness import MaskSource
from secfc.row_layout import Layout
from secfc.sealing.coin import check_seed

UNION_IS_OPEN = (
    ". Before it starts again without a client: the union of the new run would show how many rows that "
    "client held, and which to those who can guess IDs"
)
"""What a person should know who thinks of a run without somebody that this one could not do without."""


class ShareChecks:
    """All checks of a run's shares, of the `planned` clients that it began with; `secret` may give seeds."""

    def __init__(self, plan: SharePlan, *, secret: MaskSource, planned: int) -> None:
        self._plan, self._job, self._secret, self._planned = plan, plan.job, secret, planned
        self._open: dict[int, Inquiry] = {}  # by round
        self._ended: set[int] = set()  # rounds
        self.settled = 0  # with membership privacy: parts, the first ones, that nobody disputes any more
        # Clients that lied about what they dealt, or were dealt, with the reason.
        self.dealers: dict[int, str] = {}
        self.recipients: dict[int, str] = {}
        self.unread: set[tuple[int, int]] = set()  # dealers, and recipients that say they cannot read theirs

    @property
    def by_part(self) -> bool:
        """Whether each part is checked by itself, while others are shared."""
        return by_part(self._job)

    @property
    def convicted(self) -> dict[int, str]:
        """Clients that lied about shares, with the reason."""
        return self.recipients | self.dealers

    def begin(self, layout: Layout, members: Collection[int], values: bytes) -> list[Message]:
        """Everybody holds all these rows: challenge the members to combine them, by values that were told.

        TooManyFaultsError when too few are left to confirm a seed to each other.
        """
        self._require(members)
        return self._challenge(0, columns_of(layout, self._plan.parts), members, values)

    def begin_part(self, part: int, values: bytes) -> list[Message]:
        """Everybody holds this part: the same for it alone, of all clients."""
        clients = range(1, self._job.n + 1)
        return self._challenge(part + 1, [(dealer, part) for dealer in clients], clients, values)

    def awaited(self, members: Collection[int]) -> tuple[int, ...]:
        """Of these clients, who has something to send for the oldest open check."""
        if not self._open:
            return ()
        return self._open[min(self._open)].awaited(members)

    def echoes_before_report(self, client: int) -> int:
        """Echoes of each other client that come before the report that a client owes; 0 if it owes none."""
        if not self._open:
            return 0
        oldest = min(self._open)
        return (oldest if self.by_part else 1) if self._open[oldest].awaits_report_of(client) else 0

    def drop(self, client: int, members: Collection[int]) -> list[Message]:
        """Wait for nothing from a client that was left out; while others report, raises as `begin`."""
        inquiry = self._open[0]
        inquiry.drop(client)
        if any(inquiry.awaits_report_of(j) for j in members):
            self._require(members)
        return self._compared(0, members)

    def receive(self, message: Report | Evidence, members: Collection[int]) -> list[Message]:
        """Take what a client says of its shares.

        A MessageError refuses it, and nothing has changed. TooManyFaultsError when more clients lied than the
        job tolerates, or one that cannot be left out dealt badly.
        """
        inquiry = self._open.get(message.round)
        if inquiry is None:
            raise MessageError(
                f"{type(message).__name__}: from client {message.sender} on check {message.round}, which is "
                f"not open"
            )
        if isinstance(message, Report):
            inquiry.take_report(message)
        else:
            inquiry.take_evidence(message)
        return self._compared(message.round, members)

    @property
    def over(self) -> bool:
        """Whether no check is open."""
        return not self._open

    def _require(self, members: Collection[int]) -> None:
        """Raise TooManyFaultsError unless the members can confirm a seed to each other."""
        job = self._job
        if len(members) < quorum(job, self._planned):
            raise TooManyFaultsError(
                f"to check shares, N > 2S + t must hold for the N clients of the plan: "
                f"{self._planned} <= 2 * {self._planned - len(members)} + {job.t}"
            )

    def _challenge(
        self, round_: int, columns: list[tuple[int, int]], members: Collection[int], values: bytes
    ) -> list[Message]:
        if values:
            seed = check_seed(self._plan.transcript, round_, values)
        else:
            seed = self._secret.octets(SEED_BYTES)
        self._open[round_] = Inquiry(self._plan, seed=seed, columns=columns, round_=round_)
        return [
            Challenge(
                run=self._plan.session.run,
                sender=SERVER,
                recipient=j,
                round=round_,
                seed=seed,
                values=values,
            )
            for j in members
        ]

    def _compared(self, round_: int, members: Collection[int]) -> list[Message]:
        """Once everybody has said what they were asked: compare, ask for evidence, or end the check."""
        inquiry = self._open[round_]
        if inquiry.awaited(members):
            return []
        disputes = inquiry.compare()
        if disputes:
            return disputes
        for client, reason in inquiry.dealers.items():
            self.dealers.setdefault(client, reason)
        for client, reason in inquiry.recipients.items():
            self.recipients.setdefault(client, reason)
        self.unread |= inquiry.unread
        self._judge()
        del self._open[round_]
        self._ended.add(round_)
        while self.settled + 1 in self._ended:
            self.settled += 1
        return []

    def _judge(self) -> None:
        for client, reason in cannot_be_honest(
            self.unread, known=self.convicted, most=self._job.max_liars
        ).items():
            (self.dealers if any(client == one for one, _ in self.unread) else self.recipients)[client] = (
                reason
            )
        said = "; ".join(f"client {j}: {reason}" for j, reason in sorted(self.convicted.items()))
        if len(self.convicted) > self._job.max_liars:
            raise TooManyFaultsError(
                f"{len(self.convicted)} clients lied about shares, at most max_liars={self._job.max_liars} "
                f"may: {said}"
            )
        if self.dealers and self.by_part:
            raise TooManyFaultsError(
                f"clients lied about shares: {said}; with membership privacy who dealt badly cannot be left "
                f"out, for every client holds a part of every row{UNION_IS_OPEN}"
            )
