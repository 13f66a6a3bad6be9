"""How many parts each party sends."""

import gc
import weakref
from collections import Counter

import pytest
from support.parts import COUNTS, MANY, sharing

from secfc.protocol.job.row_layout import WINDOW
from secfc.protocol.messages import (
    SERVER,
    Continue,
)

pytestmark = pytest.mark.questions


def test_messages_are_as_many_as_parts(many):
    net, seen = many(), Counter()
    net.run(drop=lambda message: seen.update([type(message).__name__]) is not None)
    rounds = net.server.progress.round
    assert seen == {
        "Hello": 5,
        "Plan": 5,
        "Share": 4 * (3 + 5 + 0 + 3 + 4),
        "Ready": 5 * 5,
        "Continue": 5 * (5 - WINDOW) + 5 * (14 - WINDOW) * rounds,
        "Assignment": 5 * rounds,
        "CodedDistances": 5 * 14 * rounds,
        "Finish": 5,
        "Witness": 5 * 4,
    }


def test_own_rows_are_dropped_when_the_last_part_is_shared(many):
    net = many()
    rows = MANY[1].copy()
    alive = weakref.ref(rows)
    client = net.replace_client(2, rows=rows)
    del rows
    sharing(net, 2)
    for _ in range(WINDOW, 5):
        gc.collect()
        assert alive() is not None
        client.receive(net.message(Continue, sender=SERVER, recipient=2))
    gc.collect()
    assert alive() is None


def test_masks_are_drawn_once_for_each_row_part_by_part(many):
    net = many()
    primes, t, width = net.job.residues(28), net.job.t, net.job.width
    net.run()
    assert [net.masks[j].drawn for j in net.clients] == [primes * t * width * count for count in COUNTS]
