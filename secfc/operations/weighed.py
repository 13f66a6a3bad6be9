"""From values v of sets and squared sizes N, under masks, to N_a v_b - N_b v_a of pairs a < b, under masks.

Evaluators know y = v + r and z = N + s modulo Q, the dealer r and s (`secfc.operations.masked`). For a row

    N_a v_b = z_a y_b - z_a r_b - s_a y_b + s_a r_b.

The dealer gives the evaluators additive halves of r and s. So each computes all terms but the last from its
own halves, and adds c, of which each derives its own half from a key that it shares with the dealer. Their
parts add up to u plus the new mask

    c - (s_a r_b - s_b r_a),

which the dealer knows. They exchange the parts. Opens nothing: c is uniform, each half of it is known to one
evaluator and the dealer alone, and the dealer sees no part. U is checked, so a wrong part is noticed. V and N
are checked too: whether u is right with a wrong v depends on N.
"""

from collections.abc import Generator

import numpy as np

from secfc.crypto.keystream import ResidueStream
from secfc.field.array_types import Floats
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, from_bytes, packed_bytes, to_bytes, unpack
from secfc.field.residues import matmul, reduce
from secfc.operations.masked import Answered, Masked
from secfc.operations.signs import halves
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party, at_once
from secfc.sharing.rows import Answers

_WEIGHED = "weighed"  # the phase, and the purpose of its keys


def weighed(me: Party, values: Masked, answers: Answers) -> Generator[None, None, Masked]:
    """U of all pairs, shape (P, pairs, rows), of v and, last, ell N of each set, (P, k, rows + 1).

    It is to be checked as these answers, which nobody sends.
    """
    shape = len(me.code.primes), *answers.shape
    both = None if values.held is None else _residues(me, values.held)
    half = yield from halves(me, both if me.deals else None, values.shape[1:])
    parts = []
    if both is not None and me.deals:
        parts.append(at_once(_new_masks, me, both, shape))
    if both is not None and half is not None:
        parts.append(_evaluator(me, both, reduce(half, me.code.moduli), shape))
    found = yield from me.together(parts)
    held = found[0] if parts else None
    me.unchecked[1].append(Answered(answers=answers, held=held))
    return Masked(shape=shape, held=held)


def _residues(me: Party, held: PackedResidues) -> Floats:
    """V and N, or their masks. Of N equal segments were added up."""
    inverse = np.array([float(pow(me.code.ell, -1, p)) for p in me.code.primes]).reshape(-1, 1)
    found = reduce(unpack(held.planes()), me.code.moduli)
    found[..., -1] *= inverse
    return reduce(found, me.code.moduli)


def _matrix(weights: Floats) -> Floats:
    """From v of sets to w_a v_b - w_b v_a of pairs, shape (P, pairs, k); weights have shape (P, k, 1)."""
    primes, k, _ = weights.shape
    first, second = np.triu_indices(k, 1)
    pairs = np.arange(first.size)
    found = np.zeros((primes, first.size, k))
    found[:, pairs, second] = weights[:, first, 0]
    found[:, pairs, first] = -weights[:, second, 0]
    return found


def _drawn(me: Party, other: int, evaluator: int, shape: tuple[int, int, int]) -> Floats:
    """An evaluator's half of c, which the dealer knows."""
    stream = ResidueStream(me.keys(other, f"{_WEIGHED} {evaluator}").key(_WEIGHED, 0), me.kernels)
    drawn = np.empty((shape[0], shape[1], BYTES_PER_RESIDUE * shape[2]), dtype=np.uint8)
    stream.fill(drawn, me.code.primes)
    return reduce(unpack(drawn), me.code.moduli)


def _packed(me: Party, residues: Floats, shape: tuple[int, int, int]) -> PackedResidues:
    return PackedResidues(payload=to_bytes(reduce(residues, me.code.moduli), me.code.primes), shape=shape)


def _new_masks(me: Party, both: Floats, shape: tuple[int, int, int]) -> PackedResidues:
    masks, of_squares = both[..., :-1], both[..., -1:]
    drawn = sum(_drawn(me, one, one, shape) for one in me.roles.evaluators)
    return _packed(me, drawn - matmul(_matrix(of_squares), masks, me.code.moduli), shape)


def _evaluator(me: Party, both: Floats, half: Floats, shape: tuple[int, int, int]) -> Half:
    first, second = me.roles.evaluators
    values, squares = both[..., :-1], both[..., -1:]
    own, rest = _matrix(squares), values if me.number == first else np.zeros_like(values)
    part = matmul(own, reduce(rest - half[..., :-1], me.code.moduli), me.code.moduli)
    part -= matmul(_matrix(half[..., -1:]), values, me.code.moduli)
    part += _drawn(me, me.roles.dealer, me.number, shape)
    peer = second if me.number == first else first
    mine = _packed(me, part, shape)
    me.send(peer, "part", mine.payload)
    data = (yield Wait("part", (peer,), packed_bytes(shape)))[peer]
    return _packed(me, part + from_bytes(data, shape[1:], me.code.primes), shape)
