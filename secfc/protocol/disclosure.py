"""Disclosures: who learns what from coded distances.

``"coded"`` (the paper): the server gets every responder's coded distances and decodes them itself. So it
could interpolate all of phi_{i,h}, per-segment distances included (docs/threat-model.md).

``"distances"``: responders multiply their coded distances by their weights and add masks that cancel in the
sum (`secfc.protocol.pairwise`). The server learns only the sum.

``"labels"``: answers go to three comparers, who open labels and nothing else (`secfc.comparing`).

Each disclosure has an object for a client's side of the phase *iterate*: who answers a round, and how an
answer is sent. Where the server decodes, a second object has the weights of answers, and what happens when a
client vanishes. With "labels" the server has a phase of its own (`secfc.protocol.phases.server_labels`).
"""

import numpy as np

from secfc.array_types import Floats
from secfc.field.primes import PRIMES
from secfc.options import Disclosure
from secfc.params import Job
from secfc.protocol.client_side import ClientCoded, ClientDistances
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.decoding import Weights
from secfc.protocol.gathering import Gathering
from secfc.protocol.labels import ClientLabels
from secfc.protocol.phases.client_phase import Held


class ServerCoded:
    """Any R answers are decoded. If a client vanishes, the others' answers stay usable."""

    def __init__(self, job: Job) -> None:
        self._job, self._weights = job, Weights(job)

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Clients that must answer the next round, empty if any may. TooManyFaultsError for too few."""
        return ()

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """Whether the round must be asked again when this client vanishes."""
        return False

    def weights(self, responders: tuple[int, ...]) -> Floats:
        """Factors of the answers of R clients before they are added, (primes, R)."""
        return self._weights.of(responders)


class ServerDistances(ServerCoded):
    """R answers are added. Masks cancel only among the named clients. If one vanishes, others are named."""

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Choose clients that were never absent first. So each client costs at most one more round."""
        able = [j for j in gathering.members if j not in gathering.absent]
        gathering.require(len(able))
        able.sort(key=lambda j: j in gathering.missed)
        return tuple(sorted(able[: self._job.threshold]))

    def asks_again(self, client: int, gathering: Gathering) -> bool:
        """True if it is one of the named clients."""
        return client in gathering.responders

    def weights(self, responders: tuple[int, ...]) -> Floats:
        """Ones, because the responders have already multiplied by their weights."""
        return np.ones((len(PRIMES), len(responders)))


_SERVERS: dict[Disclosure, type[ServerCoded]] = {"coded": ServerCoded, "distances": ServerDistances}


def client_side(context: ClientContext, peers: Peers, held: Held) -> ClientCoded:
    """The client's side of its job's disclosure."""
    sharing = held.sharing
    match context.job.disclosure:
        case "coded":
            return ClientCoded(context)
        case "distances":
            return ClientDistances(context, peers, sharing)
        case "labels":
            return ClientLabels(
                context,
                peers,
                mail=held.mail,
                layout=sharing.remaining(),
                left_out=frozenset(sharing.left_out),
                kernels=sharing.kernels,
                sharing=sharing,
            )


def server_side(job: Job) -> ServerCoded:
    """The server's side of a disclosure where it decodes answers."""
    return _SERVERS[job.disclosure](job)
