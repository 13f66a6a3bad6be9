"""A client refuses a party, or an owner, that has a larger share of all rows than its limits allow."""

import pytest

from secfc.errors import LimitError
from secfc.protocol.job.limits import Limits
from secfc.protocol.messages import SERVER, Plan
from secfc.protocol.states import State

ROWS = [[[0.0, 1.0], [0.5, 1.0]], [[9.0, 1.0], [9.5, 2.0], [8.0, 1.0]], [[0.2, 1.0]]]


@pytest.mark.parametrize(
    ("share", "weights", "told"),
    [
        (0.49, None, "south has 3 of 6 rows"),
        (0.5, [[1, 1], [1, 1, 1], [9]], "west has 9 of a total weight of 14"),
    ],
)
def test_a_party_with_a_larger_share_is_refused_by_name_before_a_share_is_made(
    wire, refuses, share, weights, told
):
    net = wire(ROWS, disclosure="labels", weights=weights, limits=Limits(largest_share=share))
    net.replace_client(1, names=("north", "south", "west"), allocate=None)  # calling it would be a TypeError
    text = (
        rf"^client 1 allows one party a share of {share} of all rows .*\(limits\.largest_share\), but {told}$"
    )
    refuses(net.clients[1], net.hold(Plan, recipient=1), LimitError, text)
    assert net.masks[1].drawn == 0


def test_a_share_of_exactly_the_largest_is_allowed(wire):
    net = wire(ROWS, limits=Limits(largest_share=0.5))
    net.run()
    assert net.server.state is State.DONE


def test_shares_are_those_of_the_parties_that_remain(wire):
    """Client 2 has 3 of 7 rows, and 3 of 5 without client 4."""
    net = wire([ROWS[2], ROWS[1], ROWS[2], [[1.0, 2.0], [9.0, 2.0]]], limits=Limits(largest_share=0.5))
    del net.links[4, SERVER]
    net.post(net.server.absent(4))
    with pytest.raises(LimitError, match=r"^client \d allows .* but client 2 has 3 of 5 rows$") as caught:
        net.run(drop=lambda message: 4 in (message.sender, message.recipient))
    assert caught.value.clients == (2,)
