"""What comparers of a run with disclosure "labels" hold, read as distances.

A round compares u, n_a^2 n_b^2 times a difference of squared distances, for each pair of sets and row
(`secfc.operations.nearest`). An evaluator holds y = u + r, and the dealer r. Both evaluators together have
the bits of 2 r: each has one half of them. So any two comparers have u, and with it all labels and sizes of
sets. One comparer alone is read as if its y, or its r, were u.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.privacy.view import ServerView, Watched, watch
from secfc.comparing.batch import Evaluating
from secfc.comparing.batch_plan import BatchPlan
from secfc.field.array_types import Floats, Labels, Objects
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import unpack
from secfc.field.residues import centred
from secfc.kernels.gates import to_rows
from secfc.kernels.interface import Words
from secfc.kmeans.sets import set_sizes
from secfc.operations.nearest import pairs, pairs_of, plain_nearest
from secfc.protocol.parties.party import Party


@dataclass
class Held:
    """What a comparer holds of a round: y or r, shape (pairs, m), and an evaluator its halves of products."""

    primes: tuple[int, ...]
    residues: Objects = field(repr=False)
    halves: list[Words] = field(default_factory=list, repr=False)
    plan: BatchPlan | None = field(default=None, repr=False)


@dataclass
class Compared:
    """A run, and what each comparer holds of each round."""

    watched: Watched
    rounds: dict[int, list[Held]] = field(repr=False)

    def seen_by(self, *comparers: int) -> Watched:
        """The run in the view of comparers who also know all sets.

        Of the first round, and of rounds after a set was emptied, it is not told which sets they are about.
        """
        every, k = self._numbers(*self.watched.job.comparers[:2]), self.watched.job.k
        m, exponent = len(self.watched.rows), self.watched.job.exponent
        sets = [plain_nearest(one, range(k), m=m) for one in every]
        view = ServerView()
        for u, known in zip(self._numbers(*comparers)[1:], sets, strict=False):
            if set_sizes(known, k).all():  # else rows moved to empty sets
                view.questions.append(known)
                table = _distances(u, known)
                most = (2 * self.watched.job.radius * set_sizes(known, k).astype(object)) ** 2
                if (abs(table) > most).any():  # no distances: scaled to their range
                    table = table * most / Fraction(abs(table).max())
                view.exact.append(table)
        for known, table in zip(view.questions, view.exact, strict=True):
            found: Floats = (table / set_sizes(known, k).astype(object) ** 2).astype(np.float64)
            view.distances.append(found / 4.0**exponent)
        return replace(self.watched, server=view)

    def _numbers(self, *comparers: int) -> list[Objects]:
        """U of each round, shape (pairs, m), as these comparers compute it."""
        dealer = self.watched.job.comparers[0]
        found = []
        for several in zip(*(self.rounds[one] for one in comparers), strict=True):
            modulus, values = prod(several[0].primes), several[0].residues
            if len(several) == 2 and dealer in comparers:
                values = (
                    several[1].residues - values if comparers[0] == dealer else values - several[1].residues
                )
            elif len(several) == 2:
                values = (2 * values - _twice_masks(*several)) * ((modulus + 1) // 2)
            found.append(np.vectorize(lambda one, q=modulus: centred(one % q, q), otypes=[object])(values))
        return found


def compared(parties: list[Floats], **given: Any) -> Compared:
    """A watched run with disclosure "labels"; further arguments are those of `watch`."""
    rounds = dict[int, list[Held]]()
    with _recorded(rounds):
        watched = watch(parties, disclosure="labels", **given)
    return Compared(watched, rounds)


@contextmanager
def _recorded(rounds: dict[int, list[Held]]) -> Iterator[None]:
    leaves, halves = Evaluating._leaves, Evaluating._halves
    numbers = dict[bool, int]()

    def kept_pairs(me: Party, *given: Any) -> Generator[None, None, Any]:
        found = yield from pairs(me, *given)
        if found.held is not None:
            radix = MixedRadix(me.code.primes)
            residues = radix.integers(radix.digits(unpack(found.held.planes())))
            rounds.setdefault(me.number, []).append(Held(me.code.primes, residues))
            if me.evaluates:
                numbers[me.number == me.roles.first] = me.number
        return found

    def of_leaves(gates: Evaluating, plan: BatchPlan, bits: Words) -> Words:
        held = rounds[numbers[gates.first]][-1] if gates.first in numbers else None
        if held is None or held.plan is not None:  # something else is compared
            return leaves(gates, plan, bits)
        held.plan = plan

        def kept(own: Evaluating, shape: tuple[int, ...]) -> Words:
            made = halves(own, shape)
            held.halves.append(made.copy())
            return made

        with patch.object(Evaluating, "_halves", kept):
            return leaves(gates, plan, bits)

    with (
        patch("secfc.operations.nearest.pairs", kept_pairs),
        patch.object(Evaluating, "_leaves", of_leaves),
    ):
        yield


def _twice_masks(first: Held, second: Held) -> Objects:
    """2 r of each pair and row, from both halves of the products of its bits, (pairs, m)."""
    plan = first.plan
    assert plan is not None
    chunk, places = plan.widths.chunk, plan.widths.chunk * plan.per_digit
    (mine,), (others,) = first.halves, second.halves
    every = [(mine ^ others)[plan.leaf * one.start : plan.leaf * one.stop] for one in plan.pieces]
    products = np.concatenate([one.reshape(plan.leaf, -1) for one in every], axis=1)
    single = products[[(1 << i) - 1 for i in range(chunk)]]
    bits = single.reshape(chunk, plan.chunks, -1, plan.words)
    digits = np.zeros((len(first.primes), plan.bracket.columns, plan.rows))
    for q, digit in enumerate(digits[::-1]):
        for place in range(places):
            words = bits[place % chunk, q * plan.per_digit + place // chunk]
            digit[...] += to_rows(words, plan.rows) * 2.0 ** (places - 1 - place)
    return MixedRadix(first.primes).integers(digits)


def _distances(of_pairs: Objects, sets: Labels) -> Objects:
    """|S_h|^2 times squared distances minus a number for each row, (m, k).

    Every row is in a set. So the mean of a row's squared distances to all centres, weighted by sizes, is the
    squared distance to the mean of all rows plus a number of the round: it is the same row by row.
    """
    k = int(sets.max()) + 1
    sizes = set_sizes(sets, k).astype(object)
    found = np.zeros((k, sets.size), dtype=object)
    for (a, b), u in zip(pairs_of(range(k)), of_pairs, strict=True):
        apart = u * Fraction(1, int(sizes.sum()))  # of b and a, times both sizes squared
        found[a] -= apart / sizes[b]
        found[b] += apart / sizes[a]
    table: Objects = found.T
    return table
