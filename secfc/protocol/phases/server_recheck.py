"""When a search with disclosure "labels" has ended: three others recheck labels before the result is sent."""

import hashlib
from typing import TYPE_CHECKING

from secfc.errors import MessageError
from secfc.kmeans.search import LabelResult
from secfc.protocol.attempt import Attempt
from secfc.protocol.gathering import NOBODY_RECHECKS
from secfc.protocol.messages import Coin, Endorsement, Message, OpenedLabels, Recheck, RecheckRequest
from secfc.protocol.phases.server_phase import ServerPhase, ServerStep
from secfc.protocol.progress import Progress
from secfc.protocol.question import Said, result_statement
from secfc.protocol.states import State
from secfc.protocol.withholding import Carried, owing
from secfc.sealing.coin import about_result

if TYPE_CHECKING:  # the phase before imports this one
    from secfc.protocol.phases.server_labels import ServerLabels


class ServerRecheck(ServerPhase):
    """Until both evaluators of the rechecking trio have signed `best`, the result of the phase `rounds`.

    Its labels are those of question `last`.
    """

    state = State.ITERATE

    def __init__(self, rounds: "ServerLabels", best: LabelResult, *, last: int) -> None:
        super().__init__(rounds.context, rounds.introductions, rounds.shared)
        self._rounds, self._best, self._last, self._job = rounds, best, last, self.context.job
        self._who = Attempt(comparers=self._job.recheckers, since=self.context.gathering.round + 1)
        self._values = dict[int, bytes]()  # and their signatures
        self._signed = dict[int, Endorsement]()
        self._require_all()

    def _require_all(self) -> None:
        self.context.gathering.require_comparers(self._who.trio, without=NOBODY_RECHECKS)

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties that have not sent their value, then evaluators that have not signed."""
        if len(self._values) < len(self._who.trio):
            return tuple(j for j in self._who.trio if j not in self._values)
        return tuple(j for j in self._who.evaluators if j not in self._signed)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """As `awaited`. While the first evaluator waits for answers: who owes it one, or the dealer."""
        if self.awaited != self._who.evaluators:
            return self.awaited
        return owing(self.context.gathering, self._job, self._who, carried) or self.awaited

    @property
    def counted_from(self) -> int:
        """See `ServerPhase`."""
        return self._who.since

    @property
    def progress(self) -> Progress:
        """The progress at the last question. Rechecking does not change it."""
        return self._rounds.progress

    def ask(self) -> list[Message]:
        """Send the result to the parties that recheck it."""
        best, left_out = self._best, tuple(sorted(self.context.gathering.left_out))
        return [
            RecheckRequest(
                run=self.context.session.run,
                recipient=j,
                last=self._last,
                labels=best.labels,
                n_iter=best.n_iter,
                converged=best.converged,
                inertia=best.opened,
                left_out=left_out,
                endorsements=self._rounds.endorsements,
            )
            for j in self._who.trio
        ]

    def step(self, message: Message) -> ServerStep:
        """Take a value, or a signature."""
        match message:
            case Coin():
                return self, self._on_value(message)
            case Endorsement() if message.round == self._who.since:
                return self._on_endorsement(message)
            case OpenedLabels() | Endorsement() if self._is_late(message):
                return self, []
        raise MessageError(f"{type(message).__name__}: out of place while labels are rechecked")

    def _is_late(self, message: OpenedLabels | Endorsement) -> bool:
        """Whether a comparer sent it in an earlier attempt."""
        before = self._rounds.attempt
        return message.round < before.since and message.sender in before.comparers

    def _on_value(self, message: Coin) -> list[Message]:
        sender, introductions = message.sender, self.introductions
        if sender not in self._who.trio or sender in self._values:
            raise MessageError(f"Coin: of client {sender}, which rechecks nothing or has told its value")
        digest = hashlib.sha256(self._said(Said.RESULT)).digest()
        told = message.value + message.signature
        toss = self.toss(about_result(introductions.transcript, digest, self._last), self._job.recheckers)
        toss.value_told(told, party=sender, commitment=introductions.commitment(sender))
        self._values[sender] = told
        if len(self._values) < len(self._who.trio):
            return []
        coin = b"".join(self._values[j] for j in self._who.trio)
        return [
            Recheck(
                run=self.context.session.run,
                recipient=j,
                round=self._who.since,
                last=self._last,
                result=digest,
                coin=coin,
            )
            for j in self.context.gathering.everybody
        ]

    def _said(self, said: Said) -> bytes:
        left_out, attempt = self.context.gathering.left_out, self._rounds.attempt
        return result_statement(self.context.session, said, self._best, left_out=left_out, attempt=attempt)

    def _on_endorsement(self, message: Endorsement) -> ServerStep:
        sender, evaluators = message.sender, self._who.evaluators
        if sender not in evaluators or sender in self._signed or len(self._values) < len(self._who.trio):
            raise MessageError(f"Endorsement: of client {sender} out of turn")
        if message.rows or message.best or message.inertia is not None:
            raise MessageError(f"Endorsement: of client {sender}, of more than what was rechecked")
        said = self._said(Said.RECHECKED)
        self.context.session.roster.verify(sender, message.signature, said, what="what was rechecked")
        self._signed[sender] = message
        if len(self._signed) < len(evaluators):
            return self, []
        first, second = (self._signed[j] for j in evaluators)
        self._rounds.exclude_liars(first, second)
        self._require_all()
        return self._rounds.rechecked((first.signature, second.signature))

    def absent(self, client: int) -> ServerStep:
        """Continue without its answers. TooManyFaultsError if it rechecks."""
        gathering = self.context.gathering
        gathering.absent.add(client)
        self._require_all()
        gathering.require(len([j for j in gathering.members if j not in gathering.absent]))
        return self, []
