"""A server that tells some parties that a client is lost, and others not: nobody is sent what it may not see.

Shares of holders that have one owner's rows, or noise, and of holders that lack it, would together tell more
than what is opened (docs/proofs.md, "A client that is lost to some").
"""

import pytest
from support.split_views import SplitViews

from secfc.errors import PartyError, TooManyFaultsError
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER
from secfc.protocol.parties.party import Party

CENTRES = {"reveal_to": (1,), "limits": Limits(reveal_centres=True)}
KINDS = {
    "noise": CENTRES | {"centres_epsilon": 5.0, "centres_delta": 1e-3},
    "union": CENTRES | {"union": True},
}
LIARS = {"": {}, " with liars": {"max_liars": 1}}
JOBS = {kind + more: KINDS[kind] | LIARS[more] for kind in KINDS for more in LIARS}
MOST_STEPS = 60
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def split(monkeypatch):
    def run(kind, **more):
        found = SplitViews(monkeypatch, **JOBS[kind] | more).run()
        found.assert_shares_lie_on_polynomials()
        found.assert_exact()
        return found

    return run


@pytest.fixture
def deals(split):
    """The steps in which client 5 deals rows and noise."""
    return lambda kind: split(kind).deals


@pytest.mark.parametrize("kind", JOBS)
def test_where_nobody_lies_all_clients_end(split, kind):
    found = split(kind)
    assert found.done == [1, 2, 3, 4, 5]
    assert found.steps < MOST_STEPS
    assert len(found.deals) == (2 if "noise" in kind else 1)


@pytest.mark.parametrize("step", range(1, MOST_STEPS))
@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.some(8)
def test_in_any_step_all_who_end_have_what_they_may(split, kind, step):
    """So labels are right, and what the recipient opens is exact, with all noise that is in.

    Before rows are shared nobody can do without a client, so then nobody goes on.
    """
    found = split(kind, told=[4], step=step)
    assert len(found.done) >= 3 or not found.senders


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("told", [[1], [2], [4], [3, 4], [1, 2, 3, 4]], ids=str)
@pytest.mark.parametrize("what", ["rows", "noise"])
@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.some(10)
def test_where_a_client_deals_any_others_may_be_told(split, deals, kind, what, told, hides):
    steps = dict(zip(("rows", "noise"), deals(kind), strict=False))
    if what in steps:
        split(kind, told=told, step=steps[what], hides=hides)


class TestWithoutLiars:
    """Who refuses what others have leaves the run. If the server says so, nobody has it."""

    @pytest.mark.parametrize("what", [0, 1])
    def test_a_holder_whose_refusal_is_hidden_sends_no_share_after_it(self, split, deals, what):
        found = split("noise", told=[4], step=deals("noise")[what], hides=True)
        assert set(found.errors) == {4}
        assert isinstance(found.errors[4], PartyError)
        assert found.done == [1, 2, 3, 5]
        assert 4 not in (found.last_shares("sums") if what else found.senders)

    def test_noise_that_is_refused_is_in_nowhere(self, split, deals):
        found = split("noise", told=[4], step=deals("noise")[1])
        assert found.done == [1, 2, 3, 4, 5]
        assert set(map(tuple, found.inside.values())) == {(1, 2, 3, 4)}

    def test_rows_of_a_union_that_are_refused_end_the_run(self, split, deals):
        found = split("union", told=[4], step=deals("union")[0])
        assert not found.done
        assert not found.senders
        assert isinstance(found.errors[SERVER], TooManyFaultsError)


class TestWithLiars:
    """Who refuses what others have sends no share of what is computed."""

    @pytest.mark.parametrize(
        ("kind", "ended"),
        [
            ("noise with liars", set()),  # evaluators tell it what they open
            ("union with liars", {4}),  # without the shares of client 5 it would notice no lie
        ],
    )
    def test_a_holder_that_refused_rows_sends_no_share(self, split, deals, kind, ended):
        found = split(kind, told=[4], step=deals(kind)[0])
        assert set(found.errors) == ended
        assert set(found.done) == {1, 2, 3, 4, 5} - ended
        assert found.senders == {1, 2, 3, 5}

    def test_a_holder_that_refused_noise_sends_none_after_it(self, split, deals):
        found = split("noise with liars", told=[4], step=deals("noise with liars")[1])
        assert found.done == [1, 2, 3, 4, 5]
        assert found.senders == {1, 2, 3, 4, 5}
        assert found.last_shares("sums") == found.last_shares("labels") == {1, 2, 3, 5}
        assert set(map(tuple, found.inside.values())) == {(1, 2, 3, 4, 5)}

    @pytest.mark.parametrize(
        ("kind", "what"), [("noise with liars", 0), ("noise with liars", 1), ("union with liars", 0)]
    )
    def test_its_shares_would_tell_more_than_what_is_opened(self, split, deals, monkeypatch, kind, what):
        def send_share(me, recipients, tag, data):
            for recipient in recipients:
                me.send(recipient, tag, data)

        step = deals(kind)[what]
        monkeypatch.setattr(Party, "send_share", send_share)
        with pytest.raises(AssertionError, match=r"(answer|sums) to \d of"):
            split(kind, told=[4], step=step)
