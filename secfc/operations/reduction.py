"""<x> to [x]: what was multiplied can be multiplied again.

Opens x plus uniform residues to both evaluators and all holders, and nothing else. A holder continues only if
both evaluators told it the same. They do not tell each other: the next message between them shows whether
both have opened the same (`Party.note_inside`).
"""

from collections.abc import Generator

from secfc.field.packing import from_bytes, size_of, to_bytes
from secfc.protocol.parties.opened import opened_shares, to_tell, told_by_both
from secfc.protocol.parties.party import Half, Party
from secfc.protocol.parties.random_sharings import Sharings, random_sharings
from secfc.sharing.rows import Rows
from secfc.sharing.shared import Shared


def reduced(me: Party, product: Shared) -> Generator[None, None, Shared]:
    """[x] of <x>."""
    masks = yield from random_sharings(me, twins=product.size)
    found: list[Shared] = yield from me.together([claiming(me, product, masks)])
    return found[0]


def norms_of(me: Party, rows: Rows) -> Generator[None, None, Shared]:
    """[|f|^2], shape (m,): the squared norm of each segment. They are reduced, and checked, once."""
    if rows.reduced_norms is None:
        rows.reduced_norms = yield from reduced(me, rows.norms)
    return rows.reduced_norms


def claiming(me: Party, product: Shared, masks: Sharings) -> Half:
    """The same as a half of a step, with as many twins as numbers. It is to be checked."""
    claim = me.claim(product)
    claim.value = yield from reducing(me, product, masks, "hidden")
    return claim.value


def reducing(me: Party, product: Shared, masks: Sharings, tag: str) -> Half:
    """The same without a check to come."""
    size, code, segments = product.size, me.code, None
    hidden = product.reshape(size) + masks.wide
    if hidden.residues is not None:
        me.send_share(me.roles.evaluators, tag, to_bytes(hidden.residues, code.primes))
    if me.evaluates:
        segments = yield from opened_shares(me, tag, size, wide=True)
        returned = to_bytes(segments, code.primes)
        for holder in me.roles.holders:
            if holder not in me.roles.evaluators:
                me.send(holder, f"{tag} opened", to_tell(me, returned))
        me.note_inside(returned)
    elif me.holds:
        told = yield from told_by_both(me, f"{tag} opened", size_of(code.ell * size, code.primes))
        segments = from_bytes(told, (code.ell, size), code.primes)
        me.note_inside(told)
    return (me.of_segments(segments, (size,)) - masks.narrow).reshape(*product.shape)
