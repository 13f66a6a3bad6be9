"""A client that answers wrongly with disclosure "coded": what it reads of others' rows."""

import pytest

from benchmarks.privacy import bisection
from benchmarks.privacy.measure import blobs


def by_wrong_answers(max_liars=0):
    given = {"bits": 10, "smallest": 3, "seed": 1, "max_liars": max_liars}
    return list(bisection.by_wrong_answers(blobs(4 + 2 * max_liars, 40, 2), **given))


@pytest.fixture(scope="module")
def read_by_liar():
    return by_wrong_answers()


def test_two_rounds_of_wrong_answers_are_a_bit_of_a_column_of_every_row(read_by_liar):
    assert [row.value for row in read_by_liar] == [4 * bit for bit in range(1, 11)]
    for one, later in zip(read_by_liar, read_by_liar[3:], strict=False):
        assert later.success < one.success / 4
    assert read_by_liar[-1].success < 3e-3


def test_nobody_notices_them(read_by_liar):
    assert {row.note for row in read_by_liar} == {"max_liars=0, smallest_set=3; nobody notices"}


def test_where_liars_are_looked_for_they_tell_nothing():
    (row,) = by_wrong_answers(max_liars=1)
    assert row.success == 1
    assert row.note == "max_liars=1, smallest_set=3; liars found: (1,)"
