"""The sum of all clients' shares of the same rows. With membership privacy it is a row's share."""

from collections.abc import Callable

import numpy as np

from secfc.array_types import Floats
from secfc.field.packing import PackedResidues, pack
from secfc.field.residues import reduce
from secfc.kernels import Kernels

_AT_A_TIME = 8
"""Shares that wait to be added together. More save passes over memory, fewer save memory for large parts."""


class ShareSum:
    """Adds up the shares of one part. `count` is their number so far."""

    def __init__(self, *, primes: tuple[int, ...], kernels: Kernels) -> None:
        self.count = 0
        self._primes, self._kernels = primes, kernels
        self._waiting: list[PackedResidues] = []
        self._total: Floats | None = None

    def add(self, residues: PackedResidues) -> None:
        """Add a client's shares, canonical residues of shape (P, width, rows)."""
        self.count += 1
        self._waiting.append(residues)
        if len(self._waiting) == _AT_A_TIME:
            self._flush()

    def total(self) -> PackedResidues:
        """The sum of all."""
        self._flush()
        assert self._total is not None
        primes, width, rows = self._total.shape
        packed = PackedResidues.empty((primes, width, rows))
        for plane, residues, p in zip(packed.planes(), self._total, self._primes, strict=True):
            plane[...] = pack(reduce(residues, p), p)
        return packed

    def _flush(self) -> None:
        if not self._waiting:
            return
        shape = self._waiting[0].shape
        if self._total is None:
            self._total = np.zeros(shape)
        planes = [residues.planes() for residues in self._waiting]
        ones, sums = np.ones((len(self._primes), len(planes))), np.empty(shape)
        refused = self._kernels.decode(planes, ones, self._primes, 0, shape[2], sums)
        assert refused < 0  # residues were checked when they arrived
        # Reduced residues, below 2**24: a total of 4096 of them is exact.
        self._total += sums
        self._waiting = []


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
