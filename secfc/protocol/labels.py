"""Disclosure "labels" at a client: one round after the other, and at an evaluator what follows from each."""

import numpy as np

from secfc.array_types import Ints, Labels
from secfc.codes import Code
from secfc.errors import CheatError, MessageError
from secfc.field.packing import PackedResidues
from secfc.kmeans.label_search import LabelSearch
from secfc.params import Job
from secfc.protocol.client_side import ClientCoded
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.label_round import Asked, LabelRound
from secfc.protocol.mail import RoundMessage
from secfc.protocol.messages import SERVER, Assignment, Endorsement, Finish, MaskedAnswer, Message, SpareMasks
from secfc.protocol.phases.client_phase import Held
from secfc.protocol.question import endorsed, question_digest
from secfc.randomness import KEY_BYTES
from secfc.sealing.handshake import Session


def label_search(job: Job, sets: Labels) -> LabelSearch:
    """The search of a job that begins with these sets."""
    return LabelSearch(
        sets=sets,
        k=job.k,
        max_iter=job.max_iter,
        separation=job.init == "separation",
        predict=job.predict,
    )


def check_endorsed(message: Assignment | Finish, labels: Labels, *, job: Job, session: Session) -> None:
    """Refuse a question, or result, that does not follow from opened labels, as both evaluators sign.

    Parameters
    ----------
    message : Assignment or Finish
    labels : ndarray of shape (m,), int32
        Those in it.
    job : Job
    session : Session

    Raises
    ------
    MessageError
        It has no two signatures, or one is not the evaluator's.
    """
    evaluators = job.comparers[1:]
    signed, needed = len(message.endorsements), len(evaluators)
    if signed != needed:
        raise MessageError(f"{type(message).__name__}: {signed} endorsements, {needed} are needed")
    ended = (message.n_iter, message.converged) if isinstance(message, Finish) else None
    statement = endorsed(session, labels, round_=message.round, left_out=message.left_out, ended=ended)
    for client, signature in zip(evaluators, message.endorsements, strict=True):
        session.roster.verify(client, signature, statement, what="what follows from the labels")


class ClientLabels(ClientCoded):
    """Answers leave under the dealer's masks; the trio compares what they decode to.

    Attributes are those of `ClientCoded`; one that is no comparer answers and nothing else.
    """

    def __init__(self, context: ClientContext, peers: Peers, held: Held) -> None:
        super().__init__(context, peers, held)
        self._peers, self._mail, self._layout = peers, held.mail, held.sharing.remaining()
        self._parts = self._layout.parts(self._job)
        self._weights = Weights(self._job)
        dealer, *evaluators = self._job.comparers
        self._evaluates = self._number in evaluators
        # The dealer's own masks follow from it. Nobody else draws it, so that nobody's later masks change.
        self._own_secret = context.masks.octets(KEY_BYTES) if self._number == dealer else bytes(KEY_BYTES)
        self._search: LabelSearch | None = None  # an evaluator's
        self._gathered = self._endorsed = 0  # the last round whose labels are in it, and what follows signed
        self._current: LabelRound | None = None

    def check(self, message: Assignment, sets: Labels) -> None:
        """The first sets are those of a start; all others follow from opened labels."""
        if message.responders:
            raise MessageError(
                f"Assignment: {len(message.responders)} responders, disclosure 'labels' names none"
            )
        if message.round > 1:
            check_endorsed(message, sets, job=self._job, session=self._context.session)
            return
        if message.endorsements:
            raise MessageError("Assignment: round 1 is endorsed, and no labels were opened before")
        if not self._job.predict and (sets.min() < 0 or np.unique(sets).size < self._job.k):
            raise MessageError("Assignment: round 1 is about no partition of all rows")

    def check_end(self, message: Finish, labels: Labels) -> None:
        """The result follows from opened labels."""
        check_endorsed(message, labels, job=self._job, session=self._context.session)

    def ask(self, message: Assignment, sets: Labels, sizes: Ints, residues: int) -> bool:
        """Begin a round, with keys of all that the question asks."""
        super().ask(message, sets, sizes, residues)
        if self._evaluates and self._search is None:
            self._search = label_search(self._job, sets)
        job, left_out = self._job, self._sharing.left_out
        asked = Asked(
            round=message.round,
            digest=question_digest(sets, (), left_out),
            sets=sets,
            sizes=sizes,
            champions=message.round > 1 or (job.init == "labels" and not job.predict),
            core=job.with_core(message.round),
            rows=np.flatnonzero(sets < 0) if job.predict else np.arange(sets.size),
            members=tuple(sorted({self._number, *self._channels} - left_out)),
            parts=self._parts,
            residues=residues,
        )
        self._current = LabelRound(
            self._context,
            self._peers,
            asked,
            own_secret=self._own_secret,
            weights=self._weights,
            kernels=self._sharing.kernels,
        )
        return True

    def begin(self, part: int) -> list[Message]:
        """The dealer deals."""
        return self._round_now.begin(part) + self._drain()

    def can_leave(self, part: int) -> bool:
        """Whether the masks of a part are here."""
        return self._round_now.can_leave(part)

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Mask the answer, and send it to the first evaluator."""
        return self._round_now.leave(part, residues) + self._drain()

    def deliver(self, message: RoundMessage) -> list[Message]:
        """Take it when its time has come."""
        self._mail.hold(message)
        return self._drain()

    @property
    def _round_now(self) -> LabelRound:
        assert self._current is not None
        return self._current

    def _drain(self) -> list[Message]:
        """Take all mail that can be taken now, and at an evaluator go on when all labels are opened."""
        current, messages = self._round_now, list[Message]()
        while True:
            letter = self._mail.take(current.ready)
            if letter is None:
                following = self._follow(current)
                if not following:
                    return messages
                messages += following
                continue
            try:
                messages += current.take(letter)
            except MessageError as error:
                message = letter.message
                if isinstance(message, SpareMasks | MaskedAnswer):
                    continue  # others' answers are enough
                text = f"client {message.sender}: {error}"
                raise CheatError(text, code=Code.BAD_MESSAGE) from None

    def _follow(self, current: LabelRound) -> list[Message]:
        """At an evaluator that has opened all labels: find rows for emptied clusters, then endorse."""
        search = self._search
        if search is None or not current.complete or self._endorsed == self._round:
            return []
        if self._gathered < self._round:
            self._gathered = self._round
            for part in range(self._parts.answers):
                search.add(current.rows(part), current.opened[part], current.cores.get(part))
            if search.emptied.size:
                return current.find_farthest(search.labels)
        farthest = current.farthest
        if search.emptied.size and farthest is None:
            return []
        self._endorsed = self._round
        return [self._endorsement(search, np.empty(0, dtype=np.int64) if farthest is None else farthest)]

    def _endorsement(self, search: LabelSearch, farthest: Ints) -> Message:
        """Sign what follows from the labels of this round."""
        if search.end_round(farthest):
            labels, round_, ended = search.sets, self._round + 1, None
        else:
            (result,) = search.found
            labels, round_, ended = result.labels, 0, (result.n_iter, result.converged)
        session = self._context.session
        statement = endorsed(session, labels, round_=round_, left_out=self._sharing.left_out, ended=ended)
        return Endorsement(
            run=session.run,
            sender=self._number,
            recipient=SERVER,
            round=self._round,
            signature=self._context.identity.sign(statement),
            moved=tuple(farthest.tolist()),
        )
