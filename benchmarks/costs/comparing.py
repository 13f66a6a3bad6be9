"""A comparison by the trio: CPU seconds of each party, bytes and exchanges, without the making of y and r.

The trio is a dealer and two evaluators. They take turns on one thread with scikit-learn's Lloyd iteration on
the same number of pooled rows and centres. Their messages are in memory and not sealed.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.costs.iteration import blobs, plaintext_steps
from benchmarks.costs.setting import Case, median, quartiles
from secfc.comparing.question import Question
from secfc.errors import ParameterError, SecFCError
from secfc.field.array_types import Ints, Labels
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels import choose
from secfc.operations.dealer_keys import Keys
from secfc.operations.role import Arena, Comparer, Role, Sending
from secfc.operations.trio import Dealer, Evaluator
from secfc.operations.widths import GateWidths

SIZES = ((1_000, 4), (10_000, 4), (10_000, 16), (100_000, 16))
QUICK_SIZES = ((200, 3),)
WIDTHS = (GateWidths(chunk=3, first_fan=3, fan=4), GateWidths(chunk=4, first_fan=5, fan=6))
CHANGED = (0.0, 0.01, 1.0)
QUICK_CHANGED = (0.0, 1.0)
PRIMES = 5
COLUMNS = 100
"""Columns of the rows that scikit-learn clusters. A comparison does not depend on them."""

REPEATS = 15
_RUN = bytes(16)


@dataclass(frozen=True, kw_only=True)
class ComparingRow:
    """Medians over rounds.

    Attributes
    ----------
    m, k, residues : int
    kernels : str
    chunk, first_fan, fan : int
        Widths of the gates.
    changed : float
        Fraction of the rows whose label changes. 1: all pairs of all rows, as in the first iteration.
    rounds : int
    dealer_seconds, first_seconds, second_seconds : float
        CPU seconds of C, E0 and E1.
    dealt_bytes, each_way_bytes : int
        Bytes from C to E1, and from E0 to E1; as many go back.
    exchanges : int
        How many times both evaluators send.
    plaintext_seconds : float
        CPU seconds of scikit-learn's iteration on rows of `COLUMNS` columns.
    ratio, ratio_quartiles : float
        Seconds of all three parties divided by these, for each turn.
    """

    m: int
    k: int
    residues: int
    kernels: str
    chunk: int
    first_fan: int
    fan: int
    changed: float
    rounds: int
    dealer_seconds: float
    first_seconds: float
    second_seconds: float
    dealt_bytes: int
    each_way_bytes: int
    exchanges: int
    plaintext_seconds: float
    ratio: float
    ratio_quartiles: tuple[float, float]


@dataclass(kw_only=True)
class Played:
    """The costs of a round."""

    seconds: dict[Comparer, float]
    sent: dict[tuple[Comparer, Comparer], list[int]]
    labels: Labels


def play(roles: dict[Comparer, Role]) -> Played:
    """Deliver the messages of a round."""
    played = Played(
        seconds=dict.fromkeys(roles, 0.0),
        sent={(a, b): [] for a in roles for b in roles},
        labels=np.empty(0, dtype=np.int32),
    )
    waiting: list[tuple[Comparer, Sending]] = []

    def step(me: Comparer, sender: Comparer | None = None, data: bytes = b"") -> None:
        before = time.process_time()
        sent = roles[me].begin() if sender is None else roles[me].take(sender, data)
        played.seconds[me] += time.process_time() - before
        for one in sent:
            played.sent[me, one.recipient].append(len(one.data))
            waiting.append((me, one))

    for me in roles:
        step(me)
    while waiting:
        at = next(at for at, (sender, one) in enumerate(waiting) if sender in roles[one.recipient].awaited)
        sender, one = waiting.pop(at)
        step(one.recipient, sender, bytes(one.data))
    first = roles[Comparer.E0]
    assert isinstance(first, Evaluator)
    played.labels = first.labels
    return played


class TrioRounds:
    """Rounds of one size, with the same distances and masks. Costs do not depend on these.

    Parameters
    ----------
    m, k : int
    """

    def __init__(self, m: int, k: int) -> None:
        rng = np.random.default_rng(m + k)
        self.m, self.k, self.primes = m, k, primes_of(PRIMES)
        self.sizes: Ints = np.full(k, m // k) + np.arange(k)
        distances = rng.integers(1, 2**40, (k, m)) * (self.sizes**2 % 2**20)[:, np.newaxis]
        masks = np.array([rng.integers(0, p, (k, m)) for p in self.primes])
        self.masks = self._packed(masks)
        modulo = np.array(self.primes)[:, np.newaxis, np.newaxis]
        self.masked = self._packed((distances % modulo + masks) % modulo)
        self.kernels = choose(m * k * PRIMES * 1000)
        self.arenas = {party: Arena() for party in Comparer}
        self._rounds = count(1)
        self.labels = self.play(None, WIDTHS[0]).labels
        rows = blobs(Case(m=m, d=COLUMNS, k=k, n=3, t=1, ell=1))
        self._plaintext = plaintext_steps(rows, (np.arange(m) % k).astype(np.int32), k)

    def plaintext_seconds(self) -> float:
        """CPU seconds of scikit-learn's next iteration."""
        before = time.process_time()
        next(self._plaintext)
        return time.process_time() - before

    def _packed(self, residues: Ints) -> PackedResidues:
        octets = residues.astype("<u4")[..., np.newaxis].view(np.uint8)[..., :3]
        shape = (PRIMES, self.k, self.m)
        return PackedResidues(shape=shape, payload=np.ascontiguousarray(octets).tobytes())

    def play(self, champions: Labels | None, widths: GateWidths) -> Played:
        """Run a round."""
        question = Question(
            primes=self.primes, sizes=self.sizes, rows=self.m, champions=champions, widths=widths
        )
        number = next(self._rounds)

        def keys(secret: int) -> Keys:
            return Keys(bytes([secret]) * 32, run=_RUN, round_=number, phase="iterate")

        roles: dict[Comparer, Role] = {
            Comparer.DEALER: Dealer(
                question=question,
                masks=self.masks,
                keys=(keys(0), keys(1)),
                kernels=self.kernels,
                arena=self.arenas[Comparer.DEALER],
            )
        }
        for secret, me in enumerate((Comparer.E0, Comparer.E1)):
            roles[me] = Evaluator(
                me=me,
                question=question,
                masked=self.masked,
                keys=keys(secret),
                kernels=self.kernels,
                arena=self.arenas[me],
            )
        return play(roles)


