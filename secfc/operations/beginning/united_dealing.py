"""Deals a part of a union, with a proof, and goes on when all clients have checked the same proofs.

A client gets its shares and a salt, and the head of the dealing: a digest of what each client gets, and the
proof. Coefficients of the proof follow from a hash of the digests, of the dealer, the step and all that was
opened before, as in `secfc.protocol.parties.dealing`.

Who has checked what it got tells all others a digest of all heads. A client opens nothing before all have
told it the same. So when an honest client opens, all honest clients have shares of the same polynomials.
"""

import hashlib
from collections.abc import Generator

import numpy as np

from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.errors import UnionError
from secfc.errors.codes import Code
from secfc.field.array_types import Data
from secfc.operations.beginning.alike import all_have
from secfc.protocol.parties.dealing import SALT, seed_of
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Party
from secfc.psu.prime import Elements
from secfc.psu.proving import Dealing
from secfc.psu.roles import UnionClient, no_polynomial

_LABEL = b"secfc union dealing 1"
ELEMENT = np.dtype("<u8")


def deal_part(
    me: Party, role: UnionClient, part: int, check: bytes
) -> Generator[Wait, dict[int, Data], dict[int, Elements]]:
    """Deal a part. Return what each client, also this one, has dealt to it.

    The first part begins with `check`, a hash of the key of IDs.

    CheatError names who dealt shares on no polynomial; it names nobody if clients got different proofs.
    """
    pieces, head = _pieces(me, role, role.deal(part))
    others = tuple(holder for holder in me.roles.holders if holder != me.number)
    for holder in others:
        me.send(holder, "union dealt", check + pieces[holder - 1])
    came = yield Wait("union dealt", others, len(check) + len(pieces[0]))
    heads, dealt = {me.number: head}, {me.number: elements_of(pieces[me.number - 1][len(head) : -SALT])}
    for dealer, data in came.items():
        if data[: len(check)] != check:
            text = f"client {me.number}: client {dealer} hashes its IDs with another id_key"
            raise UnionError(text, code=Code.OTHER_ID_KEY, clients=[dealer])
        end = len(check) + len(head)
        heads[dealer] = bytes(data[len(check) : end])
        dealt[dealer] = _checked(me, role, part, dealer, heads[dealer], data[end:])
    digest = hashlib.sha256(b"".join(heads[j] for j in me.roles.holders)).digest()
    text = "clients got different proofs of what was dealt in the union"
    yield from all_have(me, "union heads", digest, text)
    return dealt


def elements_of(data: Data) -> Elements:
    """The elements of a message."""
    return np.frombuffer(data, dtype=ELEMENT).astype(np.uint64, copy=False)


def _pieces(me: Party, role: UnionClient, dealt: Dealing) -> tuple[list[bytes], bytes]:
    """What each client gets: the head, its shares and a salt. And the head."""
    shares = dealt.shares.astype(ELEMENT, copy=False)
    ends = [own.tobytes() + me.masks.octets(SALT) for own in shares]
    digests = b"".join(hashlib.sha256(end).digest() for end in ends)
    head = digests + role.proof(dealt, seed_of(me, _LABEL, me.number, digests)).astype(ELEMENT).tobytes()
    return [head + end for end in ends], head


def _checked(me: Party, role: UnionClient, part: int, dealer: int, head: bytes, end: Data) -> Elements:
    """The shares of which, with a salt, the head has a digest, if they agree with the proof."""
    digests, own = head[: DIGEST_BYTES * me.code.n], DIGEST_BYTES * (me.number - 1)
    if hashlib.sha256(end).digest() != digests[own : own + DIGEST_BYTES]:
        raise no_polynomial(dealer)
    shares, proof = elements_of(end[:-SALT]), elements_of(head[len(digests) :])
    role.check(dealer, part, shares, proof, seed_of(me, _LABEL, dealer, digests))
    return shares
