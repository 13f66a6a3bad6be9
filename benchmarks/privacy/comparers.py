"""The views of coalitions in a run with disclosure "labels", decoded as if they were distances.

A coalition subtracts the masks that it knows and decodes the rest as a server decodes answers. The dealer and
an evaluator together know all masks. With only one of them, an unknown mask remains. Two evaluators have the
bits of the masks of every compared pair. A coalition with the server and no evaluator reads sealed bytes.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import prod

import numpy as np

from benchmarks.privacy.view import ServerView, Watched
from secfc.comparing import batch
from secfc.comparing.batch import DealtHalves
from secfc.comparing.batch_plan import BatchPlan, Bracket
from secfc.comparing.masking import BearerMasks
from secfc.comparing.role import Comparer
from secfc.crypto.channel import TAG_BYTES
from secfc.crypto.handshake import DIGEST_BYTES
from secfc.crypto.keystream import BitStream
from secfc.field.array_types import Floats, Ints, Objects
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import unpack
from secfc.field.residues import centred
from secfc.kernels.interface import Words
from secfc.kernels.slicing import to_rows
from secfc.kmeans.sets import set_sizes
from secfc.protocol.answers.decoding import Weights
from secfc.protocol.label_round import LabelRound
from secfc.protocol.messages import SERVER, Compared, MaskedAnswer, MaskedDistances, SpareMasks

Coalition = frozenset[int]
"""Parties that combine what they hold; 0 is the server."""


def seen_by(watched: Watched, coalition: Coalition) -> Watched:
    """A run in which the server's view is replaced by what a coalition decodes as distances and answers."""
    rounds = [_Round(watched, at + 1, coalition) for at in range(len(watched.server.questions))]
    return _with(watched, rounds, [one.distances() for one in rounds], [one.unmasked for one in rounds])


def _with(
    watched: Watched, rounds: list["_Round"], tables: list[Objects], answers: list[dict[int, Ints]]
) -> Watched:
    found = [one.in_data_units(table) for one, table in zip(rounds, tables, strict=True)]
    questions = [one.sets for one in rounds]
    view = ServerView(questions=questions, distances=found, exact=tables, answers=answers)
    return replace(watched, server=view)


