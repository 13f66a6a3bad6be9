"""Centres with noise: how much there is, whose it is, what is opened, and what is refused."""

from collections import Counter
from itertools import product
from math import ceil, exp, sqrt

import numpy as np
import pytest
from support.dealing import deal_wrongly
from support.recorded import recorded_noise

from secfc.crypto.randomness import MaskSource
from secfc.errors import ParameterError
from secfc.lagrange.basis import lagrange_basis
from secfc.operations.ending.centres import centres_of
from secfc.operations.ending.noise import LEAST_VARIANCE, largest_rho, noise_of
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import changed_job, make_job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.states import State

_RNG = np.random.default_rng(3)
ROWS = [(_RNG.normal(size=(m, 3)) + _RNG.integers(2, size=(m, 1)) * 6).tolist() for m in (6, 5, 7, 4, 6)]
WILLING = Limits(reveal_centres=True)
PRIVATE = {"centres_epsilon": 1.0, "centres_delta": 1e-6}
GIVEN = {"n": 5, "k": 2, "t": 1, "ell": 1, "d": 3, "bound": 4.0, "reveal_to": (1, 3)} | PRIVATE


@pytest.fixture
def drawn(monkeypatch):
    return recorded_noise(monkeypatch)


@pytest.fixture
def five(wire):
    """Five clients where three are enough; centres go to clients 1 and 3."""

    def make(rows=ROWS, **more):
        given = {"reveal_to": (1, 3), "disclosure": "labels", "limits": WILLING, "seed": 2}
        return wire(rows, **given | PRIVATE | more)

    return make


def centres(net):
    return {j: client.centres for j, client in net.clients.items() if client.centres is not None}


def expected(net, drawn, numbers=None):
    """Centres from the exact sums and the noise of these clients, all by default."""
    numbers = list(numbers or range(1, net.job.n + 1))
    labels = np.concatenate([net.clients[j].labels for j in numbers])
    rows = np.concatenate([net.rows[j - 1] for j in numbers])
    rows = np.rint(np.ldexp(rows, net.job.exponent)).astype(np.int64).astype(object)
    noise = sum(drawn[net.masks[j]] for j in numbers if net.masks[j] in drawn)
    sizes = np.bincount(labels, minlength=net.job.k)
    sums = [[rows[labels == h, c].sum() + noise[h, c] for h in range(net.job.k)] for c in range(net.job.d)]
    return centres_of(sums, job=net.job, sizes=sizes)


def assert_opened(net, drawn, numbers=None):
    assert sorted(centres(net)) == [1, 3]
    for found in centres(net).values():
        np.testing.assert_array_equal(found, expected(net, drawn, numbers))


