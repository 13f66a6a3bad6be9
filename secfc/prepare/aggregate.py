"""Sums over all parties of whole numbers that no party shows: every party shares its own, all add up shares.

A number is shared as a segment is (docs/protocol.md, eq. 4, with ell = 1): t masks make any t shares uniform.
Shares are linear, so client j adds up what it holds and sends that one sum, f(alpha_j) of a polynomial whose
value at beta_1 is the total; t + 1 sums open it, and nothing but it: they are shares of the total under the
sums of all masks.
"""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from secfc._arrays import Floats
from secfc.errors import MessageError, ParameterError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.field.residues import canonical, matmul, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import share
from secfc.randomness import MaskSource

_COUNT = 5
"""Primes: their product, 119 bits, exceeds sums of 2**29 squares of 2**28 (85 bits) with room to spare."""

LIMIT = prod(prime.p for prime in PRIMES[:_COUNT])
"""Totals must stay below this."""


class SumParty:
    """One client's part in opening sums.

    Parameters
    ----------
    number : int
        1 to n.
    n, t : int
        Clients, and how many of them may collude.
    length : int
        Numbers to be summed.
    masks : MaskSource
    """

    def __init__(self, *, number: int, n: int, t: int, length: int, masks: MaskSource) -> None:
        if n < t + 2:
            raise ParameterError(f"t: at most {n - 2} of {n} parties may collude, or a sum is one's own")
        self.number = number
        self._n, self._t, self._length, self._masks = n, t, length, masks
        self._held: dict[int, Floats] = {}

    def __repr__(self) -> str:
        return f"SumParty(number={self.number}, held={len(self._held)})"

    def shares(self, values: Sequence[int]) -> Floats:
        """Shares of own numbers, 0 <= v < LIMIT / n, (n, primes, length): plane j - 1 is client j's."""
        if len(values) != self._length or not all(0 <= value < LIMIT // self._n for value in values):
            raise ParameterError(f"values: {self._length} whole numbers from 0 are needed, each in range")
        made = np.empty((self._n, _COUNT, self._length))
        for at, prime in enumerate(PRIMES[:_COUNT]):
            points = evaluation_points(prime, n=self._n, coded=1 + self._t)
            basis = lagrange_basis(points.beta, points.alpha, prime.p)
            own = reduce(np.array([value % prime.p for value in values], dtype=np.float64), prime.p)
            masks = self._masks.uniform(prime.p, (self._t, 1, self._length))
            made[:, at] = share(own[np.newaxis, np.newaxis], masks, basis, prime.p)[:, 0]
        return made

    def hold(self, sender: int, plane: Floats) -> None:
        """Take one client's shares, of shape (primes, length).

        Raises
        ------
        MessageError
            Another shape, numbers that are no residues, an unknown or repeated sender; nothing has changed.
        """
        if not 1 <= sender <= self._n or sender in self._held:
            raise MessageError(f"sum: shares from client {sender} out of turn")
        if plane.shape != (_COUNT, self._length) or plane.dtype != np.float64:
            raise MessageError(f"sum: shares of shape {plane.shape} from client {sender}")
        primes = np.array([prime.p for prime in PRIMES[:_COUNT]])[:, np.newaxis]
        if not (
            np.isfinite(plane).all() and (plane == np.rint(plane)).all() and (np.abs(plane) < primes).all()
        ):
            raise MessageError(f"sum: shares from client {sender} are no residues")
        self._held[sender] = plane

    def summed(self) -> Floats:
        """The sum of all clients' shares, of shape (primes, length), which everybody may see."""
        if len(self._held) < self._n:
            raise MessageError(f"sum: shares of {self._n - len(self._held)} clients are missing")
        total = np.zeros((_COUNT, self._length))
        for plane in self._held.values():
            total += plane
        return np.array([reduce(row, prime.p) for row, prime in zip(total, PRIMES, strict=False)])


def open_sums(sums: Mapping[int, Floats], *, n: int, t: int) -> list[int]:
    """The totals, from the sums of t + 1 clients or more; more are checked against each other.

    Raises
    ------
    MessageError
        Fewer clients, or sums that are of no one polynomial.
    """
    if len(sums) <= t:
        raise MessageError(f"sum: {len(sums)} clients answered, {t + 1} are needed")
    clients = sorted(sums)
    length = sums[clients[0]].shape[1]
    residues = np.empty((_COUNT, length))
    for at, prime in enumerate(PRIMES[:_COUNT]):
        points = evaluation_points(prime, n=n, coded=1 + t)
        alpha = [points.alpha[j - 1] for j in clients]
        known, others = alpha[: t + 1], alpha[t + 1 :]
        values = np.array([sums[j][at] for j in clients])
        if others:
            expected = matmul(lagrange_basis(known, others, prime.p), values[: t + 1], prime.p)
            if not np.array_equal(canonical(expected, prime.p), canonical(values[t + 1 :], prime.p)):
                raise MessageError("sum: the clients' sums contradict each other")
        found = matmul(lagrange_basis(known, points.beta[:1], prime.p), values[: t + 1], prime.p)
        residues[at] = found[0]
    radix = MixedRadix(tuple(prime.p for prime in PRIMES[:_COUNT]))
    return [int(value) for value in radix.integers(radix.digits(residues))]


def add_up(values: Sequence[Sequence[int]], *, t: int) -> list[int]:
    """All parties in this process: the totals of one list of numbers a party."""
    n, length = len(values), len(values[0])
    parties = [SumParty(number=j, n=n, t=t, length=length, masks=MaskSource()) for j in range(1, n + 1)]
    for sender, (party, own) in enumerate(zip(parties, values, strict=True), start=1):
        for recipient, plane in zip(parties, party.shares(own), strict=True):
            recipient.hold(sender, plane)
    return open_sums({party.number: party.summed() for party in parties}, n=n, t=t)
