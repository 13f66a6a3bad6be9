"""What the phases of the server have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from secfc.crypto.handshake import Session
from secfc.crypto.randomness import MaskSource
from secfc.errors import TooManyFaultsError
from secfc.errors.codes import Code
from secfc.kernels import Choose
from secfc.kmeans.clustering import LabelResult
from secfc.protocol.gathering import Gathering
from secfc.protocol.introductions import Introductions
from secfc.protocol.job.cases import Predict, Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import Message, Phase
from secfc.protocol.program.located import Claim
from secfc.protocol.progress import Progress
from secfc.protocol.states import State
from secfc.protocol.withholding import Carried
from secfc.sharing.own_rows import UNION_IS_OPEN
from secfc.sharing.unread import Pair


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ServerContext:
    """The arguments of `secfc.protocol.server.Server`, and `gathering`, which counts who still takes part."""

    job: Job
    session: Session
    secret: MaskSource
    prepares: bool
    salt: bytes | None
    kernels: Choose
    gathering: Gathering


class ServerPhase(ABC):
    """A phase of the server. For `outcome` and `found` see `secfc.protocol.server.Server`.

    `planned` includes the rows of clients that are left out later, `layout` does not. `cheats`, `unread` and
    `claimed` are as in `secfc.protocol.progress.Faults`.
    """

    outcome: LabelResult | None = None
    found: Sequence[LabelResult] = ()
    cheats: tuple[int, ...] = ()
    unread: tuple[Pair, ...] = ()
    claimed: tuple[Claim, ...] = ()

    def __init__(
        self, context: ServerContext, introductions: Introductions, planned: Layout | None = None
    ) -> None:
        self.context, self.introductions, self.planned = context, introductions, planned
        nobody = Layout((0,) * context.job.n)
        self.layout = (planned or nobody).without(context.gathering.left_out)

    @property
    @abstractmethod
    def state(self) -> State:
        """The state, which decides which messages it takes."""

    @property
    @abstractmethod
    def awaited(self) -> tuple[int, ...]:
        """Clients whose message could let the server continue."""

    @abstractmethod
    def step(self, message: Message) -> "ServerStep":
        """Take a message that its state allows. Raises what `secfc.protocol.server.Server.receive` does."""

    @abstractmethod
    def absent(self, client: int) -> "ServerStep":
        """Stop waiting for a client. Raises what `secfc.protocol.server.Server.absent` does."""

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """Clients to count as absent once all awaited clients have had time to answer."""
        return self.awaited

    @property
    def liars(self) -> tuple[int, ...]:
        """Clients that sent a wrong answer."""
        return tuple(sorted(self.context.gathering.liars))

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        return Progress(phase=cast(Phase, self.state.value), waiting_for=len(self.awaited))

    def check(self, layout: Layout) -> None:
        """Raise ParameterError unless the job can be run on any sets of these rows."""
        layout.check(self.context.job)
        if self.context.job.method.init == "labels":
            self.context.job.check_start(self.introductions.start(layout))

    def leave_out(self, clients: Mapping[int, str]) -> None:
        """Continue without the rows of some clients. `clients` maps each to a reason.

        TooManyFaultsError when the run needs one of them, or too few are left to answer or to compare.
        """
        for client, reason in clients.items():
            self._check_dispensable(client, reason)
        self.context.gathering.leave_out(clients)
        self.context.gathering.require_comparers()

    def _check_dispensable(self, client: int, reason: str) -> None:
        job = self.context.job
        if self.context.prepares:
            # Before means and deviations are opened, the others wait for it. Afterwards centres, spreads or
            # the inertia of the others would reveal its values by difference.
            raise TooManyFaultsError(
                f"client {client}: {reason}; no party can be left out, because the opened means and "
                f"deviations include all {job.n} parties' values",
                clients=[client],
            )
        if isinstance(job.method, Predict):
            raise TooManyFaultsError(
                f"client {client}: {reason}; a prediction can leave no party out, because the centres "
                "are means of all parties' rows",
                clients=[client],
            )
        if not isinstance(job.rows, Union):
            return
        text = (
            f"client {client} is absent before all rows were shared; with membership privacy no client "
            "can be left out, because every client holds a part of every row"
        )
        if self.state is State.IDENTIFY:
            raise TooManyFaultsError(text, clients=[client])
        raise TooManyFaultsError(text + UNION_IS_OPEN, code=Code.UNION_OPENED, clients=[client])


ServerStep = tuple[ServerPhase, list[Message]]
"""The following phase (itself or the next one), and the messages to send."""
