"""How partitions of the rows overlap, opened to holders: how many rows are in each two of all sets.

Opens the counts modulo the first prime, which is above the number of rows. Counts of two sets of one
partition are 0, and those of a set with itself its size, so they say nothing that tables of two partitions do
not.
"""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints, Labels
from secfc.field.packing import to_bytes
from secfc.operations.checking.check import settled
from secfc.protocol.parties.opened import opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.shared import Shared, joined


def plain_tables(partitions: list[Labels], k: int) -> Ints:
    """The same of public labels, shape (m,) each."""
    bits = np.array([labels == h for labels in partitions for h in range(k)], dtype=np.int64)
    return _by_pair(bits @ bits.T, k)


def opened_tables(me: Party, partitions: list[Shared]) -> Generator[None, None, Ints | None]:
    """Of [b], shape (k, m) each, at holders: shape (partitions, partitions, k, k). None at other parties.

    [b] may be modulo the first prime alone. CheatError if partitions do not have each row once.
    """
    yield from settled(me)
    k, m = partitions[0].shape
    sets = joined(partitions, 0)
    size = sets.shape[0] ** 2
    random = yield from random_sharings(me, zeros=size)
    hidden = sets.overlaps().reshape(size) + random.zeros.modulo_first()
    found = yield from me.together([_holder(me, hidden)])
    if found[0] is None:
        return None
    counts = found[0].astype(np.int64).reshape(me.code.ell, sets.shape[0], sets.shape[0])
    tables = _by_pair(counts[0], k)
    apart = np.arange(len(partitions))
    alone = tables[apart, apart] * ~np.eye(k, dtype=np.bool_)
    if (counts != counts[0]).any() or (tables.sum((2, 3)) != m).any() or alone.any():
        raise CheatError("opened tables are not those of partitions of all rows", code=Code.BAD_MESSAGE)
    return tables


def _holder(me: Party, product: Shared) -> Half:
    """The segments modulo the first prime, shape (ell, size), at holders. Evaluators may be no holders."""
    alone = replace(me, code=me.code.first_prime())
    claim = me.claim(product)
    if product.residues is None:
        return None
    me.send_share(me.roles.holders, "tables", to_bytes(product.residues[:1], alone.code.primes))
    segments = yield from opened_shares(alone, "tables", product.size, wide=True)
    claim.value = alone.of_segments(segments, product.shape)
    return segments[0]


def _by_pair(counts: Ints, k: int) -> Ints:
    """Counts of all pairs of sets as tables of all pairs of partitions."""
    partitions = len(counts) // k
    return counts.reshape(partitions, k, partitions, k).swapaxes(1, 2)
