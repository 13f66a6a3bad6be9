"""Runs in which shares and answers have many parts."""

import numpy as np

from secfc.protocol.messages import (
    Assignment,
)
from secfc.protocol.states import State

_RNG = np.random.default_rng(5)
COUNTS = (6, 9, 0, 5, 8)
MANY = [_RNG.normal(size=(size, 3)).round(3) for size in COUNTS]
"""Five clients, three of whose answers are enough; one has no rows. In parts of two rows: 3, 5, 0, 3, 4."""


def ending(net, **how):
    net.run(**how)
    assert net.server.state is State.DONE
    return net.labels(), net.server.outcome.n_iter, net.server.outcome.inertia, net.server.outcome.near_ties


def sharing(net, number=1):
    """Bring a client to the exchange of shares; the last message it got is its Plan."""
    net.run(until=lambda: net.clients[number].state is State.SHARE)
    return net.clients[number]


def asked(net, number=1):
    """Bring a client to its first question; it has sent the first parts of its answer."""
    net.run(until=lambda: net.clients[number].state is State.ITERATE)
    net.deliver(net.hold(Assignment, recipient=number))
    return net.clients[number]
