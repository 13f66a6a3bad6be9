"""A start by k-means++ of a trio in one process, and the same start in Python's integers."""

from dataclasses import dataclass, field
from math import prod

import numpy as np
from support.trio import SECRETS, carry, packed

from secfc.comparing.dealer_keys import Keys
from secfc.comparing.role import Arena, Comparer
from secfc.kernels import Kernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.plus_plus import DRAW_BITS, Choices, draws, first_row
from secfc.operations.draw import DrawDealer, DrawEvaluator
from secfc.operations.minima import Minima
from secfc.operations.plus_plus_steps import LeastDealer, LeastEvaluator, NearerDealer, NearerEvaluator

EVALUATORS = Comparer.E0, Comparer.E1


@dataclass
class Start:
    """The three parties, their state, and everything that they sent.

    `distances[i][j]` is D of row j to row i, a Python integer.
    """

    distances: np.ndarray
    k: int
    primes: tuple[int, ...]
    seed: int = 0
    step: int | None = None
    kernels: Kernels = field(default_factory=VectorisedKernels)
    change: object = lambda sender, recipient, data: data
    mail: list = field(default_factory=list)
    keys: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng, self.m = np.random.default_rng(self.seed), len(self.distances)
        self.secret = np.random.default_rng([self.seed, 1])
        self.minima = {me: Minima(rows=self.m, primes=self.primes) for me in Comparer}
        self.chosen: list[int] = []
        self.asked: list[list[int]] = []

    def play(self) -> "Start":
        candidates = [int(self.rng.integers(self.m))]
        while True:
            self.ask(candidates)
            last = len(self.chosen) + 1 == self.k
            randoms = [] if last else draws(self.rng, self.k)
            best, is_zero = self.least(last)
            for minima in self.minima.values():
                minima.keep(best)
            self.chosen.append(candidates[best])
            if last:
                return self
            if is_zero:
                others = [row for row in range(self.m) if row not in self.chosen]
                self.chosen += others[: self.k - len(self.chosen)]
                return self
            candidates = list(dict.fromkeys(self.draw(randoms)))

    def ask(self, candidates: list[int]) -> None:
        """A question about these rows, and the minima with each."""
        self.asked.append(candidates)
        d = self.distances[candidates]
        drawn = (self.secret.integers(0, 2**48, d.shape).astype(object) << 48 * at for at in range(5))
        r = sum(drawn) % prod(self.primes)
        step = self.step or self.m
        for start in range(0, self.m, step):
            rows = slice(start, min(start + step, self.m))
            part = {
                me: packed((r if me is Comparer.DEALER else d + r)[:, rows], self.primes) for me in Comparer
            }
            if self.minima[Comparer.DEALER].closest(rows) is not None:
                part = self.nearer(start // step, rows, part)
            for me in Comparer:
                self.minima[me].add(rows, part[me])

    def nearer(self, part: int, rows: slice, asked: dict) -> dict:
        given = [{"closest": self.minima[me].closest(rows), "asked": asked[me]} for me in Comparer]
        roles = self.played(NearerDealer, NearerEvaluator, given, part)
        return {me: role.least for me, role in roles.items()}

    def least(self, last: bool) -> tuple[int, bool]:
        given = [{"totals": self.minima[me].totals(), "last": last} for me in Comparer]
        roles = self.played(LeastDealer, LeastEvaluator, given, 0)
        found = {(role.best, role.is_zero) for role in roles.values()}
        assert len(found) == 1
        return found.pop()

    def draw(self, randoms: list[int]) -> list[int]:
        given = [{"sums": self.minima[me].sums(), "draws": randoms} for me in Comparer]
        roles = self.played(DrawDealer, DrawEvaluator, given, 0)
        first, second = (roles[me].rows.tolist() for me in EVALUATORS)
        assert first == second
        return first

    def played(self, dealer: type, evaluator: type, given: list, part: int) -> dict:
        keys = {}
        for other, secret in zip(EVALUATORS, SECRETS, strict=True):
            for me in (Comparer.DEALER, other):
                place = me, other, len(self.asked), part
                if place not in self.keys:
                    self.keys[place] = Keys(secret, run=bytes(16), round_=place[2], phase="start", part=part)
                keys[me, other] = self.keys[place]
        shared = {"primes": self.primes, "kernels": self.kernels}
        of_dealer = keys[Comparer.DEALER, Comparer.E0], keys[Comparer.DEALER, Comparer.E1]
        roles = {Comparer.DEALER: dealer(keys=of_dealer, arena=Arena(), **shared, **given[0])}
        for me, own in zip(EVALUATORS, given[1:], strict=True):
            roles[me] = evaluator(me=me, keys=keys[me, me], arena=Arena(), **shared, **own)
        carry(roles, self.mail, self.change)
        self.roles = roles
        return roles

    def expected(self) -> tuple[list[int], list[list[int]], dict]:
        """What Python's integers choose and ask about, and the generator at the end."""
        rng = np.random.default_rng(self.seed)
        choices = Choices(m=self.m, k=self.k, first=first_row(rng, self.m, None))
        closest, asked = None, []
        while choices.candidates:
            randoms = [] if choices.last else draws(rng, self.k)
            asked.append(choices.candidates)
            every = self.distances[choices.candidates]
            every = every if closest is None else np.minimum(every, closest)
            best = int(every.sum(axis=1).argmin())  # ties to the candidate that was drawn first
            closest = every[best]
            sums = closest.cumsum()
            drawn = [int((sums > (sums[-1] * r >> DRAW_BITS)).argmax()) for r in randoms] if sums[-1] else ()
            choices.choose(best, drawn)
        return choices.chosen, asked, rng.bit_generator.state


def squared_distances(rows: list[list[int]]) -> np.ndarray:
    """D between all rows, Python integers."""
    rows = np.array(rows, dtype=object)
    return ((rows[:, np.newaxis] - rows) ** 2).sum(axis=2)
