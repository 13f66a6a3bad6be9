"""Attack l: a client that answers wrongly, and reads others' rows from the labels that follow.

Its answer adds chosen numbers to D, for every row and set. In one round it moves all rows to sets that it
chooses: two sets have only rows of its own, equal to a in the first and to b in the second, and the third set
has all other rows. In the next round it adds a number o to D for the second set, and a large one for the
third. A row x then goes to the second set if ``|x - b|**2 + o < |x - a|**2``, which compares ``<x, b - a>``
with a number. So two rounds give one bit of it for every row, and d pairs of own rows give all columns.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from benchmarks.privacy.geometry import error
from benchmarks.privacy.rows import PLACED, AttackRow
from benchmarks.privacy.view import watch
from secfc.field.array_types import Floats, Ints, Labels, Objects
from secfc.field.fixed_point import quantise
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.sets import set_sizes
from secfc.protocol.client import Client
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import Message
from secfc.sharing.codewords import Codewords

SETS = 3
"""k of the job."""

_STEP = 8
"""The own rows are 0 and, on each axis, the bound divided by this."""

_AWAY = 2.0
"""How far D / |S|**2 is moved, in squared bounds, to keep a row out of a set. The sum stays below 4, the
largest possible distance, with which the server compares distances."""

_AWAY_ASKING = 1.5
"""The same in the rounds that ask. The first set has the mean 0, at a distance of at most 1."""

_RAISED = 0.5
"""How far every D is moved in these rounds, so that none is negative."""


def own_rows(d: int, bound: float, smallest: int) -> Floats:
    """The rows of the attack: d + 2 different ones, each repeated `smallest` times.

    The last one stays in the third set.
    """
    axes = np.eye(d) * 2.0 ** np.floor(np.log2(bound / _STEP))
    return np.repeat(np.concatenate([np.zeros((1, d)), axes, np.zeros((1, d))]), smallest, axis=0)


class Bisection:
    """What the attacker computes: the numbers by which D is to move in each round, and the rows that follow.

    Parameters
    ----------
    job : Job
    rows : ndarray of shape ((d + 2) smallest, d), float64
        `own_rows`. They come first of all rows.
    bits : int
        Wanted bits of each column.
    smallest : int
        As for `own_rows`.

    Attributes
    ----------
    moved : ndarray of shape (SETS, m), dtype object
        The integers to add to D in this round.
    found : list of (round, ndarray of shape (m, d), float64)
        All rows as the attacker knows them after that round.
    """

    def __init__(self, *, job: Job, rows: Floats, bits: int, smallest: int) -> None:
        self._job, self._d, self._smallest = job, job.d, smallest
        self._wanted = bits * self._d
        every = quantise(rows, job.unit)[::smallest]
        self._axes = np.diag(every[1 : self._d + 1]).astype(np.int64)
        self._turn, self._asked = 0, False
        self._low: Objects = np.empty(0, dtype=object)
        self.moved: Objects = np.empty(0, dtype=object)
        self.found: list[tuple[int, Floats]] = []

    @property
    def _axis(self) -> int:
        return self._turn % self._d

    def _base(self, m: int) -> Labels:
        """The sets with which it asks about a column."""
        sets = np.full(m, 2, dtype=np.int32)
        own = sets[: self._own].reshape(-1, self._smallest)
        own[0], own[1 + self._axis] = 0, 1
        return sets

    @property
    def _own(self) -> int:
        return (self._d + 2) * self._smallest

    def plan(self, round_: int, sets: Labels) -> None:
        """Learn from the sets of a question, and choose how far to move D in the answer."""
        m = sets.size
        if not self._low.size:
            self._width = [2 * self._job.radius * int(one) for one in self._axes]
            self._low = np.array([[-one // 2] * m for one in self._width], dtype=object)
        if self._asked:
            # Rows in set 1 have <x, axis> above the middle.
            self._width[self._axis] //= 2
            self._low[self._axis, sets == 1] += self._width[self._axis]
            self._asked, self._turn = False, self._turn + 1
            if self._axis == 0:
                middle = self._low + np.array(self._width)[:, np.newaxis] // 2
                self.found.append((round_ - 1, middle.T.astype(float) / self._axes / 2.0**self._job.exponent))
        sizes = set_sizes(sets, SETS).astype(object)
        self.moved = np.zeros((SETS, m), dtype=object)
        if self._turn == self._wanted:
            return
        base, one = self._base(m), self._job.radius**2
        others = np.arange(m) >= self._own
        self._asked = bool((sets == base).all())
        kept = ~others if self._asked else np.ones(m, dtype=np.bool_)
        for h in range(SETS):
            self.moved[h, kept & (base != h)] = int(_AWAY * one)
        if self._asked:
            # |x - b|**2 + o < |x - a|**2 with a = 0: <x, b> > (o + |b|**2) / 2.
            middle = self._low[self._axis] + self._width[self._axis] // 2
            self.moved[1, others] = (2 * middle - int(self._axes[self._axis]) ** 2)[others]
            self.moved[2, others] = int(_AWAY_ASKING * one)
            self.moved[:, others] += int(_RAISED * one)
        self.moved *= sizes[:, np.newaxis] ** 2

    def added(
        self, residues: PackedResidues, factors: Sequence[int], asked: list[int], rows: slice
    ) -> PackedResidues:
        """Residues of some sets and rows, shape (P, c, rows), moved by `moved` times a prime's factor."""
        changed = PackedResidues(shape=residues.shape, payload=bytearray(residues.payload))
        for index, p in enumerate(primes_of(residues.shape[0])):
            more = np.array(self.moved[asked, rows] * factors[index] % p, dtype=np.float64)
            plane = unpack(changed.planes()[index])
            changed.planes()[index] = pack((plane + more) % p, p)
        return changed