class _Round:
    """One round in the view of a coalition."""

    def __init__(self, watched: Watched, round_: int, coalition: Coalition) -> None:
        self._watched, self._round, self._coalition = watched, round_, coalition
        self._job, self.sets = watched.job, watched.server.questions[round_ - 1]
        self._sizes = set_sizes(self.sets, self._job.k)
        self._dealer, self._first, self._second = self._job.comparers
        self._any = watched.rounds[round_, self._first]
        self._primes, self._columns = self._any._primes, self._any._columns
        self._weights = Weights(self._job)

    @property
    def _modulus(self) -> int:
        return prod(self._primes)

    def distances(self) -> Objects:
        """The values that the coalition takes for D, (m, k)."""
        if {self._first, self._second} <= self._coalition and self._dealer not in self._coalition:
            return self._differences()
        return self.as_distances(self.decoded(self.unmasked, self._masked))

    def as_distances(self, values: Objects) -> Objects:
        """The values as D, if none is too large; otherwise scaled from 0..Q to the range of D."""
        most = np.array([(2 * int(size) * self._job.radius) ** 2 for size in self._sizes], dtype=object)
        table = np.zeros((self.sets.size, self._job.k), dtype=object)
        table[:, : self._columns] = values.T
        table[:, self._sizes == 0] = 0
        return table if (table <= most).all() else table * most // self._modulus

    def in_data_units(self, table: Objects) -> Floats:
        """Squared distances, NaN for an empty set."""
        scale = np.where(self._sizes > 0, self._sizes.astype(float) ** 2 * 4.0**self._job.exponent, np.nan)
        found: Floats = table.astype(np.float64) / scale
        return found

    @cached_property
    def unmasked(self) -> dict[int, Ints]:
        """Answers minus the known masks, by client."""
        answers = self._answers()
        if not answers:
            return self._masks if self._masked is None else {}
        return {j: self._reduced(one - self._masks.get(j, 0)) for j, one in answers.items()}

    def decoded(self, answers: dict[int, Ints], masked: Ints | None = None) -> Objects:
        """The decoded answers, or the decoded `masked` minus known masks, (k, m), in [0, Q)."""
        known = self._masks
        total = np.zeros((len(self._primes), self._columns, self.sets.size), dtype=np.int64)
        if masked is not None:
            total, answers = masked, {j: -one for j, one in known.items()}
        members = self._any._asked.members if masked is not None else [*answers]
        chosen = tuple(sorted(sorted(members, key=lambda j: (j not in known, j))[: self._job.threshold]))
        for j in set(chosen) & answers.keys():
            weight = self._weights.of(chosen)[: len(self._primes), chosen.index(j), np.newaxis, np.newaxis]
            total = self._reduced(total + weight.astype(np.int64) * self._reduced(answers[j]))
        radix = MixedRadix(self._primes)
        return radix.integers(radix.digits(total.astype(np.float64)))

    @cached_property
    def _masks(self) -> dict[int, Ints]:
        """Masks that the coalition knows, by client."""
        if self._dealer in self._coalition:
            current = self._watched.rounds[self._round, self._dealer]
            bearers = current._asked.members[: self._job.threshold]
            return {j: self._drawn_from(current, j) for j in bearers}
        found = {}
        for j in sorted(self._coalition - {SERVER}):
            current = self._watched.rounds[self._round, j]
            if current._bears is not None:
                found[j] = self._drawn_from(current, j)
            elif j in current._asked.members:
                found[j] = self._opened(SpareMasks, j)[self._dealer]
        return found

    def _drawn_from(self, current: LabelRound, bearer: int) -> Ints:
        """Masks of a bearer, from keys that a party has. A bearer is a client whose answer has masks."""
        bears = BearerMasks(keys=current._answer_keys(bearer), primes=self._primes, kernels=current._kernels)
        parts = [unpack(bears.next(current._shape(part)).planes()) for part in range(current._slots.parts)]
        return np.concatenate(parts, axis=2).astype(np.int64)

    @cached_property
    def _masked(self) -> Ints | None:
        """y, (P, k, m), if an evaluator is in the coalition."""
        if not {self._first, self._second} & self._coalition:
            return None
        return self._opened(MaskedDistances, self._second)[self._first]

    def _answers(self) -> dict[int, Ints]:
        """Masked answers that the coalition has, or their sealed bytes, by client."""
        if self._first in self._coalition:
            answers = self._opened(MaskedAnswer, self._first)
            others = sorted(answers)[: self._job.threshold - 1]
            everybody = tuple(sorted((*others, self._first)))
            if self._masked is not None and self._first in self._any._asked.members:
                # The first evaluator's own answer follows from y and R - 1 other answers.
                weights = self._weights.of(everybody)[: len(self._primes)].astype(np.int64)
                rest = self._masked
                for j in others:
                    weight = weights[:, everybody.index(j), np.newaxis, np.newaxis]
                    rest = self._reduced(rest - weight * answers[j])
                own = weights[:, everybody.index(self._first)].tolist()
                back = [pow(w, -1, p) for w, p in zip(own, self._primes, strict=True)]
                answers[self._first] = self._reduced(rest * np.array(back)[:, np.newaxis, np.newaxis])
            return answers
        if SERVER in self._coalition:
            return self._opened(MaskedAnswer, self._first, sealed=True)
        return {}

    def _opened(self, kind: type, recipient: int, *, sealed: bool = False) -> dict[int, Ints]:
        """Residues of all parts in messages of a type to a party, by sender; or the sealed bytes."""
        found: dict[int, list[Ints]] = {}
        for one in self._watched.mail:
            message = one.message
            if isinstance(message, kind) and (message.recipient, message.round) == (recipient, self._round):
                before = DIGEST_BYTES if message.begins else 0
                data = bytes(message.sealed.payload)[before:-TAG_BYTES] if sealed else one.data
                octets = np.frombuffer(data, dtype=np.uint8)
                planes = octets.reshape(len(self._primes), self._columns, -1)
                found.setdefault(message.sender, []).append(unpack(planes).astype(np.int64))
        return {j: self._reduced(np.concatenate(parts, axis=2)) for j, parts in found.items()}

    def _reduced(self, values: Ints) -> Ints:
        reduced: Ints = values % np.array(self._primes)[:, np.newaxis, np.newaxis]
        return reduced

    def _differences(self) -> Objects:
        """For two evaluators: D minus |S_h|**2 times a number per row that is the same in all rounds.

        They have both halves of all products. So they have all bits of 2 r_u, and 2 y_u - 2 r_u = 2 u for
        every compared pair u = w_a D_b - w_b D_a. Every row is in a set. So the mean of a row's squared
        distances to all centres, weighted by the sizes of the sets, is the squared distance to the mean of
        all rows plus a term that depends only on the round.
        """
        assert self._masked is not None
        first = self._watched.rounds[self._round, self._first]
        apart = np.zeros((self._job.k, self.sets.size), dtype=object)
        for part in range(first._slots.parts):
            rows, question = first.rows(part), first._question(part)
            if question.champions is None:
                stage, bracket = "pairs", Bracket.all_pairs(question.slots)
            else:
                stage, bracket = "champion", Bracket.champion(question.slots)
            keys, dealt = first._keys(Comparer.DEALER, part), DealtHalves(self._dealt(part))
            low = 0
            for number, plan in enumerate(question.plans(bracket, question.own)):
                taken = rows[low : low + plan.rows]
                halves = keys.bits(f"{stage} products", number), dealt
                apart[:, taken] = self._of_pairs(plan, halves, self._masked[:, :, taken])
                low += plan.rows
        sizes = self._sizes.astype(object)
        mean = (apart * sizes[:, np.newaxis]).sum(axis=0) / Fraction(int(sizes.sum()))
        found: Objects = ((apart - mean) * sizes[:, np.newaxis] ** 2).T
        return found

    def _dealt(self, part: int) -> Words:
        """The first message of the dealer to the second evaluator about a part."""
        return next(
            np.frombuffer(one.data, dtype=np.uint64)
            for one in self._watched.mail
            if isinstance(one.message, Compared)
            and (one.message.sender, one.message.recipient) == (self._dealer, self._second)
            and (one.message.round, one.message.part) == (self._round, part)
        )

    def _of_pairs(self, plan: BatchPlan, halves: tuple[BitStream, DealtHalves], masked: Ints) -> Objects:
        """Quantised squared distances minus that to a row's own or the first centre, (k, rows)."""
        radix, weights = plan.question.radix, self._sizes.astype(object) ** 2
        columns, rows, modulus = plan.question.columns, np.arange(plan.rows), self._modulus
        y = radix.integers(radix.digits(masked.astype(np.float64)))
        found = np.zeros((self._job.k, plan.rows), dtype=object)
        for masks, s, t in zip(
            _masks_of_pairs(plan, halves), plan.bracket.first, plan.bracket.second, strict=True
        ):
            if s > 0:
                continue
            a, b = (columns[plan.own if slot < 0 else slot + (plan.own <= slot)] for slot in (s, t))
            sign = np.where(plan.own <= t, 1, -1) if s < 0 else np.ones(plan.rows, dtype=np.int64)
            twice = 2 * (weights[a] * y[b, rows] - weights[b] * y[a, rows]) - sign.astype(object) * masks
            u = [centred(int(one) * (modulus + 1) // 2 % modulus, modulus) for one in twice]
            found[b, rows] = [
                Fraction(int(one), int(w)) for one, w in zip(u, weights[a] * weights[b], strict=True)
            ]
        return found


def _masks_of_pairs(plan: BatchPlan, halves: tuple[BitStream, DealtHalves]) -> Objects:
    """2 r_u of each pair and row, from both halves of the products of its bits, (pairs, rows)."""
    chunk, places = plan.widths.chunk, plan.widths.chunk * plan.per_digit
    flat = np.empty((chunk, plan.chunks * plan.wires), dtype=np.uint64)
    for low in range(0, flat.shape[1], batch._PIECE):
        part = flat[:, low : low + batch._PIECE]
        products = np.empty(((1 << chunk) - 1, part.shape[1]), dtype=np.uint64)
        halves[0].fill(products)
        products ^= halves[1].take(products.shape)
        part[...] = products[[(1 << i) - 1 for i in range(chunk)]]  # products of a single bit
    bits = flat.reshape(chunk, plan.chunks, -1, plan.words)
    pairs = plan.bracket.first.size
    digits = np.zeros((len(plan.question.radix.primes), pairs, plan.rows))
    for q, digit in enumerate(digits[::-1]):
        for place in range(places):
            words = bits[place % chunk, q * plan.per_digit + place // chunk]
            digit[...] += to_rows(words, plan.rows) * 2.0 ** (places - 1 - place)
    return plan.question.radix.integers(digits)
