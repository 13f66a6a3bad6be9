"""The phase *iterate* of the server: it asks, decodes the answers part by part and moves the sets."""

from dataclasses import replace

import numpy as np

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels.interface import Bytes
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.in_range import RangeCheck
from secfc.kmeans.kept import KeptDistances
from secfc.kmeans.search import Search, suitability
from secfc.kmeans.sets import asked_about
from secfc.protocol.answers.consistency import ConsistencyCheck
from secfc.protocol.answers.decoding import BLOCK_ELEMENTS, Decoder, ResidueError
from secfc.protocol.answers.disclosure import ServerCoded
from secfc.protocol.checkpoint import pack, unpack
from secfc.protocol.introductions import Introductions
from secfc.protocol.job.cases import Predict
from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import SEED_BYTES, CodedDistances, Message
from secfc.protocol.phases.server_phase import ServerContext, ServerStep, Shared
from secfc.protocol.phases.server_rounds import ServerRounds
from secfc.protocol.progress import Progress


class ServerIterate(ServerRounds):
    """The rounds and the result of a run whose server decodes distances."""

    search: Search

    def __init__(self, context: ServerContext, introductions: Introductions, shared: Shared) -> None:
        super().__init__(context, introductions, shared)
        job, layout = context.job, self.layout
        kernels = context.kernels(layout.run_residues(job))
        seed = job.seed
        if seed is None:
            seed = int.from_bytes(context.secret.octets(SEED_BYTES), "little")
        self.search = context.search(
            m=layout.m,
            k=job.k,
            compared=job.method.compared,
            max_iter=job.method.max_iter,
            tol_moved=job.method.tol_moved,
            n_init=job.method.n_init,
            init=job.method.init,
            rng=np.random.default_rng(seed),
            kernels=kernels,
            within=RangeCheck(radius=job.radius, layout=layout, max_liars=job.max_liars),
            start=introductions.start(layout) if job.method.init == "labels" else None,
            predict=isinstance(job.method, Predict),
        )
        self._disclosure = ServerCoded(job)
        self._decoder, self._threads = Decoder(job, kernels), kernels.threads
        self._check = ConsistencyCheck(job, context.secret, kernels)
        self._kept = KeptDistances(layout.m, job.k)
        self._primes, self._about = self._question()

    @property
    def awaited(self) -> tuple[int, ...]:
        """Clients whose answer to the next part to decode is missing."""
        return self._gathering.awaited if self.outcome is None else ()

    @property
    def progress(self) -> Progress:
        """The progress of the search."""
        history = self.search.current.history
        return replace(super().progress, inertia=self._job.in_data_units(history[-1]) if history else None)

    @property
    def _waiting_for(self) -> int:
        return self._gathering.waiting_for if self.outcome is None else 0

    def step(self, message: Message) -> ServerStep:
        """Take a part of an answer, and decode the parts that are complete."""
        if not isinstance(message, CodedDistances):
            raise MessageError(
                f"{type(message).__name__}: with disclosure {self._job.disclosure.name!r} nobody sends this"
            )
        return self, self._take(message)

    def absent(self, client: int) -> ServerStep:
        """Continue with the others' answers. Its rows stay in, and it may come back."""
        self._gathering.absent.add(client)
        if not self._disclosure.asks_again(client, self._gathering):
            return self, self._advance()
        self._gathering.repeats += 1
        return self, self.ask()

    def standing(self) -> memoryview:
        """Right after a question: the state that later messages depend on and the first round did not fix."""
        position = self.context.secret.position
        gathering, search = self._gathering.standing(), self.search.standing()
        kept = self._kept.standing(self._about)
        return pack({"gathering": gathering, "search": search, "kept": kept, "position": position})

    def stand(self, state: bytes) -> list[Message]:
        """Restore this state, and return its questions."""
        standing = unpack(state)
        self._gathering.stand(standing["gathering"])
        self.search.stand(standing["search"])
        self._kept.stand(standing["kept"])
        self.context.secret.go_on_from(standing["position"])
        return self._questions()

    def ask(self) -> list[Message]:
        """Begin a round, and return its questions, one to each party."""
        self._gathering.begin(self._disclosure.responders(self._gathering))
        return self._questions()

    def _questions(self) -> list[Message]:
        self._primes, self._about = self._question()
        return self._assignments(asked=self._about)

    def _question(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The primes of the answers, and the sets that they are about; () for all."""
        sizes = self.search.sizes()
        primes = primes_of(self._job.round_residues(sizes, self.layout.weight))
        return primes, self._kept.question(self.search.sets, sizes, primes)

    @property
    def _asked(self) -> int:
        """How many sets answers are about."""
        return len(self._about) or asked_about(self.search.sizes())

    def _take(self, message: CodedDistances) -> list[Message]:
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
        """Decode every part that enough clients have answered. Ask for more, or send the result.

        ResidueError for a value that is no residue. TooManyFaultsError when answers do not agree and no more
        can come. RangeError when distances are larger than the public bound allows.
        """
        messages: list[Message] = []
        while self.outcome is None:
            try:
                answers = self._gathering.complete()
                if answers is None or not self._decode_head(answers):
                    break
            except (ResidueError, TooManyFaultsError) as error:
                if isinstance(error, ResidueError):
                    # Residues are checked while decoding, where it is cheap. This client's answers from this
                    # part on are dropped. It can send them again, or another client's answers are used.
                    self._gathering.retract(error.client)
                if messages:
                    break  # send these first: the same error comes again with the next answer
                raise
            part = self._gathering.head
            self._gathering.advance()
            if self._gathering.head < self._parts.answers:
                messages += self._continue(part + WINDOW, self._gathering.asked)
                continue
            self._kept.end_round(self.search.sets)
            messages += self.ask() if self.search.end_round() else self._end()
        return messages

    def _end(self) -> list[Message]:
        # Of several k: the greatest simplified silhouette, among equals the least k.
        best = max(self.search.found, key=suitability)
        self.found = self.search.found
        return self._finish(best, self._job.in_data_units(best.inertia))

    def _decode_head(self, answers: dict[int, PackedResidues]) -> bool:
        """Decode from R answers that agree with all others. False if more answers must show who lies."""
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
        sizes, radix = self.search.sizes(), MixedRadix(self._primes)
        upto = sizes[: asked_about(sizes)]
        first = self._parts.answer_rows(self._gathering.head)
        rows, step = first.stop - first.start, max(1, BLOCK_ELEMENTS // upto.size)
        size = rows * self._asked * len(self._primes) * len(answers)
        if (
            not self._job.method.compared
        ):  # else measures sum floats by block, which must not depend on threads
            step = min(step, -(-rows // self._threads.for_work(size)))

        def decode(start: int) -> None:
            stop = min(start + step, rows)
            decoded = self._decoder.decode(answers, start, stop, radix)
            whole = slice(first.start + start, first.start + stop)
            digits = self._kept.take(whole, decoded, self._about, sizes)
            self.search.add(whole, SquaredDistances(digits=digits, radix=radix, sizes=upto))

        self._threads.each(decode, range(0, rows, step), size=size)
