"""Opens to each owner the sets of its own rows, and to nobody else.

Every holder sends its shares modulo the first prime. An owner opens them if they lie on one polynomial and
say of each row that it is in exactly one set.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace

from secfc.field.array_types import Floats, Labels
from secfc.field.packing import pack
from secfc.kmeans.sets import labels_of_bits
from secfc.protocol.parties.opened import opened_shares
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.shared import Shared


def to_owners(me: Party, sets: Shared, owned: Mapping[int, slice]) -> Generator[None, None, Labels | None]:
    """The labels of a party's own rows. `owned` are the rows of each owner; sets have shape (k, m)."""
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
    opened = yield from opened_shares(alone, "labels", k * count, wide=False)
    return labels_of_bits(opened.reshape(me.code.ell, k, count))
