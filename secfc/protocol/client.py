"""A client: shares its rows, then answers each assignment with coded distances."""

from collections.abc import Callable

import numpy as np

from secfc._arrays import Floats, Ints, Labels, Shares
from secfc.errors import LimitError, MessageError, ParameterError, SealError
from secfc.field.packing import PackedResidues, packed_bytes
from secfc.kernels import Kernels, choose
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.search import set_sizes
from secfc.lagrange.sharer import Sharer
from secfc.lagrange.summing import SummedParts
from secfc.params import WINDOW, Job, Layout, Limits, Parts, most_share_bytes, primes_of
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Continue,
    Finish,
    Hello,
    Message,
    Plan,
    Ready,
    Share,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionVerdict,
)
from secfc.protocol.own_rows import OwnRows
from secfc.protocol.states import State, check_envelope
from secfc.protocol.union import ClientUnion, EarlyDeals, check_tokens
from secfc.psu.tokens import Tokens
from secfc.randomness import MaskSource
from secfc.rows import check_labels, check_rows
from secfc.sealing.channel import TAG_BYTES, Channel
from secfc.sealing.handshake import Handshake, Session, start_digest
from secfc.sealing.identity import Identity

Allocate = Callable[[tuple[int, ...]], Shares]


def in_memory(shape: tuple[int, ...]) -> Shares:
    """An uninitialised float32 array."""
    return np.empty(shape, dtype=np.float32)


