"""Who has to act while rows are prepared, and what a carrier counts so that the server can tell."""

from collections.abc import Callable, Collection

from secfc.protocol.messages import PREPARING

Carried = Callable[[str, int, int], int]
"""How many messages of a type, given by name, have been carried from one client to another."""


def preparing_late(awaited: Collection[int], *, n: int, carried: Carried) -> tuple[int, ...]:
    """Of those who are awaited while rows are prepared, who has to act.

    Nobody sends a type before it has all messages of the type before: the first that is not complete tells.
    """
    clients = range(1, n + 1)
    for kind in PREPARING:
        late = [i for i in awaited if any(not carried(kind.__name__, i, j) for j in clients if j != i)]
        if late:
            return tuple(late)
    return tuple(awaited)
