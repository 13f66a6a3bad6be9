"""Digests of questions, and what both evaluators sign: that a question or the result follows from a round.

An *endorsement* is such a signature. The server and all parties verify it.
"""

import hashlib
import struct
from collections.abc import Collection, Sequence
from contextlib import suppress
from enum import Enum
from math import nan

from secfc.array_types import Labels
from secfc.errors import MessageError, SealError
from secfc.kmeans.label_search import Follows, LabelSearch
from secfc.kmeans.search import LabelResult
from secfc.params import Job
from secfc.protocol.attempt import Attempt
from secfc.protocol.messages import Assignment, Finish, RecheckRequest
from secfc.sealing.handshake import Session

_QUESTION = b"secfc question 1"
_ENDORSED = b"secfc endorsed 1"

Signed = tuple[int, bytes, bytes]
"""The signer, the signed bytes and the signature."""

Ending = tuple[int, bool, float | None]
"""Iterations of a result, whether it converged, and its inertia if that is opened."""


class Said(Enum):
    """What evaluators sign as following from what they opened."""

    LABELS = 0
    """A question about labels."""
    RESULT = 1
    START = 2
    """A question that begins another start."""
    CANDIDATES = 3
    """A question about candidates of a start by k-means++."""
    RECHECKED = 4
    """The result, signed by the evaluators that rechecked it."""


def question_digest(sets: Labels, left_out: Collection[int], draws: tuple[int, ...] = ()) -> bytes:
    """SHA-256 of what an assignment asks.

    `left_out` is included, because with other clients left out the same sets are of other rows.
    """
    # Zeros: comparers are asked about all sets, and no responders are named.
    counts = 0, len(left_out), len(draws), 0, sets.size
    digest = hashlib.sha256(_QUESTION + struct.pack("<IIIII", *counts))
    digest.update(struct.pack(f"<{len(left_out)}H{len(draws)}I", *sorted(left_out), *draws))
    digest.update(sets.astype("<i4").tobytes())
    return digest.digest()


def endorsed(
    session: Session,
    said: Said,
    question: bytes,
    *,
    round_: int,
    attempt: Attempt,
    ended: Ending = (0, False, None),
) -> bytes:
    """The bytes that both evaluators sign: that a question or the result follows from what they opened.

    `question` is the `question_digest` of sets and draws, or of the result's labels. For the result the round
    is 0.
    """
    n_iter, converged, inertia = ended
    place = struct.pack("<BIIBd", said.value, round_, n_iter, converged, nan if inertia is None else inertia)
    return _ENDORSED + session.agreement + session.run + place + attempt.digest(question)


def result_statement(
    session: Session, said: Said, best: LabelResult, *, left_out: Collection[int], attempt: Attempt
) -> bytes:
    """The statement that evaluators sign about a result."""
    question, ended = question_digest(best.labels, left_out), (best.n_iter, best.converged, best.opened)
    return endorsed(session, said, question, round_=0, attempt=attempt, ended=ended)


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
        return result_statement(session, Said.RESULT, search.result(), left_out=left_out, attempt=attempt)
    said = Said.LABELS if search.choices is None else Said.CANDIDATES
    said = Said.START if follows is Follows.START else said
    question = question_digest(search.sets, left_out, search.draws)
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
    `question` is the `question_digest` of the sets and draws, or of the labels. `own`, what this party signed
    last, is not verified again.
    """
    again = job.recheckers[1:] if isinstance(message, Finish) else ()
    signed, needed = len(message.endorsements), len(attempt.evaluators) + len(again)
    if signed != needed:
        raise MessageError(f"{type(message).__name__}: {signed} endorsements, {needed} are needed")
    ended: Ending = (0, False, None)
    possible, round_ = [Said.RESULT], 0
    if isinstance(message, Assignment):
        possible, round_ = [Said.LABELS], message.round
        if job.init == "k-means++":
            # A question with draws is about candidates, or begins a start. The last of a start has none.
            possible = [Said.CANDIDATES] if message.draws else [Said.LABELS, Said.CANDIDATES]
        if job.n_init > 1 or job.compared:
            possible.append(Said.START)
    else:
        ended = message.n_iter, message.converged, message.inertia

    def verify(signers: Sequence[int], signatures: Sequence[bytes], said: Said, what: str) -> None:
        signed = endorsed(session, said, question, round_=round_, attempt=attempt, ended=ended)
        for client, signature in zip(signers, signatures, strict=True):
            if (client, signed, signature) != own:
                session.roster.verify(client, signature, signed, what=what)

    evaluators, about = attempt.evaluators, "what follows from the labels"
    first, more = message.endorsements[: len(evaluators)], message.endorsements[len(evaluators) :]
    *others, last = possible
    for said in others:
        with suppress(SealError):
            verify(evaluators, first, said, about)
            return said
    verify(evaluators, first, last, about)
    verify(again, more, Said.RECHECKED, "what was rechecked")
    return last
