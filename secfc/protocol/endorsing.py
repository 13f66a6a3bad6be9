"""What both evaluators sign after a round: that a question, another start or the result follows from it.

An *endorsement* is such a signature. The server and all parties verify it.
"""

from collections.abc import Collection

from secfc.errors import MessageError, SealError
from secfc.kmeans.label_search import Follows, LabelSearch
from secfc.params import Job
from secfc.protocol.attempt import Attempt
from secfc.protocol.messages import Assignment, Finish, RecheckRequest
from secfc.protocol.question import Said, endorsed, question_digest
from secfc.sealing.handshake import Session

Signed = tuple[int, bytes, bytes]
"""The signer, the signed bytes and the signature."""


def statement(
    session: Session,
    search: LabelSearch,
    follows: Follows,
    *,
    round_: int,
    left_out: Collection[int],
    attempt: Attempt,
) -> bytes:
    """The statement that evaluators sign after a round. `search` has taken what the round opened."""
    if follows is Follows.END:
        best = search.result()
        ended = best.n_iter, best.converged, best.opened
        question = question_digest(best.labels, (), left_out)
        return endorsed(session, Said.RESULT, question, round_=0, attempt=attempt, ended=ended)
    said = Said.LABELS if search.choices is None else Said.CANDIDATES
    said = Said.START if follows is Follows.START else said
    question = question_digest(search.sets, (), left_out, search.draws)
    return endorsed(session, said, question, round_=round_ + 1, attempt=attempt)


def check_endorsed(
    message: Assignment | Finish | RecheckRequest,
    question: bytes,
    *,
    job: Job,
    session: Session,
    attempt: Attempt,
    own: Signed | None = None,
) -> Said:
    """Refuse a question or result without the signatures of both evaluators. Returns what they said of it.

    If labels are rechecked, a `Finish` also needs the signatures of both evaluators that rechecked them.
    `question` is the `question_digest` of the sets and draws, or of the labels, without responders. `own`,
    what this party signed last, is not verified again.
    """
    again = job.recheckers[1:] if isinstance(message, Finish) else ()
    signed, needed = len(message.endorsements), len(attempt.evaluators) + len(again)
    if signed != needed:
        raise MessageError(f"{type(message).__name__}: {signed} endorsements, {needed} are needed")
    if not isinstance(message, Assignment):
        _verify(message, Said.RESULT, question, session=session, attempt=attempt)
        signatures = message.endorsements[len(attempt.evaluators) :]
        rechecked = result_said(message, question, Said.RECHECKED, session=session, attempt=attempt)
        for client, signature in zip(again, signatures, strict=True):
            session.roster.verify(client, signature, rechecked, what="what was rechecked")
        return Said.RESULT
    possible = [Said.LABELS]
    if job.init == "k-means++":
        possible.append(Said.CANDIDATES)
    if job.n_init > 1 or job.compared:
        possible.append(Said.START)
    *others, last = possible
    for said in others:
        try:
            _verify(message, said, question, session=session, attempt=attempt, own=own)
        except SealError:
            continue
        return said
    _verify(message, last, question, session=session, attempt=attempt, own=own)
    return last


def _verify(
    message: Assignment | Finish | RecheckRequest,
    said: Said,
    question: bytes,
    *,
    session: Session,
    attempt: Attempt,
    own: Signed | None = None,
) -> None:
    if isinstance(message, Assignment):
        signed = endorsed(session, said, question, round_=message.round, attempt=attempt)
    else:
        signed = result_said(message, question, said, session=session, attempt=attempt)
    for client, signature in zip(attempt.evaluators, message.endorsements, strict=False):
        if (client, signed, signature) == own:
            continue
        session.roster.verify(client, signature, signed, what="what follows from the labels")


def result_said(
    message: Finish | RecheckRequest, question: bytes, said: Said, *, session: Session, attempt: Attempt
) -> bytes:
    """The statement that evaluators sign about a result, with the `question_digest` of its labels."""
    ended = message.n_iter, message.converged, message.inertia
    return endorsed(session, said, question, round_=0, attempt=attempt, ended=ended)
