"""Shares that their recipient says it cannot read: dealer, recipient or server lies; nobody can tell which.

If the server does not lie, each such pair has a liar. A client lies if otherwise more than A clients would
have to lie. It is left out. In the remaining pairs nobody is accused. Their recipients answer nothing,
because they lack shares. By withholding shares a server can have honest clients left out. So A of the others
may still lie: R + A notice that, R + A + i locate i liars.

If a liars each have c recipients in remaining pairs, c + a - 1 <= A. So up to a c honest clients are missing.
The others are enough if n >= R + S + 2A + a c, so always if n >= R + S + 2A + floor((A + 1)^2 / 4).
tests/protocol/test_unread.py has other pairs.
"""

from collections.abc import Collection

Pair = tuple[int, int]
"""Dealer and recipient."""


def open_pairs(unread: Collection[Pair], known: Collection[int]) -> list[Pair]:
    """The pairs in which no client is known to lie, in order."""
    return [pair for pair in sorted(unread) if not set(pair) & set(known)]


def cannot_be_honest(unread: Collection[Pair], *, known: Collection[int], most: int) -> dict[int, str]:
    """Clients that must lie if at most `most` do and the server does not, with the reason.

    The `known` liars are included in `most`.

    If a client is honest, all clients in a pair with it lie, and one of each remaining pair.
    """
    found: dict[int, str] = {}
    while True:
        left = most - len(found.keys() | set(known))
        pairs = open_pairs(unread, [*known, *found])
        if len(apart(pairs)) > left:
            return found  # more than `most` clients lie, so liars cannot be found
        near = _near(pairs)
        over = [client for client, others in near.items() if len(others) > left] or [
            client
            for client, others in near.items()
            if len(others) + len(apart(open_pairs(pairs, {client, *others}))) > left
        ]
        if not over:
            return found
        for client in over:
            found[client] = f"{len(near[client])} clients and it do not read each other's shares"


def _near(pairs: Collection[Pair]) -> dict[int, set[int]]:
    """The clients in a pair with each client."""
    near: dict[int, set[int]] = {}
    for one, other in sorted(pairs):
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    return near


def apart(pairs: Collection[Pair]) -> list[Pair]:
    """Pairs without a client in common: a set that adding one, or two for one, cannot enlarge."""
    near = _near(pairs)
    chosen: dict[int, int] = {}  # in both directions
    for one, others in near.items():
        free = others - chosen.keys()
        if one not in chosen and free:
            chosen[one], chosen[min(free)] = min(free), one
    changed = True
    while changed:
        changed = False
        for one, other in list(chosen.items()):
            first, second = near[one] - chosen.keys(), near[other] - chosen.keys()
            if chosen[one] == other and first and second and len(first | second) > 1:
                a = min(first - {min(second)}, default=min(first))
                b = min(second - {a})
                chosen |= {one: a, a: one, other: b, b: other}
                changed = True
    return [(one, other) for one, other in chosen.items() if one < other]
