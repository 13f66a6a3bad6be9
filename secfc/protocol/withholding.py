"""Who is waited for while rows are prepared or shared, and who of them only waits for others."""

from collections.abc import Callable, Collection, Mapping

from secfc.protocol.checks import ShareChecks
from secfc.protocol.messages import KINDS, PREPARING, Echo, Share
from secfc.row_layout import WINDOW, Layout, Parts

Carried = Callable[[str, int, int], int]
"""How many messages of a type, given by name, have been carried from one client to another."""

WAITED_FOR = frozenset(kind.__name__ for kind in KINDS if kind.waited_for)
"""Types whose numbers `preparing_late` and `withholding` ask for."""


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


def awaited_for_shares(
    members: Collection[int], ready: Mapping[int, int], parts: Parts, checks: ShareChecks
) -> tuple[int, ...]:
    """Who is behind: others may wait for a part that is not asked for before these have the last one.

    Parameters
    ----------
    members : collection of int
        Clients that are in.
    ready : mapping from client to int
        Parts of shares that it holds of everybody.
    parts : Parts
    checks : ShareChecks
    """
    least = min(ready[j] for j in members)
    asked = checks.settled + WINDOW if checks.by_part else parts.shares
    behind = {j for j in members if ready[j] == least < min(asked, parts.shares)}
    return tuple(sorted(behind.union(checks.awaited(members))))


def withholding(
    awaited: Collection[int],
    *,
    members: Collection[int],
    ready: Mapping[int, int],
    layout: Layout,
    parts: Parts,
    checks: ShareChecks,
    carried: Carried,
) -> tuple[int, ...]:
    """Of those who are awaited, who has to act; in place of one that waits for others, these.

    A client waits for shares of the part that it is at, and for the others' echoes before it reports. One
    that has all these and does not report is at fault: of those who are left a quorum is honest
    (docs/faults.md, eq. 15'').
    """
    found = set[int]()
    for client in awaited:
        others = [j for j in members if j != client]
        part, withheld = ready[client], set[int]()
        if part < parts.shares:
            dealers = [j for j in others if layout.counts[j - 1] > part * parts.share]
            withheld = {j for j in dealers if carried(Share.__name__, j, client) <= part}
        asked = 0 if withheld else checks.echoes_before_report(client)
        withheld |= {j for j in others if carried(Echo.__name__, j, client) < asked}
        found |= withheld or {client}
    return tuple(sorted(found))
