"""The server's half of the phase *iterate*: it asks, decodes the answers part by part and moves the sets."""

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.kernels.interface import Bytes
from secfc.kmeans.compare import SquaredDistances
from secfc.kmeans.search import Search, SearchResult, silhouette
from secfc.kmeans.sets import asked_about
from secfc.params import Job
from secfc.protocol.consistency import ConsistencyCheck
from secfc.protocol.decoding import BLOCK_ELEMENTS, Decoder, ResidueError
from secfc.protocol.disclosure import disclosure_of
from secfc.protocol.gathering import Gathering
from secfc.protocol.messages import SERVER, Assignment, CodedDistances, Continue, Finish, Message
from secfc.randomness import MaskSource
from secfc.row_layout import WINDOW, Parts


class Iterating:
    """The rounds of a run, from the first question on.

    Parameters
    ----------
    job : Job
    run : bytes
    parts : Parts
        Of the rows that are in.
    gathering : Gathering
        Of the answers to a round.
    search : Search
    secret : MaskSource
        What wrong answers are found by.
    kernels : Kernels

    Attributes
    ----------
    search : Search
    outcome : SearchResult or None
        What the clients are told, once the search has ended: nothing more is asked then.
    """

    def __init__(
        self,
        *,
        job: Job,
        run: bytes,
        parts: Parts,
        gathering: Gathering,
        search: Search,
        secret: MaskSource,
        kernels: Kernels,
    ) -> None:
        self.search = search
        self.outcome: SearchResult | None = None
        self._job, self._run, self._parts, self._gathering = job, run, parts, gathering
        self.disclosure = disclosure_of(job).server(job)
        self._decoder = Decoder(self.disclosure.weights, kernels)
        self._check = ConsistencyCheck(job, secret, kernels)
        self._note_question()

    def __repr__(self) -> str:
        return f"Iterating(round={self._gathering.round})"

    def ask(self) -> list[Message]:
        """Begin a round: its question, to everybody."""
        self._gathering.begin(self.disclosure.responders(self._gathering))
        return self.questions()

    def questions(self) -> list[Message]:
        """The question of this round, to everybody."""
        self._note_question()
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

    def _note_question(self) -> None:
        """What the sizes of the sets that are asked about determine of the answers."""
        sizes = self.search.sizes()
        self._primes, self._asked = primes_of(self._job.residues(int(sizes.max()))), asked_about(sizes)

    def take(self, message: CodedDistances) -> list[Message]:
        """Take a part of an answer, and decode what can be; as `advance`.

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
        return self.advance() if useful else []

    def advance(self) -> list[Message]:
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
                messages += continue_with(part + WINDOW, self._parts.answers, self._gathering, self._run)
            elif self.search.end_round():
                messages += self.ask()
            else:
                messages += self._finish()
        return messages

    def _finish(self) -> list[Message]:
        # Of several k the one whose simplified silhouette is greatest, the least of equals.
        best = self.outcome = max(self.search.found, key=silhouette)
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


def continue_with(part: int, parts: int, gathering: Gathering, run: bytes) -> list[Message]:
    """Ask everybody for another part, if there is one."""
    if part >= parts:
        return []
    return [
        Continue(run=run, sender=SERVER, recipient=j, round=gathering.round, part=part)
        for j in gathering.responders or gathering.members
    ]
