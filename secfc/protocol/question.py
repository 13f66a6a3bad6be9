"""Digests of questions, and what both evaluators sign: that a question or the result follows from a round.

An *endorsement* is such a signature. The server and all parties verify it.
"""

import hashlib
import struct
from collections.abc import Collection
from contextlib import suppress
from enum import Enum
from math import nan

from secfc.crypto.handshake import Session
from secfc.errors import MessageError, SealError
from secfc.field.array_types import Labels
from secfc.kmeans.label_search import Follows, LabelSearch
from secfc.kmeans.search import LabelResult
from secfc.protocol.job.job import Job
from secfc.protocol.messages import Assignment, Finish

_QUESTION = b"secfc question 2"
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


def question_digest(sets: Labels, left_out: Collection[int], draws: tuple[int, ...] = ()) -> bytes:
    """SHA-256 of what an assignment asks.

    `left_out` is included, because with other clients left out the same sets are of other rows.
    """
    counts = len(left_out), len(draws), sets.size
    digest = hashlib.sha256(_QUESTION + struct.pack("<III", *counts))
    digest.update(struct.pack(f"<{len(left_out)}H{len(draws)}I", *sorted(left_out), *draws))
    digest.update(sets.astype("<i4").tobytes())
    return digest.digest()


def endorsed(
    session: Session,
    said: Said,
    question: bytes,
    *,
    round_: int,
    ended: Ending = (0, False, None),
) -> bytes:
    """The bytes that both evaluators sign: that a question or the result follows from what they opened.

    `question` is the `question_digest` of sets and draws, or of the result's labels. For the result the round
    is 0.
    """
    n_iter, converged, inertia = ended
    place = struct.pack("<BIIBd", said.value, round_, n_iter, converged, nan if inertia is None else inertia)
    return _ENDORSED + session.agreement + session.run + place + question


def result_statement(session: Session, said: Said, best: LabelResult, *, left_out: Collection[int]) -> bytes:
    """The statement that evaluators sign about a result."""
    question, ended = question_digest(best.labels, left_out), (best.n_iter, best.converged, best.opened)
    return endorsed(session, said, question, round_=0, ended=ended)


def statement(
    session: Session,
    search: LabelSearch,
    follows: Follows,
    *,
    round_: int,
    left_out: Collection[int],
) -> bytes:
    """The statement that evaluators sign after a round. `search` has taken what the round opened."""
    if follows is Follows.END:
        return result_statement(session, Said.RESULT, search.result(), left_out=left_out)
    said = Said.LABELS if search.choices is None else Said.CANDIDATES
    said = Said.START if follows is Follows.START else said
    question = question_digest(search.sets, left_out, search.draws)
    return endorsed(session, said, question, round_=round_ + 1)


def check_endorsed(
    message: Assignment | Finish,
    question: bytes,
    *,
    job: Job,
    session: Session,
    own: Signed | None = None,
) -> Said:
    """Refuse a question or result without the signatures of both evaluators. Returns what they said of it.

    `question` is the `question_digest` of the sets and draws, or of the labels. `own`,
    what this party signed last, is not verified again.
    """
    evaluators = job.comparers[1:]
    signed, needed = len(message.endorsements), len(evaluators)
    if signed != needed:
        raise MessageError(f"{type(message).__name__}: {signed} endorsements, {needed} are needed")
    ended: Ending = (0, False, None)
    possible, round_ = [Said.RESULT], 0
    if isinstance(message, Assignment):
        possible, round_ = [Said.LABELS], message.round
        if job.method.init == "k-means++":
            # A question with draws is about candidates, or begins a start. The last of a start has none.
            possible = [Said.CANDIDATES] if message.draws else [Said.LABELS, Said.CANDIDATES]
        if job.method.n_init > 1 or job.method.compared:
            possible.append(Said.START)
    else:
        ended = message.n_iter, message.converged, message.inertia

    def verify(said: Said) -> None:
        signed = endorsed(session, said, question, round_=round_, ended=ended)
        for client, signature in zip(evaluators, message.endorsements, strict=True):
            if (client, signed, signature) != own:
                session.roster.verify(client, signature, signed, what="what follows from the labels")

    *others, last = possible
    for said in others:
        with suppress(SealError):
            verify(said)
            return said
    verify(last)
    return last
