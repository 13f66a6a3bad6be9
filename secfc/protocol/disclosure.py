"""Disclosures: who learns what from coded distances.

``"coded"`` (the paper): the server gets every responder's coded distances and decodes them itself. So it
could interpolate all of phi_{i,h}, per-segment distances included (docs/threat-model.md).

``"distances"``: responders multiply their coded distances by their weights and add masks that cancel in the
sum (`secfc.protocol.pairwise`). The server learns only the sum.

``"labels"``: answers go to three comparers, who open labels and nothing else (`secfc.comparing`).

Each disclosure has an object for a client's side of the phase *iterate*: who answers a round, and how an
answer is sent. That of "labels" is in `secfc.protocol.labels`. Where the server decodes, a second object has
the weights of answers, and what happens when a client vanishes. With "labels" the server has a phase of its
own (`secfc.protocol.phases.server_labels`).
"""

from itertools import pairwise

import numpy as np

from secfc.array_types import Floats, Ints, Labels
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.params import Job
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.gathering import Gathering
from secfc.protocol.messages import (
    Assignment,
    CodedDistances,
    Finish,
    Message,
    RoundMessage,
)
from secfc.protocol.pairwise import PairwiseMasks
from secfc.protocol.question import question_digest
from secfc.protocol.sharing import ClientSharing


def _check_uncompared(message: Assignment | Finish) -> None:
    """Refuse fields that only comparers use: endorsements, draws and a coin."""
    if isinstance(message, Assignment) and message.draws:
        raise MessageError(f"Assignment: {len(message.draws)} draws, nobody draws by them")
    if isinstance(message, Assignment) and message.coin:
        raise MessageError(f"Assignment: {len(message.coin)} bytes of a coin, nobody tosses one")
    if message.endorsements:
        kind = type(message).__name__
        raise MessageError(f"{kind}: {len(message.endorsements)} endorsements, nobody gives any")


class ClientCoded:
    """Disclosure "coded": clients send their answers without masks. Of many clients the server names some."""

    factors: Floats | None = None
    """Factors of the answer, one reduced residue for each prime, (P,)."""

    def __init__(self, context: ClientContext, peers: Peers, left_out: frozenset[int]) -> None:
        self._context, self._number, self._job = context, context.number, context.job
        self._peers, self._left_out = peers, left_out
        self._round = 0

    def check(self, message: Assignment, sets: Labels) -> None:
        """Raise MessageError for a question that is not valid with this disclosure."""
        if message.responders:
            self._check_named(message.responders)
        _check_uncompared(message)

    def _check_named(self, responders: tuple[int, ...]) -> None:
        """Require as many different responders as the job names, or more: absent clients are named too."""
        named, exactly = self._job.named, self._job.disclosure == "distances"
        if not named:
            raise MessageError(
                f"Assignment: {len(responders)} responders, disclosure 'coded' names none for n={self._job.n}"
            )
        fits = len(responders) == named if exactly else len(responders) >= named
        if not fits or not all(a < b for a, b in pairwise(responders)):
            raise MessageError(
                f"Assignment: {len(responders)} responders, {named} different ones in ascending order are "
                "needed"
            )
        for j in responders:
            if j in self._left_out or (j != self._number and j not in self._peers.channels):
                raise MessageError(f"Assignment: responder {j} is no client of this run")

    def check_end(self, message: Finish, labels: Labels) -> None:
        """Likewise for the result."""
        _check_uncompared(message)

    def ask(self, message: Assignment, sets: Labels, sizes: Ints, residues: int) -> bool:
        """Begin to answer a question modulo `residues` primes. False if this client is not asked."""
        self._round = message.round
        return not message.responders or self._number in message.responders

    def begin(self, part: int) -> list[Message]:
        """Messages to send besides the answer, when the next part is asked for."""
        return []

    def can_leave(self, part: int) -> bool:
        """Whether the answer to a part can be sent now."""
        return True

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """The messages with the answer to the next part. `residues` may be changed in place."""
        return [
            CodedDistances(
                run=self._context.session.run,
                sender=self._number,
                round=self._round,
                part=part,
                residues=residues,
            )
        ]

    def deliver(self, message: RoundMessage) -> list[Message]:
        """Take another client's message of a round, and return the messages to send."""
        raise MessageError(f"{type(message).__name__}: with disclosure {self._job.disclosure!r}")


