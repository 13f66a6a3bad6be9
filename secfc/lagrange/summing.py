"""The sum of all clients' shares of the same rows. With membership privacy it is a row's share."""

from collections.abc import Callable

import numpy as np

from secfc.field.packing import PackedResidues
from secfc.kernels import Kernels

_AT_A_TIME = 8
"""Shares that wait to be added together. More save passes over memory, fewer save memory for large parts."""


class ShareSum:
    """Adds up the shares of one part. `count` is their number so far."""

    def __init__(self, *, primes: tuple[int, ...], kernels: Kernels) -> None:
        self.count = 0
        self._primes, self._kernels = primes, kernels
        self._waiting: list[PackedResidues] = []  # the sum of all before them is the first

    def add(self, residues: PackedResidues) -> None:
        """Add a client's shares, canonical residues of shape (P, width, rows)."""
        self.count += 1
        self._waiting.append(residues)
        if len(self._waiting) == _AT_A_TIME:
            self.total()

    def total(self) -> PackedResidues:
        """The sum of all."""
        if len(self._waiting) > 1:
            total = PackedResidues.empty(self._waiting[0].shape)
            planes = [residues.planes() for residues in self._waiting]
            ones = np.ones((len(self._primes), len(planes)))
            refused = self._kernels.weigh(planes, ones, self._primes, total.planes())
            assert refused < 0  # residues were checked when they arrived
            self._waiting = [total]
        return self._waiting[0]


class SummedParts:
    """Adds up shares that arrive in parts, and keeps a part when so many clients have sent it.

    `keep` is called with the sum of a part and its first row. With one client every share is kept directly.
    """

    def __init__(
        self,
        *,
        keep: Callable[[PackedResidues, int], None],
        clients: int,
        primes: tuple[int, ...],
        kernels: Kernels,
    ) -> None:
        self._keep, self._clients, self._primes, self._kernels = keep, clients, primes, kernels
        self._sums: dict[int, ShareSum] = {}  # by part

    def store(self, residues: PackedResidues, part: int, start: int) -> None:
        """Take a client's shares of a part whose first row is `start`."""
        if self._clients == 1:
            self._keep(residues, start)
            return
        total = self._sums.setdefault(part, ShareSum(primes=self._primes, kernels=self._kernels))
        total.add(residues)
        if total.count == self._clients:
            self._keep(self._sums.pop(part).total(), start)