class TestHowMuch:
    """h clients with rows neither collude nor are left out; each adds 1/h of the variance."""

    @pytest.mark.parametrize(
        ("n", "t", "ell", "honest"),
        # With quorums of 3, 4, 3, 9, 11 and 11 clients.
        [(3, 1, 1, 2), (5, 1, 1, 3), (4, 1, 1, 2), (10, 4, 1, 5), (11, 4, 2, 7), (20, 1, 1, 10)],
    )
    def test_the_noise_of_clients_that_neither_collude_nor_may_vanish_is_enough(self, n, t, ell, honest):
        job = make_job(**GIVEN | {"n": n, "t": t, "ell": ell})
        noise, rho = noise_of(job, Layout((3,) * n)), largest_rho(1.0, 1e-6)
        assert noise.dealers == honest + t
        assert noise.variance == ceil((2 * job.radius) ** 2 / (2 * honest * rho))

    def test_clients_without_rows_add_no_noise_and_do_not_count(self):
        job = make_job(**GIVEN)
        assert noise_of(job, Layout((3, 0, 3, 3, 3))).dealers == 3
        two, three = (noise_of(job, Layout(counts)).variance for counts in ((3, 0, 3, 3, 3), (3,) * 5))
        assert two / three == pytest.approx(3 / 2)

    def test_a_delta_of_one_row_in_all_is_an_error(self):
        job = make_job(**GIVEN | {"centres_delta": 1 / 16})
        assert noise_of(job, Layout((3,) * 5))
        with pytest.raises(
            ParameterError, match=r"^centres_delta: .* 0\.0625 was given and there are 16 rows$"
        ):
            noise_of(job, Layout((3, 3, 3, 3, 4)))

    def test_too_few_clients_with_rows_are_an_error(self):
        text = r"^centres_epsilon: 1 clients may collude and 1 may vanish, so at least 3 .* needed .* are 2$"
        with pytest.raises(ParameterError, match=text):
            noise_of(make_job(**GIVEN), Layout((3, 0, 0, 0, 3)))

    def test_weights_move_sums_by_as_much_more(self):
        job = make_job(**GIVEN, weighted=True)
        weights = np.array([1, 7, 2, 1, 1])
        heavy = noise_of(job, Layout((1,) * 5, weights=weights)).variance
        assert heavy / noise_of(job, Layout((1,) * 5)).variance == pytest.approx(49)

    def test_a_single_clients_noise_has_a_variance_that_its_bounds_need(self):
        job = make_job(**GIVEN | {"centres_epsilon": 1e9, "precision": 1})
        assert noise_of(job, Layout((3,) * 5)).variance == LEAST_VARIANCE

    @pytest.mark.parametrize(
        ("epsilon", "delta", "text"),
        [
            (1e-30, 1e-300, "1e-30 with centres_delta 1e-300 is too small"),
            (1e-12, 1e-300, "1e-12 with centres_delta 1e-300 needs noise that does not fit in the modulus; "),
        ],
    )
    def test_numbers_so_small_that_noise_does_not_fit_are_an_error(self, epsilon, delta, text):
        job = make_job(**GIVEN | {"centres_epsilon": epsilon, "centres_delta": delta, "precision": 1})
        with pytest.raises(ParameterError, match=f"^centres_epsilon: {text}"):
            noise_of(job, Layout((3,) * 5))

    @pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-5), (3.0, 0.05)])
    def test_the_honest_clients_noise_has_the_guarantee_that_dp_accounting_computes(self, epsilon, delta):
        dp_accounting = pytest.importorskip("dp_accounting")
        job = make_job(**GIVEN | {"centres_epsilon": epsilon, "centres_delta": delta})
        noise = noise_of(job, Layout((3,) * 5))
        multiplier = sqrt(3 * noise.variance) / (2 * job.radius)
        accountant = dp_accounting.rdp.RdpAccountant(1 + np.geomspace(1e-3, 1e4, 4000))
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
        assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=1e-5)  # as its orders are few

    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (4.0, 1e-2), (0.5, 0.05)])
    def test_the_sum_of_honest_noise_has_the_guarantee_by_its_probabilities(self, epsilon, delta):
        # A row moved as far as it can go, along one column, with integers so small that all can be summed.
        job = make_job(**GIVEN | {"centres_epsilon": epsilon, "centres_delta": delta, "precision": 1, "d": 1})
        noise, moved = noise_of(job, Layout((3,) * 5)), 2 * job.radius
        reach = 40 * ceil(sqrt(noise.variance))
        of_one = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * noise.variance))
        of_one /= of_one.sum()
        of_three = np.convolve(np.convolve(of_one, of_one), of_one)
        here = np.concatenate([of_three, np.zeros(moved)])
        there = np.concatenate([np.zeros(moved), of_three])
        lost = np.maximum(here - exp(epsilon) * there, 0).sum()
        assert delta / 20 < lost <= delta


class TestWhatIsOpened:
    def test_exact_sums_plus_the_noise_of_all(self, five, drawn):
        net = five()
        net.run()
        assert len(drawn) == 5
        assert_opened(net, drawn)
        assert {client.state for client in net.clients.values()} == {State.DONE}

    def test_with_weights(self, five, drawn):
        ones = [np.ones(len(rows), dtype=np.int64) for rows in ROWS]
        net = five(weights=ones)
        net.run()
        assert_opened(net, drawn)

    def test_a_client_without_rows_adds_none(self, five, drawn):
        net = five([*ROWS[:3], np.empty((0, 3)), ROWS[4]])
        net.run()
        assert net.masks[4] not in drawn
        assert_opened(net, drawn)


