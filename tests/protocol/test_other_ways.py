"""A party that was told other numbers than others goes another way: the run ends, and nobody waits for it."""

import pytest
from simulator.altered import Lie, honest, played, setup_of, verdict

from secfc.errors import CheatError
from secfc.protocol.parties.inbox import Inbox, Place, Wait

SEEN, OTHER = b"seen", b"other"


@pytest.mark.parametrize("sender", [2, 3])
def test_who_saw_other_numbers_and_sends_what_is_not_awaited_ends_the_run(sender):
    """3 is not awaited. What has come does not tell whether this party or the sender was lied to."""
    box = Inbox(frozenset({1, 2, 3}))
    box.begin(1, SEEN)
    box.put(sender, Place(1, "root", OTHER), b"x")
    with pytest.raises(CheatError, match=f"^party {sender} saw other numbers opened before step 1$"):
        box.has(Wait("share", (1, 2), 1))


def test_one_that_may_lie_does_not():
    box = Inbox(frozenset({1, 2, 3}), frozenset({2}))
    box.begin(1, SEEN)
    box.put(2, Place(1, "root", OTHER), b"x")
    assert not box.has(Wait("share", (1, 2), 1))
    assert box.lost == {2}


def test_an_evaluator_that_was_told_another_last_flag_ends_the_run():
    job = "helpers", "k-means++"
    letter = [one for one in honest(job)[1] if (one.sender, one.tag) == (2, "share")][-1]
    told = type(letter)(letter.sender, letter.step, letter.tag, (8,), letter.size)
    lie = Lie(job=job, letter=told, how="zeros", seed=1)
    assert verdict(lie, played(setup_of(job), lie)) == "caught"
