"""Labels that only their owners know, as shared sets.

An owner turns each of its labels by a uniform number modulo k, which the dealer knows too. It sends them to
the first evaluator, which sends those of all owners to the second one. So nobody learns a label: evaluators
see uniform numbers, and the dealer sees none. Opens nothing.

The dealer gives the evaluators additive halves of the bits e_c = [turn = c]. A row is in set h if e_c = 1 at
c = turned - h. So each evaluator takes its half at these places and deals it like rows.

Whatever an owner sends, each of its rows is in exactly one set. So nothing is checked, and no check can open
anything: an owner that lies does what one with other labels does.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.array_types import Bools, Data, Ints, Labels
from secfc.operations.signs import from_halves, halves
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party
from secfc.sharing.shared import Shared, joined

AT_ONCE = 1 << 22
"""Residues that are dealt at a time, at most."""

_PHASE = "turns"
_LABEL = np.dtype("<u2")
_TURN = np.dtype("<u8")
"""A word modulo k is uniform but for a probability of k / 2^64, at most 2^-48."""


@dataclass(frozen=True, kw_only=True)
class HiddenLabels:
    """Labels of `rows` rows. `held`, shape (rows,): turned ones at an evaluator, turns at the dealer."""

    k: int
    rows: int
    held: Ints | None = field(repr=False)


def plain_given(labels: Labels | Ints, k: int) -> Bools:
    """The sets of labels, shape (k, rows), one-hot."""
    sets: Bools = labels == np.arange(k)[:, np.newaxis]
    return sets


def hidden_labels(
    me: Party, own: Labels | None, counts: Mapping[int, int], k: int
) -> Generator[None, None, HiddenLabels]:
    """Take the labels, 0 to k - 1, of all owners, of whom `counts` say how many each has.

    TooManyFaultsError for an owner that is lost.
    """
    parts = []
    if me.number in counts and own is not None:
        parts.append(_owner(me, own, k))
    if me.deals:
        parts.append(_dealer(me, counts, k))
    if me.number == me.roles.first:
        parts.append(_first(me, counts, k))
    if me.number == me.roles.second:
        parts.append(_second(me, sum(counts.values()), k))
    found = yield from me.together(parts)
    held = [one for one in found if one is not None]
    return HiddenLabels(k=k, rows=sum(counts.values()), held=held[0] if held else None)


def shared_labels(me: Party, of: HiddenLabels) -> Generator[None, None, Shared]:
    """[b] of the labels, shape (k, rows), block by block."""
    step, found = max(1, AT_ONCE // (len(me.code.primes) * of.k)), list[Shared]()
    for start in range(0, of.rows, step):
        shape = of.k, min(step, of.rows - start)
        held = None if of.held is None else of.held[start : start + step]
        turns = plain_given(held, of.k) if me.deals and held is not None else None
        half = yield from halves(me, turns, shape)
        if half is not None and held is not None:
            places = (held - np.arange(of.k)[:, np.newaxis]) % of.k
            half = np.take_along_axis(half, places[np.newaxis], axis=1)
        found.append((yield from from_halves(me, half, shape)))
    return joined(found, 1)


def _turns(me: Party, other: int, owner: int, rows: int, k: int) -> Ints:
    """From a key that an owner and the dealer share."""
    drawn = MaskSource(me.keys(other, f"{_PHASE} {owner}").key(_PHASE, 0)).octets(_TURN.itemsize * rows)
    return (np.frombuffer(drawn, dtype=_TURN) % k).astype(np.int64)


def _owner(me: Party, own: Labels, k: int) -> Half:
    turned = (own + _turns(me, me.roles.dealer, me.number, own.size, k)) % k
    me.send(me.roles.first, "turned", turned.astype(_LABEL).tobytes())
    return
    yield


def _dealer(me: Party, counts: Mapping[int, int], k: int) -> Half:
    return np.concatenate([_turns(me, owner, owner, rows, k) for owner, rows in counts.items()])
    yield


def _first(me: Party, counts: Mapping[int, int], k: int) -> Half:
    found = list[Data]()
    for owner, rows in counts.items():
        came = yield Wait("turned", (owner,), _LABEL.itemsize * rows, unless_lost=True)
        if owner not in came:
            raise TooManyFaultsError(
                f"client {owner} sent no labels of its rows, without which no prediction is possible",
                clients=[owner],
            )
        _check(came[owner], owner, k)
        found.append(came[owner])
    data = b"".join(found)
    me.send(me.roles.second, "all turned", data)
    return np.frombuffer(data, dtype=_LABEL).astype(np.int64)


def _second(me: Party, rows: int, k: int) -> Half:
    first = me.roles.first
    data = (yield Wait("all turned", (first,), _LABEL.itemsize * rows))[first]
    _check(data, first, k)
    return np.frombuffer(data, dtype=_LABEL).astype(np.int64)


def _check(data: Data, sender: int, k: int) -> None:
    if (np.frombuffer(data, dtype=_LABEL) >= k).any():
        raise MessageError(f"party {sender} sent labels that are not below k={k}")
