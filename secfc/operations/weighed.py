"""From values v of sets and squared sizes N, under masks, to N_a v_b - N_b v_a of pairs a < b, under masks.

Evaluators know y = v + r and z = N + s modulo Q, the dealer r and s (`secfc.operations.masked`). For a row

    N_a v_b = z_a y_b - z_a r_b - s_a y_b + s_a r_b.

The dealer gives the evaluators additive halves of r and s. So each computes all terms but the last from its
own halves, and adds c, of which each derives its own half from a key that it shares with the dealer. The
first evaluator, with halves -h, adds (z_a + h_a) y_b + z_a h_b, and the second one, with halves h, adds
-h_a y_b - z_a h_b. Their parts add up to u plus the new mask

    c - (s_a r_b - s_b r_a),

which the dealer knows. They exchange the parts. Opens nothing: c is uniform, each half of it is known to one
evaluator and the dealer alone, and the dealer sees no part. U is checked, so a wrong part is noticed. V and N
are checked too: whether u is right with a wrong v depends on N.
"""

from collections.abc import Generator
from math import prod

import numpy as np

from secfc.crypto.keystream import ResidueStream
from secfc.field.array_types import Floats
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, packed_bytes, unpack
from secfc.field.residues import reduce
from secfc.kernels.interface import Bytes
from secfc.operations.masked import Answered, Masked, not_below
from secfc.operations.signs import packed_halves
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party, at_once
from secfc.sharing.rows import Answers

_WEIGHED = "weighed"  # the phase, and the purpose of its keys


def weighed(me: Party, values: Masked, answers: Answers) -> Generator[None, None, Masked]:
    """U of all pairs, shape (P, pairs, rows), of v and, last, ell N of each set, (P, k, rows + 1).

    It is to be checked as these answers, which nobody sends.
    """
    shape = len(me.code.primes), *answers.shape
    half = yield from packed_halves(me, values.held if me.deals else None, values.shape[1:])
    parts = []
    if values.held is not None and me.deals:
        parts.append(at_once(_masks_of_pairs, me, values.held.planes(), shape))
    if values.held is not None and half is not None:
        parts.append(_evaluator(me, values.held.planes(), half, shape))
    found = yield from me.together(parts)
    held = found[0] if parts else None
    me.unchecked[1].append(Answered(answers=answers, held=held))
    return Masked(shape=shape, held=held)


def _squares(me: Party, planes: Bytes) -> Floats:
    """N or what is held of it, shape (P, sets). Of N equal segments were added up."""
    by = me.code.moduli[..., 0]
    inverse = np.array([[float(pow(me.code.ell, -1, p))] for p in me.code.primes])
    last = unpack(planes[..., -BYTES_PER_RESIDUE:])[..., 0]
    return reduce(reduce(last, by) * reduce(inverse, by), by)


def half_of_mask(me: Party, other: int, evaluator: int) -> ResidueStream:
    """An evaluator's half of c, which the dealer knows."""
    return ResidueStream(me.keys(other, f"{_WEIGHED} {evaluator}").key(_WEIGHED, 0), me.kernels)


def new_masks(me: Party, shape: tuple[int, int, int]) -> PackedResidues:
    """C at the dealer."""
    found = PackedResidues.empty(shape)
    first, second = me.roles.evaluators
    half_of_mask(me, first, first).fill(found.planes(), me.code.primes)
    half_of_mask(me, second, second).add(found.planes(), me.code.primes)
    return found


def opened_parts(me: Party, tag: str, mine: PackedResidues) -> Half:
    """The sum of both evaluators' parts."""
    peer = next(one for one in me.roles.evaluators if one != me.number)
    me.send(peer, tag, mine.payload)
    data = (yield Wait(tag, (peer,), packed_bytes(mine.shape)))[peer]
    parts, found = [mine, PackedResidues(payload=data, shape=mine.shape)], PackedResidues.empty(mine.shape)
    ones = np.ones((mine.shape[0], len(parts)))
    if me.kernels.weigh([one.planes() for one in parts], ones, me.code.primes, found.planes()) >= 0:
        raise not_below(peer)
    return found


def _add_pairs(me: Party, terms: list[tuple[Floats, Bytes]], found: PackedResidues) -> None:
    """Add w_a v_b - w_b v_a, of weights w of sets and packed v, to residues of pairs."""
    planes = found.planes()

    def of_prime(at: int) -> None:
        weights = np.stack([one[at] for one, _ in terms])
        me.kernels.add_pairs(weights, [one[at] for _, one in terms], me.code.primes[at], planes[at])

    me.kernels.threads.each(of_prime, range(len(planes)), size=prod(found.shape))


def _masks_of_pairs(me: Party, both: Bytes, shape: tuple[int, int, int]) -> PackedResidues:
    found = new_masks(me, shape)
    _add_pairs(me, [(-_squares(me, both), both)], found)
    return found


def _evaluator(me: Party, both: Bytes, half: Bytes, shape: tuple[int, int, int]) -> Half:
    is_first, mine = me.number == me.roles.first, PackedResidues.empty(shape)
    squares, of_half = _squares(me, both), _squares(me, half)
    half_of_mask(me, me.roles.dealer, me.number).fill(mine.planes(), me.code.primes)
    terms = [(squares + of_half, both), (squares, half)] if is_first else [(-of_half, both), (-squares, half)]
    _add_pairs(me, terms, mine)
    return (yield from opened_parts(me, "part", mine))
