"""The public parameters of a union, and the tables that follow from them."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from secfc.errors import ParameterError
from secfc.field.array_types import Ints
from secfc.psu.prime import Elements, P, add, multiply
from secfc.psu.tokens import SALT_BYTES, Tokens

PART_BYTES = 1 << 20
"""Approximate size of one part that a client sends to another."""

LOAD = 16
"""Average number of IDs in a bin. With more, fewer values are shared but the roots take more work."""

CAPACITY = 24
"""IDs that a bin's series determines; 41 would never be too few. In a full table 2.2 % of bins hold more:
their IDs are dealt again."""

TABLES = 8
"""The most tables in an attempt. Each is for the overfull bins of the one before, about 1/40 of its size."""

SMALL_TABLE = 2048
"""Up to this many IDs, a later table may be as large as the one before. A larger one has at most half."""

ATTEMPTS = 2
"""A union whose check fails is repeated once: two IDs with the same bin and pole cause no false alarm."""


def salt_of(transcript: bytes) -> bytes:
    """The salt of a run, from the digest of all clients' introductions (`secfc.crypto.handshake`).

    It depends on every client's fresh key. So a party without one honest client's key of another run cannot
    repeat the salt of that run, whatever run identifier the coordinator uses.
    """
    return hashlib.sha256(b"secfc union salt 1" + transcript).digest()[:SALT_BYTES]


@dataclass(frozen=True, kw_only=True)
class UnionPlan:
    """Public parameters of a union; n, t and ell are those of the job.

    `cap` is the most IDs of all clients together. Message sizes depend on it and not on how many IDs each
    client holds. The salt, 16 bytes, is different for every run (`salt_of`).
    """

    n: int
    t: int
    ell: int
    cap: int
    salt: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.salt) != SALT_BYTES:
            raise ParameterError(f"salt: {SALT_BYTES} bytes are needed")

    def public_elements(self, purpose: str, stage: int, count: int) -> list[int]:
        """Public elements that no party can choose: SHA-512 of the salt, the stage and a purpose."""
        return [
            int.from_bytes(hashlib.sha512(f"secfc {purpose} {stage} {i} ".encode() + self.salt).digest()) % P
            for i in range(count)
        ]

    def table(self, stage: int, cap: int) -> "UnionTable":
        """The table of this stage for `cap` IDs."""
        return UnionTable(plan=self, stage=stage, cap=cap)


@dataclass(frozen=True, kw_only=True)
class UnionTable:
    """The bins of one stage for up to `cap` IDs. Each token has a bin and a *pole* in it.

    The hashes of different stages are independent.
    """

    plan: UnionPlan
    stage: int
    cap: int

    @property
    def groups(self) -> int:
        """The number of sharings, of ell bins each."""
        return -(-self.cap // (LOAD * self.plan.ell))

    @property
    def bins(self) -> int:
        """The number of bins. ell successive bins are shared together."""
        return self.groups * self.plan.ell

    @property
    def capacity(self) -> int:
        """How many IDs a bin's series determines."""
        return min(CAPACITY, self.cap)

    def places(self, tokens: Tokens) -> tuple[Ints, Elements]:
        """Bin and pole, 1 <= pole < p, of each token: two linear maps of (u, v), together invertible."""
        a, b, c, e = self._map
        poles = _combine(tokens, a, b)
        poles[poles == 0] = 1
        return _scale(_combine(tokens, c, e), self.bins), poles

    @cached_property
    def _map(self) -> list[int]:
        a, b, c, e = self.plan.public_elements("bins", self.stage, 4)
        if (a * e - b * c) % P == 0:
            raise AssertionError("a map of 2**61 is singular")
        return [a, b, c, e]


def _combine(tokens: Tokens, a: int, b: int) -> Elements:
    return add(multiply(tokens.u, np.uint64(a)), multiply(tokens.v, np.uint64(b)))


def _scale(x: Elements, size: int) -> Ints:
    """floor(size x / 2**61), by the top 32 bits of x; size < 2**31."""
    return (((x >> np.uint64(29)) * np.uint64(size)) >> np.uint64(32)).astype(np.int64)
