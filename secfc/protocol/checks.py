"""The server's checks of shares: one check when all is dealt, or with membership privacy one for each part.

Where shares of different dealers are added up no client can be left out. So a dealer that lies ends the run,
and the error names it. A recipient that lies about its shares is asked nothing more, and its rows stay.
"""

from collections.abc import Collection

from secfc.errors import MessageError, TooManyFaultsError
from secfc.protocol.context import SharePlan
from secfc.protocol.dealing import by_part, columns_of
from secfc.protocol.inquiry import Inquiry
from secfc.protocol.messages import SEED_BYTES, Challenge, Evidence, Message, Report
from secfc.protocol.unread import cannot_be_honest
from secfc.protocol.witness import quorum
from secfc.randomness import MaskSource
from secfc.row_layout import Layout
from secfc.sealing.coin import check_seed

UNION_IS_OPEN = (
    ". Before you repeat the run without that client: the union of the new run would show how many rows "
    "that client held, and somebody who can guess IDs would learn which"
)
"""A warning for whoever wants to repeat a run with membership privacy without one of its clients."""


class ShareChecks:
    """All checks of a run's shares. The plan has `planned` clients. `secret` may give seeds."""

    def __init__(self, plan: SharePlan, *, secret: MaskSource, planned: int) -> None:
        self._plan, self._job, self._secret, self._planned = plan, plan.job, secret, planned
        self._open: dict[int, Inquiry] = {}  # by round
        self._ended: set[int] = set()  # rounds
        self.settled = 0  # with membership privacy: number of first parts whose checks have ended
        # Reasons by client: dealers that dealt wrong shares, recipients that lied about what they were dealt.
        self.dealers: dict[int, str] = {}
        self.recipients: dict[int, str] = {}
        self.unread: set[tuple[int, int]] = set()  # dealer, and recipient that says it cannot read its share

    @property
    def by_part(self) -> bool:
        """Whether each part is checked by itself, while other parts are shared."""
        return by_part(self._job)

    @property
    def convicted(self) -> dict[int, str]:
        """Clients that lied about shares, with the reason."""
        return self.recipients | self.dealers

    def begin(self, layout: Layout, members: Collection[int], values: bytes) -> list[Message]:
        """Challenge the members to combine all shares of `layout`, which all of them hold.

        `values` are the clients' values, from which the seed follows; if empty, the seed is drawn.
        TooManyFaultsError when too few members are left to confirm a seed to each other.
        """
        self._require(members)
        return self._challenge(0, columns_of(layout, self._plan.parts), members, values)

    def begin_part(self, part: int, values: bytes) -> list[Message]:
        """As `begin`, for one part, which all clients hold."""
        clients = range(1, self._job.n + 1)
        return self._challenge(part + 1, [(dealer, part) for dealer in clients], clients, values)

    def awaited(self, members: Collection[int]) -> tuple[int, ...]:
        """The members that have something to send for the oldest open check."""
        if not self._open:
            return ()
        return self._open[min(self._open)].awaited(members)

    def echoes_before_report(self, client: int) -> int:
        """Number of echoes of each other client that a client needs before its report. 0 if it owes none."""
        if not self._open:
            return 0
        oldest = min(self._open)
        return (oldest if self.by_part else 1) if self._open[oldest].awaits_report_of(client) else 0

    def drop(self, client: int, members: Collection[int]) -> list[Message]:
        """Stop waiting for a client that was left out. While others report, raises what `begin` does."""
        inquiry = self._open[0]
        inquiry.drop(client)
        if any(inquiry.awaits_report_of(j) for j in members):
            self._require(members)
        return self._compared(0, members)

    def receive(self, message: Report | Evidence, members: Collection[int]) -> list[Message]:
        """Take a client's report or evidence.

        A MessageError refuses it and changes nothing. TooManyFaultsError when more clients lied than the job
        tolerates, or a dealer that cannot be left out lied.
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
                recipient=j,
                round=round_,
                seed=seed,
                values=values,
            )
            for j in members
        ]

    def _compared(self, round_: int, members: Collection[int]) -> list[Message]:
        """Once all members have answered: compare, then ask for evidence or end the check."""
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
                f"{len(self.convicted)} clients lied about shares, at most "
                f"max_liars={self._job.max_liars} clients may lie: {said}"
            )
        if self.dealers and self.by_part:
            raise TooManyFaultsError(
                f"clients lied about shares: {said}; with membership privacy a client that dealt wrong "
                "shares cannot be left out, because every client holds a part of every "
                f"row{UNION_IS_OPEN}"
            )