class ClientDistances(ClientCoded):
    """R clients answer, each multiplied by its weight and under masks that cancel. Sharing is complete."""

    def __init__(
        self, context: ClientContext, peers: Peers, left_out: frozenset[int], sharing: ClientSharing
    ) -> None:
        super().__init__(context, peers, left_out)
        self._sharing, self._weights = sharing, Weights(context.job)
        self._masks: PairwiseMasks | None = None

    def check(self, message: Assignment, sets: Labels) -> None:
        """Require R different responders. With fewer, the sum is not D, and not masked against t clients."""
        self._check_named(message.responders)
        _check_uncompared(message)

    def ask(self, message: Assignment, sets: Labels, sizes: Ints, residues: int) -> bool:
        """Make masks whose keys depend on the whole question."""
        responders, sharing = message.responders, self._sharing
        if not super().ask(message, sets, sizes, residues):
            return False
        self.factors = self._weights.of(responders)[:, responders.index(self._number)]
        self._masks = PairwiseMasks(
            me=self._number,
            responders=responders,
            t=self._job.t,
            channels=self._peers.channels,
            question=question_digest(sets, responders, self._left_out, asked=message.asked),
            round_=message.round,
            primes=sharing.primes[:residues],
            kernels=sharing.kernels,
        )
        return True

    def leave(self, part: int, residues: PackedResidues) -> list[Message]:
        """Add the masks of this part, and return the messages with the answer."""
        assert self._masks is not None
        self._masks.add(residues)
        return super().leave(part, residues)


class ServerCoded:
    """Any R answers are decoded. If a client vanishes, the others' answers stay usable.

    Of many clients some are named, and absent ones, so that these come back with an answer. If too few of the
    named are left to decode and to locate lies, others are named.
    """

    def __init__(self, job: Job) -> None:
        self._job, self._weights = job, Weights(job)

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Clients that answer the next round. Empty for all, too if rounds were asked again too often.

        Clients that vanish and return many times, liars among them, could otherwise cost more rounds than a
        job may have.
        """
        if not len(gathering.present) > self._job.named > 0 or gathering.repeats >= self._job.asked_again:
            return ()
        named = _never_absent_first(gathering)[: self._job.named]
        absent = [j for j in gathering.members if j in gathering.absent]
        return tuple(sorted(named + absent))

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """Whether the round must be asked again when this client vanishes."""
        present = gathering.present
        left = sum(j in gathering.responders for j in present)
        spare = gathering.spare
        needed = self._job.threshold + 2 * spare + min(1, spare)  # with R + 2A, A + 1 liars can accuse A
        return client in gathering.responders and left < needed and left < len(present)

    def weights(self, responders: tuple[int, ...]) -> Floats:
        """Factors of the answers of R clients before they are added, (primes, R)."""
        return self._weights.of(responders)


def _never_absent_first(gathering: Gathering) -> list[int]:
    """Present clients, in the order in which they are named. So each client costs at most one more round."""
    return sorted(gathering.present, key=lambda j: j in gathering.missed)


class ServerDistances(ServerCoded):
    """R answers are added. Masks cancel only among the named clients. If one vanishes, others are named."""

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """R present clients. TooManyFaultsError for too few."""
        gathering.require(len(gathering.present))
        return tuple(sorted(_never_absent_first(gathering)[: self._job.named]))

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """True if it is one of the named clients."""
        return client in gathering.responders

    def weights(self, responders: tuple[int, ...]) -> Floats:
        """Ones, because the responders have already multiplied by their weights."""
        return np.ones((len(PRIMES), len(responders)))
