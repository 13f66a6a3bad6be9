"""A client: shares its rows, then answers each assignment with coded distances."""

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import numpy as np

from secfc._arrays import Floats, Ints, Labels, Shares
from secfc.errors import MessageError, ParameterError, SealError
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.kernels import choose
from secfc.kmeans.coded_distance import CodedPoints
from secfc.kmeans.sets import asked_about, set_sizes
from secfc.lagrange.sharer import Sharer
from secfc.lagrange.summing import SummedParts
from secfc.params import WINDOW, Job, Layout, Limits, most_share_bytes, primes_of
from secfc.protocol.dealing import cover_bytes, covers_of, dealers, report
from secfc.protocol.disclosure import Weights, question_digest
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    Challenge,
    CodedDistances,
    Continue,
    Finish,
    Hello,
    LeaveOut,
    Message,
    Plan,
    Ready,
    Report,
    Share,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionVerdict,
    Witness,
)
from secfc.protocol.opened import Dealt, open_share
from secfc.protocol.own_rows import OwnRows
from secfc.protocol.pairwise import PairwiseMasks
from secfc.protocol.states import State, check_envelope
from secfc.protocol.union import ClientUnion, EarlyDeals, check_tokens
from secfc.protocol.witness import END, Witnesses
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
        Of its own rows, once the run has ended; None when they were left out.
    union_rows : ndarray of shape (m_j,), int64, or None
        With membership privacy, the numbers of its own rows in the union, once that is found.

    Raises
    ------
    DataError
        When its rows cannot be used.
    ParameterError
        When the roster has another key for it.
    LimitError
        When the job's start asks for what its limits forbid.
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
        limits = limits or Limits()
        limits.check_start(job, name=name)
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
        self._limits, self._name = limits, name
        self._allocate = allocate
        self._tokens, self._early_deals = tokens, EarlyDeals()
        self._union: ClientUnion | None = None
        self._early: list[Share] = []  # parts that overtook the plan, at most WINDOW from each client
        self._received: dict[int, int] = {}  # parts kept, by sender
        self._left_out: set[int] = set()
        self._covers: dict[int, PackedResidues] = {}  # by dealer, until they are used
        self._checked = False
        self._shared = 0  # parts of the own rows that were shared
        self._announced = 0  # parts that everybody has sent
        self._round = 0
        self._sent = 0  # parts of this round's answer
        self._weights = Weights(job)
        self._pairwise: PairwiseMasks | None = None  # of this round
        self._witnesses = Witnesses(job, number)

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
        CheatError
            The server gave others something else.
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
            case Challenge():
                return self._on_challenge(message)
            case LeaveOut():
                return self._on_leave_out(message)
            case Continue():
                return self._on_continue(message)
            case Assignment():
                return self._on_assignment(message)
            case Witness():
                return self._on_witness(message)
            case Finish():
                return self._on_finish(message)
        raise AssertionError(type(message))

    def _on_plan(self, plan: Plan) -> list[Message]:
        assert self._handshake is not None
        channels = self._handshake.channels(plan.introductions)
        starts = [None if one is None else one.start for one in plan.introductions]
        self._left_out = {j for j, one in enumerate(plan.introductions, 1) if one is None}
        if self._tokens is None:
            layout = Layout(tuple(0 if one is None else one.rows for one in plan.introductions))
            return self._begin_sharing(layout, channels, starts)
        for j, one in enumerate(plan.introductions, 1):
            if one is None:
                raise MessageError(f"Plan: without client {j}, whom membership privacy cannot leave out")
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
        self, layout: Layout, channels: dict[int, Channel], starts: list[bytes | None]
    ) -> list[Message]:
        try:
            layout.check(self._job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        self._limits.check_start(self._job, name=self._name, m=layout.m)
        primes, parts = primes_of(self._job.residues(layout.m)), layout.parts(self._job)
        kernels = choose(layout.answer_residues(self._job))
        early: list[tuple[Share, Dealt]] = []
        for held in self._early:
            # What somebody else sent too early is no reason to refuse the plan: it counts as not sent.
            with suppress(MessageError):
                early.append(
                    (
                        held,
                        open_share(
                            held,
                            job=self._job,
                            channels=channels,
                            parts=parts,
                            primes=primes,
                            kernels=kernels,
                        ),
                    )
                )
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
        self._received = dict.fromkeys(channels, 0)
        # Clients with fewer rows than others send fewer parts.
        sent = [-(-count // parts.share) for j, count in enumerate(layout.counts, 1) if j != self.number]
        self._missing = [sum(count > part for count in sent) for part in range(parts.shares)]
        self.state = State.SHARE
        messages: list[Message] = []
        for part in range(min(WINDOW, parts.shares)):
            messages += self._share_part(part)
        self._early = []
        for held, dealt in early:
            if held.part == self._received[held.sender]:
                messages += self._keep(held, dealt)
        return messages

    def _share_part(self, part: int) -> list[Message]:
        """Encode a part of the own rows; keep the own share, send the others theirs."""
        rows = self._parts.share_rows(self.number, part)
        packed = dict(enumerate(self._sharer.share(self._own.block(rows)), 1))
        self._keeper.store(packed.pop(self.number), part, rows.start)
        covers: dict[int, PackedResidues] = {}
        if part == 0 and covers_of(self._job):
            covers = dict(enumerate(self._sharer.cover(covers_of(self._job)), 1))
            self._covers[self.number] = covers[self.number]
        self._shared += 1
        if self._shared == self._parts.shares:
            self._own.forget()
        shares: list[Message] = []
        for j in self._received if rows.stop > rows.start else ():
            payload = packed.pop(j).payload
            if covers:
                payload = b"".join((payload, covers[j].payload))
            sealed = self._channels[j].seal(Share.__name__, part=part, payload=payload)
            shares.append(Share(run=self._run, sender=self.number, recipient=j, part=part, sealed=sealed))
        return shares + self._ready()

    def _on_share(self, message: Share) -> list[Message]:
        if message.sender == self.number:
            raise MessageError(f"Share: from client {message.sender} itself")
        if self.state in {State.IDENTIFY, State.UNION}:
            known = sum(held.sender == message.sender for held in self._early)
            if message.part != known or known == WINDOW:
                raise MessageError(f"Share: part {message.part} from client {message.sender} out of turn")
            most = most_share_bytes(self._job) + cover_bytes(self._job, len(PRIMES)) + TAG_BYTES
            if len(message.sealed.payload) > most:
                raise MessageError(
                    f"Share: {len(message.sealed.payload)} sealed bytes from client {message.sender}, "
                    f"no part has more than {most}"
                )
            self._early.append(message)
            return []
        if message.sender in self._left_out:
            return []  # on its way when the sender was left out
        if message.part != self._received[message.sender]:
            raise MessageError(
                f"Share: part {message.part} from client {message.sender}, expected part "
                f"{self._received[message.sender]}"
            )
        dealt = open_share(
            message,
            job=self._job,
            channels=self._channels,
            parts=self._parts,
            primes=self._primes,
            kernels=self._kernels,
        )
        return self._keep(message, dealt)

    def _keep(self, message: Share, dealt: Dealt) -> list[Message]:
        start = self._parts.share_rows(message.sender, message.part).start
        self._keeper.store(dealt[0], message.part, start)
        if len(dealt) > 1:
            self._covers[message.sender] = dealt[1]
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

    def _on_challenge(self, message: Challenge) -> list[Message]:
        """Combine the shares of each dealer, once: a second combination would need other covers."""
        if self._round or self._checked or not covers_of(self._job):
            raise MessageError("Challenge: not before the first assignment, or a second one")
        self._checked = True
        residues = report(
            job=self._job,
            run=self._run,
            seed=message.seed,
            parts=self._parts,
            asked=dealers(self._remaining()),
            points=self._points,
            covers=self._covers,
            primes=self._primes,
        )
        self._covers = {}
        return [Report(run=self._run, sender=self.number, recipient=SERVER, residues=residues)]

    def _on_leave_out(self, message: LeaveOut) -> list[Message]:
        """Wait for a client's shares no longer; its rows are taken out before the first answer."""
        client = message.client
        if self._round:
            raise MessageError(f"LeaveOut: of client {client}, after round {self._round}")
        if self._layout.common:
            raise MessageError(f"LeaveOut: of client {client}, who holds a part of every row")
        if not 1 <= client <= self._job.n or client in self._left_out:
            raise MessageError(f"LeaveOut: of client {client}, which is not in")
        self._left_out.add(client)
        if client == self.number:
            self.state = State.DONE
            return []
        sent = -(-self._layout.counts[client - 1] // self._parts.share)
        for part in range(self._received.pop(client), sent):
            self._missing[part] -= 1
        return self._ready() if self.state is State.SHARE else []

    def _remaining(self) -> Layout:
        """The rows that are in."""
        counts = enumerate(self._layout.counts, 1)
        kept = tuple(0 if j in self._left_out else rows for j, rows in counts)
        return Layout(kept, common=self._layout.common)

    def _take_out(self) -> None:
        """Forget the rows of those who were left out, and number the others anew."""
        remaining = self._remaining()
        self._points.keep([self._layout.rows(j) for j, rows in enumerate(remaining.counts, 1) if rows])
        self._layout, self._parts = remaining, remaining.parts(self._job)

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
        # Rounds may be missed, and the rest of one left unanswered: the server went on without this client.
        if message.round <= self._round:
            raise MessageError(f"Assignment: round {message.round} after round {self._round}")
        remaining = self._remaining()
        if message.sets.size != remaining.m:
            raise MessageError(f"Assignment: of {message.sets.size} rows, the parties hold {remaining.m}")
        sizes = set_sizes(message.sets, self._job.k)
        largest = int(sizes.max())
        if largest == 0:
            raise MessageError("Assignment: every set is empty")
        if message.round == 1 and self._job.init == "labels":
            self._check_start(message, remaining)
        self._check_responders(message.responders)
        smallest = int(sizes[sizes > 0].min())
        self._limits.enforce(self._job, client=self.number, smallest=smallest, round_=message.round)
        if self._round == 0 and self._left_out:
            self._take_out()
        self._round, self._sent = message.round, 0
        self._prepare(message, sizes, self._job.residues(largest))
        digest = self._witnesses.assigned(message.round, message.sets, self._left_out)
        if self._job.comparison == "end":
            return self._answer() if self._sent == 0 else []
        messages = self._tell(message.round, digest)
        self._witnesses.settle(message.round)
        answers = self._sent == 0 and self._witnesses.confirmed(message.round)
        return messages + (self._answer() if answers else [])

    def _prepare(self, message: Assignment, sizes: Ints, residues: int) -> None:
        """Prepare to answer; a client that is not asked has nothing left to send."""
        factors = None
        if self._job.disclosure == "distances":
            if self.number not in message.responders:
                self._sent = self._parts.answers
                return
            factors = self._weights.of(message.responders)[:, message.responders.index(self.number)]
            self._pairwise = PairwiseMasks(
                me=self.number,
                responders=message.responders,
                t=self._job.t,
                channels=self._channels,
                question=question_digest(message.sets, message.responders),
                round_=message.round,
                primes=self._primes[:residues],
                kernels=self._kernels,
            )
        self._points.ask(message.sets, sizes[: asked_about(sizes)], residues, factors)

    def _check_responders(self, responders: tuple[int, ...]) -> None:
        """With fewer, or one twice, the sum would not be one of R answers, nor masked against t clients."""
        if self._job.disclosure == "coded":
            if responders:
                raise MessageError(f"Assignment: {len(responders)} responders, disclosure 'coded' names none")
            return
        ascending = all(a < b for a, b in pairwise(responders))
        if len(responders) != self._job.threshold or not ascending:
            raise MessageError(
                f"Assignment: {len(responders)} responders, {self._job.threshold} different ones in "
                f"ascending order are needed"
            )
        for j in responders:
            if j in self._left_out or j not in {self.number, *self._channels}:
                raise MessageError(f"Assignment: responder {j} is no client of this run")

    def _answer(self) -> list[Message]:
        """The first parts of this round's answer."""
        messages: list[Message] = []
        for part in range(min(WINDOW, self._parts.answers)):
            messages += self._answer_part(part)
        return messages

    def _tell(self, round_: int, payload: bytes) -> list[Message]:
        """Tell the other clients what the server gave this one."""
        return [
            Witness(
                run=self._run,
                sender=self.number,
                recipient=j,
                round=0 if round_ == END else round_,
                sealed=channel.seal(Witness.__name__, part=0, payload=payload, round_=round_),
            )
            for j, channel in self._channels.items()
            if j not in self._left_out
        ]

    def _on_witness(self, message: Witness) -> list[Message]:
        sender, sealed, round_ = message.sender, message.sealed.payload, message.round or END
        if sender == self.number or sender not in self._channels:
            raise MessageError(f"Witness: from client {sender}, which is no other client of this run")
        if len(sealed) > self._witnesses.most_bytes + TAG_BYTES:
            raise MessageError(f"Witness: {len(sealed)} sealed bytes from client {sender}")
        payload = self._channels[sender].open(Witness.__name__, part=0, sealed=sealed, round_=round_)
        self._witnesses.take(sender, round_, payload)
        if self.state is State.COMPARE and self._witnesses.confirmed(END):
            self.state = State.DONE
        waits = self.state is State.ITERATE and self._round > 0 and self._sent == 0
        return self._answer() if waits and self._witnesses.confirmed(self._round) else []

    def _check_start(self, message: Assignment, remaining: Layout) -> None:
        """The first sets are the start labels that each client has signed."""
        for j, start in enumerate(self._starts, 1):
            if j not in self._left_out and start_digest(message.sets[remaining.rows(j)]) != start:
                raise SealError(f"Assignment: round 1 has not the start labels that client {j} signed")

    def _answer_part(self, part: int) -> list[Message]:
        self._sent += 1
        rows = self._parts.answer_rows(part)
        residues = self._points.answer(rows.start, rows.stop)
        if self._pairwise is not None:
            self._pairwise.add(residues)
        return [
            CodedDistances(
                run=self._run,
                sender=self.number,
                recipient=SERVER,
                round=self._round,
                part=part,
                residues=residues,
            )
        ]

    def _on_finish(self, message: Finish) -> list[Message]:
        remaining = self._remaining()
        if message.labels.size != remaining.m:
            raise MessageError(
                f"Finish: labels of {message.labels.size} rows, the parties hold {remaining.m}"
            )
        if message.labels.min() < 0:
            raise MessageError("Finish: a row has no label")
        messages = self._tell(END, self._witnesses.finished(message))
        self._witnesses.settle(END)
        own = message.labels[remaining.rows(self.number)]
        self.labels = own if self._left_out else self._own.labels(message.labels)
        self.state = State.DONE if self._witnesses.confirmed(END) else State.COMPARE
        return messages
