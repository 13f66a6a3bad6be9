"""Shares that their recipient says it cannot read: of dealer and recipient one lies, and nobody can tell who.

Each such pair has a liar. So whoever is in more pairs than may still lie is one, as all the others in these
pairs would have to be. Of the pairs that are left nobody is accused: recipients answer nothing, as they lack
shares, and of pairs without a client in common neither does the dealer. Each of these takes one liar at least
with it, so n >= R + S + 2A still holds of those who are left.
"""

from collections import Counter
from collections.abc import Collection

Pair = tuple[int, int]
"""Dealer and recipient."""


def open_pairs(unread: Collection[Pair], known: Collection[int]) -> list[Pair]:
    """The pairs in which nobody is known to lie, in order."""
    return [pair for pair in sorted(unread) if not set(pair) & set(known)]


def cannot_be_honest(unread: Collection[Pair], *, known: Collection[int], most: int) -> dict[int, str]:
    """Clients that must lie if at most `most` do, these among them, with the reason."""
    found: dict[int, str] = {}
    while True:
        left = most - len(found.keys() | set(known))
        pairs = open_pairs(unread, [*known, *found])
        counts = Counter(client for pair in pairs for client in pair)
        over = [client for client, count in sorted(counts.items()) if count > left]
        if not over or left < 0:
            return found
        client = max(over, key=lambda one: counts[one])
        if counts[client] == 1:
            return found  # more pairs than may lie, and no client is in two: nobody can be told from others
        found[client] = f"{counts[client]} clients and it do not read each other's shares"


def apart(pairs: Collection[Pair]) -> list[Pair]:
    """Pairs without a client in common, as many as can be added one by one."""
    taken: set[int] = set()
    chosen: list[Pair] = []
    for pair in sorted(pairs):
        if not taken & set(pair):
            taken.update(pair)
            chosen.append(pair)
    return chosen
