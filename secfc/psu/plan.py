"""What every party agrees on before a union, and the tables that follow from it."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import get_args

import numpy as np

from secfc._arrays import Ints
from secfc.errors import ParameterError
from secfc.options import MAX_ROWS, UnionMethod
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

SKETCHES = 3
"""Sketches of an attempt, all of one size: one cannot be peeled with a probability far below 1 %."""

SMALL_TABLE = 2048
"""IDs up to which a later table may be as large as the one before it; a larger one has half at most."""

ATTEMPTS = 2
"""A check that fails is repeated once on a fresh table, so that two IDs of one place raise no false alarm."""

CELLS = 0.45
SPARE_CELLS = 8
"""Cells of each third of a sketch for an ID, and some more: 1.35 in all, where peeling needs 1.222."""


def salt_of(transcript: bytes) -> bytes:
    """The salt of a run, from the digest of all clients' introductions (`secfc.sealing.handshake`).

    Every client's fresh key is in it: nobody who lacks one honest client's key of another run can repeat that
    run's salt, whatever identifier the coordinator gives a run.
    """
    return hashlib.sha256(b"secfc union salt 1" + transcript).digest()[:SALT_BYTES]


@dataclass(frozen=True, kw_only=True)
class UnionPlan:
    """Public parameters of a union.

    Parameters
    ----------
    n, t, ell : int
        As in `secfc.params.Job`.
    cap : int
        IDs of all clients together, at most. What is sent depends on it and not on how many each holds.
    salt : bytes of length 16
        Different for every run (`salt_of`).
    method : {"series", "sketch"}
    count_duplicates : bool
        Also find by how many the parties' IDs exceed the union.
    """

    n: int
    t: int
    ell: int
    cap: int
    salt: bytes = field(repr=False)
    method: UnionMethod = "series"
    count_duplicates: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.cap, bool) or not isinstance(self.cap, int):
            raise ParameterError(f"ids_cap: an integer is needed, {type(self.cap).__name__} was given")
        if not 1 <= self.cap <= MAX_ROWS:
            raise ParameterError(f"ids_cap: 1 to {MAX_ROWS} IDs are possible, {self.cap} was given")
        if self.method not in get_args(UnionMethod):
            allowed = ", ".join(map(repr, get_args(UnionMethod)))
            raise ParameterError(f"union: {allowed} are possible, {self.method!r} was given")
        if not isinstance(self.salt, bytes) or len(self.salt) != SALT_BYTES:
            raise ParameterError(f"salt: {SALT_BYTES} bytes are needed")

    @classmethod
    def of(cls, job: Job, salt: bytes) -> "UnionPlan":
        """The plan of a run of a job with membership privacy."""
        assert job.ids_cap is not None
        return cls(
            n=job.n,
            t=job.t,
            ell=job.ell,
            cap=job.ids_cap,
            salt=salt,
            method=job.union,
            count_duplicates=job.count_duplicates,
        )

    def public_elements(self, purpose: str, stage: int, count: int) -> list[int]:
        """Public elements that nobody chose: SHA-512 of the salt, the stage and a purpose."""
        return [
            int.from_bytes(hashlib.sha512(f"secfc {purpose} {stage} {i} ".encode() + self.salt).digest()) % P
            for i in range(count)
        ]

    def table(self, stage: int, cap: int) -> "Table":
        """The table of this stage for this many IDs."""
        return Table(plan=self, stage=stage, cap=cap)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Bins of one stage, and where a token falls: in a bin, at a *pole*, and for a sketch in three cells.

    Parameters
    ----------
    plan : UnionPlan
    stage : int
        Tables of different stages hash independently.
    cap : int
        IDs expected at most.
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

    @property
    def cells(self) -> int:
        """Cells of each third of a sketch."""
        ell = self.plan.ell
        return -(-(int(CELLS * self.cap) + SPARE_CELLS) // ell) * ell

    def places(self, tokens: Tokens) -> tuple[Ints, Elements]:
        """Bin and pole, 1 <= pole < p, of each token: two linear maps of (u, v), invertible together."""
        a, b, c, e = self._map
        poles = _combine(tokens, a, b)
        poles[poles == 0] = 1
        return _scale(_combine(tokens, c, e), self.bins), poles

    def cells_of(self, tokens: Tokens) -> Ints:
        """Cells of each token, one in each third; shape (3, m_j)."""
        coefficients = self.plan.public_elements("cells", self.stage, 6)
        return np.stack(
            [
                third * self.cells
                + _scale(_combine(tokens, *coefficients[2 * third : 2 * third + 2]), self.cells)
                for third in range(3)
            ]
        )

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
