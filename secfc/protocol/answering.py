"""The phase *iterate* of a client: distances on its shares, round by round, in parts."""

from collections.abc import Mapping
from itertools import pairwise

from secfc._arrays import Ints
from secfc.errors import MessageError
from secfc.kmeans.sets import asked_about
from secfc.params import Job
from secfc.protocol.disclosure import Weights, question_digest
from secfc.protocol.label_packing import labels_of
from secfc.protocol.messages import SERVER, Assignment, CodedDistances, Message
from secfc.protocol.pairwise import PairwiseMasks
from secfc.protocol.sharing import ClientSharing
from secfc.row_layout import WINDOW
from secfc.sealing.channel import Channel


class ClientAnswers:
    """A client's answers.

    Parameters
    ----------
    number : int
    job : Job
    run : bytes
    channels : mapping from client to Channel

    Attributes
    ----------
    round : int
        The last one asked, from 1; 0 before any.
    obsolete : bool
        Whether nobody waits for the answer: nothing is computed.
    """

    def __init__(self, *, number: int, job: Job, run: bytes, channels: Mapping[int, Channel]) -> None:
        self.round = 0
        self.obsolete = False
        self._number, self._job, self._run, self._channels = number, job, run, channels
        self._sent = 0  # parts of this round's answer
        self._asked = 0  # parts that the server asked for: at first WINDOW, more than sent until it begins
        self._weights = Weights(job)
        self._pairwise: PairwiseMasks | None = None  # of this round

    def __repr__(self) -> str:
        return f"ClientAnswers(number={self._number}, round={self.round})"

    @property
    def due(self) -> bool:
        """Whether the round's answer is to begin."""
        return self.round > 0 and self._sent == 0

    def check_responders(self, responders: tuple[int, ...], left_out: set[int]) -> None:
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
            if j in left_out or j not in {self._number, *self._channels}:
                raise MessageError(f"Assignment: responder {j} is no client of this run")

    def ask(self, message: Assignment, sizes: Ints, sharing: ClientSharing) -> None:
        """Prepare to answer; a client that is not asked has nothing left to send.

        Parameters
        ----------
        message : Assignment
            Checked.
        sizes : ndarray of shape (k,), int64
            Of its sets.
        sharing : ClientSharing
            Complete.
        """
        self.round, self._sent = message.round, 0
        self._points, self._parts = sharing.points, sharing.parts
        self._asked = min(WINDOW, self._parts.answers)
        if self.obsolete:
            return
        sets = labels_of(message.sets)
        residues = self._job.residues(int(sizes.max()))
        factors = None
        if self._job.disclosure == "distances":
            if self._number not in message.responders:
                self._sent = self._asked = self._parts.answers
                return
            factors = self._weights.of(message.responders)[:, message.responders.index(self._number)]
            self._pairwise = PairwiseMasks(
                me=self._number,
                responders=message.responders,
                t=self._job.t,
                channels=self._channels,
                question=question_digest(sets, message.responders, sharing.left_out),
                round_=message.round,
                primes=sharing.primes[:residues],
                kernels=sharing.kernels,
            )
        self._points.ask(sets, sizes[: asked_about(sizes)], residues, factors)

    def begin(self) -> list[Message]:
        """The parts of this round's answer that were asked for by now."""
        messages: list[Message] = []
        for part in range(self._asked):
            messages += self._answer_part(part)
        return messages

    def on_continue(self, round_: int, part: int) -> list[Message]:
        """Answer the next part; before the answer begins, note that it was asked for.

        A round may go on with R others before this client knows that enough were asked the same.
        """
        if round_ != self.round or part != self._asked:
            raise MessageError(
                f"Continue: part {part} of round {round_}, part {self._asked} of round {self.round} is next"
            )
        if self.round == 0 or part >= self._parts.answers:
            raise MessageError(f"Continue: part {part}, there are {self._parts.answers if self.round else 0}")
        due = self.due
        self._asked += 1
        return [] if due else self._answer_part(part)

    def _answer_part(self, part: int) -> list[Message]:
        self._sent += 1
        if self.obsolete:
            return []
        rows = self._parts.answer_rows(part)
        residues = self._points.answer(rows.start, rows.stop)
        if self._pairwise is not None:
            self._pairwise.add(residues)
        return [
            CodedDistances(
                run=self._run,
                sender=self._number,
                recipient=SERVER,
                round=self.round,
                part=part,
                residues=residues,
            )
        ]
