"""Disclosures: who learns what from coded distances.

``"coded"`` (the paper): the server gets every responder's coded distances and decodes them itself. So it
could interpolate all of phi_{i,h}, per-segment distances included (docs/threat-model.md).

``"labels"``: answers go to three comparers, who open labels and nothing else (`secfc.operations`).

Each disclosure has an object for a client's side of the phase *iterate*: who answers a round, and how an
answer is sent. That of "labels" is in `secfc.protocol.labels`. Where the server decodes, a second object says
who answers, and what happens when a client vanishes. With "labels" the server has a phase of its own
(`secfc.protocol.phases.server_labels`).
"""

from itertools import pairwise

from secfc.errors import MessageError
from secfc.field.array_types import Ints, Labels
from secfc.field.packing import PackedResidues
from secfc.protocol.answers.gathering import Gathering
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.job import Job
from secfc.protocol.messages import (
    Assignment,
    CodedDistances,
    Finish,
    Message,
    RoundMessage,
)


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
        named = self._job.named
        if not named:
            raise MessageError(
                f"Assignment: {len(responders)} responders, disclosure 'coded' names none for n={self._job.n}"
            )
        if len(responders) < named or not all(a < b for a, b in pairwise(responders)):
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
        raise MessageError(f"{type(message).__name__}: with disclosure {self._job.disclosure.name!r}")


class ServerCoded:
    """Any R answers are decoded. If a client vanishes, the others' answers stay usable.

    Of many clients some are named, and absent ones, so that these come back with an answer. If too few of the
    named are left to decode and to locate lies, others are named.
    """

    def __init__(self, job: Job) -> None:
        self._job = job

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Clients that answer the next round. Empty for all, too if rounds were asked again too often.

        Clients that vanish and return many times, liars among them, could otherwise cost more rounds than a
        job may have.
        """
        if not len(gathering.present) > self._job.named > 0 or gathering.repeats >= self._job.asked_again:
            return ()
        # Those that were never absent come first. So each client costs at most one more round.
        named = sorted(gathering.present, key=lambda j: j in gathering.missed)[: self._job.named]
        absent = [j for j in gathering.members if j in gathering.absent]
        return tuple(sorted(named + absent))

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """Whether the round must be asked again when this client vanishes."""
        present = gathering.present
        left = sum(j in gathering.responders for j in present)
        spare = gathering.spare
        needed = self._job.threshold + 2 * spare + min(1, spare)  # with R + 2A, A + 1 liars can accuse A
        return client in gathering.responders and left < needed and left < len(present)
