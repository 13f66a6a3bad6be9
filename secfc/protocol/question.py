"""Digests of questions. Masks cancel for one question only, and an endorsement is of one question only."""

import hashlib
import struct
from collections.abc import Collection
from enum import Enum
from math import nan

from secfc.array_types import Labels
from secfc.protocol.attempt import Attempt
from secfc.sealing.handshake import Session

_QUESTION = b"secfc question 1"
_ENDORSED = b"secfc endorsed 1"


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


def question_digest(
    sets: Labels,
    responders: tuple[int, ...],
    left_out: Collection[int],
    draws: tuple[int, ...] = (),
    asked: tuple[int, ...] = (),
) -> bytes:
    """SHA-256 of what an assignment asks: masks cancel only among clients that were asked the same.

    `left_out` is included, because with other clients left out the same sets are of other rows.
    """
    small, counts = (*responders, *sorted(left_out), *asked), map(len, (responders, left_out, draws, asked))
    digest = hashlib.sha256(_QUESTION + struct.pack("<IIIII", *counts, sets.size))
    digest.update(struct.pack(f"<{len(small)}H{len(draws)}I", *small, *draws))
    digest.update(sets.astype("<i4").tobytes())
    return digest.digest()


def endorsed(
    session: Session,
    said: Said,
    question: bytes,
    *,
    round_: int,
    attempt: Attempt,
    ended: tuple[int, bool, float | None] = (0, False, None),
) -> bytes:
    """The bytes that both evaluators sign: that a question or the result follows from what they opened.

    `question` is the `question_digest` of sets and draws, or of the result's labels, without responders. For
    the result the round is 0, and `ended` has its iterations, whether it converged, and an opened inertia.
    """
    n_iter, converged, inertia = ended
    place = struct.pack("<BIIBd", said.value, round_, n_iter, converged, nan if inertia is None else inertia)
    return _ENDORSED + session.agreement + session.run + place + attempt.digest(question)
