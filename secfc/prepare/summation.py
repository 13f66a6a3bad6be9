"""Sums over all parties of secret whole numbers: each party deals shares and adds up those it receives.

A number is shared like a segment, with ell = 1: t masks make any t shares uniform. Shares are linear. So
client j adds up the shares it holds and sends only their sum, f(alpha_j) of a polynomial whose value at
beta_1 is the total. t + 1 sums open the total and nothing else: they are shares of the total under the sums
of all masks (docs/optional.md, Preparing).
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import from_bytes, size_of, to_bytes
from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.sharing.codewords import Codewords

_PRIMES = tuple(prime.p for prime in PRIMES[:5])
"""Their product has 120 bits. Sums of 2**29 squares of 2**28 need only 86 bits."""

LIMIT = prod(_PRIMES)
"""Totals are below this, since each of n numbers is below LIMIT // n."""


class Summation:
    """One client's part in opening the sums of `length` numbers; n >= 2t + 1.

    The caller takes one message of each kind from each client, of the right size. `totals` is None until the
    sums of all clients have been taken.
    """

    def __init__(self, *, number: int, n: int, t: int, length: int, masks: MaskSource) -> None:
        self.number = number
        self.totals: list[int] | None = None
        self._codewords = Codewords(n=n, t=t, ell=1, primes=_PRIMES)
        self._length, self._masks = length, masks
        self._dealers = 0
        self._sum = np.zeros((len(_PRIMES), length))
        self._opened: dict[int, Floats] = {}

    @property
    def size(self) -> int:
        """Bytes of shares, or of a sum of shares."""
        return size_of(self._length, _PRIMES)

    def deal(self, values: Sequence[int]) -> dict[int, bytes]:
        """Shares of the own numbers, 0 <= v < LIMIT // n, for each other client. The own share is added."""
        n, t = self._codewords.n, self._codewords.t
        if len(values) != self._length or not all(0 <= value < LIMIT // n for value in values):
            raise ParameterError(f"values: {self._length} whole numbers from 0 are needed, each in range")
        own = np.array([[[value % p for value in values]] for p in _PRIMES], dtype=np.float64)
        masks = np.stack([self._masks.uniform(p, (t, self._length)) for p in _PRIMES])
        hidden = np.concatenate([own, masks], axis=1)
        shares = {j: self._codewords.at_holder(j, hidden, zeros=False)[:, 0] for j in range(1, n + 1)}
        self._add(shares.pop(self.number))
        return {j: to_bytes(share, _PRIMES) for j, share in shares.items()}

    def take(self, payload: bytes) -> None:
        """Take the shares that another client dealt. A MessageError leaves the state unchanged."""
        self._add(from_bytes(payload, (self._length,), _PRIMES))

    @property
    def complete(self) -> bool:
        """Whether all clients, itself included, have dealt."""
        return self._dealers == self._codewords.n

    def open(self) -> bytes:
        """The sum of all clients' shares, to be sent to all other clients."""
        assert self.complete
        self._take_sum(self.number, self._sum)
        return to_bytes(self._sum, _PRIMES)

    def take_sum(self, sender: int, payload: bytes) -> None:
        """Take another client's sum of shares. The last one gives the totals."""
        self._take_sum(sender, from_bytes(payload, (self._length,), _PRIMES))

    def _add(self, residues: Floats) -> None:
        self._dealers += 1
        self._sum = reduce(self._sum + residues, self._codewords.moduli[..., 0])

    def _take_sum(self, sender: int, residues: Floats) -> None:
        sums = self._opened | {sender: residues}
        if len(sums) == self._codewords.n:
            if not self._codewords.contains(sums, self._masks, wide=False):
                raise self._contradiction(sums)
            radix = MixedRadix(_PRIMES)
            opened = self._codewords.open(sums, wide=False)[:, 0]
            self.totals = [int(value) for value in radix.integers(radix.digits(opened))]
        self._opened = sums

    def _contradiction(self, sums: dict[int, Floats]) -> CheatError:
        """The error for sums that do not lie on a polynomial.

        A wrong sum does not prove that its sender lies: another client may have dealt it a wrong share.
        """
        text = "the clients' sums contradict each other"
        most = (len(sums) - self._codewords.narrow) // 2
        wrong = self._codewords.wrong(sums, self._masks, wide=False, most=most)
        if wrong is None:
            return CheatError(text, code=Code.IMPOSSIBLE_TOTALS)
        named = ", ".join(map(str, sorted(wrong)))
        text += f"; if at most {most} sums are wrong, that of client {named} is: it sent a wrong sum, "
        text += "or a client dealt it a wrong share"
        return CheatError(text, code=Code.IMPOSSIBLE_TOTALS, clients=sorted(wrong))
