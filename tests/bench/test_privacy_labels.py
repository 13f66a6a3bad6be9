"""What coalitions see with disclosure "labels": with one comparer they find no more than labels reveal."""

import numpy as np
import pytest

from benchmarks.privacy import bisection
from benchmarks.privacy.comparers import seen_by
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.view import watch
from secfc.protocol.messages import SERVER

HARMLESS = [f"server + {who}" for who in ("client", "dealer", "first evaluator", "second evaluator")]
TWO = ["dealer + first evaluator", "dealer + second evaluator", "both evaluators"]
RUNS = 8


def labels_run(keys, **given):
    """A run whose keys are derived from a number, so that it can be repeated."""
    given = {"t": 1, "ell": 2} | given
    return watch(blobs(6, 40, 3, 3), k=3, seed=1, keys=keys, disclosure="labels", **given)


@pytest.fixture(scope="module")
def runs():
    return [labels_run(keys) for keys in range(RUNS)]


@pytest.fixture(scope="module")
def runs_with_helpers():
    """With t = 2, one client and two parties without rows compare."""
    made = [labels_run(keys, t=2, ell=1) for keys in range(RUNS)]
    assert {one.job.comparers for one in made} == {(1, 7, 8)}
    return made


def coalitions(job):
    """The server with t clients, at most one of them a comparer; and any two comparers."""
    dealer, first, second = job.comparers
    outside = [j for j in range(1, job.n + 1) if j not in job.comparers]
    harmless = [{SERVER, *outside[: job.t]}]
    for one in job.comparers:
        company = job.t - (one <= job.n)  # a helper is not a client
        harmless.append({SERVER, one, *outside[:company]})
    pairs = [{dealer, first}, {dealer, second}, {first, second}]
    return dict(zip([*HARMLESS, *TWO], map(frozenset, [*harmless, *pairs]), strict=True))


@pytest.mark.some(1)
@pytest.mark.parametrize("t", [1, 2], ids=["clients compare", "helpers compare"])
@pytest.mark.parametrize("who", [*HARMLESS, *TWO])
def test_what_a_coalition_reads_is_related_to_distances_for_two_comparers_alone(
    runs, runs_with_helpers, who, t
):
    pairs = []
    for one in runs if t == 1 else runs_with_helpers:
        seen = seen_by(one, coalitions(one.job)[who])
        for sets, read in zip(one.server.questions, seen.server.distances, strict=True):
            centres = np.array([one.rows[sets == h].mean(axis=0) for h in range(one.job.k)])
            true = ((one.rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
            # Up to a number for each row: two evaluators have differences.
            pairs.append([(table - table.mean(axis=1, keepdims=True)).ravel() for table in (read, true)])
    read, true = np.concatenate(pairs, axis=1)
    assert read.size > 3000
    related = abs(np.corrcoef(read, true)[0, 1])
    assert related > 0.99 if who in TWO else related < 4 * read.size**-0.5


def by_wrong_answers(disclosure, max_liars=0):
    given = {"disclosure": disclosure, "bits": 10, "smallest": 3, "seed": 1, "max_liars": max_liars}
    return list(bisection.by_wrong_answers(blobs(4 + 2 * max_liars, 40, 2), **given))


@pytest.fixture(scope="module")
def read_by_liar():
    return by_wrong_answers("labels")


def test_two_rounds_of_wrong_answers_are_a_bit_of_a_column_of_every_row(read_by_liar):
    assert [row.value for row in read_by_liar] == [4 * bit for bit in range(1, 11)]
    for one, later in zip(read_by_liar, read_by_liar[3:], strict=False):
        assert later.success < one.success / 4
    assert read_by_liar[-1].success < 3e-3


def test_nobody_notices_them(read_by_liar):
    assert {row.note for row in read_by_liar} == {"max_liars=0, smallest_set=3; nobody notices"}


def test_with_coded_distances_they_tell_the_same(read_by_liar):
    others = by_wrong_answers("coded")
    assert [(row.value, row.success) for row in others] == [(row.value, row.success) for row in read_by_liar]


@pytest.mark.parametrize("disclosure", ["coded", "labels"])
def test_where_liars_are_looked_for_they_tell_nothing(disclosure):
    (row,) = by_wrong_answers(disclosure, max_liars=1)
    assert row.success == 1
    assert row.note == "max_liars=1, smallest_set=3; liars found: (1,)"
