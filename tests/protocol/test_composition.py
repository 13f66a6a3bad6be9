"""Several phases of one run, and several runs: what they reveal together and not alone."""

from dataclasses import replace

import numpy as np
import pytest
from support.dealing import deal_wrongly

from secfc.api.transformer import Prepare
from secfc.errors import MessageError, TooManyFaultsError
from secfc.prepare import Schema
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, Plan
from secfc.protocol.states import State

WILLING = Limits(reveal_centres=True, smallest_set=5)
OPENS = {"reveal_to": (2,), "limits": WILLING, "bound": 12.0, "precision": 40, "seed": 1}


def ages(single=91.5):
    """Ages at three parties with many rows and one with a single row, in two groups."""
    rng = np.random.default_rng(4)
    many = [rng.choice([25.0, 70.0], m) + rng.normal(0, 4, m) for m in (14, 19, 17)]
    return [*many, np.array([single])]


def standardised(values):
    """Prepared rows, and the statistics of the one column, which all parties know."""
    column = {"name": "age", "low": 0, "high": 120, "scale": "standardise"}
    schema = Schema.of({"smallest": 5, "column": [column]})
    done = Prepare(schema, t=1)
    rows = done.fit_transform([{"age": one} for one in values])
    return rows, done.preparation_.statistics["age"]


def total_of_clusters(net, recipient=2):
    """The sum of all rows in the opened clusters, and their number."""
    client, sizes = net.clients[recipient], np.bincount(net.server.outcome.labels, minlength=net.job.k)
    return float(sizes @ np.nan_to_num(client.centres)[:, 0]), int(sizes.sum())


# Totals, then a run without a party: closed


def test_a_client_refuses_to_go_on_without_somebody_whose_values_are_in_the_totals(wire, refuses):
    rows, _ = standardised(ages())
    net = wire(rows, prepared=True, **OPENS)
    plan = net.hold(Plan, recipient=1)
    without = replace(plan, introductions=(*plan.introductions[:3], None))
    text = "without client 4, whose values are in the means and deviations that were opened$"
    refuses(net.clients[1], without, MessageError, f"^Plan: {text}")


@pytest.mark.parametrize("state", [State.IDENTIFY, State.SHARE])
def test_a_server_goes_on_with_everybody_or_ends_the_run_after_totals(wire, state):
    rows, _ = standardised(ages())
    net = wire([*rows, rows[0]], prepared=True, max_liars=1, bound=12.0)
    net.run(until=lambda: net.server.state is state)
    text = (
        "^client 4: absent; no party can be left out, because the opened means and deviations include all 5 "
        "parties' values$"
    )

    def goes_on():
        net.post(net.server.absent(4))
        net.run(drop=lambda message: 4 in (message.sender, message.recipient))

    with pytest.raises(TooManyFaultsError, match=text):
        goes_on()


def test_a_client_that_deals_badly_after_totals_ends_the_run(wire, monkeypatch):
    rows, _ = standardised(ages())
    net = wire([*rows, rows[0]], prepared=True, max_liars=1, bound=12.0)
    deal_wrongly(monkeypatch, 2, (1, 4))
    with pytest.raises(TooManyFaultsError, match=r"^client 2: .*; no party can be left out, .* all 5"):
        net.run()


def test_a_client_that_vanishes_once_all_rows_are_shared_stays_in_what_is_opened(wire):
    rows, _ = standardised(ages())
    net = wire(rows, prepared=True, **OPENS)
    net.run(until=lambda: net.server.state is State.ITERATE)
    net.server.absent(4)
    net.run(drop=lambda message: 4 in (message.sender, message.recipient))
    total, m = total_of_clusters(net)
    assert m == 51
    assert abs(total) < 1e-6  # as the totals say: standardised values add up to 0


# Totals of other parties than those of the run, which a run cannot detect: docs/proofs.md, Composition


def test_totals_and_a_run_of_other_parties_give_the_difference_from_centres(wire):
    values = ages()
    rows, age = standardised(values)
    net = wire(rows[:3], **OPENS)  # prepared by four parties, run by three
    net.run()
    total, m = total_of_clusters(net)
    found = age.count * age.mean - (age.deviation * total + m * age.mean)
    assert found == pytest.approx(values[3][0], abs=1e-5)


