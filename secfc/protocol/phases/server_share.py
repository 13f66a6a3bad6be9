"""The phases *share* and *check* of the server: clients share their rows, and the shares are checked."""

from collections.abc import Collection

from secfc.crypto.coin import COIN_BYTES
from secfc.errors import MessageError
from secfc.operations.ending.noise import noise_of
from secfc.protocol.choices import CheckValues
from secfc.protocol.context import SharePlan
from secfc.protocol.introductions import Introductions
from secfc.protocol.job.cases import LabelsOnly
from secfc.protocol.job.row_layout import WINDOW, Layout
from secfc.protocol.messages import Continue, Echo, Evidence, LeaveOut, Message, Ready, Report, Share
from secfc.protocol.phases.server_coin import ServerCoin
from secfc.protocol.phases.server_iterate import ServerIterate
from secfc.protocol.phases.server_labels import ServerLabels
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep, Shared
from secfc.protocol.states import State
from secfc.protocol.withholding import Carried
from secfc.sharing.dealing import check_after, covers_of
from secfc.sharing.share_checks import ShareChecks
from secfc.sharing.unread import apart, open_pairs


class ServerShare(ServerPhase):
    """Until all remaining clients hold all shares and none is disputed.

    With membership privacy `layout` is that of the union. By default it follows from the introductions.
    ParameterError when the rows do not fit the job.
    """

    state: State = State.SHARE  # then CHECK, if shares are checked

    def __init__(
        self, context: ServerContext, introductions: Introductions, layout: Layout | None = None
    ) -> None:
        super().__init__(context, introductions, Shared(planned=layout or introductions.layout()))
        self.check(self.layout)
        noise_of(self.context.job, self.layout)
        plan = SharePlan(
            job=context.job,
            session=context.session,
            transcript=introductions.transcript,
            layout=self.layout,
        )
        self._parts = plan.parts
        self.ready = dict.fromkeys(range(1, context.job.n + 1), 0)  # complete parts that each client holds
        planned = len(context.gathering.members)
        clients = range(1, context.job.n + 1)
        commitments = {j: introductions.checks(j) for j in clients if j not in context.gathering.left_out}
        self._values = CheckValues(context.job, context.session.run, commitments)
        self._said: dict[int, dict[int, bytes]] = {}  # values by check, then client
        self.checks = ShareChecks(plan, secret=context.secret, planned=planned)

    @property
    def cheats(self) -> tuple[int, ...]:
        """Clients that lied about shares."""
        return tuple(sorted(self.checks.convicted))

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients that are behind. The server asks for another part only when all hold the current one."""
        members, least = self.context.gathering.members, self._least_ready
        asked = self.checks.settled + WINDOW if self.checks.by_part else self._parts.shares
        behind = {j for j in members if self.ready[j] == least < min(asked, self._parts.shares)}
        return tuple(sorted(behind.union(self.checks.awaited(members))))

    def overdue(self, carried: Carried) -> tuple[int, ...]:
        """The clients that must act: those awaited, or instead the others that these wait for.

        A client waits for shares of its current part, and for the others' echoes before it reports. A client
        that has all these and does not report is at fault: a quorum of the remaining clients is honest
        (docs/faults.md, eq. 15'').
        """
        found = set[int]()
        for client in self.awaited:
            others = [j for j in self.context.gathering.members if j != client]
            part, withheld = self.ready[client], set[int]()
            if part < self._parts.shares:
                counts = () if self.layout.deposited else self.layout.counts
                dealers = [j for j in others if counts and counts[j - 1] > part * self._parts.share]
                withheld = {j for j in dealers if carried(Share.__name__, j, client) <= part}
            asked = 0 if withheld else self.checks.echoes_before_report(client)
            withheld |= {j for j in others if carried(Echo.__name__, j, client) < asked}
            found |= withheld or {client}
        return tuple(sorted(found))

    def step(self, message: Message) -> ServerStep:
        """Ask for the next part when all clients are ready. Compare reports. Then begin to iterate."""
        if isinstance(message, Ready):
            return self._on_ready(message)
        assert isinstance(message, Report | Evidence)
        before = self.checks.settled
        messages = self.checks.receive(message, self.context.gathering.members)
        for part in range(before, self.checks.settled):
            messages += self._continue(part + WINDOW)
        return self._checked(messages)

    def absent(self, client: int) -> ServerStep:
        """Leave it out for the rest of the run, with its rows."""
        gathering, before = self.context.gathering, self._least_ready
        self.leave_out({client: "absent"})
        messages = self._told([client])
        if self.state is State.CHECK:
            return self._checked(messages + self.checks.drop(client, gathering.members))
        return self._shared(before, messages)

    @property
    def _least_ready(self) -> int:
        return min(self.ready[j] for j in self.context.gathering.members)

    def _told(self, clients: Collection[int]) -> list[Message]:
        """Messages to all remaining clients, and to the clients left out, that say who is left out."""
        members, run = self.context.gathering.members, self.context.session.run
        return [
            LeaveOut(run=run, recipient=j, client=client)
            for client in clients
            for j in range(1, self.context.job.n + 1)
            if j in members or j == client
        ]

    def _on_ready(self, message: Ready) -> ServerStep:
        held = self.ready[message.sender]
        if message.part != held or message.part >= self._parts.shares:
            raise MessageError(
                f"Ready: part {message.part} from client {message.sender}, which is at part {held} of "
                f"{self._parts.shares}"
            )
        check = check_after(self.context.job, held, self._parts.shares) if self._values.told else None
        if len(message.value) != (0 if check is None else COIN_BYTES):
            raise MessageError(f"Ready: {len(message.value)} bytes of a value from client {message.sender}")
        if check is not None:
            self._values.check(message.sender, message.value)
            self._values.keep({message.sender: message.value})
            self._said.setdefault(check, {})[message.sender] = message.value
        before = self._least_ready
        self.ready[message.sender] += 1
        return self._shared(before, [])

    def _shared(self, before: int, messages: list[Message]) -> ServerStep:
        """Ask for the parts for which all clients are ready since `before`. Continue after the last part."""
        after = self._least_ready
        for part in range(before, after):
            if self.checks.by_part:
                messages += self.checks.begin_part(part, self._values_of(part))
            else:
                messages += self._continue(part + WINDOW)
        if after < self._parts.shares:
            return self, messages
        gathering = self.context.gathering
        if not covers_of(self.context.job):
            return self._begin(messages)
        self.state = State.CHECK
        if not self.checks.by_part:
            layout = self.layout.without(gathering.left_out)
            messages += self.checks.begin(layout, gathering.members, self._values_of(0))
        return self, messages

    def _values_of(self, check: int) -> bytes:
        """The clients' values for a check, zeros for clients left out. Empty where no values are sent."""
        told, members = self._said.pop(check, {}), self.context.gathering.members
        every = (told[j] if j in members else bytes(COIN_BYTES) for j in range(1, self.context.job.n + 1))
        return b"".join(every) if told else b""

    def _checked(self, messages: list[Message]) -> ServerStep:
        """When no share is disputed any more, continue without the clients that lied about shares."""
        if self.state is not State.CHECK or not self.checks.over:
            return self, messages
        gathering, convicted = self.context.gathering, self.checks.convicted
        if self.checks.by_part:
            for client, reason in convicted.items():
                gathering.exclude(client, reason)
        else:
            out = {j: reason for j, reason in convicted.items() if j in gathering.members}
            self.leave_out(out)
            messages += self._told(sorted(out))
        unread = open_pairs(self.checks.unread, gathering.left_out)
        self.unread = tuple(open_pairs(unread, convicted))
        pairs = apart(self.unread)
        gathering.silence({recipient for _, recipient in unread}.union(*pairs), len(pairs))
        return self._begin(messages)

    def _begin(self, messages: list[Message]) -> ServerStep:
        """All remaining clients hold all shares: ask the first question, or for values of the coin."""
        context, introductions = self.context, self.introductions
        shared = Shared(planned=self.planned, cheats=self.cheats, unread=self.unread)
        following: ServerIterate | ServerLabels | ServerCoin
        if not isinstance(context.job.disclosure, LabelsOnly):
            following = ServerIterate(context, introductions, shared)
        elif context.job.tosses:
            following = ServerCoin(context, introductions, shared)
        else:
            following = ServerLabels(context, introductions, shared, told={})
        return following, messages + following.ask()

    def _continue(self, part: int) -> list[Message]:
        run = self.context.session.run
        return [
            Continue(run=run, recipient=j, part=part)
            for j in self.context.gathering.members
            if part < self._parts.shares
        ]
