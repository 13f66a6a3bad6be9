"""The phase *identify* of the server: it collects introductions and sends all of them to each party."""

from secfc.protocol.introductions import Introductions
from secfc.protocol.job.cases import Union
from secfc.protocol.messages import Hello, Message
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep
from secfc.protocol.phases.server_program import ServerProgram
from secfc.protocol.phases.server_union import ServerUnion
from secfc.protocol.states import State
from secfc.protocol.withholding import Carried, preparing_late


class ServerIdentify(ServerPhase):
    """Until every party that takes part has introduced itself."""

    state = State.IDENTIFY

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context, Introductions(context.job, context.session))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties that have not introduced themselves."""
        gathering = self.context.gathering
        there = [j for j in gathering.everybody if j not in gathering.absent]
        return tuple(j for j in there if j not in self.introductions)

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """While rows are prepared, the parties that must act."""
        if not self.context.prepares:
            return self.awaited
        return preparing_late(self.awaited, n=self.context.job.n, carried=carried)

    def step(self, message: Message) -> ServerStep:
        """Take an introduction. After the last one the plan is sent."""
        assert isinstance(message, Hello)
        self.introductions.take(message)
        return self._plan()

    def absent(self, client: int) -> ServerStep:
        """Leave it out of the plan."""
        if client <= self.context.job.n:
            self.leave_out({client: "absent"})
        self.introductions.drop(client)
        return self._plan()

    def _plan(self) -> ServerStep:
        if self.awaited:
            return self, []
        plans = self.introductions.plans()
        if isinstance(self.context.job.rows, Union):
            return ServerUnion(self.context, self.introductions), [*plans]
        program = ServerProgram(self.context, self.introductions)
        return program, [*plans, *program.first()]
