"""Finds who keeps others waiting, by the numbers of messages that a carrier has counted."""

from collections.abc import Callable, Collection

from secfc.protocol.answers.gathering import Gathering
from secfc.protocol.job.job import Job
from secfc.protocol.messages import PREPARING, MaskedAnswer, SpareMasks

Carried = Callable[[str, int, int], int]
"""Number of messages of a type, given by name, that were carried from one client to another."""


def preparing_late(awaited: Collection[int], *, n: int, carried: Carried) -> tuple[int, ...]:
    """The awaited parties that must act while rows are prepared.

    A client sends a type only when it has all messages of the type before. So the first incomplete type
    decides.
    """
    clients = range(1, n + 1)
    for kind in PREPARING:
        late = [i for i in awaited if any(not carried(kind.__name__, i, j) for j in clients if j != i)]
        if late:
            return tuple(late)
    return tuple(awaited)


def owing(gathering: Gathering, job: Job, carried: Carried, *, due: int | None = None) -> tuple[int, ...]:
    """Clients that owe the first evaluator an answer, or the dealer if one of them waits for its masks.

    Empty if enough clients have sent `due` answers, by default the most that any client has sent.
    """
    dealer, first, _ = job.comparers
    asked = [j for j in range(1, job.n + 1) if j not in gathering.left_out]
    masks = {j: carried(SpareMasks.__name__, dealer, j) for j in asked[job.threshold :] if j != dealer}
    sent = {j: carried(MaskedAnswer.__name__, j, first) for j in gathering.members if j != first}
    most = max(sent.values()) if due is None else due
    if first in gathering.members:  # its own answers are not carried, but need masks like others
        sent[first] = masks.get(first, most)
    behind = [j for j, count in sent.items() if count < most]
    late = tuple(j for j in behind if j not in gathering.absent)
    if not late or len(sent) - len(behind) >= gathering.needed_to_evaluate:
        return ()
    return (dealer,) if any(masks.get(j, most) < most for j in late) else late
