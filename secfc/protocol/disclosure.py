"""Who learns what from coded distances.

``"coded"`` (the paper): the server holds every responder's coded distances and decodes them itself, so it
could interpolate all of phi_{i,h}, per-segment distances included (docs/threat-model.md).

``"distances"``: responders multiply their coded distances by their weights and add masks that cancel in the
sum (`secfc.protocol.pairwise`), which is all that the server learns.

Each is a pair of objects, one for each side of the phase *iterate*, and nothing else asks which it is: who
answers a round, how an answer leaves, what it is weighted by, and what follows when an answer cannot come.
"""

import hashlib
import struct
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from secfc.array_types import Floats, Labels
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES
from secfc.options import Disclosure
from secfc.params import Job
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.gathering import Gathering
from secfc.protocol.label_packing import labels_of
from secfc.protocol.messages import Assignment
from secfc.protocol.pairwise import PairwiseMasks
from secfc.protocol.sharing import ClientSharing

_QUESTION = b"secfc question 1"


def question_digest(sets: Labels, responders: tuple[int, ...], left_out: Collection[int]) -> bytes:
    """SHA-256 of what an assignment asks: masks cancel only among clients that were asked the same.

    The same sets are of other rows where others are left out.
    """
    clients = (*responders, *sorted(left_out))
    digest = hashlib.sha256(_QUESTION + struct.pack("<III", len(responders), len(left_out), sets.size))
    digest.update(struct.pack(f"<{len(clients)}H", *clients))
    digest.update(sets.astype("<i4").tobytes())
    return digest.digest()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Masked:
    """How a client's answer to one round leaves.

    Parameters
    ----------
    factors : ndarray of shape (P,), float64, or None
        Reduced residues that it is multiplied by.
    masks : PairwiseMasks or None
        Added to it.
    """

    factors: Floats | None = None
    masks: PairwiseMasks | None = None

    def hide(self, residues: PackedResidues) -> None:
        """Add the masks of the next part, in place."""
        if self.masks is not None:
            self.masks.add(residues)


UNMASKED = Masked()


class ClientCoded:
    """Every client answers, as it is.

    Parameters
    ----------
    context : ClientContext
    peers : Peers
    sharing : ClientSharing
        Complete.
    """

    def __init__(self, context: ClientContext, peers: Peers, sharing: ClientSharing) -> None:
        self._number, self._job = context.number, context.job
        self._channels, self._sharing = peers.channels, sharing

    def check(self, responders: tuple[int, ...]) -> None:
        """Raise MessageError when a question names responders that it must not."""
        if responders:
            raise MessageError(f"Assignment: {len(responders)} responders, disclosure 'coded' names none")

    def masked(self, question: Assignment, residues: int) -> Masked | None:
        """How the answer to a question, modulo so many primes, leaves; None when this client is not asked."""
        return UNMASKED


class ClientDistances(ClientCoded):
    """R clients answer, each with its weight and under masks that cancel among them."""

    def __init__(self, context: ClientContext, peers: Peers, sharing: ClientSharing) -> None:
        super().__init__(context, peers, sharing)
        self._weights = Weights(context.job)

    def check(self, responders: tuple[int, ...]) -> None:
        """With fewer, or one twice, the sum would not be one of R answers, nor masked against t clients."""
        ascending = all(a < b for a, b in pairwise(responders))
        if len(responders) != self._job.threshold or not ascending:
            raise MessageError(
                f"Assignment: {len(responders)} responders, {self._job.threshold} different ones in "
                f"ascending order are needed"
            )
        for j in responders:
            if j in self._sharing.left_out or j not in {self._number, *self._channels}:
                raise MessageError(f"Assignment: responder {j} is no client of this run")

    def masked(self, question: Assignment, residues: int) -> Masked | None:
        """Masks with keys of all that the question asks."""
        responders, sharing = question.responders, self._sharing
        if self._number not in responders:
            return None
        return Masked(
            factors=self._weights.of(responders)[:, responders.index(self._number)],
            masks=PairwiseMasks(
                me=self._number,
                responders=responders,
                t=self._job.t,
                channels=self._channels,
                question=question_digest(labels_of(question.sets), responders, sharing.left_out),
                round_=question.round,
                primes=sharing.primes[:residues],
                kernels=sharing.kernels,
            ),
        )


class ServerCoded:
    """Any R answers are decoded; who vanishes leaves the others' answers as useful as before.

    Parameters
    ----------
    job : Job
    """

    def __init__(self, job: Job) -> None:
        self._job, self._weights = job, Weights(job)

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Clients that the next round cannot do without; empty when any R do.

        Raises
        ------
        TooManyFaultsError
            Too few are there.
        """
        return ()

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """Whether a round ends undecoded, and another begins, when this client vanishes."""
        return False

    def weights(self, responders: tuple[int, ...]) -> Floats:
        """What answers of R clients are multiplied by before they are added, (primes, R)."""
        return self._weights.of(responders)


class ServerDistances(ServerCoded):
    """R answers are added up. Masks cancel among the named clients alone: without one, others are named."""

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Who was never missed comes first, so that each client costs one round more at most."""
        able = [j for j in gathering.members if j not in gathering.absent]
        gathering.require(len(able))
        able.sort(key=lambda j: j in gathering.missed)
        return tuple(sorted(able[: self._job.threshold]))

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """When it is one of those named."""
        return client in gathering.responders

    def weights(self, responders: tuple[int, ...]) -> Floats:
        """Ones: the responders have multiplied by theirs."""
        return np.ones((len(PRIMES), len(responders)))


@dataclass(frozen=True)
class Sides:
    """Both sides of a disclosure."""

    client: type[ClientCoded]
    server: type[ServerCoded]


_SIDES: dict[Disclosure, Sides] = {
    "coded": Sides(ClientCoded, ServerCoded),
    "distances": Sides(ClientDistances, ServerDistances),
}


def disclosure_of(job: Job) -> Sides:
    """The disclosure that a job has."""
    return _SIDES[job.disclosure]
