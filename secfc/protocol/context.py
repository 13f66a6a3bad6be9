"""What all phases need: what a client was given, whom it met, and how shares are cut and signed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from secfc.array_types import Ints, Labels, Shares
from secfc.errors import MessageError
from secfc.field.primes import primes_of
from secfc.kernels import Choose
from secfc.limits import Limits
from secfc.params import Job
from secfc.randomness import MaskSource
from secfc.row_layout import Layout, Parts
from secfc.sealing.channel import Channel
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity

if TYPE_CHECKING:  # deposits are checked as shares are that clients deal
    from secfc.kmeans.coded_distance import CodedPoints

Allocate = Callable[[tuple[int, ...]], Shares]


def in_memory(shape: tuple[int, ...]) -> Shares:
    """An uninitialised float32 array."""
    return np.empty(shape, dtype=np.float32)


class Deposited(Protocol):
    """What a member of a committee holds of owners' rows, as `secfc.protocol.deposits.Intake` does."""

    def keep(self, job: Job) -> None:
        """Forget all but the deposits of a job; ParameterError unless they are as the job says."""

    def store(self, points: "CodedPoints", primes: int) -> int:
        """Move the shares to a client's points."""

    def seal_labels(self, labels: Labels) -> bytes:
        """Of each owner the labels of its rows, sealed to it, one behind the other."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClientContext:
    """What a client was given but its rows, as `secfc.protocol.client.Client` says."""

    number: int
    job: Job
    session: Session
    identity: Identity
    masks: MaskSource
    limits: Limits
    start: Labels | None
    weights: Ints | None
    prepared: bool
    salt: bytes | None
    name: str
    allocate: Allocate
    kernels: Choose
    deposits: Deposited | None

    def refuse_without(self, kind: str, client: int) -> None:
        """Raise MessageError when a message of a type leaves out a client that no run of this job can."""
        if self.prepared:
            raise MessageError(
                f"{kind}: without client {client}, whose values are in the means and deviations that were "
                "opened"
            )
        if self.job.predict:
            raise MessageError(f"{kind}: without client {client}, whom a prediction cannot do without")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Peers:
    """The other parties, as the plan introduced them."""

    channels: dict[int, Channel]  # to every other client with whom the run began
    helpers: dict[int, Channel]  # to every other helper
    transcript: bytes  # of the handshake
    starts: list[bytes | None]  # digests of start labels, signed; None if the run did not begin with a client
    coin: bytes = field(repr=False)  # this one's value
    commitments: dict[int, bytes]  # of all parties to theirs
    checks: list[bytes] = field(repr=False)  # this one's values of checks of shares
    checked: dict[int, bytes]  # commitments of all parties to their first ones
    quorum: int  # clients that must have the same challenge, or result, before this one acts on it

    @cached_property
    def all_channels(self) -> dict[int, Channel]:
        """To every other client and helper."""
        return self.channels | self.helpers if self.helpers else self.channels

    @property
    def left_out(self) -> set[int]:
        """Clients with whom the run did not begin."""
        return {j for j, start in enumerate(self.starts, 1) if start is None}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SharePlan:
    """How a run's shares are cut and signed, as the server and all clients know; of all planned rows."""

    job: Job
    session: Session
    transcript: bytes
    layout: Layout

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """That residues of shares are of."""
        return primes_of(self.job.residues(self.layout.weight))

    @cached_property
    def parts(self) -> Parts:
        """That shares are cut in."""
        return self.layout.parts(self.job)
