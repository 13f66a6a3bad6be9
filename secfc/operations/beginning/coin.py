"""A coin opened to everybody: the comparers tell values to which they committed, so nobody can choose it.

With disclosure "coded" the coordinator tosses alone, bound to nothing.
"""

import hashlib
from collections.abc import Generator, Mapping

from secfc.crypto.handshake import COIN_BYTES, commitment_to
from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party, at_once


def tossed(
    me: Party, run: bytes, value: bytes, commitments: Mapping[int, bytes]
) -> Generator[None, None, bytes]:
    """32 bytes, which follow from the values and from all that was opened before.

    `value` is a comparer's own. CheatError for a value that is not the one committed to.
    """
    halves = [_everybody(me, run, commitments)]
    if me.number in me.roles.comparers:
        halves.append(at_once(me.tell, "value", value))
    told, *_ = yield from me.together(halves)
    me.note(told)
    return hashlib.sha256(b"secfc own coin 1" + me.transcript).digest()


def _everybody(me: Party, run: bytes, commitments: Mapping[int, bytes]) -> Half:
    told = yield Wait("value", me.roles.comparers, COIN_BYTES)
    for party, value in told.items():
        if party == COORDINATOR:
            continue
        if commitment_to(bytes(value), run=run, party=party) != commitments[party]:
            text = f"party {party} told another value of the coin than it is committed to"
            raise CheatError(text, code=Code.BAD_MESSAGE, clients=[party])
    return b"".join(bytes(told[party]) for party in me.roles.comparers)
