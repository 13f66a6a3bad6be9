"""A server and a client that collude: the server withholds shares between honest clients, the client lies.

What the server withholds looks as if a client had dealt wrongly. If each such pair counted as a liar, the
client would lie unnoticed (`secfc.sharing.unread`).
"""

import numpy as np
import pytest
from support import split_views
from support.split_views import SplitViews

from secfc.field.packing import PackedResidues, pack, unpack
from secfc.operations import secure
from secfc.operations.ending import revealing
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER
from secfc.protocol.parties.party import Party

LIAR = 1
CENTRES = {"reveal_to": (LIAR,), "limits": Limits(reveal_centres=True, smallest_set=5)}


def noted(monkeypatch, module, name):
    """The parties that run an operation now."""
    real, within = getattr(module, name), set()

    def operation(me, *given, **more):
        within.add(me.number)
        try:
            return (yield from real(me, *given, **more))
        finally:
            within.discard(me.number)

    monkeypatch.setattr(module, name, operation)
    return within


def shifted(me, data, signs):
    """The liar's share, with which an opening by the first holders finds large numbers of these signs."""
    primes = me.code.primes
    used = [j for j in me.roles.holders if j not in me.unsure][: me.code.wide]
    weights = me.code.weights(tuple(used))[:, used.index(LIAR)]
    shares = PackedResidues(payload=data, shape=(len(primes), 1, len(data) // 3 // len(primes))).planes()
    large = int(np.prod(np.array(primes, dtype=object))) // 4
    found = unpack(shares).astype(object)
    for at, p in enumerate(primes):
        found[at, 0] = (found[at, 0] + large * pow(int(weights[at]), -1, p) * signs(found.shape[2])) % p
    return pack(found.astype(np.float64), me.code.moduli).tobytes()


@pytest.fixture
def attack(monkeypatch):
    """Run n clients of whom the last one is honest and withheld from `told`."""

    def run(n, told, *, lies=True, **more):
        rng = np.random.default_rng(n)
        sizes = [7, 8, 9, 6, 7, 6, 8][:n]
        rows = [rng.normal(size=(m, 2)).round(2) + 4 * rng.integers(0, 2, (m, 1)) for m in sizes]
        monkeypatch.setattr(split_views, "ROWS", rows)
        comparing = noted(monkeypatch, secure, "nearest")
        counting = noted(monkeypatch, revealing, "lacking")
        send_share = Party.send_share

        def send(me, recipients, tag, data):
            if lies and (me.number, tag) == (LIAR, "answer"):
                if me.number in comparing:  # its set is then one row of another client
                    data = shifted(me, data, lambda m: np.where(np.arange(m) == 10, -1, 1).astype(object))
                elif me.number in counting:
                    data = shifted(me, data, lambda m: np.ones(m, dtype=object))
            send_share(me, recipients, tag, data)

        monkeypatch.setattr(Party, "send_share", send)
        helpers = {"comparers": (n + 1, n + 2, n + 3), "max_liars": 1}
        return SplitViews(monkeypatch, victim=n, told=told, step=1, **helpers, **more).run()

    return run


def assert_nobody_honest_is_named(found):
    parties = [one._steps.me for one in (found.net.server, *found.net.clients.values())]
    assert set().union(*(me.liars for me in parties)) <= {LIAR}
    assert {holder for _, holder in found.net.server.faults.claimed} <= {LIAR}
    named = {j for party, error in found.errors.items() if party != SERVER for j in error.clients}
    assert named <= {LIAR}


@pytest.mark.parametrize("more", [{}, CENTRES], ids=["labels", "centres"])
@pytest.mark.parametrize("withheld_from", [1, 2, 3])
@pytest.mark.parametrize("n", [5, 6, 7])
def test_a_lie_is_noticed_whomever_the_server_makes_look_like_liars(attack, n, withheld_from, more):
    found = attack(n, range(n - withheld_from, n), **more)
    found.assert_exact()
    assert_nobody_honest_is_named(found)
    spare = n - 1 - 3  # one is set aside or left out, and R = 3
    if spare == 1:
        assert not found.done
        assert "too few to locate wrong shares" in str(found.errors[n + 2])
    else:
        assert set(found.done) >= set(range(1, n - withheld_from))
        assert (n + 2, LIAR) in found.net.server.faults.claimed


@pytest.mark.parametrize(("withheld_from", "without"), [(1, set()), (2, {5})])
def test_without_a_lie_r_and_a_clients_that_are_left_are_enough(attack, withheld_from, without):
    """The one whose shares two refuse does not get its labels. The one that alone refuses shares does."""
    found = attack(5, range(5 - withheld_from, 5), lies=False)
    found.assert_exact()
    assert_nobody_honest_is_named(found)
    assert set(range(1, 6)) - set(found.done) == without


def test_a_holder_that_lacks_shares_and_is_called_lost_itself_sends_none(monkeypatch):
    """Its rows are not in, and those that it lacks are. All others know that too."""
    real = Party.tell

    def tell(me, tag, data):
        if tag == "roots" and me.step == 1:
            data = bytes(
                [data[0] & ~(1 << 8 - 4), *data[1:]]
            )  # client 4 is not among the dealers that are left
        real(me, tag, data)

    monkeypatch.setattr(Party, "tell", tell)
    found = SplitViews(monkeypatch, victim=5, told=[4], step=1, max_liars=1).run()
    found.assert_shares_lie_on_polynomials()
    found.assert_exact()
    assert found.done == [1, 2, 3, 5]
    assert found.senders == {1, 2, 3, 5}
    assert found.net.clients[1]._steps.me.unsure == {4}
    assert_nobody_honest_is_named(found)
