"""What a question asks, as 32 bytes: masks cancel, and evaluators endorse, for one question alone."""

import hashlib
import struct
from collections.abc import Collection

import numpy as np

from secfc.array_types import Labels
from secfc.sealing.handshake import Session

_QUESTION = b"secfc question 1"
_ENDORSED = b"secfc endorsed 1"
_ASKED, _RESULT, _START = range(3)
"""What is endorsed."""


def question_digest(sets: Labels, responders: tuple[int, ...], left_out: Collection[int]) -> bytes:
    """SHA-256 of what an assignment asks: masks cancel only among clients that were asked the same.

    The same sets are of other rows where others are left out.
    """
    clients = (*responders, *sorted(left_out))
    digest = hashlib.sha256(_QUESTION + struct.pack("<III", len(responders), len(left_out), sets.size))
    digest.update(struct.pack(f"<{len(clients)}H", *clients))
    digest.update(sets.astype("<i4").tobytes())
    return digest.digest()


def endorsed(
    session: Session,
    labels: Labels | None,
    *,
    round_: int,
    left_out: Collection[int],
    ended: tuple[int, bool] | None = None,
) -> bytes:
    """What both evaluators sign: that a question, a new start or the result follows from labels they opened.

    Parameters
    ----------
    session : Session
    labels : ndarray of shape (m,), int32, or None
        The sets of the question, or the labels of the result. None: another start begins, whose sets are the
        server's choice.
    round_ : int
        Of the question; 0 of the result.
    left_out : collection of int
    ended : tuple of int and bool, optional
        Of the result: iterations, and whether it converged.
    """
    n_iter, converged = ended or (0, False)
    kind = _START if labels is None else _RESULT if ended is not None else _ASKED
    place = struct.pack("<BIIB", kind, round_, n_iter, converged)
    known = np.empty(0, dtype=np.int32) if labels is None else labels
    return _ENDORSED + session.agreement + session.run + place + question_digest(known, (), left_out)
