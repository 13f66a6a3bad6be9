"""Opens a codeword from the shares that holders sent, of which some may be wrong or missing.

With `max_liars` = A, A spare shares are enough to notice up to A wrong ones, and 2 A to locate them. A share
is a row of residues, and columns of all holders' rows are words of a Reed-Solomon code. Random combinations
of columns are words too, so a wrong row passes one with probability 1/p.
"""

from collections.abc import Generator, Mapping

from secfc.comparing.role import Data
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.array_types import Floats
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Party
from secfc.sharing.residue_bytes import from_bytes, size_of


def opened_shares(me: Party, tag: str, size: int, *, wide: bool) -> Generator[Wait, dict[int, Data], Floats]:
    """The segments, canonical, shape (P, ell, size), of the shares that holders send with a tag."""
    shares = yield from right_shares(me, tag, size, wide=wide)
    first = sorted(shares)[: me.code.wide if wide else me.code.narrow]
    return me.code.open({j: _residues(me, j, shares[j], size) for j in first}, wide=wide)


def right_shares(
    me: Party, tag: str, size: int, *, wide: bool
) -> Generator[Wait, dict[int, Data], dict[int, Data]]:
    """Shares, as they were sent, that lie on polynomials, by holder: as many as are needed or more."""
    code, most = me.code, me.max_liars
    needed = code.wide if wide else code.narrow
    senders = tuple(j for j in me.roles.holders if j not in me.liars)
    octets = size_of(size, code.primes)
    sent = yield Wait(tag, senders, octets, needed + most)
    if not most:
        return sent
    shares = _possible(me, sent, size)
    if len(shares) >= needed + most and code.contains(shares, me.masks, wide=wide):
        return {j: sent[j] for j in shares}
    sent = yield Wait(tag, senders, octets, needed + 2 * most)
    shares = _possible(me, sent, size)
    wrong = code.wrong(shares, me.masks, wide=wide, most=most - len(me.liars.intersection(sent)))
    if wrong is None:
        raise TooManyFaultsError(f"{tag}: more than max_liars={most} holders sent wrong shares")
    me.liars |= wrong
    return {j: sent[j] for j in shares if j not in wrong}


def _possible(me: Party, sent: Mapping[int, Data], size: int) -> dict[int, Floats]:
    """What was sent, but for integers that are no residues. A holder that sends such is a liar."""
    found = {}
    for holder, data in sent.items():
        try:
            found[holder] = _residues(me, holder, data, size)
        except MessageError:
            me.liars.add(holder)
    return found


def _residues(me: Party, holder: int, data: Data, size: int) -> Floats:
    try:
        return from_bytes(data, (size,), me.code.primes)
    except MessageError as error:
        raise MessageError(f"party {holder}: {error}") from None
