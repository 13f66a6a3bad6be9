"""Programs with several starts or several k: lost clients, limits, and what the server and owners learn."""

from dataclasses import replace

import numpy as np
import pytest
from protocol.test_program import AT_ALL, ROWS, assert_exact, net_of, run_without

from plaintext_baselines import ExactLloyd
from secfc.drivers.deposits.committee import Committee
from secfc.drivers.in_process import run_in_process
from secfc.drivers.setup import Setup
from secfc.errors import LimitError, ParameterError
from secfc.kmeans.clustering import LabelResult
from secfc.kmeans.measures import Measures
from secfc.kmeans.sets import random_partition
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job
from secfc.protocol.parties.party import Party
from secfc.protocol.program.whole_run import most_suitable

M = sum(map(len, ROWS))


def told(net):
    """What everybody learns of each number of clusters."""
    return [(one.k, one.best, one.opened, one.n_iter, one.converged) for one in net.server.found]


@pytest.mark.parametrize("seed", [1, 2])
def test_owners_get_the_labels_of_the_best_start(seed):
    net = net_of(n_init=3, seed=seed)
    net.run()
    assert_exact(net)
    lloyd = ExactLloyd(3, n_init=3, random_state=seed, bound=20.0, precision=16, max_iter=6).fit(ROWS)
    assert [net.clients[j].labels.tolist() for j in AT_ALL] == [own.tolist() for own in lloyd.labels_]
    ((_, best, opened, *_),) = told(net)
    assert (1 <= best.equal <= best.near <= 3, opened) == (True, None)


@pytest.mark.parametrize("at", [60, 1500])
def test_without_a_client_that_does_not_compare_all_starts_end(at):
    net = net_of(n_init=2, reveal_inertia=True, limits=Limits(reveal_inertia=True))
    run_without(net, 5, at, seed=at)
    out = net.server.faults.left_out
    assert_exact(net, [j for j in AT_ALL if j not in out], but=[5])
    (one,) = net.server.found
    assert one.opened > 0


def test_of_several_k_owners_get_the_labels_of_the_best_and_nobody_those_of_another(monkeypatch):
    sent, real = [], Party.send

    def send(me, recipient, tag, data):
        sent.append((me.number, recipient, tag, len(data)))
        real(me, recipient, tag, data)

    monkeypatch.setattr(Party, "send", send)
    consent = Limits(reveal_inertia=True)
    net = net_of(compared=(2, 3), k=3, n_init=2, reveal_inertia=True, limits=consent, max_iter=9)
    net.run()
    ratios = [one.measures.calinski_harabasz for one in net.server.found]
    best = net.server.found[int(np.argmax(ratios))]
    assert [one.k for one in net.server.found] == [2, 3]
    assert net.server.outcome is best
    start = np.split(best.start, np.cumsum([len(own) for own in ROWS])[:-1])
    lloyd = ExactLloyd(best.k, init=start, bound=20.0, precision=16, max_iter=9).fit(ROWS)
    assert [net.clients[j].labels.tolist() for j in AT_ALL] == [own.tolist() for own in lloyd.labels_]
    labels = [one for one in sent if one[2] == "labels"]
    assert len(labels) == 25
    assert {size for *_, size in labels} == {3 * best.k * len(own) for own in ROWS}


def test_the_number_of_clusters_with_the_greatest_ratio_is_the_result():
    def clustering(k, ratio):
        measures = None if ratio is None else Measures(calinski_harabasz=ratio)
        return LabelResult(start=np.zeros(1), labels=np.zeros(1), k=k, measures=measures)

    for ratios, best in (((1.0, 2.0, 2.0), 3), ((np.nan, np.nan), 2), ((np.nan, -1.0), 3), ((None,), 2)):
        found = [clustering(k, ratio) for k, ratio in enumerate(ratios, 2)]
        assert most_suitable(found).k == best


class TestLimits:
    def test_of_rounds_count_those_of_all_starts(self):
        one, both = net_of(n_init=1), net_of(n_init=2)
        one.run()
        rounds = one.server.progress.round
        assert both.job.max_rounds == 2 * one.job.max_rounds
        text = f"answers {rounds} rounds at most, but round {rounds + 1} would begin"
        with pytest.raises(LimitError, match=text):
            net_of(n_init=2, limits=Limits(most_rounds=rounds)).run()

    def test_of_sets_are_about_the_first_ones_of_every_start(self):
        seed = next(seed for seed in range(99) if smallest(seed)[0] > 3 >= smallest(seed)[1])
        net_of(seed=seed, limits=Limits(smallest_set=4)).run()
        with pytest.raises(LimitError, match=r"sets of at least 4 rows, but round \d+ has a set of [123]$"):
            net_of(seed=seed, n_init=2, limits=Limits(smallest_set=4)).run()


def smallest(seed):
    """The size of the smallest of the first sets of two starts."""
    rng = np.random.default_rng(seed)
    return [np.bincount(random_partition(rng, M, 3)).min() for _ in range(2)]


def test_without_consent_no_inertia_is_opened():
    with pytest.raises(LimitError, match="does not consent to revealing the inertia"):
        net_of(reveal_inertia=True).run()


def test_an_inertia_whose_modulus_does_not_fit_is_refused():
    net = net_of(reveal_inertia=True, precision=52, limits=Limits(reveal_inertia=True))
    text = r"^an inertia of 1000000 rows take \d+ bits, the modulus has 191: lower precision by \d+ bits"
    with pytest.raises(ParameterError, match=text):
        net.job.residues(10**6)


def test_owners_of_deposits_open_the_labels_of_a_k_below_the_largest():
    rows = [np.array([[0.0, 0.0], [9.0, 9.0]]), np.array([[0.0, 0.1], [9.0, 9.2], [0.1, 0.0]])]
    job = make_job(n=3, k=3, t=1, ell=1, d=2, bound=20.0, compared=(2, 3), reveal_inertia=True, seed=0)
    setup = Setup(job=job, rows=rows, starts=None, names=["a", "b", "c"], limits=Limits(reveal_inertia=True))
    committee = Committee.of(job, rows, keeps=False)
    outcome = run_in_process(replace(setup, job=committee.job, committee=committee))
    assert outcome.k == 2
    first, second = outcome.labels
    assert first.tolist() == second[:2].tolist()
    assert second.tolist() == [first[0], first[1], first[0]]
