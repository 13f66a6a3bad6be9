"""The inbox of a party: order, duplicates, and what comes too early or too late."""

import pytest

from secfc.errors import CheatError, MessageError
from secfc.protocol.parties.inbox import MOST, OVERHEAD, WINDOW, Inbox, Place, Wait

SEEN = b"seen"


@pytest.fixture
def inbox():
    box = Inbox(frozenset({1, 2, 3}))
    box.begin(1, SEEN)
    return box


def test_messages_are_given_by_sender_when_all_have_come(inbox):
    wanted = Wait("share", (1, 2), 2)
    inbox.put(2, Place(1, "share", SEEN), b"bb")
    assert not inbox.has(wanted)
    inbox.put(1, Place(1, "share", SEEN), b"aa")
    assert inbox.has(wanted)
    assert inbox.take(wanted) == {1: b"aa", 2: b"bb"}


def test_some_may_be_enough_and_later_ones_are_given_too(inbox):
    wanted = Wait("share", (1, 2, 3), 1, 2)
    for sender in (3, 1):
        inbox.put(sender, Place(1, "share", SEEN), b"x")
    assert list(inbox.take(wanted)) == [1, 3]
    inbox.put(2, Place(1, "share", SEEN), b"x")
    assert list(inbox.take(wanted)) == [1, 2, 3]
    inbox.begin(2, SEEN)


def test_early_mail_waits_for_its_step_and_late_mail_is_dropped(inbox):
    wanted = Wait("share", (1,), 1)
    inbox.put(1, Place(2, "share", SEEN), b"x")
    inbox.begin(2, SEEN)
    assert inbox.take(wanted) == {1: b"x"}
    inbox.take(Wait("others", (1, 2), 1, 0))
    inbox.put(2, Place(1, "share", SEEN), b"x")
    inbox.begin(3, SEEN)


def test_late_mail_is_refused_where_all_were_waited_for(inbox):
    inbox.begin(2, SEEN)
    with pytest.raises(
        MessageError, match=r"^party 2 sent a message of step 1, from which nothing was missing$"
    ):
        inbox.put(2, Place(1, "junk", SEEN), b"x")
    inbox.lost.add(2)
    inbox.put(2, Place(1, "share", SEEN), b"x")


@pytest.mark.parametrize(
    ("sender", "place", "data", "text"),
    [
        (4, Place(1, "share", SEEN), b"x", "party 4 takes no part"),
        (1, Place(2 + WINDOW, "share", SEEN), b"x", "party 1 sent a message of step 258 in step 1"),
        (2, Place(1, "share", SEEN), b"x", "party 2 sent share of step 1 twice"),
    ],
)
def test_strangers_second_messages_and_what_is_too_early_are_refused(inbox, sender, place, data, text):
    inbox.put(2, Place(1, "share", SEEN), b"y")
    with pytest.raises(MessageError, match=rf"^{text}$"):
        inbox.put(sender, place, data)
    assert inbox.take(Wait("share", (2,), 1)) == {2: b"y"}


def test_another_size_is_refused_with_the_senders_name(inbox):
    inbox.put(2, Place(1, "share", SEEN), b"abc")
    with pytest.raises(MessageError, match=r"^party 2 sent 3 bytes for share, not 2$"):
        inbox.take(Wait("share", (2,), 2))


def test_what_nothing_awaits_is_bounded_and_dropped_when_the_step_ends(inbox):
    for number in range(MOST):
        inbox.put(2, Place(1, f"gift {number}", SEEN), b"x")
    with pytest.raises(MessageError, match=r"^party 2 sent more than 256 messages of step 1$"):
        inbox.put(2, Place(1, "gift", SEEN), b"x")
    inbox.begin(2, SEEN)
    assert not inbox.has(Wait("gift 0", (2,), 1))


def test_bytes_of_a_sender_are_bounded_until_they_are_used():
    most = 10 + 2 * OVERHEAD
    inbox = Inbox(frozenset({1, 2}), most=most)
    inbox.begin(1, SEEN)
    inbox.put_all(2, [(Place(1, "share", SEEN), b"1234"), (Place(WINDOW, "junk", SEEN), b"123456")])
    with pytest.raises(MessageError, match=rf"^party 2 sent more than {most} bytes that are not used yet$"):
        inbox.put(2, Place(2, "share", SEEN), b"")
    inbox.put(1, Place(1, "share", SEEN), b"1234567890")
    inbox.begin(2, SEEN)
    inbox.put(2, Place(2, "share", SEEN), b"1234")


def test_bytes_of_a_sender_that_lies_are_not_counted_once_they_are_dropped():
    inbox = Inbox(frozenset({1, 2}), frozenset({2}), most=10 + OVERHEAD)
    inbox.begin(1, SEEN)
    inbox.put(2, Place(2, "share", b"other"), b"1234567890")
    inbox.begin(2, SEEN)
    inbox.put(2, Place(3, "share", SEEN), b"1234567890")


def test_after_an_error_none_of_several_messages_is_held(inbox):
    with pytest.raises(MessageError, match=r"^party 2 sent a message of step 300 in step 1$"):
        inbox.put_all(2, [(Place(1, "share", SEEN), b"x"), (Place(300, "share", SEEN), b"x")])
    assert not inbox.has(Wait("share", (2,), 1))


def test_who_saw_other_numbers_opened_ends_the_run_and_is_not_accused(inbox):
    inbox.put(2, Place(2, "share", b"other"), b"x")
    with pytest.raises(CheatError, match=r"^party 2 saw other numbers opened before step 2$") as caught:
        inbox.begin(2, SEEN)
    assert caught.value.clients == ()


class TestWhoGoesOn:
    """Parties send in the order of steps. So what one did not send before it went on does not come."""

    @pytest.mark.parametrize(("begun", "named"), [(True, (2,)), (False, ())])
    def test_without_a_message_that_is_needed_is_named_if_it_has_seen_the_same(self, inbox, begun, named):
        if begun:
            inbox.put(2, Place(1, "root", SEEN), b"x")
        inbox.put(2, Place(2, "share", SEEN), b"x")
        assert inbox.has(Wait("share", (1, 2), 1, 0))
        text = r"^party 2 went on without having sent share of step 1$"
        with pytest.raises(CheatError, match=text) as caught:
            inbox.has(Wait("share", (1, 2), 1))
        assert caught.value.clients == named

    def test_is_waited_for_if_a_message_of_it_was_lost_or_overtaken(self, inbox):
        inbox.came(2, 1)
        inbox.put(2, Place(2, "share", SEEN), b"x")
        assert not inbox.has(Wait("share", (1, 2), 1))

    def test_or_sends_something_else_is_done_without_if_it_may_lie(self):
        inbox = Inbox(frozenset({1, 2, 3}), may_lie=frozenset({2}))
        inbox.begin(1, SEEN)
        alone = Wait("piece", (2,), 1, unless_lost=True, alone=True)
        assert not inbox.has(alone)
        inbox.put(2, Place(1, "junk", SEEN), b"x")
        assert not inbox.has(Wait("piece", (2,), 1, unless_lost=True))
        assert inbox.has(alone)
        assert inbox.take(alone) == {}
