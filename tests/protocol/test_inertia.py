"""What the inertia, which everybody is told, tells a party that knows all rows but one."""

import numpy as np

from secfc.protocol.messages import Assignment, Finish

D, K = 2, 4


def inertia(rows, sets, labels):
    """Of rows with these labels about the means of these sets."""
    means = np.array([rows[sets == h].mean(axis=0) for h in range(K)])
    return ((rows - means[labels]) ** 2).sum()


def equation(rows, sets, labels):
    """Factors of |x|^2, x and 1 in the inertia, as the last row x is the unknown."""
    known = rows[:-1]

    def at(x):
        return inertia(np.vstack([known, x]), sets, labels)

    nothing = at(np.zeros(D))
    ends = [(at(one), at(-one)) for one in np.eye(D)]
    return np.array([(ends[0][0] + ends[0][1]) / 2 - nothing, *((a - b) / 2 for a, b in ends), nothing])


def test_a_party_that_knows_all_rows_but_one_finds_it_from_inertias_and_labels(wire):
    rng = np.random.default_rng(1)
    rows, secret = rng.normal(size=(200, D)), np.array([[0.4, -0.3]])
    net, asked, told = wire([rows, np.zeros((0, D)), secret], k=K, precision=32), {}, []

    def look(message):
        if message.recipient == 1 and isinstance(message, Assignment):
            asked[message.round] = message.sets
        told.extend([message] if message.recipient == 1 and isinstance(message, Finish) else [])
        return False

    net.run(drop=look)
    (finish,), outcome, everyone = told, net.server.outcome, np.vstack([rows, secret])
    sets = [asked[round_] for round_ in sorted(asked)]
    history = [net.job.in_data_units(one) for one in outcome.history]
    assert len(history) == len(sets) >= D + 2

    # What every client is told by the protocol: one sphere that the row lies on.
    *factors, rest = equation(everyone, sets[-1], finish.labels)
    assert np.isclose(np.dot(factors, [(secret**2).sum(), *secret[0]]) + rest, finish.inertia)

    # What a summary shows to whoever has it: as many as there are iterations.
    equations = np.array(
        [equation(everyone, *one) for one in zip(sets, [*sets[1:], finish.labels], strict=True)]
    )
    found, *_ = np.linalg.lstsq(equations[:, :-1], np.array(history) - equations[:, -1], rcond=None)
    np.testing.assert_allclose(found[1:], secret[0], atol=1e-4)
