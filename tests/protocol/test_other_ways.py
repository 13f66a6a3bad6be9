"""A party that was told other numbers than others goes another way: the run ends, and nobody waits for it."""

from dataclasses import replace

import pytest
from simulator.altered import Lie, honest, played, setup_of, verdict

from secfc.errors import CheatError
from secfc.protocol.parties.inbox import Inbox, Place, Wait

SEEN, OTHER = b"seen", b"other"


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("sender", [2, 3])
def test_who_saw_other_numbers_and_sends_what_is_not_awaited_ends_the_run(sender, step):
    """What has come does not tell whether this party or the sender was lied to, so nobody is named."""
    box = Inbox(frozenset({1, 2, 3}))
    box.begin(1, SEEN)
    box.begin(2, SEEN)
    text = f"^party {sender} saw other numbers opened before step {step}$"
    with pytest.raises(CheatError, match=text) as caught:
        box.put(sender, Place(step, "root", OTHER), b"x")
    assert caught.value.clients == ()


def test_one_that_may_lie_does_not():
    box = Inbox(frozenset({1, 2, 3}), frozenset({2}))
    box.begin(1, SEEN)
    box.put(2, Place(1, "root", OTHER), b"x")
    assert not box.has(Wait("share", (1, 2), 1))
    assert box.lost == {2}


@pytest.mark.parametrize("kind", ["labels", "k-means++", "weights"])
@pytest.mark.parametrize(
    ("party", "sender", "tag"), [(0, 8, "opened"), (8, 2, "share")], ids=["coordinator", "evaluator"]
)
def test_a_party_that_alone_was_told_another_last_flag_ends_the_run(party, sender, tag, kind):
    """An evaluator tells the coordinator another one, or a holder sends an evaluator another share."""
    job = "helpers", kind
    letter = [one for one in honest(job)[1] if (one.sender, one.tag) == (sender, tag)][-1]
    told = replace(letter, recipients=(party,))
    lie = Lie(job=job, letter=told, how="zeros", seed=1)
    assert verdict(lie, played(setup_of(job), lie)) == "caught"