class Client:
    """One party with rows.

    Parameters
    ----------
    number : int
        1 to n.
    rows : ndarray of shape (m_j, d), float64
        The party's own rows, m_j >= 0; dropped once they are shared.
    job : Job
    session : Session
    identity : Identity
        Whose public key the session's roster has at this number.
    masks : MaskSource
    limits : Limits, optional
    start : ndarray of shape (m_j,), integer, optional
        Start labels of its rows, when ``job.init`` is "labels".
    tokens : Tokens, optional
        Of its rows' IDs, with membership privacy.
    name : str, optional
        What errors call this party.
    allocate : callable
        Gives memory for shares: an uninitialised float32 array of a shape.

    Attributes
    ----------
    state : State
    labels : ndarray of shape (m_j,), int32, or None
        Of its own rows, once the run has ended.
    union_rows : ndarray of shape (m_j,), int64, or None
        With membership privacy, the numbers of its own rows in the union, once that is found.

    Raises
    ------
    DataError
        When its rows cannot be used.
    ParameterError
        When the roster has another key for it.
    """

    def __init__(
        self,
        *,
        number: int,
        rows: Floats,
        job: Job,
        session: Session,
        identity: Identity,
        masks: MaskSource,
        limits: Limits | None = None,
        start: Labels | None = None,
        tokens: Tokens | None = None,
        name: str | None = None,
        allocate: Allocate = in_memory,
    ) -> None:
        name = name or f"client {number}"
        check_rows(rows, name=name, d=job.d, bound=job.bound)
        if start is not None:
            check_labels(start, name=name, m=rows.shape[0], k=job.k)
        check_tokens(tokens, name=name, m=rows.shape[0], job=job)
        self.number = number
        self.state = State.IDENTIFY
        self.labels: Labels | None = None
        self.union_rows: Ints | None = None
        self._rows: Floats | None = rows
        self._m = rows.shape[0]
        self._start = start
        self._job, self._session, self._run, self._masks = job, session, session.run, masks
        self._handshake: Handshake | None = Handshake(
            session=session,
            number=number,
            identity=identity,
            rows=self._m if tokens is None else 0,
            start=start,
        )
        self._limits = limits or Limits()
        self._allocate = allocate
        self._tokens, self._early_deals = tokens, EarlyDeals()
        self._union: ClientUnion | None = None
        self._early: list[Share] = []  # parts that overtook the plan, at most WINDOW from each client
        self._received: dict[int, int] = {}  # parts kept, by sender
        self._shared = 0  # parts of the own rows that were shared
        self._announced = 0  # parts that everybody has sent
        self._round = 0
        self._sent = 0  # parts of this round's answer

    def __repr__(self) -> str:
        return f"Client(number={self.number}, state={self.state.value})"

    def start(self) -> list[Message]:
        """The first message: its introduction."""
        assert self._handshake is not None
        hello = Hello(
            run=self._run,
            sender=self.number,
            recipient=SERVER,
            agreement=self._session.agreement,
            introduction=self._handshake.introduction,
            start=self._start,
        )
        return [hello]

    def receive(self, message: Message) -> list[Message]:
        """Take a message, return those it causes.

        Raises
        ------
        MessageError
            The message is refused and the client is unchanged.
        LimitError
            The server asks for what this client's limits forbid.
        """
        check_envelope(message, run=self._run, me=self.number, n=self._job.n, state=self.state)
        match message:
            case Plan():
                return self._on_plan(message)
            case Share():
                return self._on_share(message)
            case UnionDeal():
                return self._on_deal(message)
            case UnionContinue():
                return self._in_union().on_continue(message)
            case UnionFound() | UnionVerdict():
                return self._on_end_of_stage(message)
            case Continue():
                return self._on_continue(message)
            case Assignment():
                return self._on_assignment(message)
            case Finish():
                return self._on_finish(message)
        raise AssertionError(type(message))

    def _on_plan(self, plan: Plan) -> list[Message]:
        assert self._handshake is not None
        channels = self._handshake.channels(plan.introductions)
        starts = [one.start for one in plan.introductions]
        if self._tokens is None:
            layout = Layout(tuple(one.rows for one in plan.introductions))
            return self._begin_sharing(layout, channels, starts)
        for j, one in enumerate(plan.introductions, 1):
            if one.rows:
                raise MessageError(f"Plan: client {j} tells a number of rows, which membership privacy hides")
        self._handshake, self._channels, self._starts = None, channels, starts
        self._union = ClientUnion(
            number=self.number,
            job=self._job,
            run=self._run,
            tokens=self._tokens,
            masks=self._masks,
            channels=channels,
            early=self._early_deals,
        )
        self.state = State.UNION
        return self._union.begin()

    def _in_union(self) -> ClientUnion:
        assert self._union is not None
        return self._union

    def _on_deal(self, message: UnionDeal) -> list[Message]:
        if self._tokens is None:
            raise MessageError(f"UnionDeal: from client {message.sender}, in a run without IDs")
        if self._union is None:
            self._early_deals.hold(message, me=self.number, stage=1)
            return []
        return self._union.on_deal(message)

    def _on_end_of_stage(self, message: UnionFound | UnionVerdict) -> list[Message]:
        union = self._in_union()
        messages = union.on_end_of_stage(message)
        if not union.role.finished:
            return messages
        self.union_rows = union.role.rows()
        self._union = self._tokens = None
        layout = Layout((union.role.m,) * self._job.n, common=True)
        return self._begin_sharing(layout, self._channels, self._starts)

    def _begin_sharing(
        self, layout: Layout, channels: dict[int, Channel], starts: list[bytes]
    ) -> list[Message]:
        try:
            layout.check(self._job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        primes, parts = primes_of(self._job.residues(layout.m)), layout.parts(self._job)
        kernels = choose(layout.answer_residues(self._job))
        early = [(held, self._open(held, channels, parts, primes, kernels)) for held in self._early]
        self._handshake, self._channels = None, channels  # the ephemeral key has done its work
        self._starts = starts
        self._layout, self._parts, self._primes, self._kernels = layout, parts, primes, kernels
        assert self._rows is not None
        own = layout.rows(self.number) if self.union_rows is None else self.union_rows
        self._own, self._rows = OwnRows(self._rows, own), None
        self._sharer = Sharer(job=self._job, primes=primes, masks=self._masks, kernels=self._kernels)
        self._points = CodedPoints(
            shares=self._allocate((len(primes), self._job.width + 1, layout.m)),
            primes=primes,
            k=self._job.k,
            kernels=self._kernels,
        )
        self._keeper = SummedParts(
            keep=self._points.store,
            clients=self._job.n if layout.common else 1,
            primes=primes,
            kernels=kernels,
        )
        self._received = dict.fromkeys((j for j in range(1, self._job.n + 1) if j != self.number), 0)
        # Clients with fewer rows than others send fewer parts.
        sent = [-(-count // parts.share) for j, count in enumerate(layout.counts, 1) if j != self.number]
        self._missing = [sum(count > part for count in sent) for part in range(parts.shares)]
        self.state = State.SHARE
        messages: list[Message] = []
        for part in range(min(WINDOW, parts.shares)):
            messages += self._share_part(part)
        self._early = []
        for held, residues in early:
            messages += self._keep(held, residues)
        return messages

    def _share_part(self, part: int) -> list[Message]:
        """Encode a part of the own rows; keep the own share, send the others theirs."""
        rows = self._parts.share_rows(self.number, part)
        packed = dict(enumerate(self._sharer.share(self._own.block(rows)), 1))
        self._keeper.store(packed.pop(self.number), part, rows.start)
        self._shared += 1
        if self._shared == self._parts.shares:
            self._own.forget()
        shares: list[Message] = []
        for j in self._received if rows.stop > rows.start else ():
            sealed = self._channels[j].seal(Share.__name__, part=part, payload=packed.pop(j).payload)
            shares.append(Share(run=self._run, sender=self.number, recipient=j, part=part, sealed=sealed))
        return shares + self._ready()

    def _on_share(self, message: Share) -> list[Message]:
        if message.sender == self.number:
            raise MessageError(f"Share: from client {message.sender} itself")
        if self.state in {State.IDENTIFY, State.UNION}:
            known = sum(held.sender == message.sender for held in self._early)
            if message.part != known or known == WINDOW:
                raise MessageError(f"Share: part {message.part} from client {message.sender} out of turn")
            if len(message.sealed.payload) > most_share_bytes(self._job) + TAG_BYTES:
                raise MessageError(
                    f"Share: {len(message.sealed.payload)} sealed bytes from client {message.sender}, "
                    f"no part has more than {most_share_bytes(self._job) + TAG_BYTES}"
                )
            self._early.append(message)
            return []
        if message.part != self._received[message.sender]:
            raise MessageError(
                f"Share: part {message.part} from client {message.sender}, expected part "
                f"{self._received[message.sender]}"
            )
        residues = self._open(message, self._channels, self._parts, self._primes, self._kernels)
        return self._keep(message, residues)

    def _open(
        self,
        message: Share,
        channels: dict[int, Channel],
        parts: Parts,
        primes: tuple[int, ...],
        kernels: Kernels,
    ) -> PackedResidues:
        """The residues of a share, or an error and no trace of them."""
        rows = parts.share_rows(message.sender, message.part)
        if rows.stop == rows.start:
            raise MessageError(
                f"Share: part {message.part} from client {message.sender}, which has no rows for it"
            )
        shape = (len(primes), self._job.width, rows.stop - rows.start)
        size, expected = len(message.sealed.payload), packed_bytes(shape) + TAG_BYTES
        if size != expected:
            raise MessageError(
                f"Share: {size} sealed bytes from client {message.sender}, shape {shape} takes {expected}"
            )
        channel = channels[message.sender]
        payload = channel.open(Share.__name__, part=message.part, sealed=message.sealed.payload)
        residues = PackedResidues(shape=shape, payload=payload)
        for plane, p in zip(residues.planes(), primes, strict=True):
            if not kernels.below(plane.reshape(-1), p):
                raise MessageError(
                    f"Share: a residue from client {message.sender} is not below its prime {p}"
                )
        return residues

    def _keep(self, message: Share, residues: PackedResidues) -> list[Message]:
        start = self._parts.share_rows(message.sender, message.part).start
        self._keeper.store(residues, message.part, start)
        self._received[message.sender] += 1
        self._missing[message.part] -= 1
        return self._ready()

    def _ready(self) -> list[Message]:
        """Say so for each part that has come from every other client and been sent to them."""
        messages: list[Message] = []
        while self._announced < self._parts.shares and self._holds(self._announced):
            messages.append(Ready(run=self._run, sender=self.number, recipient=SERVER, part=self._announced))
            self._announced += 1
        if self._announced == self._parts.shares:
            self.state = State.ITERATE
        return messages

    def _holds(self, part: int) -> bool:
        return self._shared > part and self._missing[part] == 0

    def _on_continue(self, message: Continue) -> list[Message]:
        following = self._shared if self.state is State.SHARE else self._sent
        if message.round != self._round or message.part != following:
            raise MessageError(
                f"Continue: part {message.part} of round {message.round}, part {following} of round "
                f"{self._round} is next"
            )
        if self.state is State.SHARE:
            if message.part >= self._parts.shares:
                raise MessageError(f"Continue: part {message.part}, there are {self._parts.shares}")
            return self._share_part(message.part)
        if self._round == 0 or message.part >= self._parts.answers:
            raise MessageError(f"Continue: part {message.part}, there are {self._parts.answers}")
        return self._answer_part(message.part)

    def _on_assignment(self, message: Assignment) -> list[Message]:
        if message.round != self._round + 1:
            raise MessageError(f"Assignment: round {message.round} after round {self._round}")
        if self._round and self._sent < self._parts.answers:
            raise MessageError(
                f"Assignment: round {message.round} before part {self._sent} of round {self._round}"
            )
        if message.sets.size != self._layout.m:
            raise MessageError(f"Assignment: of {message.sets.size} rows, the parties hold {self._layout.m}")
        sizes = set_sizes(message.sets, self._job.k)
        largest = int(sizes.max())
        if largest == 0:
            raise MessageError("Assignment: every set is empty")
        if message.round == 1 and self._job.init == "labels":
            self._check_start(message)
        self._enforce(int(sizes[sizes > 0].min()), message.round)
        self._round, self._sent = message.round, 0
        self._points.ask(message.sets, sizes, self._job.residues(largest))
        messages: list[Message] = []
        for part in range(min(WINDOW, self._parts.answers)):
            messages += self._answer_part(part)
        return messages

    def _check_start(self, message: Assignment) -> None:
        """The first sets are the start labels that each client has signed."""
        for j, start in enumerate(self._starts, 1):
            if start_digest(message.sets[self._layout.rows(j)]) != start:
                raise SealError(f"Assignment: round 1 has not the start labels that client {j} signed")

    def _answer_part(self, part: int) -> list[Message]:
        self._sent += 1
        rows = self._parts.answer_rows(part)
        return [
            CodedDistances(
                run=self._run,
                sender=self.number,
                recipient=SERVER,
                round=self._round,
                part=part,
                residues=self._points.answer(rows.start, rows.stop),
            )
        ]

    def _enforce(self, smallest: int, round_: int) -> None:
        if smallest < self._limits.smallest_set:
            raise LimitError(
                f"client {self.number} answers for sets of at least {self._limits.smallest_set} rows, "
                f"round {round_} has one of {smallest}"
            )
        most = min(self._limits.most_rounds or self._job.max_rounds, self._job.max_rounds)
        if round_ > most:
            raise LimitError(
                f"client {self.number} answers {most} rounds, the server asks for round {round_}"
            )

    def _on_finish(self, message: Finish) -> list[Message]:
        if message.labels.size != self._layout.m:
            raise MessageError(
                f"Finish: labels of {message.labels.size} rows, the parties hold {self._layout.m}"
            )
        if message.labels.min() < 0:
            raise MessageError("Finish: a row has no label")
        self.labels = self._own.labels(message.labels)
        self.state = State.DONE
        return []
