"""What all phases need: a client's arguments, the other parties, and how shares are cut and signed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from secfc.crypto.channel import Channels
from secfc.crypto.handshake import Session
from secfc.crypto.identity import Identity
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError
from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.packing import PackedResidues
from secfc.kernels import Choose
from secfc.protocol.job.cases import Deposited, Predict
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.row_layout import Layout

Allocate = Callable[[tuple[int, ...]], Shares]


def in_memory(shape: tuple[int, ...]) -> Shares:
    """An uninitialised float32 array."""
    return np.empty(shape, dtype=np.float32)


class HeldDeposits(Protocol):
    """The deposits that a member of a committee holds: an interface of `secfc.sharing.deposits.Intake`."""

    def keep(self, named: Deposited) -> None:
        """Keep only the deposits of a job. ParameterError unless they are those that the job names."""

    def store(self, keep: Callable[[PackedResidues, int], None], primes: int) -> int:
        """Give the shares, modulo the first `primes`, to `keep`, with the number of their first row."""

    def seal_labels(self, shares: Floats) -> bytes:
        """Shares, shape (k, m), of the labels of each owner's rows, sealed to that owner, concatenated."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClientContext:
    """The arguments of `secfc.protocol.client.Client`, without the rows."""

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
    names: Sequence[str]  # of all parties; empty: their numbers
    allocate: Allocate
    kernels: Choose
    deposits: HeldDeposits | None
    repeats: bool

    @property
    def told_start(self) -> Labels | None:
        """What everybody is told of its start labels (`Job.told_start`)."""
        return None if self.start is None else self.job.told_start(self.start)

    def check_shares(self, layout: Layout) -> None:
        """Raise LimitError if a party has a larger share of these rows than the limits allow."""
        names = () if layout.deposited else self.names
        self.limits.check_shares(self.job, layout, name=self.name, names=names)

    def refuse_without(self, kind: str, client: int) -> None:
        """Raise MessageError if the run needs this client, which a message of type `kind` leaves out."""
        if self.prepared:
            raise MessageError(
                f"{kind}: without client {client}, whose values are in the means and deviations that were "
                "opened"
            )
        if isinstance(self.job.method, Predict):
            raise MessageError(f"{kind}: without client {client}, whom a prediction cannot do without")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Peers:
    """The other parties in the plan, and this party's secret values."""

    channels: Channels  # to every other client with whom the run began
    all_channels: Channels  # to every other client and helper
    transcript: bytes  # of the handshake
    left_out: frozenset[int]  # clients that are not in the plan
    coin: bytes = field(repr=False)  # this party's value
    commitments: dict[int, bytes]  # of all parties to their values of the coin
    smallest: int  # fewest rows in a set that all consent to open, or to predict with
