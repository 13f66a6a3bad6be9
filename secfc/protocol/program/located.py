"""Which holders sent wrong shares, as each evaluator says: for the coordinator's report.

Tells the coordinator and nobody else. Some shares go to the evaluators alone, so nobody else sees that they
are wrong. What an evaluator says is a claim: it may lie. Of answers under masks it cannot know whether the
holder sent a wrong one or the dealer dealt for other masks. Nothing follows from a claim.
"""

from collections.abc import Generator

import numpy as np

from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party, at_once

Claim = tuple[int, int]
"""An evaluator, and a holder that sent wrong shares, as it says."""


def located(me: Party) -> Generator[None, None, tuple[Claim, ...]]:
    """The claims of both evaluators, at the coordinator; none at other parties."""
    halves = []
    if me.evaluates:
        bits = np.packbits([j in me.liars for j in me.roles.holders])
        halves.append(at_once(me.send, COORDINATOR, "located", bits.tobytes()))
    if me.number == COORDINATOR:
        halves.append(_coordinator(me))
    found = yield from me.together(halves)
    return found[0] if me.number == COORDINATOR else ()


def _coordinator(me: Party) -> Half:
    said = yield Wait("located", me.roles.evaluators, -(-me.roles.n // 8))
    found = list[Claim]()
    for evaluator, data in said.items():
        bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=me.roles.n)
        found += [(evaluator, int(at) + 1) for at in np.flatnonzero(bits)]
    return tuple(sorted(found))
