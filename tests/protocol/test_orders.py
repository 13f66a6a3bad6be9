"""A client that is slow, but honest, may be given up at any moment: no role refuses a message after that.

Messages of one sender to one recipient keep their order. The next link to deliver is drawn at random. In some
runs links of a few parties are slow, so that many messages overtake theirs. The simulator draws other faults.
"""

import random

import numpy as np
import pytest
from support.sweeps import crossed
from support.wire import Wire

from secfc.protocol.job.limits import Limits
from secfc.protocol.states import State

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(11)
ROWS = [_RNG.normal(size=(m, 2)).round(2) + m for m in (3, 1, 4, 2, 0, 5)]
"""Six clients, one without rows; R = 3 with t=1, ell=1."""

CENTRES = {"reveal_to": (1, 4), "limits": Limits(reveal_centres=True)}
KINDS = {
    "coded": {},
    "coded, liars": {"max_liars": 1},
    "coded, centres": CENTRES,
    "labels": {"disclosure": "labels"},
    "labels, noise": {"disclosure": "labels", "centres_epsilon": 1.0, "centres_delta": 1e-6} | CENTRES,
}


def drawn(rng):
    """A random choice of links. Links of slow parties wait while there are others."""
    slow = {party for party in range(7) if rng.random() < 0.25}
    ways = rng.choice(["to", "from", "any", "none"])

    def choose(links):
        def waits(link):
            if ways == "none":
                return False
            return (ways != "from" and link[1] in slow) or (ways != "to" and link[0] in slow)

        quick = [link for link in links if not waits(link)]
        return rng.choice(quick if quick and rng.random() < 0.98 else links)

    return choose


@pytest.mark.filterwarnings("ignore::secfc.errors.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "seed"), crossed(KINDS, range(4), together=1))
def test_a_slow_client_that_is_given_up_refuses_nothing_and_is_refused_nothing(part_rows, kind, seed):
    part_rows(1 + seed % 2)
    net, rng = Wire(ROWS, seed=seed, max_iter=4, **KINDS[kind]), random.Random(f"given up {kind} {seed}")
    moment, left, choose = rng.randrange(400), [0], drawn(rng)

    def due():
        left[0] += 1
        return left[0] > moment and net.server.state is not State.IDENTIFY

    net.run(choose=choose, until=due)
    awaited = net.server.awaited
    if net.job.comparers:
        others = set(net.clients) - set(net.job.comparers)  # comparers are missed: test_labels.py
        asked = net.server.state is State.ITERATE  # by the server, which awaits answers only then
        awaited = sorted(others if asked else others.intersection(awaited))
    if awaited:
        net.post(net.server.absent(rng.choice(awaited)))
    net.run(choose=choose)
    assert net.server.state is State.DONE
    for client in net.clients.values():
        assert client.state in {State.COMPARE, State.REVEAL, State.DONE}
        assert client.labels is not None or client.number in net.server.faults.left_out
