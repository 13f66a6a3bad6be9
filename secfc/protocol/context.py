"""What parties bring to a run: a client's arguments, deposits that it holds, and memory for shares."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from secfc.crypto.handshake import Introduction, Session
from secfc.crypto.identity import Identity
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError
from secfc.field.array_types import Floats, Ints, Labels, Shares
from secfc.field.packing import PackedResidues
from secfc.kernels import Choose
from secfc.protocol.job.cases import Deposited, Predict, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.limits import Limits

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

    def refuse_without(self, kind: str, client: int) -> None:
        """Raise MessageError if the run needs this client, which a message of type `kind` leaves out."""
        if self.prepared:
            raise MessageError(
                f"{kind}: without client {client}, whose values are in the means and deviations that were "
                "opened"
            )
        if isinstance(self.job.method, Predict):
            raise MessageError(f"{kind}: without client {client}, whom a prediction cannot do without")
        if isinstance(self.job.rows, Union):
            raise MessageError(f"{kind}: without client {client}, whom membership privacy cannot leave out")


def check_told(job: Job, party: int, one: Introduction, *, kind: str) -> None:
    """Raise MessageError if an introduction tells of rows that its party has not, or is to hide."""
    if party > job.n and one.tells_of_rows:
        raise MessageError(f"{kind}: helper {party} has rows")
    if isinstance(job.rows, Union) and one.rows:
        raise MessageError(f"{kind}: client {party} tells a number of rows, which membership privacy hides")
    if isinstance(job.rows, Deposited) and one.rows:
        raise MessageError(f"{kind}: client {party} has rows, where owners deposit them")
