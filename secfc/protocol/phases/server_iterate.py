"""The phase *iterate* of the server: it asks, decodes the answers part by part and moves the sets."""

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels.interface import Bytes
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.search import silhouette
from secfc.kmeans.sets import asked_about
from secfc.protocol.consistency import ConsistencyCheck
from secfc.protocol.decoding import BLOCK_ELEMENTS, Decoder, ResidueError
from secfc.protocol.disclosure import disclosure_of
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import SERVER, Assignment, CodedDistances, Continue, Finish, Message
from secfc.protocol.phases.server_phase import ServerContext, ServerPhase, ServerStep
from secfc.protocol.progress import Progress
from secfc.protocol.standing import pack, unpack
from secfc.protocol.states import State
from secfc.protocol.unread import Pair
from secfc.row_layout import WINDOW, Layout


class ServerIterate(ServerPhase):
    """The rounds of a run, and its result.

    Parameters
    ----------
    context : ServerContext
    introductions : Introductions
    planned : Layout
        With the rows of clients that were left out.
    cheats : tuple of int
        Clients that lied about shares.
    unread : tuple of (dealer, recipient)

    Attributes
    ----------
    search : Search

    Raises
    ------
    ParameterError
        The rows of those who are left do not fit the job.
    """

    def __init__(
        self,
        context: ServerContext,
        introductions: Introductions,
        *,
        planned: Layout,
        cheats: tuple[int, ...],
        unread: tuple[Pair, ...],
    ) -> None:
        super().__init__(context, introductions, planned=planned)
        job = context.job
        self.layout = layout = planned.without(context.gathering.left_out)
        self.check(layout)
        kernels = context.kernels(layout.answer_residues(job))
        self.search = context.search(
            m=layout.m,
            k=job.k,
            compared=job.compared,
            max_iter=job.max_iter,
            n_init=job.n_init,
            init=job.init,
            rng=context.rng,
            kernels=kernels,
            within=RangeCheck(radius=job.radius, layout=layout, max_liars=job.max_liars),
            start=introductions.start(layout) if job.init == "labels" else None,
            predict=job.predict,
        )
        self.unread, self._cheats = unread, cheats
        self._job, self._run, self._gathering = job, context.session.run, context.gathering
        self._parts = layout.parts(job)
        self._disclosure = disclosure_of(job).server(job)
        self._decoder = Decoder(self._disclosure.weights, kernels)
        self._check = ConsistencyCheck(job, context.secret, kernels)
        self._primes, self._asked = self._question()

    @property
    def state(self) -> State:
        """ITERATE, DONE when the search has ended."""
        return State.ITERATE if self.outcome is None else State.DONE

    @property
    def cheats(self) -> tuple[int, ...]:
        """Clients that lied about shares."""
        return self._cheats

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose answer to the head of the round is missing."""
        return self._gathering.awaited if self.outcome is None else ()

    @property
    def progress(self) -> Progress:
        """Where the search stands."""
        history = self.search.current.history
        return Progress(
            phase="iterate" if self.outcome is None else "reveal",
            waiting_for=self._gathering.waiting_for if self.outcome is None else 0,
            round=self._gathering.round,
            iteration=len(history),
            moved=self.search.moved,
            inertia=self._job.in_data_units(history[-1]) if history else None,
        )

    def step(self, message: Message) -> ServerStep:
        """Take a part of an answer, and decode what can be."""
        assert isinstance(message, CodedDistances)
        return self, self._take(message)

    def absent(self, client: int) -> ServerStep:
        """Go on with the others' answers; its rows stay in, and it may come back."""
        self._gathering.absent.add(client)
        again = self._disclosure.asks_again(client, self._gathering)
        return self, self.ask() if again else self._advance()

    def standing(self) -> memoryview:
        """When it has just asked: what its further messages depend on and the first round did not fix."""
        position = self.context.secret.position
        gathering, search = self._gathering.standing(), self.search.standing()
        return pack({"gathering": gathering, "search": search, "position": position})

    def stand(self, state: bytes) -> list[Message]:
        """Stand where that says; the questions asked there."""
        standing = unpack(state)
        self._gathering.stand(standing["gathering"])
        self.search.stand(standing["search"])
        self.context.secret.go_on_from(standing["position"])
        return self._questions()

    def ask(self) -> list[Message]:
        """Begin a round: its question, to everybody."""
        self._gathering.begin(self._disclosure.responders(self._gathering))
        return self._questions()

    def _questions(self) -> list[Message]:
        """The question of this round, to everybody."""
        self._primes, self._asked = self._question()
        return [
            Assignment(
                run=self._run,
                sender=SERVER,
                recipient=j,
                round=self._gathering.round,
                sets=self.search.sets,
                responders=self._gathering.responders,
                left_out=tuple(sorted(self._gathering.left_out)),
            )
            for j in self._gathering.members
        ]

    def _question(self) -> tuple[tuple[int, ...], int]:
        """The primes of the answers, and how many sets they are about."""
        sizes = self.search.sizes()
        return primes_of(self._job.residues(int(sizes.max()))), asked_about(sizes)

    def _take(self, message: CodedDistances) -> list[Message]:
        """Take a part of an answer, and decode what can be; as `_advance`.

        Raises
        ------
        MessageError
            It is not of the shape that was asked for, or out of turn.
        """
        useful = self._gathering.expects(message) and self.outcome is None
        if useful:
            rows = self._parts.answer_rows(message.part)
            expected = (len(self._primes), self._asked, rows.stop - rows.start)
            if message.residues.shape != expected:
                raise MessageError(
                    f"CodedDistances: of shape {message.residues.shape} from client {message.sender}, "
                    f"expected {expected}"
                )
        self._gathering.take(message, self._parts.answers, keep=useful)
        return self._advance() if useful else []

    def _advance(self) -> list[Message]:
        """Decode every part that enough clients have answered; ask for more, or tell how the search ended.

        Raises
        ------
        ResidueError
            A client sent what is no residue.
        TooManyFaultsError
            The answers do not agree and no more are to come.
        RangeError
            A round's distances are larger than the public bound allows.
        """
        messages: list[Message] = []
        while self.outcome is None:
            try:
                answers = self._gathering.complete()
                if answers is None or not self._decode_head(answers):
                    break
            except (ResidueError, TooManyFaultsError) as error:
                if isinstance(error, ResidueError):
                    # Found where it is cheap, while decoding. The client's answers from this part on are
                    # dropped, so that it can send them again; or another's take their place.
                    self._gathering.retract(error.client)
                if messages:
                    break  # these must go out; what is wrong shows again with the next answer
                raise
            part = self._gathering.head
            self._gathering.advance()
            if self._gathering.head < self._parts.answers:
                messages += self._continue(part + WINDOW)
            elif self.search.end_round():
                messages += self.ask()
            else:
                messages += self._finish()
        return messages

    def _finish(self) -> list[Message]:
        # Of several k the one whose simplified silhouette is greatest, the least of equals.
        best = max(self.search.found, key=silhouette)
        self.outcome, self.found = best, self.search.found
        self._gathering.close()
        left_out = self._gathering.left_out
        return [
            Finish(
                run=self._run,
                sender=SERVER,
                recipient=j,
                labels=best.labels,
                n_iter=best.n_iter,
                converged=best.converged,
                inertia=self._job.in_data_units(best.inertia),
                left_out=tuple(sorted(left_out)),
            )
            for j in range(1, self._job.n + 1)
            if j not in left_out
        ]

    def _decode_head(self, answers: dict[int, PackedResidues]) -> bool:
        """Decode from R answers that agree with all others; False when more answers must tell which do."""
        planes = {j: residues.planes() for j, residues in answers.items()}
        if self._job.max_liars and not self._check.agree(planes, self._primes):
            most = self._gathering.locatable(len(planes))
            liars = self._check.liars(planes, self._primes, most=most) if most else None
            if not liars:
                self._gathering.disagree()
                return False
            for liar in liars:
                self._gathering.exclude(liar, f"its answer in round {self._gathering.round} was wrong")
                del planes[liar]
        self._decode({j: planes[j] for j in sorted(planes)[: self._job.threshold]})
        return True

    def _decode(self, answers: dict[int, Bytes]) -> None:
        """Decode the head from R answers, block by block."""
        sizes, radix = self.search.sizes()[: self._asked], MixedRadix(self._primes)
        first = self._parts.answer_rows(self._gathering.head)
        step = max(1, BLOCK_ELEMENTS // self._asked)
        for start in range(0, first.stop - first.start, step):
            stop = min(start + step, first.stop - first.start)
            residues = self._decoder.decode(answers, start, stop, self._primes)
            distances = SquaredDistances(residues=residues, radix=radix, sizes=sizes)
            self.search.add(slice(first.start + start, first.start + stop), distances)

    def _continue(self, part: int) -> list[Message]:
        """Ask everybody who answers for another part, if there is one."""
        gathering = self._gathering
        return [
            Continue(run=self._run, sender=SERVER, recipient=j, round=gathering.round, part=part)
            for j in gathering.responders or gathering.members
            if part < self._parts.answers
        ]
