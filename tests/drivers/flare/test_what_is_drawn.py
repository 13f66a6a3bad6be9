"""In an agreed run rows are drawn by nobody alone: the job's seed, which all know, says nothing of them."""

import numpy as np
import pytest
from support.network import Network

from plaintext_baselines import ExactLloyd
from secfc.operations.beginning import plus_plus

pytestmark = pytest.mark.usefixtures("clock")


def test_what_is_drawn_does_not_follow_from_the_seed(organisations, monkeypatch):
    drawn, real = [], plus_plus.random_numbers

    def numbers(me, count, repeated=None):
        drawn.append((me.number, repeated))
        return real(me, count, repeated)

    monkeypatch.setattr(plus_plus, "random_numbers", numbers)
    made = organisations(20, 10, 30, disclosure="labels", init="k-means++")
    network = Network(made)
    network.run()
    assert sorted(drawn) == [(number, None) for number in range(4)]
    assert (network.coordinator.report.start == -1).all()
    found = [np.array(made.labels(name)) for name in made.names]
    exact = ExactLloyd(3, init=found, bound=made.agreement.job.bound).fit(made.rows)
    assert [one.tolist() for one in exact.labels_] == [one.tolist() for one in found]
