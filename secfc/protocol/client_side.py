"""A client's side of the phase *iterate*, where the server decodes: disclosures "coded" and "distances"."""

from itertools import pairwise

from secfc.array_types import Floats, Ints, Labels
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.mail import RoundMessage
from secfc.protocol.messages import (
    SERVER,
    Assignment,
    CodedDistances,
    Finish,
    Message,
    Recheck,
    RecheckRequest,
)
from secfc.protocol.pairwise import PairwiseMasks
from secfc.protocol.question import question_digest
from secfc.protocol.sharing import ClientSharing


def _check_uncompared(message: Assignment | Finish) -> None:
    """Refuse what evaluators sign, who of them is lost, what is drawn by, and a coin: there are none."""
    if message.lost or message.since != 1:
        raise MessageError(f"{type(message).__name__}: comparers are lost, nobody compares")
    if isinstance(message, Assignment) and message.draws:
        raise MessageError(f"Assignment: {len(message.draws)} draws, nobody draws by them")
    if isinstance(message, Assignment) and message.coin:
        raise MessageError(f"Assignment: {len(message.coin)} bytes of a coin, nobody tosses one")
    if message.endorsements:
        kind = type(message).__name__
        raise MessageError(f"{kind}: {len(message.endorsements)} endorsements, nobody gives any")


class ClientCoded:
    """Every client answers, as it is."""

    def __init__(self, context: ClientContext) -> None:
        self._context, self._number, self._job = context, context.number, context.job
        self._round = 0

    def check(self, message: Assignment, sets: Labels) -> None:
        """Raise MessageError when a question is not what it must be."""
        if message.responders:
            raise MessageError(
                f"Assignment: {len(message.responders)} responders, disclosure {self._job.disclosure!r} "
                "names none"
            )
        _check_uncompared(message)

    def check_end(self, message: Finish, labels: Labels) -> None:
        """Likewise of the result."""
        _check_uncompared(message)

    def tell(self, message: RecheckRequest, labels: Labels) -> list[Message]:
        """A result that is to be rechecked."""
        raise MessageError("RecheckRequest: nobody compares")

    def recheck(self, message: Recheck) -> list[Message]:
        """Which labels are rechecked."""
        raise MessageError("Recheck: nobody compares")

    def ask(self, message: Assignment, sets: Labels, sizes: Ints, residues: int) -> bool:
        """Begin to answer a question modulo so many primes; False when this client is not asked."""
        self._round = message.round
        return True

    @property
    def factors(self) -> Floats | None:
        """Reduced residues that the answer is multiplied by, (P,)."""
        return None

    def begin(self, part: int) -> list[Message]:
        """A part is asked for, the next one: what is sent besides the answer."""
        return []

    def can_leave(self, part: int) -> bool:
        """Whether the answer to a part can be sent."""
        return True

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Send the answer to a part, the next one, which is changed in place."""
        return [
            CodedDistances(
                run=self._context.session.run,
                sender=self._number,
                recipient=SERVER,
                round=self._round,
                part=part,
                residues=residues,
            )
        ]

    def deliver(self, message: RoundMessage) -> list[Message]:
        """Take what another client sends in a round; what it causes."""
        raise MessageError(f"{type(message).__name__}: with disclosure {self._job.disclosure!r}")


class ClientDistances(ClientCoded):
    """R clients answer, each with its weight and under masks that cancel among them; sharing is complete."""

    def __init__(self, context: ClientContext, peers: Peers, sharing: ClientSharing) -> None:
        super().__init__(context)
        self._channels, self._sharing = peers.channels, sharing
        self._weights = Weights(context.job)
        self._factors: Floats | None = None
        self._masks: PairwiseMasks | None = None

    def check(self, message: Assignment, sets: Labels) -> None:
        """With fewer, or one twice, the sum would not be one of R answers, nor masked against t clients."""
        responders = message.responders
        ascending = all(a < b for a, b in pairwise(responders))
        if len(responders) != self._job.threshold or not ascending:
            raise MessageError(
                f"Assignment: {len(responders)} responders, {self._job.threshold} different ones in "
                f"ascending order are needed"
            )
        for j in responders:
            if j in self._sharing.left_out or j not in {self._number, *self._channels}:
                raise MessageError(f"Assignment: responder {j} is no client of this run")
        _check_uncompared(message)

    def ask(self, message: Assignment, sets: Labels, sizes: Ints, residues: int) -> bool:
        """Masks with keys of all that the question asks."""
        super().ask(message, sets, sizes, residues)
        responders, sharing = message.responders, self._sharing
        if self._number not in responders:
            return False
        self._factors = self._weights.of(responders)[:, responders.index(self._number)]
        self._masks = PairwiseMasks(
            me=self._number,
            responders=responders,
            t=self._job.t,
            channels=self._channels,
            question=question_digest(sets, responders, sharing.left_out, asked=message.asked),
            round_=message.round,
            primes=sharing.primes[:residues],
            kernels=sharing.kernels,
        )
        return True

    @property
    def factors(self) -> Floats | None:
        """Its weight."""
        return self._factors

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Add the masks of this part, and send it."""
        assert self._masks is not None
        self._masks.add(residues)
        return super().leave(part, residues)
