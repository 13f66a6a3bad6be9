"""What every party agrees on before a union, and the tables that follow from it."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from secfc.array_types import Ints
from secfc.errors import ParameterError
from secfc.options import MAX_ROWS
from secfc.params import Job
from secfc.psu.prime import Elements, P, add, multiply
from secfc.psu.tokens import SALT_BYTES, Tokens

PART_BYTES = 1 << 20
"""What a client sends to another at a time, about."""

LOAD = 16
"""IDs of a bin, on average. More make fewer values to share and more work for the roots: measured with
8, 16 and 32 (docs/decisions/010-private-set-union.md)."""

CAPACITY = 24
"""IDs that a bin's series determines; at the load above 2.2 % of full bins hold more and are dealt anew."""

TABLES = 8
"""Tables of an attempt; each is for the overfull bins of the one before, about a fortieth of it."""

SMALL_TABLE = 2048
"""IDs up to which a later table may be as large as the one before it; a larger one has half at most."""

ATTEMPTS = 2
"""A check that fails is repeated once on a fresh table, so that two IDs of one place raise no false alarm."""


def salt_of(transcript: bytes) -> bytes:
    """The salt of a run, from the digest of all clients' introductions (`secfc.sealing.handshake`).

    Every client's fresh key is in it: nobody who lacks one honest client's key of another run can repeat that
    run's salt, whatever identifier the coordinator gives a run.
    """
    return hashlib.sha256(b"secfc union salt 1" + transcript).digest()[:SALT_BYTES]


@dataclass(frozen=True, kw_only=True)
class UnionPlan:
    """Public parameters of a union; n, t and ell are those of `secfc.params.Job`.

    Up to `cap` IDs of all clients together: what is sent depends on it and not on how many each holds. The
    salt, 16 bytes, is different for every run (`salt_of`).
    """

    n: int
    t: int
    ell: int
    cap: int
    salt: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.cap, bool) or not isinstance(self.cap, int):
            raise ParameterError(f"ids_cap: an integer is needed, {type(self.cap).__name__} was given")
        if not 1 <= self.cap <= MAX_ROWS:
            raise ParameterError(f"ids_cap: 1 to {MAX_ROWS} IDs are possible, {self.cap} was given")
        if not isinstance(self.salt, bytes) or len(self.salt) != SALT_BYTES:
            raise ParameterError(f"salt: {SALT_BYTES} bytes are needed")

    @classmethod
    def of(cls, job: Job, salt: bytes) -> "UnionPlan":
        """The plan of a run of a job with membership privacy."""
        assert job.ids_cap is not None
        return cls(n=job.n, t=job.t, ell=job.ell, cap=job.ids_cap, salt=salt)

    def public_elements(self, purpose: str, stage: int, count: int) -> list[int]:
        """Public elements that nobody chose: SHA-512 of the salt, the stage and a purpose."""
        return [
            int.from_bytes(hashlib.sha512(f"secfc {purpose} {stage} {i} ".encode() + self.salt).digest()) % P
            for i in range(count)
        ]

    def table(self, stage: int, cap: int) -> "UnionTable":
        """The table of this stage for this many IDs."""
        return UnionTable(plan=self, stage=stage, cap=cap)


@dataclass(frozen=True, kw_only=True)
class UnionTable:
    """Bins of one stage for up to `cap` IDs, and where a token falls: in a bin, at a *pole*.

    Tables of different stages hash independently.
    """

    plan: UnionPlan
    stage: int
    cap: int

    @property
    def groups(self) -> int:
        """Sharings of ell bins each."""
        return -(-self.cap // (LOAD * self.plan.ell))

    @property
    def bins(self) -> int:
        """Bins; ell successive ones are shared together."""
        return self.groups * self.plan.ell

    @property
    def capacity(self) -> int:
        """IDs that a bin's series determines."""
        return min(CAPACITY, self.cap)

    def places(self, tokens: Tokens) -> tuple[Ints, Elements]:
        """Bin and pole, 1 <= pole < p, of each token: two linear maps of (u, v), invertible together."""
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
