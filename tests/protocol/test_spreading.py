"""Spreads by consent: which clients get them, and what is refused. Faults and lies: test_ending.py."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.errors import LimitError, ParameterError, TooManyFaultsError
from secfc.operations.ending.spreads import deviations
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.states import State

_RNG = np.random.default_rng(12)
ROWS = [
    np.concatenate([_RNG.normal(size=(m, 3)), _RNG.normal(size=(m, 3)) + 9.0]).tolist()
    for m in (6, 5, 7, 8, 6)
]
WILLING = Limits(reveal_centres=True, reveal_spread=10)


@pytest.fixture
def five(wire):
    """Five clients, of which three are enough. By default spreads go to clients 1 and 3."""

    def make(rows=ROWS, **more):
        given = {"reveal_to": (1, 3), "reveal_spread": 10, "limits": WILLING, "seed": 2, "precision": 24}
        return wire(rows, **given | more)

    return make


def quantised(net, numbers=None):
    chosen = range(1, net.job.n + 1) if numbers is None else numbers
    rows = np.concatenate([net.rows[j - 1] for j in chosen])
    return np.rint(np.ldexp(rows, net.job.exponent)).astype(np.int64)


def spreads(net, numbers=None):
    """Spreads of the final clusters, from the quantised rows."""
    chosen = range(1, net.job.n + 1) if numbers is None else numbers
    labels = np.concatenate([net.clients[j].labels for j in chosen])
    rows = quantised(net, chosen)
    return np.array([np.ldexp(rows[labels == h].std(axis=0), -net.job.exponent) for h in range(net.job.k)])


def found(net):
    return {j: client.deviations for j, client in net.clients.items() if client.deviations is not None}


def assert_spreads(net, numbers=None):
    for one in found(net).values():
        np.testing.assert_allclose(one, spreads(net, numbers), rtol=1e-12)


class TestWhoGetsThem:
    @pytest.mark.some(4)
    @pytest.mark.parametrize("disclosure", ["coded", "labels"])
    @pytest.mark.parametrize(("t", "ell"), [(1, 1), (2, 1), (1, 2)])
    def test_the_clients_that_centres_go_to_and_nobody_else(self, five, disclosure, t, ell):
        net = five(disclosure=disclosure, t=t, ell=ell)
        net.run()
        assert sorted(found(net)) == [1, 3]
        assert_spreads(net)
        assert {client.state for client in net.clients.values()} == {State.DONE}

    def test_of_a_cluster_without_rows_there_is_none(self, five):
        rows = [np.zeros((6, 2)) for _ in range(5)]
        net = five(rows, starts=[[0, 1, 0, 1, 0, 1]] * 5)
        net.run()
        np.testing.assert_array_equal(found(net)[1], [[0, 0], [np.nan, np.nan]])


class TestConsent:
    def test_to_centres_is_none_to_spreads(self, five):
        with pytest.raises(LimitError, match=r"^client 1 does not consent to revealing spreads"):
            five(limits=Limits(reveal_centres=True))

    def test_to_larger_clusters_is_none_to_smaller_ones(self, five):
        with pytest.raises(
            LimitError, match=r"spreads of clusters of at least 11 rows .*, but the job has 10$"
        ):
            five(limits=replace(WILLING, reveal_spread=11))
        five(limits=WILLING, reveal_spread=11)

    @pytest.mark.parametrize("least", [0, 1, 9, True, 10.0])
    def test_of_fewer_than_ten_rows_cannot_be_given(self, least):
        with pytest.raises(ParameterError, match=r"^limits\.reveal_spread: "):
            Limits(reveal_spread=least)
        with pytest.raises(ParameterError, match=r"^reveal_spread: "):
            make_job(
                n=3,
                k=1,
                t=1,
                ell=1,
                d=2,
                bound=1.0,
                reveal_to=(2,),
                reveal_spread=least,
                disclosure="coded",
            )


def test_sums_that_no_integers_have_are_refused():
    job, sizes = (
        make_job(n=3, k=1, t=1, ell=1, d=1, bound=1.0, precision=4, disclosure="coded"),
        np.array([2]),
    )
    assert deviations([[2]], [[10]], job=job, sizes=sizes) == 2.0 / 16  # -1 and 3
    for total, square in ((2, 1), (2, 11), (0, 2 * job.radius**2 + 2)):
        with pytest.raises(
            TooManyFaultsError, match=r"^spreads: the sums of cluster 0 are not possible for 2 rows"
        ):
            deviations([[total]], [[square]], job=job, sizes=sizes)
