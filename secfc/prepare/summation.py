"""Sums over all parties of secret whole numbers: each party deals shares and adds up those it receives.

A number is shared like a segment (docs/protocol.md, eq. 4, with ell = 1): t masks make any t shares uniform.
Shares are linear. So client j adds up the shares it holds and sends only their sum, f(alpha_j) of a
polynomial whose value at beta_1 is the total. t + 1 sums open the total and nothing else: they are shares of
the total under the sums of all masks (docs/optional.md, Preparing).
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, MessageError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE, pack, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import matmul, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.lagrange.sharing import share

_PRIMES = PRIMES[:5]
"""Their product has 120 bits. Sums of 2**29 squares of 2**28 need only 86 bits."""

LIMIT = prod(prime.p for prime in _PRIMES)
"""Totals are below this, since each of n numbers is below LIMIT // n."""


class Summation:
    """One client's part in opening the sums of `length` numbers; n >= 2t + 1.

    `totals` is None until the sums of all clients have been taken.
    """

    def __init__(self, *, number: int, n: int, t: int, length: int, masks: MaskSource) -> None:
        self.number = number
        self.totals: list[int] | None = None
        self._n, self._t, self._length, self._masks = n, t, length, masks
        self._dealers: set[int] = set()
        self._sum = np.zeros((len(_PRIMES), length))
        self._opened: dict[int, Floats] = {}

    def __repr__(self) -> str:
        return f"Summation(number={self.number}, shares={len(self._dealers)}, sums={len(self._opened)})"

    @property
    def size(self) -> int:
        """Bytes of shares, or of a sum of shares."""
        return BYTES_PER_RESIDUE * len(_PRIMES) * self._length

    def deal(self, values: Sequence[int]) -> dict[int, bytes]:
        """Shares of the own numbers, 0 <= v < LIMIT // n, for each other client. The own share is added."""
        if len(values) != self._length or not all(0 <= value < LIMIT // self._n for value in values):
            raise ParameterError(f"values: {self._length} whole numbers from 0 are needed, each in range")
        planes = []
        for prime in _PRIMES:
            points = evaluation_points(prime, n=self._n, coded=1 + self._t)
            basis = lagrange_basis(points.beta, points.alpha, prime.p)
            own = reduce(np.array([value % prime.p for value in values], dtype=np.float64), prime.p)
            masks = self._masks.uniform(prime.p, (self._t, 1, self._length))
            planes.append(share(own[np.newaxis, np.newaxis], masks, basis, prime.p)[:, 0])
        dealt = np.stack(planes, axis=1)
        self._add(self.number, dealt[self.number - 1])
        return {j: _packed(dealt[j - 1]) for j in range(1, self._n + 1) if j != self.number}

    def take(self, sender: int, payload: bytes) -> None:
        """Take the shares that another client dealt. A MessageError leaves the state unchanged."""
        if sender in self._dealers:
            raise MessageError(f"shares from client {sender} a second time")
        self._add(sender, self._residues(sender, payload))

    @property
    def complete(self) -> bool:
        """Whether all clients, itself included, have dealt."""
        return len(self._dealers) == self._n

    def open(self) -> bytes:
        """The sum of all clients' shares, to be sent to all other clients."""
        assert self.complete
        self._take_sum(self.number, self._sum)
        return _packed(self._sum)

    def take_sum(self, sender: int, payload: bytes) -> None:
        """Take another client's sum of shares. The last one gives the totals.

        A MessageError leaves the state unchanged. CheatError if the sums do not lie on one polynomial.
        """
        if sender in self._opened:
            raise MessageError(f"a sum from client {sender} a second time")
        self._take_sum(sender, self._residues(sender, payload))

    def _residues(self, sender: int, payload: bytes) -> Floats:
        if len(payload) != self.size:
            raise MessageError(f"{len(payload)} bytes from client {sender}, {self.size} are needed")
        residues = unpack(np.frombuffer(payload, dtype=np.uint8).reshape(len(_PRIMES), -1))
        for plane, prime in zip(residues, _PRIMES, strict=True):
            if not (plane < prime.p).all():
                raise MessageError(f"a residue from client {sender} is not below its prime {prime.p}")
        return residues

    def _add(self, sender: int, residues: Floats) -> None:
        self._dealers.add(sender)
        self._sum = np.array(
            [
                reduce(held + added, prime.p)
                for held, added, prime in zip(self._sum, residues, _PRIMES, strict=True)
            ]
        )

    def _take_sum(self, sender: int, residues: Floats) -> None:
        sums = self._opened | {sender: residues}
        if len(sums) == self._n:
            self.totals = open_sums([sums[j] for j in range(1, self._n + 1)], t=self._t)
        self._opened = sums


def open_sums(sums: Sequence[Floats], *, t: int) -> list[int]:
    """The totals from the sums of shares of all n clients, in the order of the clients.

    CheatError unless they lie on a polynomial of degree t. It names clients if few contradict the others.
    """
    opened = np.empty((len(_PRIMES), sums[0].shape[1]))
    for at, prime in enumerate(_PRIMES):
        points = evaluation_points(prime, n=len(sums), coded=1 + t)
        values = np.array([reduce(one[at], prime.p) for one in sums])
        code = ReedSolomon(points=points.alpha, dimension=1 + t, p=prime.p)
        if not code.contains(values):
            raise _contradiction(code, values, most=(len(sums) - 1 - t) // 2)
        weights = lagrange_basis(points.alpha[: t + 1], points.beta[:1], prime.p)
        opened[at] = matmul(weights, values[: t + 1], prime.p)[0]
    radix = MixedRadix(tuple(prime.p for prime in _PRIMES))
    return [int(value) for value in radix.integers(radix.digits(opened))]


def _contradiction(code: ReedSolomon, values: Floats, *, most: int) -> CheatError:
    """The error for sums that do not lie on a polynomial.

    A wrong sum does not prove that its sender lies: another client may have dealt it a wrong share.
    """
    text = "the clients' sums contradict each other"
    found = [code.errors(word) for word in values.T]
    wrong = sorted({position + 1 for errors in found for position in errors or ()})
    if None in found or len(wrong) > most:
        return CheatError(text, code=Code.IMPOSSIBLE_TOTALS)
    named = ", ".join(map(str, wrong))
    text += f"; if at most {most} sums are wrong, that of client {named} is: it sent a wrong sum, "
    text += "or a client dealt it a wrong share"
    return CheatError(text, code=Code.IMPOSSIBLE_TOTALS, clients=wrong)


def _packed(residues: Floats) -> bytes:
    """Canonical residues of shape (primes, length), three bytes each."""
    return b"".join(pack(plane, prime.p).tobytes() for plane, prime in zip(residues, _PRIMES, strict=True))
