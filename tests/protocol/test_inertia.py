"""What the inertia, which everybody gets, reveals to a party that knows all rows except one."""

from collections import defaultdict

import numpy as np

from secfc.protocol.client import Client
from secfc.protocol.job.limits import Limits

D, K = 2, 4


def asked_of_all(monkeypatch):
    """The sets of each round, as each client learns them."""
    asked, honest = defaultdict(list), Client.round_is

    def begins(client, number, sets):
        asked[client.number].append(sets.copy())
        honest(client, number, sets)

    monkeypatch.setattr(Client, "round_is", begins)
    return asked


def inertia(rows, sets, labels):
    """Inertia of rows with these labels about the means of these sets."""
    means = np.array([rows[sets == h].mean(axis=0) for h in range(K)])
    return ((rows - means[labels]) ** 2).sum()


def equation(rows, sets, labels):
    """Factors of |x|^2, x and 1 in the inertia, where the last row x is unknown."""
    known = rows[:-1]

    def at(x):
        return inertia(np.vstack([known, x]), sets, labels)

    nothing = at(np.zeros(D))
    ends = [(at(one), at(-one)) for one in np.eye(D)]
    return np.array([(ends[0][0] + ends[0][1]) / 2 - nothing, *((a - b) / 2 for a, b in ends), nothing])


def test_a_party_that_knows_all_rows_but_one_finds_it_from_inertias_and_labels(wire, monkeypatch):
    rng = np.random.default_rng(1)
    rows, secret = rng.normal(size=(200, D)), np.array([[0.4, -0.3]])
    asked = asked_of_all(monkeypatch)
    net = wire([rows, np.zeros((0, D)), secret], k=K, precision=32)
    net.run()
    outcome, everyone = net.server.outcome, np.vstack([rows, secret])
    sets, inertia_told = asked[1], net.clients[1].inertia
    history = [net.job.in_data_units(one) for one in outcome.history]
    assert len(history) == len(sets) >= D + 2

    # The protocol gives every client one equation: the row is on a sphere.
    *factors, rest = equation(everyone, sets[-1], outcome.labels)
    assert np.isclose(np.dot(factors, [(secret**2).sum(), *secret[0]]) + rest, inertia_told)

    # A summary gives its reader one equation for each iteration.
    equations = np.array(
        [equation(everyone, *one) for one in zip(sets, [*sets[1:], outcome.labels], strict=True)]
    )
    found, *_ = np.linalg.lstsq(equations[:, :-1], np.array(history) - equations[:, -1], rcond=None)
    np.testing.assert_allclose(found[1:], secret[0], atol=1e-4)


def test_a_row_that_the_last_assignment_moved_alone_is_on_a_sphere_that_spreads_tell(wire, monkeypatch):
    """A recipient needs no own row: the inertia is about means of sets that differ by this row."""
    everyone, rng = [np.zeros((0, D))], np.random.default_rng(3)
    everyone += [rng.normal(size=(40, D)) for _ in "23"]
    given = {"disclosure": "coded", "reveal_to": (1,), "reveal_spread": 10, "precision": 32}
    consent, pooled, found = Limits(reveal_centres=True, reveal_spread=10), np.vstack(everyone), 0
    for seed in range(8):
        asked = asked_of_all(monkeypatch)
        net = wire(everyone, k=2, seed=seed, limits=consent, max_iter=3, **given)
        net.run()
        outcome, client, sets = net.server.outcome, net.clients[1], asked[1][-1]
        moved = np.flatnonzero(outcome.labels != sets)
        if moved.size != 1:
            continue
        found += 1
        (row,) = moved
        left, joined = sets[row], outcome.labels[row]
        sizes = np.bincount(outcome.labels)
        of_rows = sizes @ (client.deviations**2).sum(axis=1)
        to = ((pooled[row] - client.centres) ** 2).sum(axis=1)
        sphere = sizes[left] / (sizes[left] + 1) ** 2 * to[left]
        sphere += sizes[joined] / (sizes[joined] - 1) ** 2 * to[joined]
        assert np.isclose(client.inertia - of_rows, sphere, rtol=1e-3)
    assert found
