"""Who learns what from coded distances.

``"coded"`` (the paper): the server holds every responder's coded distances and decodes them itself, so it
could interpolate all of phi_{i,h}, per-segment distances included (docs/threat-model.md).

``"distances"``: responders multiply their coded distances by their weights and add masks that cancel in the
sum (`secfc.protocol.pairwise`), which is all that the server learns.

``"labels"``: answers go to three comparers, who open labels and nothing else (`secfc.comparing`).

Each has an object for a client's side of the phase *iterate*: who answers a round and how an answer leaves.
Where the server decodes, another says what answers are weighted by and what follows when one cannot come;
with "labels" the server's phase is another (`secfc.protocol.phases.server_labels`).
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
    """Any R answers are decoded; who vanishes leaves the others' answers as useful as before."""

    def __init__(self, job: Job) -> None:
        self._job, self._weights = job, Weights(job)

    def responders(self, gathering: Gathering) -> tuple[int, ...]:
        """Clients that the next round needs, empty when any R do; TooManyFaultsError when too few are in."""
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


_SERVERS: dict[Disclosure, type[ServerCoded]] = {"coded": ServerCoded, "distances": ServerDistances}


def client_side(context: ClientContext, peers: Peers, held: Held) -> ClientCoded:
    """A client's side of its job's disclosure."""
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
    """The side of a server that decodes answers."""
    return _SERVERS[job.disclosure](job)