def test_totals_and_a_run_of_other_parties_give_a_row_up_to_its_side_from_the_inertia_alone(wire):
    values = ages()
    rows, age = standardised(values)
    net = wire(rows[:3], k=1, bound=12.0, precision=40)
    net.run()
    # The rest has mean mu and inertia I. All rows have mean 0 and sum of squares m.
    m, inertia = age.count, net.clients[1].inertia
    beyond = np.sqrt((m - inertia) * (m - 1) / m)
    assert abs(beyond * age.deviation) == pytest.approx(abs(values[3][0] - age.mean), abs=1e-4)


# Totals and the public results, with all parties


def test_totals_and_the_inertia_give_two_centres_of_one_column_to_everybody(wire):
    rows, _ = standardised(ages())
    net = wire(rows, prepared=True, bound=12.0, precision=40, seed=1)
    net.run()
    client = net.clients[1]
    sizes, m = np.bincount(net.server.outcome.labels), 51
    # n1 c1 + n2 c2 = 0 and n1 c1**2 + n2 c2**2 = m - I, as all rows together have mean 0 and deviation 1.
    first = np.sqrt((m - client.inertia) * sizes[1] / (sizes[0] * m))
    found = np.array([first, -first * sizes[0] / sizes[1]])
    labels, everything = np.concatenate(net.labels()), np.concatenate(rows)[:, 0]
    true = np.array([everything[labels == h].mean() for h in (0, 1)])
    np.testing.assert_allclose(found * np.sign(true[0]), true, atol=1e-6)


@pytest.mark.parametrize(("d", "k"), [(2, 2), (1, 3)])
def test_with_more_columns_or_clusters_other_centres_have_the_same_totals_and_inertia(d, k):
    """There are d (k - 1) unknown numbers and one equation."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(5, 30, k)
    true = rng.normal(size=(k, d))
    true -= sizes @ true / sizes.sum()
    # Moves that keep the totals, and two of them that keep the sum between clusters to first order.
    keep = np.linalg.svd(np.kron(sizes, np.eye(d)))[2][d:]
    gradient = keep @ (2 * sizes[:, np.newaxis] * true).ravel()
    turned = np.linalg.svd(gradient[np.newaxis])[2][1:] @ keep
    other = true + 0.3 * turned[0].reshape(k, d)
    other *= np.sqrt((sizes @ true**2).sum() / (sizes @ other**2).sum())
    np.testing.assert_allclose(sizes @ other, sizes @ true, atol=1e-9)
    assert (sizes @ other**2).sum() == pytest.approx((sizes @ true**2).sum())
    assert np.abs(other - true).max() > 0.05


# Runs and preparations that differ by one party


def test_centres_of_a_run_with_and_of_one_without_a_party_give_its_rows(wire):
    rows, _ = standardised(ages())
    whole = wire(rows, **OPENS)
    whole.run()
    part = wire(rows, **OPENS)
    del part.links[4, SERVER]
    part.post(part.server.absent(4))
    part.run(drop=lambda message: 4 in (message.sender, message.recipient))
    (all_, m), (rest, without) = total_of_clusters(whole), total_of_clusters(part)
    assert (m, without) == (51, 50)
    assert all_ - rest == pytest.approx(rows[3][0, 0], abs=1e-6)


def test_totals_with_and_without_a_party_give_its_sums():
    values = ages()
    (_, whole), (_, part) = standardised(values), standardised(values[:3])
    found = whole.count * whole.mean - part.count * part.mean
    assert found == pytest.approx(values[3][0], abs=1e-4)


def test_of_the_same_rows_totals_are_the_same_however_often_they_are_opened():
    assert standardised(ages())[1] == standardised(ages())[1]


def test_rows_of_a_client_that_was_left_out_are_in_nothing_that_follows(wire):
    """Without totals a run continues: what it opens depends only on the others' rows."""
    told = []
    for single in (91.5, 3.25):
        rows = [(one[:, np.newaxis] - 50) / 20 for one in ages(single)]
        net = wire(rows, **OPENS)
        net.hold(Plan, recipient=4)
        net.post(net.server.absent(4))
        net.run(drop=lambda message: 4 in (message.sender, message.recipient))
        labels = [net.clients[j].labels.tolist() for j in (1, 2, 3)]
        told.append((labels, net.clients[1].inertia, net.clients[2].centres.tolist()))
    assert told[0] == told[1]
