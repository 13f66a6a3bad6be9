"""Opens to each client the labels of its own rows of a union, though nobody knows which rows these are.

All clients open the labels of all rows plus the sum of all covers (`secfc.operations.beginning.added`),
modulo the first prime. The cover of a row is uniform, in each segment, and only the client that has the row
knows it. So to all others what is opened is uniform. It lies on a uniform polynomial, because covers do.

A client that lies can deal covers of rows of others, as it can add vectors to these rows. It moves labels and
learns none. If it moves one to no cluster the run ends for the other client: that tells one bit.
"""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Labels
from secfc.operations.beginning.rows import Covers
from secfc.protocol.parties.opened import opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.residue_bytes import to_bytes
from secfc.sharing.shared import Shared


def under_covers(me: Party, sets: Shared, covers: Covers) -> Generator[None, None, Labels | None]:
    """The labels of a client's own rows, of sets with shape (k, m). None at another party."""
    k, m = sets.shape
    labels = (sets * np.arange(k).reshape(-1, 1)).sum(0)
    first = None if labels.residues is None else labels.residues[:1]
    hidden = Shared(labels.primes[:1], (m,), first) + covers.shared
    halves = []
    if hidden.residues is not None:
        halves = [_client(me, m), _holder(me, hidden.residues)]
    found = yield from me.together(halves)
    return None if covers.numbers is None else _uncovered(me, found[0], covers, k)


def _holder(me: Party, residues: Floats) -> Half:
    me.send_share(me.roles.holders, "labels", to_bytes(residues, me.code.primes[:1]))
    return
    yield


def _client(me: Party, size: int) -> Half:
    alone = replace(me, code=me.code.first_prime())
    return (yield from opened_shares(alone, "labels", size, wide=False))[0]


def _uncovered(me: Party, opened: Floats, covers: Covers, k: int) -> Labels:
    """The labels of its own rows. CheatError for what is no label, or differs by segment."""
    labels = (opened[:, covers.numbers] - covers.own) % me.code.primes[0]
    if (labels >= k).any() or (labels != labels[0]).any():
        raise CheatError("opened labels are no clusters", code=Code.BAD_MESSAGE)
    found: Labels = labels[0].astype(np.int32)
    return found