def parse_size(text: str) -> tuple[int, int]:
    """Read "m,k"."""
    try:
        m, k = map(int, text.split(","))
    except ValueError:
        raise ParameterError(f"--sizes: m,k are needed, {text!r} was given") from None
    if not 2 <= k <= m:
        raise ParameterError(f"--sizes: 2 <= k <= m is needed, {text!r} was given")
    return m, k


def measure_cases(
    sizes: tuple[tuple[int, int], ...], *, changed: tuple[float, ...] = CHANGED, repeats: int = REPEATS
) -> Iterator[ComparingRow]:
    """Measure each size with narrow and wide gates, for each fraction of changed rows."""
    for m, k in sizes:
        rounds, enough = TrioRounds(m, k), 4_000_000 // (m * k)
        for part in changed:
            champions = None
            if part < 1:
                champions = rounds.labels.copy()
                some = np.random.default_rng(0).permutation(m)[: round(part * m)]
                champions[some] = (champions[some] + 1) % k
            for widths in WIDTHS:
                yield _measure(rounds, champions, widths, part, max(3, min(repeats, enough)))


def _measure(
    rounds: TrioRounds, champions: Labels | None, widths: GateWidths, changed: float, repeats: int
) -> ComparingRow:
    with threadpool_limits(1):
        turns = [(rounds.play(champions, widths), rounds.plaintext_seconds()) for _ in range(repeats + 1)][1:]
    played, plaintext = [each for each, _ in turns], [seconds for _, seconds in turns]
    ratios = [sum(each.seconds.values()) / seconds for each, seconds in turns]
    if any(not np.array_equal(each.labels, rounds.labels) for each in played):
        raise SecFCError("a round ended with other labels")
    one = played[0]
    seconds = {party: median(np.array([each.seconds[party] for each in played])) for party in Comparer}
    return ComparingRow(
        m=rounds.m,
        k=rounds.k,
        residues=PRIMES,
        kernels=rounds.kernels.name,
        chunk=widths.chunk,
        first_fan=widths.first_fan,
        fan=widths.fan,
        changed=changed,
        rounds=repeats,
        dealer_seconds=seconds[Comparer.DEALER],
        first_seconds=seconds[Comparer.E0],
        second_seconds=seconds[Comparer.E1],
        dealt_bytes=sum(one.sent[Comparer.DEALER, Comparer.E1]),
        each_way_bytes=sum(one.sent[Comparer.E0, Comparer.E1]),
        exchanges=len(one.sent[Comparer.E0, Comparer.E1]),
        plaintext_seconds=median(plaintext),
        ratio=median(ratios),
        ratio_quartiles=quartiles(ratios),
    )
