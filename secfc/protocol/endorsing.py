"""What both evaluators sign of a round: that a question, another start or the result follows from it."""

from collections.abc import Collection

from secfc.array_types import Labels
from secfc.errors import MessageError, SealError
from secfc.kmeans.label_search import Follows, LabelSearch
from secfc.params import Job
from secfc.protocol.attempt import Attempt
from secfc.protocol.messages import Assignment, Finish
from secfc.protocol.question import Said, endorsed
from secfc.sealing.handshake import Session


def statement(
    session: Session,
    search: LabelSearch,
    follows: Follows,
    *,
    round_: int,
    left_out: Collection[int],
    attempt: Attempt,
) -> bytes:
    """What evaluators sign after a round, and the server expects.

    Parameters
    ----------
    session : Session
    search : LabelSearch
        After the round.
    follows : Follows
    round_ : int
    left_out : collection of int
    attempt : Attempt
    """
    if follows is Follows.END:
        best = search.result()
        ended = best.n_iter, best.converged, best.opened
        return endorsed(
            session, Said.RESULT, best.labels, round_=0, left_out=left_out, attempt=attempt, ended=ended
        )
    said = Said.LABELS if search.choices is None else Said.CANDIDATES
    said = Said.START if follows is Follows.START else said
    return endorsed(
        session,
        said,
        search.sets,
        round_=round_ + 1,
        left_out=left_out,
        draws=search.draws,
        attempt=attempt,
    )


def check_endorsed(
    message: Assignment | Finish, labels: Labels, *, job: Job, session: Session, attempt: Attempt
) -> Said:
    """Refuse a question, or result, that does not follow from what was opened, as both evaluators sign.

    Parameters
    ----------
    message : Assignment or Finish
    labels : ndarray of shape (m,), int32
        Those in it.
    job : Job
    session : Session
    attempt : Attempt
        Whose evaluators sign.

    Returns
    -------
    Said
        What the evaluators said of it.

    Raises
    ------
    MessageError
        It has no two signatures, or one is not the evaluator's.
    """
    signed, needed = len(message.endorsements), len(attempt.evaluators)
    if signed != needed:
        raise MessageError(f"{type(message).__name__}: {signed} endorsements, {needed} are needed")
    if isinstance(message, Finish):
        _verify(message, Said.RESULT, labels, session=session, attempt=attempt)
        return Said.RESULT
    possible = [Said.LABELS]
    if job.init == "k-means++":
        possible.append(Said.CANDIDATES)
    if job.n_init > 1 or job.compared:
        possible.append(Said.START)
    *others, last = possible
    for said in others:
        try:
            _verify(message, said, labels, session=session, attempt=attempt)
        except SealError:
            continue
        return said
    _verify(message, last, labels, session=session, attempt=attempt)
    return last


def _verify(
    message: Assignment | Finish, said: Said, labels: Labels, *, session: Session, attempt: Attempt
) -> None:
    ended: tuple[int, bool, float | None] = (0, False, None)
    if isinstance(message, Finish):
        ended = message.n_iter, message.converged, message.inertia
    draws = () if isinstance(message, Finish) else message.draws
    signed = endorsed(
        session,
        said,
        labels,
        round_=message.round,
        left_out=message.left_out,
        draws=draws,
        attempt=attempt,
        ended=ended,
    )
    for client, signature in zip(attempt.evaluators, message.endorsements, strict=True):
        session.roster.verify(client, signature, signed, what="what follows from the labels")
