"""A trio in one process: masked residues of given distances, and mail until all roles have ended."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from secfc.comparing.dealer_keys import Keys
from secfc.comparing.question import Question
from secfc.comparing.role import Arena, Comparer, Role
from secfc.field.packing import PackedResidues, pack
from secfc.kernels import Kernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.operations.farthest import FarthestDealer, own_column
from secfc.operations.trio import Dealer, Evaluator

SECRETS = bytes(range(32)), bytes(range(32, 64))


def packed(values: np.ndarray, primes: tuple[int, ...]) -> PackedResidues:
    """Integers of shape (k, m), of any size, modulo each prime."""
    planes = np.array([pack((values % p).astype(np.float64), p) for p in primes])
    return PackedResidues(shape=(len(primes), *values.shape), payload=planes.tobytes())


def keys(party: Comparer, *, round_: int = 1, secrets: tuple[bytes, bytes] = SECRETS) -> Keys:
    """The keys that the dealer shares with an evaluator."""
    secret = secrets[0] if party is Comparer.E0 else secrets[1]
    return Keys(secret, run=bytes(16), round_=round_, phase="iterate")


def carry(
    roles: dict[Comparer, Role],
    mail: list[tuple[Comparer, Comparer, bytes]],
    change=lambda sender, recipient, data: data,
) -> None:
    """Deliver all mail of roles until they have ended, and record it in `mail`."""
    waiting = deque[tuple[Comparer, Comparer, bytes]]()

    def post(sender, sent):
        for one in sent:
            data = change(sender, one.recipient, bytes(one.data))
            mail.append((sender, one.recipient, data))
            waiting.append((sender, one.recipient, data))

    for me, role in roles.items():
        post(me, role.begin())
    while waiting:
        for _ in range(len(waiting)):
            sender, recipient, data = waiting.popleft()
            if sender in roles[recipient].awaited:
                post(recipient, roles[recipient].take(sender, data))
                break
            waiting.append((sender, recipient, data))  # it is too early for it
        else:
            raise AssertionError("mail that nobody awaits")
    assert all(role.ended for role in roles.values())


@dataclass
class Trio:
    """The roles of a round, and everything that they sent, in order."""

    question: Question
    distances: np.ndarray
    masks: np.ndarray
    kernels: Kernels = field(default_factory=VectorisedKernels)
    secrets: tuple[bytes, bytes] = SECRETS
    dealer: type[Role] = Dealer
    evaluator: type[Role] = Evaluator
    mail: list[tuple[Comparer, Comparer, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        primes = self.question.primes
        shared = {"question": self.question, "kernels": self.kernels}
        masks, masked = packed(self.masks, primes), packed(self.distances + self.masks, primes)
        if self.dealer is FarthestDealer:
            masks, masked = (own_column(one, self.question.champions) for one in (masks, masked))
        self.keys = {
            pair: keys(pair[1], secrets=self.secrets)
            for pair in [
                (me, other) for other in (Comparer.E0, Comparer.E1) for me in (Comparer.DEALER, other)
            ]
        }
        of_dealer = self.keys[Comparer.DEALER, Comparer.E0], self.keys[Comparer.DEALER, Comparer.E1]
        self.roles: dict[Comparer, Role] = {
            Comparer.DEALER: self.dealer(**shared, masks=masks, keys=of_dealer, arena=Arena())
        } | {
            me: self.evaluator(me=me, **shared, masked=masked, keys=self.keys[me, me], arena=Arena())
            for me in (Comparer.E0, Comparer.E1)
        }

    def play(self, change=lambda sender, recipient, data: data) -> "Trio":
        """Deliver all mail; `change` may change it on its way."""
        carry(self.roles, self.mail, change)
        return self

    @property
    def labels(self) -> np.ndarray:
        """What both evaluators found."""
        return self._of_both("labels")

    @property
    def core(self) -> np.ndarray:
        return self._of_both("core")

    @property
    def rows(self) -> np.ndarray:
        """The farthest rows that both evaluators found."""
        return self._of_both("rows")

    def _of_both(self, name: str) -> np.ndarray:
        first, second = (getattr(self.roles[me], name) for me in (Comparer.E0, Comparer.E1))
        assert np.array_equal(first, second)
        return first


def true_labels(distances: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Nearest candidate of each row, with Python's integers; ties go to the lowest index."""
    candidates = [int(h) for h in np.flatnonzero(sizes)]
    labels = []
    for row in distances.T:
        best = candidates[0]
        for h in candidates[1:]:
            if int(row[h]) * int(sizes[best]) ** 2 < int(row[best]) * int(sizes[h]) ** 2:
                best = h
        labels.append(best)
    return np.array(labels, dtype=np.int32)


def to_words(bits: np.ndarray) -> np.ndarray:
    """Bits of rows, shape (n, rows), as words of shape (n, W): row j W + w is bit j of word w."""
    count, rows = bits.shape
    width = -(-rows // 64)
    words = np.zeros((count, width), dtype=np.uint64)
    for j in range(64):
        part = bits[:, j * width : (j + 1) * width]
        words[:, : part.shape[1]] |= part.astype(np.uint64) << np.uint64(j)
    return words