class TestNothingElse:
    # At a prime so small that all masks can be tried: t = 1, ell = 1, two rows in the cluster, two dealers.
    P, BETA, ALPHA = 7, (0, 1), (2, 3, 4)

    def views(self, rows, noise, client):
        """How often a recipient sees its shares of rows and noise with the polynomial of the noisy sum."""
        basis = lagrange_basis(self.BETA, self.ALPHA, self.P).astype(int)
        seen = Counter()
        for masks in product(range(self.P), repeat=len(rows) + len(noise)):
            shares = [basis @ pair % self.P for pair in zip((*rows, *noise), masks, strict=True)]
            total = sum(shares) % self.P
            seen[(*(one[client] for one in shares), *total)] += 1
        return seen

    @pytest.mark.parametrize("client", range(3))
    @pytest.mark.parametrize("other", [((1, 1), (4, 2)), ((6, 0), (3, 6)), ((2, 3), (0, 3))])
    def test_rows_and_noise_with_one_noisy_sum_look_the_same_to_a_recipient(self, client, other):
        assert self.views((2, 3), (1, 2), client) == self.views(*other, client)

    def test_rows_and_noise_with_another_sum_do_not(self):
        assert self.views((2, 3), (1, 2), 0) != self.views((2, 3), (1, 3), 0)


class TestTheJob:
    @pytest.mark.parametrize(
        ("changed", "text"),
        [
            ({"centres_epsilon": 0}, "centres_epsilon: a number above 0 is needed, 0 was given"),
            ({"centres_epsilon": -1.0}, "centres_epsilon: a number above 0 is needed, -1.0 was given"),
            ({"centres_epsilon": float("inf")}, "centres_epsilon: a number above 0 is needed, inf was given"),
            ({"centres_epsilon": float("nan")}, "centres_epsilon: a number above 0 is needed, nan was given"),
            ({"centres_epsilon": True}, "centres_epsilon: a number above 0 is needed, True was given"),
            ({"centres_epsilon": "1"}, "centres_epsilon: a number above 0 is needed, '1' was given"),
            ({"centres_delta": 0.0}, "centres_delta: a number above 0 and below 1 is needed, 0.0 was given"),
            ({"centres_delta": 1}, "centres_delta: a number above 0 and below 1 is needed, 1 was given"),
            ({"centres_delta": None}, "centres_epsilon: only with centres_delta, "),
            ({"centres_epsilon": None}, "centres_epsilon: only with centres_delta, "),
            ({"reveal_to": ()}, "centres_epsilon: only with reveal_centres, "),
        ],
    )
    def test_values_and_options_that_do_not_fit_are_refused(self, changed, text):
        with pytest.raises(ParameterError) as caught:
            make_job(**GIVEN | changed)
        assert str(caught.value).startswith(text)

    def test_both_numbers_are_in_the_digest(self):
        job = make_job(**GIVEN)
        others = [changed_job(job, centres_epsilon=2.0), changed_job(job, centres_delta=1e-7)]
        assert len({one.digest for one in (job, *others)}) == 3

    def test_a_whole_epsilon_is_the_same_number(self):
        assert make_job(**GIVEN | {"centres_epsilon": 1}).digest == make_job(**GIVEN).digest


def test_noise_repeats_nothing_of_the_masks_source():
    """It comes from the run's cryptographic generator, and moves its position on."""
    job, masks = make_job(**GIVEN), MaskSource()
    noise = noise_of(job, Layout((3,) * 5))
    first, position = noise.draw(job, masks), masks.position
    assert first.shape == (2, 3)
    assert position > 0
    assert (first != noise.draw(job, masks)).any()
    assert masks.position > position


def test_of_a_client_that_is_left_out_as_a_liar_nobody_waits_for_more(five, drawn, monkeypatch):
    deal_wrongly(monkeypatch, 6, [2, 5])
    net = five([*ROWS, ROWS[0], ROWS[1]], max_liars=1)
    net.run()
    assert net.server.faults.left_out == (6,)
    assert_opened(net, drawn, [1, 2, 3, 4, 5, 7])
