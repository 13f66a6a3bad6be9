"""Finds who keeps others waiting, by the numbers of messages that a carrier has counted."""

from collections.abc import Callable, Collection

from secfc.protocol.messages import PREPARING

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
