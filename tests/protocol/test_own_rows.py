"""A client's own rows leave memory once they are shared: it keeps no object that has some of their values."""

import numpy as np
import pytest
from support.kept import keeps_some
from support.wire import UnionWire, Wire

from secfc.protocol.job.limits import Limits
from secfc.protocol.states import State

_RNG = np.random.default_rng(3)
ROWS = [_RNG.normal(size=(m, 2)) * 3 for m in (5, 4, 6)]

KINDS = {
    "labels": {"disclosure": "labels"},
    "several starts": {"disclosure": "labels", "init": "k-means++", "n_init": 2},
    "spreads": {
        "disclosure": "labels",
        "k": 1,
        "reveal_to": (1,),
        "reveal_spread": 10,
        "limits": Limits(reveal_centres=True, reveal_spread=10),
    },
    "coded": {"disclosure": "coded"},
    "union": {"disclosure": "labels", "ids": True},
}


@pytest.mark.parametrize("kind", KINDS)
def test_from_the_first_round_on_no_client_keeps_values_of_its_rows(kind):
    more = dict(KINDS[kind])
    net = (UnionWire if more.pop("ids", False) else Wire)(ROWS, precision=20, **more)
    kept = {j: (rows, net.job.unit) for j, rows in enumerate(net.rows, 1)}
    assert all(keeps_some(net.clients[j], *own) for j, own in kept.items())
    net.run(until=lambda: all(net.clients[j].round == 1 for j in kept))
    assert net.server.state is State.ITERATE
    assert not any(keeps_some(net.clients[j], *own) for j, own in kept.items())
    net.run()
    assert all(net.clients[j].state is State.DONE for j in kept)
    assert not any(keeps_some(net.clients[j], *own) for j, own in kept.items())
