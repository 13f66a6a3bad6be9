"""Whether distances are such as rows within the public bound have.

A client may share integers beyond the bound: they lie on polynomials. Distances to sets with such rows wrap
around modulo Q, and then labels are known functions of single columns of other parties' rows. So no label
leaves the server before every distance of its round was compared with eq. 9 of docs/protocol.md.
"""

from collections.abc import Iterable

import numpy as np

from secfc.array_types import Bools, Floats, Ints, Labels
from secfc.errors import RangeError
from secfc.kmeans.sets import set_sizes
from secfc.row_layout import Layout


class RangeCheck:
    """Compares the distances of a round, some rows at a time, with what the public bound allows.

    No quantised row of an honest client has a norm above `radius`. `max_liars` clients may lie about answers
    and are found out; 0: answers are not checked, so a wrong one may be the reason, and nobody is named.
    """

    def __init__(self, *, radius: int, layout: Layout, max_liars: int) -> None:
        # float() rounds an integer correctly.
        self._most, self._layout, self._max_liars = float((2 * radius) ** 2), layout, max_liars
        self._beyond: dict[int, Bools] = {}

    def take(self, rows: slice, value: Floats, sizes: Ints, tolerance: float) -> None:
        """Compare squared distances D / |S_h|**2 of rows, shape (sets, rows); those that come again replace.

        Honest rows never exceed the limit. Their norms are at most `radius`, which includes rounding
        (`secfc.field.fixed_point.quantised_radius`). So the sum over S_h and |S_h| times a row have norms of
        at most |S_h| radius each, D <= (2 |S_h| radius)**2, and D / |S_h|**2 <= (2 radius)**2. The errors of
        its float and of the limit's are within the tolerance, which is more than twice the relative error of
        a value.
        """
        held = value if sizes.all() else value[sizes > 0]
        limit = self._most * (1 + tolerance)
        if held.max(initial=0.0) <= limit:
            self._beyond.pop(rows.start, None)
            return
        beyond = (value > limit) & (sizes > 0)[:, np.newaxis]
        owners = [self._layout.rows(j) for j in range(1, len(self._layout.counts) + 1)]
        self._beyond[rows.start] = np.array(
            [
                beyond[:, max(own.start - rows.start, 0) : max(own.stop - rows.start, 0)].any(axis=1)
                for own in owners
            ]
        )

    def end_round(self, sets: Labels) -> None:
        """Begin another round, if all distances of this one, which was about `sets`, are possible.

        RangeError names clients that have certainly shared rows beyond the bound, if there are any.
        """
        if not self._beyond:
            return
        pairs = np.logical_or.reduce(list(self._beyond.values()))
        self._beyond = {}
        text = "a round's distances are larger than the public bound allows"
        if not self._max_liars:
            raise RangeError(
                f"{text}: rows that a client shared, or an answer, are wrong; it is not known of which client"
            )
        if self._layout.common or self._layout.deposited:  # of owners any number may lie
            raise RangeError(f"{text}: rows that somebody shared are beyond it; it is not known whose")
        k = pairs.shape[1]
        members = np.array([set_sizes(sets[self._layout.rows(j)], k) > 0 for j in range(1, len(pairs) + 1)]).T
        groups = {
            frozenset([int(owner) + 1, *(np.flatnonzero(members[h]) + 1).tolist()])
            for owner, h in zip(*np.nonzero(pairs), strict=True)
        }
        named = surely_in(groups, most=self._max_liars)
        who = ", ".join(f"client {j}" for j in named) or "one of several clients (it is not known which)"
        raise RangeError(f"{text}: {who} shared rows beyond it", clients=named)


def surely_in(groups: Iterable[frozenset[int]], *, most: int) -> list[int]:
    """Who is a liar for certain, if each of these groups has a liar and there are at most so many.

    Were such a client honest, more liars than there can be would be in what is left of its groups: in more
    than `most` of these that have no member in common, or in an empty one.
    """
    ordered = sorted(groups, key=len)
    found = []
    for client in sorted(frozenset().union(*ordered)):
        seen, apart = set[int](), 0
        for group in ordered:
            others = group - {client}
            if client in group and not seen & others:
                seen |= others
                apart += 1 if others else most + 1
        if apart > most:
            found.append(client)
    return found
