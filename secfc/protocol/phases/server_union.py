"""The phase *union* of the server, between messages and `secfc.psu`."""

from secfc.errors import MessageError
from secfc.params import Job
from secfc.protocol.messages import (
    SERVER,
    Message,
    UnionContinue,
    UnionFound,
    UnionOpening,
    UnionVerdict,
)
from secfc.psu.plan import UnionPlan
from secfc.psu.roles import UnionServer
from secfc.row_layout import WINDOW


class ServerUnion:
    """The server's part in the union."""

    def __init__(self, *, job: Job, run: bytes, salt: bytes) -> None:
        self.role = UnionServer(UnionPlan.of(job, salt))
        self._run, self._n = run, job.n

    def on_opening(self, message: UnionOpening) -> list[Message]:
        """Take a client's share; the last one of a part asks for another part or ends the stage.

        Raises
        ------
        UnionError
            The union cannot be made, or an ID is held twice.
        """
        stage = self.role.stage
        if message.round != stage:
            raise MessageError(
                f"UnionOpening: of stage {message.round} from client {message.sender}, the union is in "
                f"stage {stage}"
            )
        opened = self.role.opened
        self.role.take(message.sender, message.part, message.values)
        if self.role.opened == opened:
            return []
        if not self.role.complete:
            following = opened + WINDOW
            return [
                UnionContinue(run=self._run, sender=SERVER, recipient=j, round=stage, part=following)
                for j in range(1, self._n + 1)
                if following < self.role.parts
            ]
        said = self.role.conclude()
        clients = range(1, self._n + 1)
        if isinstance(said, bool):
            return [
                UnionVerdict(run=self._run, sender=SERVER, recipient=j, round=stage, unique=said)
                for j in clients
            ]
        return [
            UnionFound(run=self._run, sender=SERVER, recipient=j, round=stage, found=said) for j in clients
        ]

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose share of the next part has not come, because of themselves or of others' deals."""
        return self.role.missing
