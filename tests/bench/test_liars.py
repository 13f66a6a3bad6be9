"""Liars within the promise make no label wrong and have nobody honest blamed (`benchmarks/liars.py`)."""

import pytest

from secfc.bench import liars
from secfc.errors import TooManyFaultsError

KEPT = {
    6: "two liars whose reports were refused counted as absent and as liars too",
    159: "an honest client that answered a round late, after it had missed one, was refused",
    30103: "a simulated liar had no share to show of a dealer whose share it could not read",
}


@pytest.mark.parametrize("seed", [*KEPT, 10_000, 10_001, 10_002, 10_003])
def test_liars_break_no_promise(seed):
    drawn = liars.draw(seed)
    assert liars.broken_promises(drawn, liars.run(drawn)) == []


def test_a_run_beyond_the_promise_ends():
    drawn = liars.draw_beyond(1)
    ending = liars.run(drawn)
    assert len(drawn.liars) == drawn.setup.job.max_liars + 1
    assert (ending.error is None) == (ending.clustering is not None)


@pytest.mark.parametrize("seed", [7, 10])
def test_where_more_answer_than_needed_a_liar_too_many_has_nobody_honest_named(seed):
    drawn = liars.draw_beyond(seed)  # n = R + 2A + 1; among R + 2A answers honest ones looked wrong
    ending = liars.run(drawn)
    assert isinstance(ending.error, TooManyFaultsError)
    assert ending.faults.liars == ()
