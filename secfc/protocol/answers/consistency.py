"""Checks whether answers agree, and if not, finds the wrong ones. The answers are Reed-Solomon words.

Coded distances are values of polynomials of degree below R, one value for each client. So every parity check
of that code is 0 for each row and set. Combinations of each client's distances with the same coefficients are
such a word too. Coefficients are drawn after the answers have arrived. They are independent and uniform, used
once and never sent. So a lie passes one combination with probability 1/p (docs/faults.md, "Liars in the
iteration").
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil, log2

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats, Shares
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import BYTES_PER_RESIDUE
from secfc.field.primes import PRIMES
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.protocol.answers.decoding import BLOCK_ELEMENTS, ResidueError, points_of, residue_error
from secfc.protocol.job.job import Job

SECURITY_BITS = 40
"""A run accepts a wrong answer with probability below 2**-40."""

_CODES_KEPT = 64
"""Sets of responders whose codes are kept. Few sets alternate in a run."""


@cache
def combinations_for(liars: int, again: int = 0) -> int:
    """Combinations c of each residue, at least two: (2 `liars` + `again`) / p**c < 2**-40 for every prime p.

    `again` is how often a round may be asked again.
    """
    smallest = min(prime.p for prime in PRIMES)
    return max(2, ceil((SECURITY_BITS + log2(2 * max(liars, 1) + again)) / log2(smallest)))


def code_of(job: Job, index: int, clients: Sequence[int], *, dimension: int) -> ReedSolomon:
    """The code of the values at these clients of polynomials of degree below `dimension`, modulo a prime."""
    prime = PRIMES[index]
    return ReedSolomon(points=points_of(job, prime, clients)[0], dimension=dimension, p=prime.p)


class ConsistencyCheck:
    """Locates wrong answers with coefficients from `secret`."""

    def __init__(self, job: Job, secret: MaskSource, kernels: Kernels) -> None:
        self._job, self._secret, self._kernels = job, secret, kernels
        self._combinations = combinations_for(job.max_liars, job.asked_again)
        self._sums: Shares = np.empty((0, 0, 0), dtype=np.float32)
        self._codes: dict[tuple[int, tuple[int, ...]], ReedSolomon] = {}

    def __repr__(self) -> str:
        return f"ConsistencyCheck(combinations={self._combinations})"

    def agree(self, answers: Mapping[int, Bytes], primes: tuple[int, ...]) -> bool:
        """Whether all answers are values of polynomials, by random combinations of parity checks.

        True if they are. If between 1 and N - R of N answers are wrong, in any places, True with probability
        at most p**-c. Packed answers of R clients or more have shape (P, k, 3 * rows). ResidueError when one
        has an integer that is not below its prime.
        """
        responders = tuple(sorted(answers))
        planes, radix = [answers[j] for j in responders], MixedRadix(primes)
        codes = [self._code(index, responders) for index in range(len(primes))]
        weights = [
            np.array(
                [
                    code.parity(self._secret.uniform(p, (code.redundancy,)))
                    for code, p in zip(codes, primes, strict=True)
                ]
            )
            for _ in range(self._combinations if codes[0].redundancy else 0)
        ]
        _, k, octets = planes[0].shape
        rows, step = octets // BYTES_PER_RESIDUE, max(1, BLOCK_ELEMENTS // k)
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            if self._sums.shape != (len(primes), k, stop - start):
                self._sums = np.empty((len(primes), k, stop - start), dtype=np.float32)
            for factors in weights:
                bad = self._kernels.decode(planes, factors, radix, start, stop, self._sums)
                if bad >= 0:
                    raise residue_error(self._kernels, responders[bad], planes[bad], start, stop, primes)
                if self._sums.any():  # digits are all 0 if the residues are
                    return False
        return True

    def liars(
        self, answers: Mapping[int, Bytes], primes: tuple[int, ...], *, most: int
    ) -> tuple[int, ...] | None:
        """Clients with wrong answers, ascending. None if no set of at most `most` clients explains them.

        Answers are as for `agree`. `most` is at most (N - R) // 2 for N answers.
        """
        responders = tuple(sorted(answers))
        wrong: set[int] = set()
        for index, p in enumerate(primes):
            words = self._combined([answers[j][index] for j in responders], responders, p)
            errors = self._code(index, responders).wrong(words)
            if errors is None:
                return None
            wrong.update(responders[at] for at in errors)
        return tuple(sorted(wrong)) if len(wrong) <= most else None

    def _combined(self, planes: list[Bytes], responders: tuple[int, ...], p: int) -> Floats:
        """Fresh combinations of every client's plane, shape (N, combinations)."""
        k, octets = planes[0].shape
        coefficients = self._secret.uniform(p, (self._combinations, k * octets // 3), self._kernels)
        words = np.empty((len(planes), self._combinations))
        for client, plane, word in zip(responders, planes, words, strict=True):
            if not self._kernels.combine(plane, coefficients, p, word):
                raise ResidueError(client=client, p=p)
        return words

    def _code(self, index: int, responders: tuple[int, ...]) -> ReedSolomon:
        key = index, responders
        if key not in self._codes:
            if len(self._codes) >= _CODES_KEPT * len(PRIMES):
                self._codes.clear()
            self._codes[key] = code_of(self._job, index, responders, dimension=self._job.threshold)
        return self._codes[key]
