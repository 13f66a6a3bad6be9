"""Opens to each owner the sets of its own rows, and to nobody else.

Every holder sends its shares modulo the first prime. An owner opens them if they lie on one polynomial. A
row that is not in exactly one set gets -1, and the run ends as with any other label: whether there is such a
row depends on labels, and a party that lies about them must not be told.

Of a union nobody knows whose rows are whose. There all clients open the labels of all rows plus the sum of
all covers (`secfc.operations.beginning.added`). The cover of a row is uniform, in each segment, and only the
client that has the row knows it. So to all others what is opened is uniform. It lies on a uniform polynomial,
because covers do. A client that lies can deal covers of rows of others, as it can add vectors to these rows.
It moves labels and learns none. A label that it moves to no cluster is -1 too. So it does not learn who has
the row.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace

import numpy as np

from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.packing import pack
from secfc.kmeans.sets import labels_of_bits
from secfc.operations.beginning.rows import Covers
from secfc.operations.checking.check import settled
from secfc.operations.opening import opened_to
from secfc.protocol.parties.opened import noticing, opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.shared import Shared


def to_owners(me: Party, sets: Shared, owned: Mapping[int, slice]) -> Generator[None, None, Labels | None]:
    """The labels of a party's own rows. `owned` are the rows of each owner; sets have shape (k, m)."""
    yield from settled(me)
    halves = []
    if me.number in owned:
        halves.append(_owner(me, owned[me.number], sets.shape[0]))
    if sets.residues is not None:
        halves.append(_holder(me, sets.residues, owned))
    found = yield from me.together(halves)
    return found[0] if me.number in owned else None


def _holder(me: Party, sets: Floats, owned: Mapping[int, slice]) -> Half:
    for owner, rows in owned.items():
        me.send_share([owner], "labels", pack(sets[0, :, rows], me.code.primes[0]).tobytes())
    return
    yield


def _owner(me: Party, rows: slice, k: int) -> Half:
    count = rows.stop - rows.start
    alone = replace(me, code=me.code.first_prime())
    opened = yield from opened_shares(alone, "labels", k * count, wide=False, least=noticing(me))
    return labels_of_bits(opened.reshape(me.code.ell, k, count))


def under_covers(me: Party, sets: Shared, covers: Covers) -> Generator[None, None, Labels | None]:
    """The labels of a client's own rows, of sets with shape (k, m). None at another party."""
    k, m = sets.shape
    labels = (sets * np.arange(k).reshape(-1, 1)).sum(0)
    first = None if labels.residues is None else labels.residues[:1]
    hidden = Shared(labels.primes[:1], (m,), first) + covers.shared
    opened = yield from opened_to(me, me.roles.holders, hidden, "labels")
    if opened is None or covers.numbers is None:
        return None
    return _uncovered(me, opened[0], covers.own, covers.numbers, k)


def _uncovered(me: Party, opened: Floats, own: Floats, numbers: Ints, k: int) -> Labels:
    """The labels of its own rows. -1 for what is no label, or differs by segment, and for no number."""
    labels = (opened[:, numbers] - own) % me.code.primes[0]
    readable = (numbers >= 0) & (labels[0] < k) & (labels == labels[0]).all(axis=0)
    found: Labels = np.where(readable, labels[0], -1).astype(np.int32)
    return found
