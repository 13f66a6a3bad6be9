"""Finds the union of the clients' IDs, and whether any is there twice (docs/union.md).

Each part of a stage is a step: every client deals shares to every other, with a proof, and then sends the
coordinator its share of what is opened. The coordinator finds the poles of a table, and all clients open the
check themselves. What the coordinator tells clients of a stage goes into what everybody has seen: so nothing
of the next stage is opened unless it told all clients the same.

Opens to clients and the coordinator a keyed hash of every ID, and whether each is there once.
"""

import hashlib
from collections.abc import Generator

import numpy as np

from secfc.crypto.hash_tree import DIGEST_BYTES
from secfc.errors import CheatError
from secfc.field.array_types import Data, Ints
from secfc.operations.beginning.united_dealing import ELEMENT, deal_part, elements_of
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.psu.found import Found
from secfc.psu.plan import UnionPlan
from secfc.psu.roles import UnionClient, UnionRole, UnionServer
from secfc.psu.stages import SeriesStage
from secfc.psu.tokens import Tokens

_PARTS = 4  # bytes of a number of parts
_COUNT = np.dtype("<i4")

_Role = UnionClient | UnionServer | None
"""None at a helper, who deals and learns nothing."""


def united(
    me: Party, plan: UnionPlan, tokens: Tokens | None
) -> Generator[None, None, tuple[int, Ints | None]]:
    """The number of rows of the union, and at a client the numbers of its own. A helper learns neither.

    A client's `tokens` are those of its own IDs.

    DuplicateIdError if an ID is held more than once, UnionError if there can be no union.
    """
    role: _Role = None
    threads, check = me.kernels.threads, b""
    if tokens is not None:
        check = tokens.check
        role = UnionClient(number=me.number, plan=plan, tokens=tokens, masks=me.masks, threads=threads)
    elif me.number == COORDINATOR:
        role = UnionServer(plan, threads)
    most = parts = (role or UnionRole(plan, threads)).parts
    while parts:
        for part in range(parts):
            yield from me.together([_part(me, role, part, check)])
            check = b""
        (parts,) = yield from me.together([_end(me, role, most)])
    return (0 if role is None else role.course.m), role.rows() if isinstance(role, UnionClient) else None


def _part(me: Party, role: _Role, part: int, check: bytes) -> Half:
    """Deal, and send shares of what is opened; or open them. A check is opened by all."""
    if isinstance(role, UnionClient):
        dealt = yield from deal_part(me, role, part, check)
        values = role.opening(part, dealt).astype(ELEMENT).tobytes()
        for party in (*me.roles.holders, COORDINATOR) if role.checking else (COORDINATOR,):
            me.send(party, "union opened", values)
    if role is not None and (isinstance(role, UnionServer) or role.checking):
        size = ELEMENT.itemsize * role.opened_size(part)
        sent = yield Wait("union opened", tuple(me.roles.holders), size)
        role.open(part, {holder: elements_of(data) for holder, data in sent.items()})


def _end(me: Party, role: _Role, most: int) -> Half:
    """Take what was found in a stage. The number of parts of the next one, 0 after the last.

    No stage has more parts than the first, `most`. A helper knows that alone.
    """
    outcome = b""
    if role is not None and role.checking:
        outcome = bytes([role.take_verdict()])
    elif isinstance(role, UnionServer):
        outcome = _tell_found(me, role)
    elif role is not None:
        outcome = yield from _found(role)
    if isinstance(role, UnionServer):
        me.tell("union stage", _report(role, outcome))
    told = (yield Wait("union stage", (COORDINATOR,), DIGEST_BYTES + _PARTS))[COORDINATOR]
    if role is not None and told != _report(role, outcome):
        raise CheatError(
            f"client {me.number}: the server reports another result of the union than the clients' shares "
            "give, or than it told"
        )
    parts = int.from_bytes(told[DIGEST_BYTES:])
    if parts > most:
        raise CheatError(f"the server tells a stage of {parts} parts of the union, the first has {most}")
    me.note(bytes(told))
    return parts


def _tell_found(me: Party, role: UnionServer) -> bytes:
    """Tell clients the contents of a table. Return their bytes."""
    found = role.found()
    counts, poles = found.counts.astype(_COUNT).tobytes(), found.poles.astype(ELEMENT).tobytes()
    for holder in me.roles.holders:
        me.send(holder, "union counts", counts)
        me.send(holder, "union poles", poles)
    role.take_found(found)
    return counts + poles


def _found(role: UnionClient) -> Generator[Wait, dict[int, Data], bytes]:
    """Take the contents of a table. Return their bytes."""
    stage = role.course.stage
    assert isinstance(stage, SeriesStage)
    counts = (yield Wait("union counts", (COORDINATOR,), _COUNT.itemsize * stage.table.bins))[COORDINATOR]
    numbers = np.frombuffer(counts, dtype=_COUNT).astype(np.int64)
    size = ELEMENT.itemsize * int(np.maximum(numbers, 0).sum())
    poles = (yield Wait("union poles", (COORDINATOR,), size))[COORDINATOR]
    role.take_found(Found(counts=numbers, poles=elements_of(poles)))
    return bytes(counts) + bytes(poles)


def _report(role: UnionClient | UnionServer, outcome: bytes) -> bytes:
    """A digest of the outcome of a stage, and the number of parts of the next one, 0 after the last."""
    parts = 0 if role.course.finished else role.parts
    return hashlib.sha256(outcome).digest() + parts.to_bytes(_PARTS)
