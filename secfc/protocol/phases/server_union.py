"""The phase *union* of the server. It turns messages into calls of `secfc.psu`."""

from secfc.errors import MessageError
from secfc.protocol.introductions import Introductions
from secfc.protocol.job.row_layout import WINDOW, Layout
from secfc.protocol.messages import Message, UnionContinue, UnionFound, UnionOpening, UnionVerdict
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep
from secfc.protocol.phases.server_program import ServerProgram
from secfc.protocol.states import State
from secfc.psu.plan import salt_of
from secfc.psu.roles import UnionServer


class ServerUnion(ServerPhase):
    """From the plan to the union."""

    state = State.UNION

    def __init__(self, context: ServerContext, introductions: Introductions) -> None:
        super().__init__(context, introductions)
        salt = context.salt or salt_of(introductions.transcript)
        self.role = UnionServer(context.job.union_plan(salt), context.kernels(0).threads)

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose share of the next part is missing. The cause may be other clients' missing deals."""
        return self.role.missing

    def absent(self, client: int) -> ServerStep:
        """Raise TooManyFaultsError, because a union needs every client."""
        self.leave_out({client: "absent"})
        return self, []

    def step(self, message: Message) -> ServerStep:
        """Take a share. The last of a part asks for another or ends the stage. UnionError if it cannot."""
        assert isinstance(message, UnionOpening)
        messages = self._opened(message)
        if not self.role.finished:
            return self, messages
        layout = Layout((self.role.m,) * self.context.job.n, common=True)
        program = ServerProgram(self.context, self.introductions, layout)
        return program, [*messages, *program.first()]

    def _opened(self, message: UnionOpening) -> list[Message]:
        stage, run = self.role.stage, self.context.session.run
        if message.round != stage:
            raise MessageError(
                f"UnionOpening: of stage {message.round} from client {message.sender}, the union is in "
                f"stage {stage}"
            )
        opened, clients = self.role.opened, range(1, self.context.job.n + 1)
        self.role.take(message.sender, message.part, message.values)
        if self.role.opened == opened:
            return []
        if not self.role.complete:
            part = opened + WINDOW
            return [
                UnionContinue(run=run, recipient=j, round=stage, part=part)
                for j in clients
                if part < self.role.parts
            ]
        said = self.role.conclude()
        if isinstance(said, bool):
            return [UnionVerdict(run=run, recipient=j, round=stage, unique=said) for j in clients]
        return [UnionFound(run=run, recipient=j, round=stage, found=said) for j in clients]
