"""What coalitions see with disclosure "labels": with one comparer they find no more than labels reveal."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from threadpoolctl import threadpool_limits

from benchmarks.privacy import against_labels, bisection
from benchmarks.privacy.comparers import seen_by
from benchmarks.privacy.measure import blobs
from benchmarks.privacy.view import watch
from secfc.protocol.messages import SERVER

ROUNDING = 1e-7
HARMLESS = [f"server + {who}" for who in ("client", "dealer", "first evaluator", "second evaluator")]
TWO = ["dealer + first evaluator", "dealer + second evaluator", "both evaluators"]
RUNS = 8
SIMULATED = 4


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


@pytest.fixture(scope="module")
def found(runs):
    """Success of each program by coalition: 0 for nothing learned, 1 for everything."""
    gains = defaultdict(list)
    for at, one in enumerate(runs):
        rows = list(against_labels.run_programs(one, SIMULATED * at))
        for more in range(1, SIMULATED):
            alone = against_labels.from_labels_alone(one, np.random.default_rng(SIMULATED * at + more))
            rows += [
                against_labels._by(row, against_labels.ALONE, 0) for row in against_labels.programs(alone)
            ]
        for row in rows:
            gains[row.attack, row.adversary].append(
                (row.success - row.nothing) / (row.everything - row.nothing)
            )
    return gains


PROGRAMS = [
    "k-rows",
    "k-known-rows",
    "k-columns",
    "k-known-values",
    "k-segments",
    "k-segments-placed",
]


@pytest.mark.slow
def test_programs_are_all_there(found):
    assert {attack for attack, _ in found} == set(PROGRAMS)
    assert {who for _, who in found} == {*HARMLESS, *TWO, against_labels.ALONE}


@pytest.mark.parametrize("attack", PROGRAMS)
@pytest.mark.parametrize("who", HARMLESS)
def test_one_comparer_finds_no_more_than_labels_alone_do(found, attack, who):
    mine, alone = found[attack, who], found[attack, against_labels.ALONE]
    assert (len(mine), len(alone)) == (RUNS, RUNS * SIMULATED)
    assert max(mine) < 0.25  # four deviations of a correlation of 240 pairs
    if max(mine) > min(alone):
        assert mannwhitneyu(mine, alone, alternative="greater").pvalue > 1e-3  # of 24 such tests


@pytest.mark.parametrize("attack", PROGRAMS[:4])
@pytest.mark.parametrize("who", TWO)
def test_two_comparers_find_everything(found, attack, who):
    assert min(found[attack, who]) > 1 - ROUNDING
    assert mannwhitneyu(found[attack, who], found[attack, against_labels.ALONE]).pvalue < 1e-4


def test_dealer_and_first_evaluator_have_segments_too(found):
    for attack in PROGRAMS[4:]:
        assert min(found[attack, TWO[0]]) > 1 - ROUNDING
        assert max(found[attack, TWO[2]]) < 0.25


@pytest.mark.some(1)
@pytest.mark.parametrize("t", [1, 2], ids=["clients compare", "helpers compare"])
@pytest.mark.parametrize("who", [*HARMLESS, *TWO])
def test_what_a_coalition_reads_is_related_to_distances_for_two_comparers_alone(
    runs, runs_with_helpers, who, t
):
    pairs = []
    for one in runs if t == 1 else runs_with_helpers:
        seen = seen_by(one, against_labels.coalitions(one.job)[who])
        for sets, read in zip(one.server.questions, seen.server.distances, strict=True):
            centres = np.array([one.rows[sets == h].mean(axis=0) for h in range(one.job.k)])
            true = ((one.rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
            # Up to a number for each row: two evaluators have differences.
            pairs.append([(table - table.mean(axis=1, keepdims=True)).ravel() for table in (read, true)])
    read, true = np.concatenate(pairs, axis=1)
    assert read.size > 3000
    related = abs(np.corrcoef(read, true)[0, 1])
    assert related > 0.99 if who in TWO else related < 4 * read.size**-0.5


def test_equations_of_the_server_and_two_clients_have_no_solution_unless_both_compare():
    one, both, alone = against_labels.with_t_clients(blobs(5, 40, 3, 3), k=3, disclosure="labels", seed=1)
    assert [row.value for row in (one, both, alone)] == [1, 2, 0]
    assert [row.success for row in (one, both, alone)] == [0, 1, 0]


def test_no_client_answers_a_question_of_the_servers_choice():
    row = against_labels.questions(blobs(4, 40, 3), k=3, disclosure="labels", seed=1)
    assert row.success == 0
    assert row.note.startswith("32 tried; ")
    assert "is not signed" in row.note


@pytest.mark.slow
def test_bits_on_wires_tell_classifiers_no_comparison_that_was_not_opened():
    with threadpool_limits(1):
        rows = list(against_labels.bits(blobs(4, 600, 2), seed=1))
    alone = {row.note.split(";")[0]: row.success for row in rows if row.against == against_labels.ALONE}
    assert len(alone) == 2
    for row in rows:
        # Four deviations of the difference of two shares of 300 coins.
        assert row.success < alone[row.note.split(";")[0]] + 4 * (0.5 / 300) ** 0.5


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


@pytest.mark.parametrize(("t", "ell"), [(1, 2), (2, 1)])
def test_coalitions_are_by_number_of_comparers(t, ell):
    job = labels_run(0, max_iter=1, t=t, ell=ell).job
    named = against_labels.coalitions(job)
    assert all(len([j for j in named[who] if 1 <= j <= job.n]) == t for who in HARMLESS)
    assert [against_labels.comparers_in(job, named[who]) for who in HARMLESS] == [0, 1, 1, 1]
    assert [against_labels.comparers_in(job, named[who]) for who in TWO] == [2, 2, 2]
    assert all(SERVER in named[who] for who in HARMLESS)
