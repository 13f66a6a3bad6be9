"""Opens a codeword from the shares that holders sent, of which some may be wrong or missing.

With `max_liars` = A, A spare shares are enough to notice up to A wrong ones, and A + i to locate i of them:
without these at least as many right ones are left as determine the word. A share is a row of residues, and
columns of all holders' rows are words of a Reed-Solomon code. Random combinations of columns are words too,
so a wrong row passes one with probability 1/p.
"""

import hashlib
from collections.abc import Generator, Mapping

from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.errors import CheatError, MessageError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.field.array_types import Data, Floats
from secfc.field.packing import PackedResidues, from_bytes, size_of
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Party


def opened_shares(
    me: Party, tag: str, size: int, *, wide: bool, least: int = 0
) -> Generator[Wait, dict[int, Data], Floats]:
    """The segments, canonical, shape (P, ell, size), of the shares that holders send with a tag."""
    sent = yield from right_shares(me, tag, size, wide=wide, least=least)
    return me.code.open(_residues(me, sent, size), wide=wide)


def to_tell(me: Party, data: bytes) -> bytes:
    """What an evaluator tells of these bytes: the first all of them, the second their digest."""
    return data if me.number == me.roles.first else hashlib.sha256(data).digest()


def told_by_both(me: Party, tag: str, size: int) -> Generator[Wait, dict[int, Data], Data]:
    """What both evaluators told with a tag. CheatError if they told of different bytes: it names nobody."""
    first, second = me.roles.evaluators
    told = (yield Wait(tag, (first,), size))[first]
    if hashlib.sha256(told).digest() != (yield Wait(tag, (second,), DIGEST_BYTES))[second]:
        text = f"{tag}: the evaluators told different numbers, or a holder has sent them different shares"
        raise CheatError(text, code=Code.BAD_MESSAGE)
    return told


def noticing(me: Party) -> int:
    """So many shares of [x] that t wrong ones are noticed, without those that are needed to locate liars."""
    return me.code.narrow + max(0, me.code.t - max(0, me.max_liars - len(me.liars)))


def decoded_sum(
    me: Party, tag: str, shape: tuple[int, int, int]
) -> Generator[Wait, dict[int, Data], PackedResidues]:
    """The sum of the segments of <x>, from the answers, (P, columns, rows), that holders send with a tag."""
    return summed(me, (yield from right_shares(me, tag, shape[1] * shape[2], wide=True)), shape)


def summed(me: Party, sent: Mapping[int, Data], shape: tuple[int, int, int]) -> PackedResidues:
    """The sum of the segments of <x>, from right answers, (P, columns, rows), by holder."""
    code, holders = me.code, tuple(sorted(sent)[: me.code.wide])
    planes = [PackedResidues(payload=sent[j], shape=shape).planes() for j in holders]
    decoded = PackedResidues.empty(shape)
    refused = me.kernels.weigh(planes, code.weights(holders), code.primes, decoded.planes())
    if refused >= 0:
        text = f"party {holders[refused]}: integers that are not below their prime were sent"
        raise MessageError(text, clients=[holders[refused]])
    return decoded


def right_shares(
    me: Party, tag: str, size: int, *, wide: bool, least: int = 0
) -> Generator[Wait, dict[int, Data], dict[int, Data]]:
    """Shares that lie on polynomials, as holders sent them: as many as are needed, and `least`, or more.

    Of [x] so few wrong ones are located that t do not lead to another polynomial; <x> is checked later.
    If none is spare, they may be no residues. CheatError if they lie on no polynomials and `max_liars` is 0.
    TooManyFaultsError for more liars than `max_liars`, or too few holders to notice or locate so many.
    """
    code, needed = me.code, me.code.wide if wide else me.code.narrow
    senders = tuple(j for j in me.roles.holders if j not in me.liars | me.unsure)
    octets, enough = size_of(size, code.primes), max(needed, least) + max(0, me.max_liars - len(me.liars))
    while enough <= len(senders):
        came = yield Wait(tag, senders, octets, enough)
        sent = _of_size(me, came, octets)
        if not me.max_liars and len(sent) == needed:
            return sent
        shares = _residues(me, sent, size)
        most = me.max_liars - len(me.liars)
        spare = len(shares) - needed - (most if wide else max(most, code.t))
        wrong = set[int]() if min(spare, most) >= 0 and code.contains(shares, me.masks, wide=wide) else None
        if wrong is None and min(spare, most) > 0:
            wrong = code.wrong(shares, me.masks, wide=wide, most=min(spare, most))
        if wrong is not None:
            me.liars |= wrong
            return {j: sent[j] for j in shares if j not in wrong}
        if not me.max_liars:
            raise CheatError(f"{tag}: shares lie on no polynomial of their degree", code=Code.BAD_MESSAGE)
        if spare >= most:
            raise TooManyFaultsError(f"{tag}: more than max_liars={me.max_liars} holders sent wrong shares")
        enough = len(came) + 1
    text = (
        f"{tag}: {len(senders)} holders are left, too few to locate wrong shares of max_liars={me.max_liars}"
    )
    raise TooManyFaultsError(text)


def _of_size(me: Party, sent: Mapping[int, Data], octets: int) -> dict[int, Data]:
    """What was sent with so many bytes. Who sends another size is a liar."""
    for holder, data in sent.items():
        if len(data) != octets:
            _refuse(me, holder, f"{len(data)} bytes were sent, not {octets}")
    return {holder: data for holder, data in sent.items() if len(data) == octets}


def _residues(me: Party, sent: Mapping[int, Data], size: int) -> dict[int, Floats]:
    """What was sent, but for integers that are no residues. Who sends such is a liar."""
    found = {}
    for holder, data in sent.items():
        try:
            found[holder] = from_bytes(data, (size,), me.code.primes)
        except MessageError as error:
            _refuse(me, holder, str(error))
    return found


def _refuse(me: Party, holder: int, why: str) -> None:
    if not me.max_liars:
        raise MessageError(f"party {holder}: {why}", clients=[holder])
    me.liars.add(holder)
