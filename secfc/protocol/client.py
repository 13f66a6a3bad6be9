"""A client: shares its rows, then answers each assignment with coded distances."""

from dataclasses import replace

from secfc._arrays import Floats, Ints, Labels
from secfc.errors import MessageError, ParameterError, SealError
from secfc.kernels import Choose, choose
from secfc.kmeans.sets import set_sizes
from secfc.limits import Limits
from secfc.params import Job
from secfc.protocol.answering import ClientAnswers
from secfc.protocol.dispensable import refuse_without
from secfc.protocol.label_packing import labels_of
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CentreShare,
    Challenge,
    Continue,
    Dispute,
    Echo,
    Finish,
    Hello,
    LeaveOut,
    Message,
    Plan,
    Share,
    UnionCheck,
    UnionContinue,
    UnionDeal,
    UnionFound,
    UnionVerdict,
    Witness,
)
from secfc.protocol.own_rows import OwnRows
from secfc.protocol.revealing import ClientReveal
from secfc.protocol.sharing import Allocate, ClientSharing, EarlyShares, in_memory
from secfc.protocol.sizes import Sizes
from secfc.protocol.states import State
from secfc.protocol.turns import check_envelope
from secfc.protocol.union import ClientUnion, EarlyDeals, check_ids
from secfc.protocol.witness import END, Witnesses, check_outcome, quorum
from secfc.psu.plan import salt_of
from secfc.psu.tokens import RowIds
from secfc.randomness import MaskSource
from secfc.row_layout import Layout
from secfc.rows import check_labels, check_rows
from secfc.sealing.channel import Channel
from secfc.sealing.handshake import Handshake, Session, start_digest, transcript_of
from secfc.sealing.identity import Identity


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
    ephemeral : bytes of length 32, optional
        Private X25519 key for this run; a fresh one by default.
    limits : Limits, optional
    start : ndarray of shape (m_j,), integer, optional
        Start labels of its rows, when ``job.init`` is "labels".
    prepared : bool
        Whether means and deviations of all clients' values were opened before. No client may be left out
        then.
    ids : RowIds, optional
        Of its rows, with membership privacy.
    salt : bytes of length 16, optional
        Of hashed IDs, in a simulation that is to be repeated. By default it follows from the introductions,
        so that no two runs have the same.
    name : str, optional
        What errors call this party.
    allocate : callable
        Gives memory for shares: an uninitialised float32 array of a shape.
    kernels : callable
        Gives kernels for a job's size.

    Attributes
    ----------
    state : State
    labels : ndarray of shape (m_j,), int32, or None
        Of its own rows, once the run has ended; None when they were left out.
    union_rows : ndarray of shape (m_j,), int64, or None
        With membership privacy, the numbers of its own rows in the union, once that is found.
    centres : ndarray of shape (k, d), float64, or None
        When the run has ended, at a client that the job reveals them to; in the data's units.
    deviations : ndarray of shape (k, d), float64, or None
        Likewise, where the job reveals spreads.

    Raises
    ------
    DataError
        When its rows cannot be used.
    ParameterError
        When the roster has another key for it.
    LimitError
        When the job asks for what its limits forbid.
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
        ephemeral: bytes | None = None,
        limits: Limits | None = None,
        start: Labels | None = None,
        prepared: bool = False,
        ids: RowIds | None = None,
        salt: bytes | None = None,
        name: str | None = None,
        allocate: Allocate = in_memory,
        kernels: Choose = choose,
    ) -> None:
        name = name or f"client {number}"
        limits = limits or Limits()
        limits.check_consent(job, name=name)
        limits.check_start(job, name=name)
        check_rows(rows, name=name, d=job.d, bound=job.bound)
        if start is not None:
            check_labels(start, name=name, m=rows.shape[0], k=job.k, least=job.least_label)
        check_ids(ids, name=name, m=rows.shape[0], job=job)
        self.number = number
        self.state = State.IDENTIFY
        self.labels: Labels | None = None
        self.union_rows: Ints | None = None
        self.centres: Floats | None = None
        self.deviations: Floats | None = None
        self._result: Finish | None = None
        self._rows: Floats | None = rows
        self._m = rows.shape[0]
        self._start = start
        self._job, self._session, self._run, self._masks = job, session, session.run, masks
        self._handshake: Handshake | None = Handshake(
            session=session,
            number=number,
            identity=identity,
            rows=self._m if ids is None else 0,
            start=start,
            ephemeral=ephemeral,
        )
        self._identity, self._limits, self._name = identity, limits, name
        self._prepared = prepared
        self._allocate, self._kernels = allocate, kernels
        self._ids, self._salt, self._early_deals = ids, salt, EarlyDeals()
        self._union: ClientUnion | None = None
        self._early_shares = EarlyShares()
        self._planned: Layout | None = None

    def __repr__(self) -> str:
        return f"Client(number={self.number}, state={self.state.value})"

    @property
    def sizes(self) -> Sizes:
        """How large the messages may be that come."""
        return Sizes(self._job, self._planned)

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

    def receive(self, message: Message, *, obsolete: bool = False) -> list[Message]:
        """Take a message, return those it causes.

        Any error but a MessageError ends the run for this client: it refuses all messages from then on.

        Parameters
        ----------
        message : Message
        obsolete : bool
            Known to be about a round that another follows: whatever it causes, answers are not computed. For
            a client that is started again, which has sent them.

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
        if self.state is State.ITERATE:
            self._answers.obsolete = obsolete
        try:
            return self._on(message)
        except MessageError:
            raise
        except Exception:
            self.state = State.ENDED
            raise

    def _on(self, message: Message) -> list[Message]:
        match message:
            case Plan():
                return self._on_plan(message)
            case Share():
                return self._on_share(message)
            case UnionDeal():
                return self._on_deal(message)
            case UnionContinue() | UnionFound() | UnionVerdict() | UnionCheck():
                return self._on_union(message)
            case Challenge() | Echo() | Dispute():
                return self._on_check(message)
            case LeaveOut():
                return self._on_leave_out(message)
            case Continue():
                return self._on_continue(message)
            case Assignment():
                return self._on_assignment(message)
            case Witness():
                return self._on_witness(message)
            case CentreShare():
                return self._on_centre_share(message)
            case Finish():
                return self._on_finish(message)
        raise AssertionError(type(message))

    def _on_plan(self, plan: Plan) -> list[Message]:
        assert self._handshake is not None
        channels = self._handshake.channels(plan.introductions)
        present = {j: one for j, one in enumerate(plan.introductions, 1) if one is not None}
        transcript = transcript_of(self._session, present)
        starts = [None if one is None else one.start for one in plan.introductions]
        left_out = {j for j, one in enumerate(plan.introductions, 1) if one is None}
        if left_out:
            refuse_without("Plan", min(left_out), job=self._job, prepared=self._prepared)
        if self._ids is None:
            layout = Layout(tuple(0 if one is None else one.rows for one in plan.introductions))
            return self._begin_sharing(layout, channels, transcript, starts, left_out)
        if left_out:
            raise MessageError(
                f"Plan: without client {min(left_out)}, whom membership privacy cannot leave out"
            )
        for j, one in present.items():
            if one.rows:
                raise MessageError(f"Plan: client {j} tells a number of rows, which membership privacy hides")
        self._handshake, self._channels, self._starts = None, channels, starts
        self._transcript = transcript
        self._union = ClientUnion(
            number=self.number,
            job=self._job,
            run=self._run,
            ids=self._ids,
            salt=self._salt or salt_of(transcript),
            masks=self._masks,
            channels=channels,
            early=self._early_deals,
        )
        self.state = State.UNION
        return self._union.begin()

    def _on_deal(self, message: UnionDeal) -> list[Message]:
        if self._ids is None:
            raise MessageError(f"UnionDeal: from client {message.sender}, in a run without IDs")
        if self._union is None:
            self._early_deals.hold(message, me=self.number, stage=1)
            return []
        return self._union.on_deal(message)

    def _on_union(self, message: UnionContinue | UnionFound | UnionVerdict | UnionCheck) -> list[Message]:
        union = self._union
        assert union is not None
        match message:
            case UnionContinue():
                return union.on_continue(message)
            case UnionFound():
                return union.on_found(message)
            case UnionVerdict():
                messages = union.on_verdict(message)
            case UnionCheck():
                messages = union.on_check(message)
        if not union.role.finished:
            return messages
        self.union_rows = union.role.rows()
        self._union = self._ids = None
        layout = Layout((union.role.m,) * self._job.n, common=True)
        return self._begin_sharing(layout, self._channels, self._transcript, self._starts, set())

    def _begin_sharing(
        self,
        layout: Layout,
        channels: dict[int, Channel],
        transcript: bytes,
        starts: list[bytes | None],
        left_out: set[int],
    ) -> list[Message]:
        try:
            layout.check(self._job)
        except ParameterError as error:
            raise MessageError(f"Plan: {error}") from None
        self._limits.check_start(self._job, name=self._name, m=layout.m)
        self._planned = layout
        self._handshake, self._channels = None, channels  # the ephemeral key has done its work
        self._quorum = quorum(self._job, len(channels) + 1)
        self._starts = starts
        assert self._rows is not None
        own = layout.rows(self.number) if self.union_rows is None else self.union_rows
        self._sharing = ClientSharing(
            number=self.number,
            job=self._job,
            session=self._session,
            transcript=transcript,
            identity=self._identity,
            layout=layout,
            own=OwnRows(self._rows, own),
            masks=self._masks,
            channels=channels,
            quorum=self._quorum,
            left_out=left_out,
            allocate=self._allocate,
            kernels=self._kernels,
        )
        self._rows = None
        self._answers = ClientAnswers(number=self.number, job=self._job, run=self._run, channels=channels)
        self._reveal = ClientReveal(
            number=self.number,
            job=self._job,
            run=self._run,
            channels=channels,
            sharing=self._sharing,
            quorum=self._quorum,
        )
        self._witnesses = Witnesses(self._job, self.number, self._session, channels)
        self.state = State.SHARE
        return self._shared(self._sharing.begin(self._early_shares))

    def _shared(self, messages: list[Message]) -> list[Message]:
        if self._sharing.complete:
            self.state = State.ITERATE
        return messages

    def _on_share(self, message: Share) -> list[Message]:
        if message.sender == self.number:
            raise MessageError(f"Share: from client {message.sender} itself")
        if self.state in {State.IDENTIFY, State.UNION}:
            self._early_shares.hold(message, job=self._job)
            return []
        return self._shared(self._sharing.on_share(message))

    @property
    def tolerates_liars(self) -> bool:
        """Whether the job tolerates any."""
        return self._job.max_liars > 0

    def unreadable(self, sender: int) -> list[Message]:
        """Take it that another client sent what is no message, while its shares are awaited."""
        if self.state in (State.IDENTIFY, State.UNION):
            self._early_shares.spoilt.add(sender)
        if self.state is not State.SHARE or not self._sharing.unreadable(sender):
            return []
        return self._shared(self._sharing.ready())

    def _on_check(self, message: Challenge | Echo | Dispute) -> list[Message]:
        if isinstance(message, Echo):
            return self._sharing.on_echo(message)  # of a slow client, when the check is over
        if self._answers.round:
            raise MessageError(f"{type(message).__name__}: after round {self._answers.round}")
        if isinstance(message, Challenge):
            return self._sharing.on_challenge(message)
        return self._sharing.on_dispute(message)

    def _on_leave_out(self, message: LeaveOut) -> list[Message]:
        if self._answers.round:
            raise MessageError(f"LeaveOut: of client {message.client}, after round {self._answers.round}")
        refuse_without("LeaveOut", message.client, job=self._job, prepared=self._prepared)
        messages = self._sharing.on_leave_out(message)
        if message.client == self.number:
            self.state = State.DONE
            return []
        return self._shared(messages)

    def _on_continue(self, message: Continue) -> list[Message]:
        if self.state is State.SHARE:
            return self._shared(self._sharing.on_continue(message.round, message.part))
        return self._answers.on_continue(message.round, message.part)

    def _on_assignment(self, message: Assignment) -> list[Message]:
        # Rounds may be missed, and the rest of one left unanswered: the server went on without this client.
        if message.round <= self._answers.round:
            raise MessageError(f"Assignment: round {message.round} after round {self._answers.round}")
        if self._sharing.lacking:
            raise MessageError(f"Assignment: to client {self.number}, which lacks others' shares")
        remaining = self._sharing.remaining()
        if message.sets.size != remaining.m:
            raise MessageError(f"Assignment: of {message.sets.size} rows, the parties hold {remaining.m}")
        self._check_view(message)
        sets = labels_of(message.sets)
        message = replace(message, sets=sets)
        sizes = set_sizes(sets, self._job.k)
        if not sizes.any():
            raise MessageError("Assignment: every set is empty")
        if self._job.init == "labels" and (message.round == 1 or self._job.predict):
            self._check_start(message.round, sets, remaining)
        self._answers.check_responders(message.responders, self._sharing.left_out)
        smallest = int(sizes[sizes > 0].min())
        self._limits.enforce(self._job, client=self.number, smallest=smallest, round_=message.round)
        self._sharing.add_up()
        if self._answers.round == 0:
            self._sharing.take_out()
        self._answers.ask(message, sizes, self._sharing)
        self._witnesses.assigned(message)
        if self._job.comparison == "end":
            return self._answers.begin() if self._answers.due else []
        messages = self._witnesses.tell(message.round, self._sharing.left_out)
        self._witnesses.settle(message.round)
        return messages + self._confirmed()

    def _check_view(self, message: Assignment | Finish) -> None:
        """Have equal messages mean equal views of whose rows are in."""
        if message.left_out != tuple(sorted(self._sharing.left_out)):
            raise MessageError(
                f"{type(message).__name__}: without other clients than this one was told are left out"
            )

    def _confirmed(self) -> list[Message]:
        """The first parts of an answer that waits until the other clients were asked the same."""
        answers = self._answers
        ready = answers.due and self._witnesses.confirmed(answers.round, clients=self._job.threshold)
        return answers.begin() if ready else []

    def _on_witness(self, message: Witness) -> list[Message]:
        self._witnesses.take(message)
        if self.state in {State.COMPARE, State.REVEAL}:
            return self._settle()
        return self._confirmed() if self.state is State.ITERATE else []

    def _settle(self) -> list[Message]:
        """Take the result that R clients have; of the one that a quorum has, open centres where agreed."""
        if not self._witnesses.confirmed(END, clients=self._job.threshold):
            return []
        self.state, messages = State.REVEAL, []
        if self._reveal.due and self._witnesses.confirmed(END, clients=self._quorum):
            assert self._result is not None
            messages = self._reveal.tell(self._result)
        self._end()
        return messages

    def _on_centre_share(self, message: CentreShare) -> list[Message]:
        self._reveal.on_share(message)
        self._end()
        return []

    def _end(self) -> None:
        self.centres, self.deviations = self._reveal.centres, self._reveal.deviations
        if self.state is State.REVEAL and not self._reveal.waits:
            self.state = State.DONE

    def _check_start(self, round_: int, sets: Labels, remaining: Layout) -> None:
        """The first sets, of a prediction all, are the start labels that each client has signed."""
        for j, start in enumerate(self._starts, 1):
            if j not in self._sharing.left_out and start_digest(sets[remaining.rows(j)]) != start:
                raise SealError(f"Assignment: round {round_} has not the start labels that client {j} signed")

    def _on_finish(self, message: Finish) -> list[Message]:
        remaining = self._sharing.remaining()
        check_outcome(message, self._job)
        if message.labels.size != remaining.m or not remaining.m:
            raise MessageError(
                f"Finish: labels of {message.labels.size} rows, the parties hold {remaining.m}"
            )
        self._check_view(message)
        labels = labels_of(message.labels)
        message = replace(message, labels=labels)
        if labels.min() < 0:
            raise MessageError("Finish: a row has no label")
        self._limits.check_revealed(self._job, name=self._name, layout=remaining, labels=labels)
        own = self._sharing.own_labels(labels)
        if self._job.predict and self._start is not None and (own != self._start)[self._start >= 0].any():
            raise MessageError("Finish: a prediction has another label for a row that has one")
        self._sharing.add_up()  # who was excluded was asked nothing
        if self._answers.round == 0:
            self._sharing.take_out()  # no assignment came, and labels are of the rows that are in
        self._witnesses.finished(message)
        messages = self._witnesses.tell(END, self._sharing.left_out)
        self._witnesses.settle(END)
        self.labels, self._result = own, message
        self.state = State.COMPARE
        return messages + self._settle()