class BisectingClient(Client):
    """The first client, with `own_rows`. The server decodes the answers of the first R clients.

    `bits` and `smallest` are those of `Bisection`, everything else is as for `Client`.
    """

    def __init__(self, *, bits: int, smallest: int, **given: Any) -> None:
        super().__init__(**given)
        job, self._rounds, self._asked = self._job, 0, list[int]()
        self.bisection = Bisection(job=job, rows=given["rows"], bits=bits, smallest=smallest)
        code = Codewords(n=job.n, t=job.t, ell=job.ell, primes=tuple(prime.p for prime in PRIMES))
        weights = code.weights(tuple(range(1, job.threshold + 1)))[:, 0].tolist()
        self._factors = [pow(int(one), -1, p) for one, p in zip(weights, code.primes, strict=True)]

    def receive(self, message: Message) -> list[Message]:
        """Take a message and answer wrongly."""
        honest = CodedPoints.ask, CodedPoints.answer

        def ask(points: CodedPoints, sets: Labels, sizes: Ints, primes: int, about: tuple[int, ...]) -> None:
            self._rounds, self._asked = self._rounds + 1, list(about) or list(range(sizes.size))
            self.bisection.plan(self._rounds, sets)
            honest[0](points, sets, sizes, primes, about)

        def answer(points: CodedPoints, start: int, stop: int) -> PackedResidues:
            right = honest[1](points, start, stop)
            return self.bisection.added(right, self._factors, self._asked, slice(start, stop))

        with patch.object(CodedPoints, "ask", ask), patch.object(CodedPoints, "answer", answer):
            return super().receive(message)


def by_wrong_answers(
    parties: list[Floats], *, bits: int, smallest: int, seed: int, max_liars: int = 0
) -> Iterator[AttackRow]:
    """Attack l with disclosure "coded": the error of others' rows, by rounds, up to the end of the attack.

    Parameters
    ----------
    parties : list of ndarray of shape (m_j, d), float64
        The other clients, one fewer than R + 2 max_liars.
    bits : int
        Wanted bits of each column.
    smallest : int
        The smallest set for which clients answer.
    seed, max_liars : int
    """
    others = np.concatenate(parties)
    own = own_rows(others.shape[1], float(np.linalg.norm(others, axis=1).max()), smallest)

    def client(**given: Any) -> Client:
        if given["number"] == 1:
            return BisectingClient(bits=bits, smallest=smallest, **given)
        return Client(**given)

    watched = watch(
        [own, *parties],
        k=SETS,
        t=1,
        ell=2,
        seed=seed,
        keys=seed,
        client=client,
        limits=Limits(smallest_set=smallest),
        max_liars=max_liars,
    )
    liars = watched.liars
    after = (
        f"liars found: {liars}" if liars else "nobody notices" if watched.ended else "the run does not end"
    )
    guess = np.tile(others.mean(axis=0), (len(watched.rows), 1))
    found = cast(BisectingClient, watched.clients[0]).bisection.found
    for rounds, rows in found or [(1, guess)]:
        yield PLACED.row(
            error(rows[len(own) :], others),
            job=watched.job,
            m=len(watched.rows),
            attack="l-rows",
            adversary="client that answers wrongly",
            against="coded",
            swept="rounds",
            value=rounds,
            note=f"max_liars={max_liars}, smallest_set={smallest}; {after}",
        )
