"""In an honest run, with any order of messages, no role refuses a message, and the result is exact.

Messages of one sender to one recipient keep their order. The next link to deliver is drawn at random. In some
runs links of a few parties are slow, so that many messages overtake theirs.
"""

import random
from itertools import product

import numpy as np
import pytest
from support.sweeps import covering, sweep
from support.wire import UnionWire, Wire

from secfc.protocol.job.limits import Limits
from secfc.protocol.states import State

_RNG = np.random.default_rng(11)
ROWS = [_RNG.normal(size=(m, 2)).round(2) + m for m in (3, 1, 4, 2, 0, 5)]
"""Six clients, one without rows; R = 3 with t=1, ell=1."""

KINDS = [
    {"disclosure": disclosure, "max_liars": liars, "union": union, "reveal": reveal}
    for disclosure, liars, union, reveal in product(
        ("coded", "labels"),
        (0, 1),
        (False, True),
        (None, "centres", "spreads", "noise"),
    )
    if not (liars and disclosure != "coded")
    and not (reveal == "spreads" and (liars or union))
    and not (reveal == "noise" and (union or disclosure != "labels"))
]


def name_of(kind):
    return "-".join(str(value) for value in kind.values())


def id_of(value):
    return name_of(value) if isinstance(value, dict) else str(value)


def seeds(kinds):
    """Every kind with two seeds. The default run tries every pair of choices with one seed."""
    kept = covering([tuple(kind.values()) for kind in kinds])
    return sweep(product(kinds, range(2)), keep=lambda case: tuple(case[0].values()) in kept and not case[1])


def run_of(kind, seed):
    more = {key: kind[key] for key in ("disclosure", "max_liars")}
    if kind["reveal"] is not None:
        more |= {"reveal_to": (1, 4), "limits": Limits(reveal_centres=True, reveal_spread=10)}
    if kind["reveal"] == "spreads":
        more["reveal_spread"] = 10
    if kind["reveal"] == "noise":
        more |= {"centres_epsilon": 1.0, "centres_delta": 1e-6}
    rows = ROWS
    if kind["reveal"] == "spreads":  # every cluster has many rows of other clients
        rows = [np.concatenate([part % 1] * 2 + [part % 1 + 9.0] * 2) for part in ROWS]
        more["starts"] = [np.arange(len(part)) // max(1, len(part) // 2) for part in rows]
    return (UnionWire if kind["union"] else Wire)(rows, seed=seed, max_iter=4, **more)


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


GIVEN_UP = [kind for kind in KINDS if not kind["union"]]


@pytest.mark.some(1)
@pytest.mark.filterwarnings("ignore::secfc.errors.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "seed"), seeds(GIVEN_UP), ids=id_of)
def test_a_slow_client_that_is_given_up_refuses_nothing_and_is_refused_nothing(part_rows, kind, seed):
    """It is honest and its messages arrive, but at some moment the server stops waiting for it."""
    part_rows(1 + seed % 2)
    net, rng = run_of(kind, seed), random.Random(f"given up {name_of(kind)} {seed}")
    moment, left, choose = rng.randrange(400), [0], drawn(rng)

    def due():
        left[0] += 1
        return left[0] > moment and net.server.state is not State.IDENTIFY

    net.run(choose=choose, until=due)
    awaited = net.server.awaited
    if kind["disclosure"] == "labels":
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
