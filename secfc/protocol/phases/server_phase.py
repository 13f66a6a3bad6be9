"""What the phases of the server have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from secfc.codes import Code
from secfc.errors import TooManyFaultsError
from secfc.kernels import Choose
from secfc.kmeans.search import LabelResult, Search
from secfc.params import Job
from secfc.protocol.checks import UNION_IS_OPEN
from secfc.protocol.gathering import Gathering
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import Message, Phase
from secfc.protocol.progress import Progress
from secfc.protocol.states import State
from secfc.protocol.unread import Pair
from secfc.protocol.withholding import Carried
from secfc.randomness import MaskSource
from secfc.row_layout import Layout
from secfc.sealing.handshake import Session


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServerContext:
    """What a server was given, as `secfc.protocol.server.Server` says, and the clients as it goes on."""

    job: Job
    session: Session
    secret: MaskSource
    prepares: bool
    salt: bytes | None
    kernels: Choose
    search: Callable[..., Search]
    gathering: Gathering


@dataclass(frozen=True, kw_only=True, eq=False)
class Shared:
    """What is known once rows were shared."""

    planned: Layout  # with the rows of clients that were left out
    cheats: tuple[int, ...]  # clients that lied about shares
    unread: tuple[Pair, ...]


class ServerPhase(ABC):
    """A phase of the server; outcome and `found` are as `secfc.protocol.server.Server` has them.

    `planned` rows, once they are known, include those of clients that are left out later; `layout` does not.
    """

    unread: tuple[Pair, ...] = ()  # in which nobody can tell who lies
    _cheats: tuple[int, ...] = ()
    outcome: LabelResult | None = None
    found: Sequence[LabelResult] = ()

    def __init__(
        self, context: ServerContext, introductions: Introductions, *, planned: Layout | None = None
    ) -> None:
        self.context, self.introductions, self.planned = context, introductions, planned
        self.layout = planned or Layout((0,) * context.job.n)

    @property
    @abstractmethod
    def state(self) -> State:
        """What tells which messages it takes."""

    @property
    @abstractmethod
    def awaited(self) -> tuple[int, ...]:
        """Clients whose message could let the server go on."""

    @abstractmethod
    def step(self, message: Message) -> "ServerStep":
        """Take a message that its state allows; as `secfc.protocol.server.Server.receive` raises."""

    @abstractmethod
    def absent(self, client: int) -> "ServerStep":
        """Wait for a client no longer; as `secfc.protocol.server.Server.absent` raises."""

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """Whom to count as absent when all that are awaited had the time to answer."""
        return self.awaited

    @property
    def counted_from(self) -> int:
        """The round from which on `overdue` is told what was carried."""
        return 0

    @property
    def cheats(self) -> tuple[int, ...]:
        """Clients that lied about shares."""
        return self._cheats

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        return Progress(
            phase=cast(Phase, self.state.value),
            waiting_for=len(self.awaited),
            round=0,
            iteration=0,
            moved=0,
            inertia=None,
        )

    def check(self, layout: Layout) -> None:
        """Raise ParameterError unless the job can be run on any sets of these rows."""
        layout.check(self.context.job)
        if self.context.job.init == "labels":
            self.context.job.check_start(self.introductions.start(layout))

    def leave_out(self, clients: Mapping[int, str]) -> None:
        """Go on without the rows of some clients, for a reason each.

        TooManyFaultsError when the run cannot do without one of them, or too few are left, to answer or to
        compare.
        """
        for client, reason in clients.items():
            self._check_dispensable(client, reason)
        self.context.gathering.leave_out(clients)
        self.context.gathering.require_named()

    def _check_dispensable(self, client: int, reason: str) -> None:
        job = self.context.job
        if self.context.prepares:
            # Others wait for it before means and deviations are open. Afterwards centres, spreads or the
            # inertia of the others would tell its values by difference.
            raise TooManyFaultsError(
                f"client {client}: {reason}; means and deviations are of all {job.n} parties' values, so "
                "nobody can be left out"
            )
        if job.predict:
            raise TooManyFaultsError(
                f"client {client}: {reason}; a prediction leaves nobody out, for the centres are means of "
                f"everybody's rows"
            )
        if job.ids_cap is None:
            return
        text = (
            f"client {client} is absent before all rows were shared; with membership privacy nobody can "
            f"be left out, for every client holds a part of every row"
        )
        if self.state is State.IDENTIFY:
            raise TooManyFaultsError(text, clients=[client])
        raise TooManyFaultsError(text + UNION_IS_OPEN, code=Code.UNION_OPENED, clients=[client])


ServerStep = tuple[ServerPhase, list[Message]]
"""The phase that follows, itself or the next, and the messages caused."""
