"""The server's checks of shares: one check when all is dealt, or with membership privacy one for each part.

Where shares of different dealers are added up no client can be left out. So a dealer that lies ends the run,
and the error names it. A recipient that lies about its shares is asked nothing more, and its rows stay.
"""

from collections.abc import Collection, Sequence

from secfc.crypto.coin import check_seed
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, SealError, TooManyFaultsError
from secfc.field.packing import packed_bytes
from secfc.protocol.context import SharePlan
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import SEED_BYTES, Challenge, Dispute, Evidence, Message, Report
from secfc.protocol.signed import SignedReport, report_statement, share_statement
from secfc.protocol.witness import quorum
from secfc.sharing.dealing import (
    Column,
    Reports,
    by_part,
    check_report,
    columns_of,
    combined_payload,
    covers_of,
    sizes_of,
)
from secfc.sharing.own_rows import UNION_IS_OPEN
from secfc.sharing.unread import cannot_be_honest


class Inquiry:
    """Finds who lied about these parts of shares. `round_` is 0 for a check of all parts at once."""

    def __init__(self, plan: SharePlan, *, seed: bytes, columns: Sequence[Column], round_: int = 0) -> None:
        self._plan, self._job, self._primes, self._transcript = plan, plan.job, plan.primes, plan.transcript
        self._seed, self._columns, self._round = seed, list(columns), round_
        self._reports: dict[int, SignedReport] = {}
        self._compared: Reports | None = None  # once all reports are here
        self._open: dict[tuple[int, int], int] = {}  # part to show, by dealer and recipient
        # As in `secfc.sharing.share_checks.ShareChecks`.
        self.dealers: dict[int, str] = {}
        self.recipients: dict[int, str] = {}
        self.unread: frozenset[tuple[int, int]] = frozenset()

    def awaited(self, members: Collection[int]) -> tuple[int, ...]:
        """The members that have something to send."""
        if self._compared is None:
            return tuple(j for j in members if j not in self._reports)
        asked = {recipient for _, recipient in self._open}
        return tuple(j for j in members if j in asked)

    def awaits_report_of(self, client: int) -> bool:
        """Whether a client has not reported yet."""
        return client not in self._reports

    def drop(self, client: int) -> None:
        """Stop waiting for a client that was left out, and drop its report."""
        if self._compared is None:
            self._reports.pop(client, None)
        self._open = {pair: part for pair, part in self._open.items() if client != pair[1]}

    def take_report(self, message: Report) -> None:
        """Keep a client's first report. MessageError if it is not valid, SealError if it is not signed."""
        sender, residues = message.sender, message.residues
        if sender in self._reports:
            raise MessageError(f"Report: a second one from client {sender}")
        expected = (len(self._primes), covers_of(self._job), len(self._columns))
        if residues.shape != expected:
            raise MessageError(f"Report: of shape {residues.shape} from client {sender}, expected {expected}")
        check_report(residues, self._primes, sender, liars=self._job.max_liars > 0)
        statement = report_statement(
            self._transcript, reporter=sender, seed=self._seed, columns=self._columns, residues=residues
        )
        self._plan.session.roster.verify(sender, message.signature, statement, what="its report")
        self._reports[sender] = SignedReport(client=sender, residues=residues, signature=message.signature)

    def compare(self) -> list[Message]:
        """Compare all reports, and ask once for evidence where it decides. Raises as `Reports.findings`."""
        if self._compared is not None:
            return []
        residues = {client: report.residues for client, report in self._reports.items()}
        self._compared = Reports(self._job, self._primes, self._columns, residues)
        findings = self._compared.findings()
        self.dealers, self.recipients = dict(findings.dealers), dict(findings.recipients)
        self._open, self.unread = dict(findings.disputed), findings.unread
        reports = tuple(self._reports[client] for client in sorted(self._reports))
        return [
            Dispute(
                run=self._plan.session.run,
                recipient=recipient,
                round=self._round,
                reports=reports,
            )
            for recipient in sorted({recipient for _, recipient in self._open})
        ]

    def take_evidence(self, message: Evidence) -> None:
        """Decide from requested evidence whether the dealer or the recipient lied.

        A client accepts no share that its dealer did not sign. So a client that shows one lies.
        """
        dealer, recipient = message.dealer, message.sender
        if self._open.get((dealer, recipient)) != message.part or self._compared is None:
            raise MessageError(
                f"Evidence: part {message.part} of client {dealer} from client {recipient}, not asked for"
            )
        column = dealer, message.part
        (count,), primes = sizes_of(self._plan.parts, [column]), len(self._primes)
        size = packed_bytes((primes, self._job.width, count)) + packed_bytes(
            (primes, covers_of(self._job), 1)
        )
        del self._open[dealer, recipient]
        if len(message.payload) != size or not self._signed(message):
            self.recipients.setdefault(
                recipient, f"what it showed as the share of client {dealer} is not signed by that client"
            )
            return
        values = combined_payload(
            message.payload, plan=self._plan, seed=self._seed, columns=self._columns, column=column
        )
        if self._compared.lie_off(column, recipient, values):
            self.dealers.setdefault(
                dealer, f"the share that it signed for client {recipient} is on no polynomial with the others"
            )
        else:
            self.recipients.setdefault(
                recipient, f"its report is not that of the share that client {dealer} signed for it"
            )

    def _signed(self, message: Evidence) -> bool:
        statement = share_statement(
            self._transcript,
            dealer=message.dealer,
            recipient=message.sender,
            part=message.part,
            payload=message.payload,
        )
        try:
            self._plan.session.roster.verify(message.dealer, message.signature, statement)
        except SealError:
            return False
        return True


class ShareChecks:
    """All checks of a run's shares. The plan has `planned` clients. `secret` may give seeds."""

    def __init__(self, plan: SharePlan, *, secret: MaskSource, planned: int) -> None:
        self._plan, self._job, self._secret, self._planned = plan, plan.job, secret, planned
        self.by_part = by_part(plan.job)  # whether each part is checked while other parts are shared
        self._open: dict[int, Inquiry] = {}  # by round
        self._ended: set[int] = set()  # rounds
        self.settled = 0  # with membership privacy: number of first parts whose checks have ended
        # Reasons by client: dealers that dealt wrong shares, recipients that lied about what they were dealt.
        self.dealers: dict[int, str] = {}
        self.recipients: dict[int, str] = {}
        self.unread: set[tuple[int, int]] = set()  # dealer, and recipient that says it cannot read its share

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
