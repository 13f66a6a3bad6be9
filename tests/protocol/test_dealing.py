"""Shares that are on no polynomial are found before the first assignment, and their dealer is left out."""

from collections import Counter
from dataclasses import replace
from itertools import accumulate, product

import numpy as np
import pytest

from plaintext_baselines import ExactLloyd
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues
from secfc.field.primes import PRIMES, primes_of
from secfc.protocol.job.making import make_job
from secfc.protocol.messages import SERVER, Challenge, LeaveOut, Report
from secfc.protocol.states import State
from secfc.sharing.dealing import Reports, combined, covers_of

pytestmark = pytest.mark.questions

P = PRIMES[0].p
_RNG = np.random.default_rng(8)
SEVEN = [_RNG.normal(size=(m, 3)).round(2) for m in (3, 4, 2, 5, 0, 3, 4)]
"""Seven clients; R = 5 with t=1, ell=2, so one liar is tolerated."""


@pytest.fixture
def seven(wire):
    return lambda **more: wire(SEVEN, **{"t": 1, "ell": 2, "max_liars": 1, "seed": 4} | more)


def assert_exact(net, left_out=()):
    rows = [part[:0] if j in left_out else part for j, part in enumerate(net.rows, 1)]
    best = net.server.outcome
    exact = ExactLloyd(
        net.job.k,
        init=np.split(best.start, np.cumsum([len(part) for part in rows])[:-1]),
        precision=net.job.precision,
        bound=net.job.bound,
    ).fit(rows)
    np.testing.assert_array_equal(best.labels, np.concatenate(exact.labels_))


def test_without_liars_tolerated_there_is_no_check_and_no_cover(seven):
    net = seven(max_liars=0)
    kinds = Counter()
    net.run(drop=lambda message: kinds.update([type(message)]) is not None)
    assert kinds[Challenge] == kinds[Report] == 0


@pytest.mark.some(3)
@pytest.mark.parametrize("dealer", [1, 4, 7])
@pytest.mark.parametrize("victims", [(2, 3), (2, 3, 6), (2, 3, 5, 6)])
def test_a_dealer_whose_shares_lie_on_no_polynomial_is_left_out_as_a_whole(seven, dealer, victims):
    net = seven()
    net.deal_badly(dealer, victims)
    net.run()
    assert net.server.faults.left_out == (dealer,)
    reason = net.server.gathering.left_out[dealer]
    assert "not on a polynomial" in reason or "clients dispute its shares" in reason
    assert net.server.faults.liars == ()
    assert net.clients[dealer].labels is None
    assert_exact(net, left_out={dealer})


def test_reports_of_wrong_shape_with_no_residues_or_twice_are_refused(seven, refuses):
    net = seven()
    report = net.hold(Report, recipient=SERVER)
    primes, count, asked = report.residues.shape
    wrong = PackedResidues(shape=(primes, count, asked - 1), payload=bytes(3 * primes * count * (asked - 1)))
    refuses(net.server, replace(report, residues=wrong), MessageError, "^Report: of shape")
    full = PackedResidues(
        shape=report.residues.shape, payload=b"\xfe\xff\xff" * (len(report.residues.payload) // 3)
    )
    refuses(net.server, replace(report, residues=full), MessageError, "not below its prime")
    net.deliver(report)
    refuses(net.server, report, MessageError, "a second one")


def test_too_few_reports_name_the_inequality():
    job = make_job(n=7, k=2, t=1, ell=2, d=2, bound=1.0, max_liars=1, disclosure="coded")
    empty = PackedResidues(shape=(1, 2, 1), payload=bytes(6))
    with pytest.raises(TooManyFaultsError, match=r"n >= R \+ S \+ A must hold: 7 < 5 \+ 3 \+ 1"):
        Reports(job, primes_of(1), [(1, 0)], dict.fromkeys(range(1, 5), empty))


def test_a_combination_is_that_of_integers():
    rng = np.random.default_rng(0)
    half = P // 2
    for width, *sizes in ((1, 1), (3, 20, 1, 22), (2, 64), (130, 3, 7)):
        rows = sum(sizes)
        shares = rng.integers(-half, half + 1, (width, rows)).astype(np.float32)
        coefficients = rng.integers(-half, half + 1, (2, width, rows)).astype(float)
        found = combined(shares, coefficients, P, sizes)
        for stop, size, values in zip(accumulate(sizes), sizes, found.T, strict=True):
            own = slice(stop - size, stop)
            exact = [
                sum(int(a) * int(b) for a, b in zip(c[:, own].flat, shares[:, own].flat, strict=True)) % P
                for c in coefficients
            ]
            assert [int(v) % P for v in values] == exact


def test_a_combination_and_the_shares_of_t_clients_are_equally_likely_for_every_row():
    """Exhaustive modulo 7, ell = t = 1: all that the server and one client see of the check."""
    p, r = 7, 3
    beta, alpha = (0, 1), 4

    def value(at_0, at_1, z):
        """The value at z of the line through both."""
        return (at_0 + (at_1 - at_0) * (z - beta[0])) % p

    seen = []
    for x in range(p):
        views = Counter()
        for mask, cover_0, cover_1 in product(range(p), repeat=3):
            combination = ((cover_0 + r * x) % p, (cover_1 + r * mask) % p)
            views[value(x, mask, alpha), value(cover_0, cover_1, alpha), combination] += 1
        seen.append(views)
    assert all(views == seen[0] for views in seen)


def test_covers_are_as_many_as_combinations_and_never_used_twice(seven):
    net = seven()
    challenge = net.hold(Challenge, recipient=1)
    dealt = net.clients[1].phase.held.sharing._testimonies[0]._dealt
    size = 3 * net.job.residues(net.m) * covers_of(net.job)
    assert {len(covers) for covers, _ in dealt.values()} == {size}
    assert covers_of(net.job) == 2
    assert len({covers for covers, _ in dealt.values()}) == len(dealt)
    net.deliver(challenge)
    with pytest.raises(MessageError, match=r"^Challenge: a second one"):
        net.clients[1].receive(challenge)
    net.run()
    assert net.clients[1].phase.held.sharing._testimonies[0]._dealt == {}


def test_a_client_left_out_by_the_check_is_told(seven):
    net = seven()
    net.deal_badly(4, (1, 2, 3))
    message = net.hold(LeaveOut, recipient=4)
    net.deliver(message)
    assert message.client == 4
    assert net.clients[4].state is State.DONE
