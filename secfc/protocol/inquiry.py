"""One check of shares at the server: reports, then evidence from clients whose reports differ."""

from collections.abc import Collection, Sequence

from secfc.errors import MessageError, SealError
from secfc.field.packing import packed_bytes
from secfc.protocol.context import SharePlan
from secfc.protocol.dealing import Column, Reports, check_report, combined_payload, covers_of, sizes_of
from secfc.protocol.messages import Dispute, Evidence, Message, Report
from secfc.protocol.signed import SignedReport, report_statement, share_statement


class Inquiry:
    """Finds who lied about these parts of shares. `round_` is 0 for a check of all parts at once."""

    def __init__(self, plan: SharePlan, *, seed: bytes, columns: Sequence[Column], round_: int = 0) -> None:
        self._plan, self._job, self._primes, self._transcript = plan, plan.job, plan.primes, plan.transcript
        self._seed, self._columns, self._round = seed, list(columns), round_
        self._reports: dict[int, SignedReport] = {}
        self._compared: Reports | None = None  # once all reports are here
        self._open: dict[tuple[int, int], int] = {}  # part to show, by dealer and recipient
        # As in `secfc.protocol.checks.ShareChecks`.
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
        """Whether the dealer signed the evidence."""
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
