"""Liars where rows are those of a union of IDs: nothing is checked when shares are dealt, answers are."""

import numpy as np
import pytest
from support.wire import UnionWire

from secfc.errors import TooManyFaultsError
from secfc.protocol.messages import Challenge, CodedDistances, Dispute, Evidence, Report
from secfc.protocol.states import State

_RNG = np.random.default_rng(3)
SEVEN = [_RNG.normal(size=(m, 2)).round(2) + 4 * (m % 2) for m in (3, 2, 4, 3, 2, 1, 3)]
"""Seven clients, R = 5 with t = 1, ell = 2: one liar is tolerated."""

comparisons = pytest.mark.parametrize("comparison", ["end", "rounds"])


def union(**more):
    return UnionWire(SEVEN, **{"t": 1, "ell": 2, "max_liars": 1, "seed": 2} | more)


def lie(net, liar):
    """Run, all answers of a client wrong."""
    seen = set()
    while links := net.pending():
        message = net.take(links[0])
        seen.add(type(message))
        if isinstance(message, CodedDistances) and message.sender == liar:
            message = net.altered(message, first=5)
        net.deliver(message)
    return seen


def as_exact_lloyd(net):
    """The server's labels are those of Lloyd's algorithm from its start, by hand on the union's rows."""
    rows = np.empty((net.server.layout.m, 2))
    for client, part in zip(net.clients.values(), net.rows, strict=True):
        rows[client.union_rows] = part
    best = net.server.outcome
    sets = best.start
    for _ in range(best.n_iter + 1):
        centres = np.array([rows[sets == h].mean(axis=0) for h in range(net.job.k)])
        sets = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return sets.tolist() == best.labels.tolist()


@comparisons
@pytest.mark.parametrize("liar", [1, 4, 7])
def test_a_liar_in_the_iteration_is_named_and_the_result_is_right(comparison, liar):
    net = union(comparison=comparison)
    seen = lie(net, liar)
    assert liar != 1 or net.server.faults.liars == (1,)
    assert net.server.state is State.DONE
    assert net.server.faults.liars in ((liar,), ())  # others may have been enough
    assert net.server.faults.left_out == ()
    assert as_exact_lloyd(net)
    assert not seen & {Challenge, Report, Dispute, Evidence}
    assert all(client.labels is not None for client in net.clients.values())


@comparisons
def test_the_victim_of_a_bad_dealer_is_excluded_and_the_result_is_right(comparison):
    net = union(comparison=comparison)
    # With IDs the own rows are dealt when the union is found, not when the plan is here.
    net.deal_badly(2, (5,), on="_on_union")
    net.run()
    assert set(net.server.faults.liars) <= {5}
    assert as_exact_lloyd(net)


def test_a_dealer_with_more_victims_than_liars_are_tolerated_stops_the_run():
    net = union()
    net.deal_badly(2, (1, 4, 5, 6), on="_on_union")
    with pytest.raises(TooManyFaultsError, match=r"max_liars=1|n >= R \+ S \+ 2A"):
        net.run()
    assert net.server.outcome is None


@comparisons
def test_without_liars_the_clients_agree(comparison):
    net = union(comparison=comparison)
    net.run()
    assert all(client.state is State.DONE for client in net.clients.values())
    assert net.server.faults.liars == ()
    assert as_exact_lloyd(net)
