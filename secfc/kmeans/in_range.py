"""Check that distances are possible for rows within the public bound.

A malicious client can share integers beyond the bound, since they lie on polynomials too. Distances to sets
with such rows wrap around modulo Q. Labels are then known functions of single columns of other parties' rows.
So no label leaves the server before every distance of its round was compared with eq. 9 of docs/protocol.md.
"""

from collections.abc import Iterable

import numpy as np

from secfc.errors import RangeError
from secfc.field.array_types import Bools, Labels
from secfc.kmeans.compare import Quotients
from secfc.kmeans.sets import set_sizes
from secfc.protocol.job.row_layout import Layout


class RangeCheck:
    """Compares the distances of a round, some rows at a time, with the largest that the public bound allows.

    No quantised row of an honest client has a norm above `radius`. Up to `max_liars` clients may send wrong
    answers, and the server detects these. With 0 the server does not check answers: a wrong answer may be the
    reason for a large distance, and the error names nobody.
    """

    def __init__(self, *, radius: int, layout: Layout, max_liars: int) -> None:
        # float() rounds an integer correctly.
        self._most, self._layout, self._max_liars = float((2 * radius) ** 2), layout, max_liars
        self._beyond: list[Bools] = []  # by owner and set, of blocks with such rows

    def take(self, rows: slice, found: Quotients) -> None:
        """Compare squared distances D / |S_h|**2 of rows with the limit.

        Honest rows never exceed the limit. Their norms are at most `radius`, which includes rounding
        (`secfc.field.fixed_point.quantised_radius`). So the sum over S_h and |S_h| times a row have norms of
        at most |S_h| radius each, D <= (2 |S_h| radius)**2, and D / |S_h|**2 <= (2 radius)**2. The tolerance
        is more than twice the relative error of a value, so it covers the float errors of value and limit.
        """
        limit = self._most * (1 + found.tolerance)
        if found.compared.largest <= limit:
            return
        beyond = (found.values() > limit) & (found.sizes > 0)[:, np.newaxis]
        owners = [self._layout.rows(j) for j in range(1, len(self._layout.counts) + 1)]
        parts = [slice(max(own.start - rows.start, 0), max(own.stop - rows.start, 0)) for own in owners]
        self._beyond.append(np.array([beyond[:, part].any(axis=1) for part in parts]))

    def end_round(self, sets: Labels) -> None:
        """End the round, whose distances were to the means of `sets`.

        Raises RangeError if some distance is impossible. It names the clients that have certainly shared rows
        beyond the bound, if there are any.
        """
        if not self._beyond:
            return
        pairs = np.logical_or.reduce(self._beyond)
        self._beyond = []
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
    """Clients that lie for certain, if each group contains a liar and there are at most `most` liars.

    A client is certain if its honesty leads to a contradiction: without it, its groups contain more than
    `most` disjoint groups, each with a liar, or an empty group.
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
