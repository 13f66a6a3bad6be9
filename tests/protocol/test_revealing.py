"""Centres by consent, with each disclosure: who gets them. Faults and lies: test_program.py."""

import numpy as np
import pytest

from secfc.errors import ParameterError
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.states import State

ROWS = [
    [[0.0, 1.0], [0.5, -2.0]],
    [[9.0, 4.0], [9.5, 4.25], [8.0, 4.0]],
    [[0.2, 0.0], [7.0, 5.0]],
    [[8.5, 4.0]],
]


def means(net):
    """Means of the final clusters, from the quantised rows."""
    labels = np.concatenate(net.labels())
    rows = np.rint(np.ldexp(np.concatenate(net.rows), net.job.exponent)).astype(object)
    sums = [[int(rows[labels == h, c].sum()) / int((labels == h).sum()) for c in range(2)] for h in range(2)]
    return np.ldexp(np.array(sums), -net.job.exponent)


@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_the_named_clients_get_them_and_nobody_else(wire, disclosure):
    net = wire(ROWS, reveal_to=(1, 3), limits=Limits(reveal_centres=True), seed=2, disclosure=disclosure)
    net.run()
    found = {j: client.centres for j, client in net.clients.items() if client.centres is not None}
    assert sorted(found) == [1, 3]
    for centres in found.values():
        np.testing.assert_array_equal(centres, means(net))
    assert {client.state for client in net.clients.values()} == {State.DONE}


@pytest.mark.parametrize("named", [(0,), (5,), (2, 1), (1, 1)])
def test_recipients_are_different_clients_in_order(named):
    with pytest.raises(ParameterError, match=r"^reveal_centres: "):
        make_job(n=4, k=2, t=1, ell=1, d=2, bound=1.0, reveal_to=named, disclosure="coded")
