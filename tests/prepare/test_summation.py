"""Totals from shares: the sums, from any polynomial of degree t, and nothing else for any t clients."""

from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import tries

import secfc
from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError
from secfc.field.primes import PRIMES
from secfc.lagrange.basis import evaluation_points
from secfc.prepare.summation import LIMIT, Summation

FIVE_PRIMES = PRIMES[:5]


def add_up(values, *, t, masks=None, spoil=lambda sender, recipient, payload: payload):
    """Every client's Summation after all have dealt and sent their sums, and all messages.

    `spoil` returns what a client deals in place of its shares.
    """
    n, length = len(values), len(values[0])
    clients = {
        j: Summation(number=j, n=n, t=t, length=length, masks=masks[j] if masks else MaskSource())
        for j in range(1, n + 1)
    }
    dealt = {j: client.deal(own) for (j, client), own in zip(clients.items(), values, strict=True)}
    for sender, shares in dealt.items():
        for recipient, payload in shares.items():
            clients[recipient].take(spoil(sender, recipient, payload))
    sums = {j: client.open() for j, client in clients.items()}
    for sender, payload in sums.items():
        for recipient, client in clients.items():
            if recipient != sender:
                with suppress(CheatError):  # wrong shares; what it got is compared
                    client.take_sum(sender, payload)
    return clients, dealt, sums


NUMBERS = st.integers(0, LIMIT // 16) | st.integers(0, 9)


@tries()
@given(st.data(), st.integers(3, 9), st.integers(1, 4))
def test_totals_are_the_sums(data, n, length):
    values = data.draw(st.lists(st.lists(NUMBERS, min_size=length, max_size=length), min_size=n, max_size=n))
    t = data.draw(st.integers(1, (n - 1) // 2))
    clients, _, _ = add_up(values, t=t)
    expected = [sum(column) for column in zip(*values, strict=True)]
    assert [client.totals for client in clients.values()] == [expected] * n


def test_the_largest_numbers_do_not_wrap_around():
    most = LIMIT // 3 - 1
    clients, _, _ = add_up([[most], [most], [most]], t=1)
    assert clients[2].totals == [3 * most]


@pytest.mark.parametrize("values", [[LIMIT // 3], [-1], [1, 2], []])
def test_numbers_out_of_range_are_never_shared(values):
    client = Summation(number=1, n=3, t=1, length=1, masks=MaskSource())
    with pytest.raises(secfc.ParameterError, match="values: 1 whole numbers from 0 are needed"):
        client.deal(values)


def test_shares_of_equal_numbers_differ_every_time():
    first, second = (Summation(number=1, n=5, t=2, length=1, masks=MaskSource()) for _ in range(2))
    assert first.deal([5]) != second.deal([5])


# What t clients see


class Chosen:
    """Masks that a test chooses, by prime; what is drawn later, to check sums, is random."""

    def __init__(self, masks):
        self._masks = dict(masks)

    def uniform(self, p, shape):
        if p not in self._masks:
            return MaskSource().uniform(p, shape)
        values = np.array(self._masks.pop(p), dtype=np.float64).reshape(shape)
        return np.where(values > p // 2, values - p, values)


def coefficients(p, nodes, values):
    """The polynomial of least degree through these points, in Python integers, lowest power first."""
    found = [0] * len(nodes)
    for u, y in zip(nodes, values, strict=True):
        term = [y]
        for v in nodes:
            if v != u:  # times (x - v) / (u - v)
                inverse = pow(u - v, -1, p)
                raised = zip([0, *term], [*term, 0], strict=True)
                term = [(above - v * below) * inverse % p for above, below in raised]
        found = [(one + other) % p for one, other in zip(found, term, strict=True)]
    return found


def shifted(masks, difference, coalition, *, n, t):
    """Masks with which a number larger by `difference` gives the coalition the same shares.

    Masks are the coefficients of g in f(x) = v + (x - beta_1) g(x).
    """
    found = {}
    for prime in FIVE_PRIMES:
        p, points = prime.p, evaluation_points(prime, n=n, coded=1 + t)
        nodes = [points.alpha[j - 1] for j in coalition]
        values = [-difference * pow(a - points.beta[0], -1, p) % p for a in nodes]
        change = coefficients(p, nodes, values)
        found[p] = [(mask + one) % p for mask, one in zip(masks[p], change, strict=True)]
    return found


def view(clients, dealt, sums, coalition):
    """Everything that a coalition gets: shares from others, and all sums."""
    shares = {
        (j, i): payload
        for j, to in dealt.items()
        for i, payload in to.items()
        if j not in coalition and i in coalition
    }
    return shares, sums, clients[coalition[0]].totals


@pytest.mark.some(1)
@pytest.mark.parametrize(("n", "t"), [(3, 1), (5, 2), (6, 2)])
def test_any_t_clients_see_the_same_whatever_the_others_hold_as_long_as_the_total_is_the_same(n, t):
    """For each choice of the others' masks there is one with other numbers that gives exactly the same view.

    The map between them is a bijection (masks are shifted by constants), and masks are uniform. So both
    numbers give any view with the same probability. This is the proof in docs/proofs.md, executed.
    """
    rng = np.random.default_rng(n)
    values = [int(value) for value in rng.integers(1 << 60, size=n)]
    masks = {
        j: {prime.p: [int(one) for one in rng.integers(prime.p, size=t)] for prime in FIVE_PRIMES}
        for j in range(1, n + 1)
    }

    def chosen():
        return {j: Chosen(one) for j, one in masks.items()}

    for coalition in combinations(range(1, n + 1), t):
        honest = [j for j in range(1, n + 1) if j not in coalition]
        # Other numbers of the honest clients with the same total.
        differences = dict.fromkeys(honest, 0)
        differences[honest[0]], differences[honest[1]] = 987654321, -987654321
        other = [value + differences.get(j, 0) for j, value in enumerate(values, 1)]
        moved = {j: shifted(one, differences.get(j, 0), coalition, n=n, t=t) for j, one in masks.items()}

        def others(moved=moved):
            return {j: Chosen(one) for j, one in moved.items()}

        seen = view(*add_up([[one] for one in values], t=t, masks=chosen()), coalition)
        assert seen == view(*add_up([[one] for one in other], t=t, masks=others()), coalition)
        # It sees nothing more if it deals values on no polynomial to everybody.
        wrong = {
            j: b"".join(int(rng.integers(one.p)).to_bytes(3, "little") for one in FIVE_PRIMES)
            for j in range(1, n + 1)
        }

        def spoil(sender, recipient, payload, liars=coalition, wrong=wrong):
            return wrong[recipient] if sender in liars else payload

        lied = view(*add_up([[one] for one in values], t=t, masks=chosen(), spoil=spoil), coalition)
        assert lied != seen
        assert lied == view(*add_up([[one] for one in other], t=t, masks=others(), spoil=spoil), coalition)
        # With another total the view differs, as it must.
        other[honest[0] - 1] += 1
        assert seen != view(*add_up([[one] for one in other], t=t, masks=others()), coalition)


# What is refused


def ready(n=5, t=2, values=(7, 11)):
    return add_up([values] * n, t=t)


def test_of_three_clients_a_wrong_sum_is_noticed_and_nobody_named():
    clients, _, sums = ready(n=3, t=1)
    fresh = Summation(number=1, n=3, t=1, length=2, masks=MaskSource())
    fresh._opened = {1: clients[1]._sum}
    fresh.take_sum(2, sums[2])
    with pytest.raises(CheatError, match=r"contradict each other$"):
        fresh.take_sum(3, sums[2])
