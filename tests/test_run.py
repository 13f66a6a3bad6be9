"""`secfc.run` as users call it: input, output, warnings, and the cost of its import."""

import subprocess
import sys
import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import secfc
from secfc.kmeans.start import random_partition

_RNG = np.random.default_rng(11)
ROWS = [(_RNG.normal(size=(m, 3)) + _RNG.integers(4, size=(m, 1)) * 4).round(4) for m in (9, 6, 12)]
INTEGERS = [[[0, 1], [1, 0], [9, 9]], [[8, 9]], [[0, 0], [9, 8]]]
SPLIT = [[0, 0, 1], [1], [0, 1]]
"""The two clusters of INTEGERS, from any start that is nearly right."""


def run(parties=ROWS, k=4, **arguments):
    return secfc.run(parties, k, **{"t": 1, "ell": 1, "seed": 0} | arguments)


def run_with_distances(parties=ROWS, k=4, **arguments):
    return run(parties, k, disclosure="coded", **arguments)


def lists(result):
    return [part.tolist() for part in result.labels]


def pooled_labels(result):
    return np.concatenate(result.labels).tolist()


# Input


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "convert",
    [
        lambda rows: rows,
        np.array,
        lambda rows: np.array(rows, dtype=np.uint8),
        lambda rows: np.array(rows, dtype=np.int64),
        lambda rows: np.array(rows, dtype=np.float16),
        lambda rows: np.array(rows, dtype=np.float32),
        lambda rows: np.array(rows, dtype=">f8"),
        lambda rows: np.asfortranarray(rows, dtype=np.float64),
        lambda rows: np.repeat(np.array(rows, dtype=np.float64), 2, axis=1)[:, ::2],
        np.ma.array,
        lambda rows: np.array(rows).tolist(),
        lambda rows: tuple(map(tuple, rows)),
        pd.DataFrame,
        lambda rows: pl.DataFrame(rows, schema=["a", "b"], orient="row"),
        lambda rows: scipy.sparse.csr_array(np.array(rows)),
        lambda rows: scipy.sparse.coo_matrix(np.array(rows, dtype=np.int8)),
    ],
    ids=[
        "lists of lists",
        "integers",
        "uint8",
        "int64",
        "float16",
        "float32",
        "big endian",
        "Fortran order",
        "strided",
        "masked without a mask",
        "tolist",
        "tuples",
        "frame",
        "Polars frame",
        "sparse array",
        "sparse matrix",
    ],
)
def test_every_kind_of_numbers_gives_the_same_labels(convert):
    assert lists(run([convert(rows) for rows in INTEGERS], 2, init=SPLIT)) == SPLIT


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_frames_of_nullable_and_arrow_numbers_are_numbers(dtype):
    frames = [pd.DataFrame(rows, dtype=dtype) for rows in INTEGERS]
    assert lists(run(frames, 2, init=SPLIT)) == SPLIT


@pytest.mark.parametrize("number", [float, int])
def test_a_frame_may_have_boolean_columns_beside_numbers(number):
    frame = pd.DataFrame({"smokes": [True, False], "age": [number(1), number(9)]})
    assert lists(run([frame] * 3, 2, init=[[0, 1]] * 3)) == [[0, 1]] * 3


def test_booleans_are_numbers():
    rows = [np.array([[True, True], [False, False]])] * 3
    assert lists(run(rows, 2, init=[[0, 1]] * 3)) == [[0, 1]] * 3


def test_parties_may_be_a_tuple():
    assert lists(run(tuple(INTEGERS), 2, init=SPLIT)) == SPLIT


@pytest.mark.some(1)
@pytest.mark.parametrize("empty", [[], np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int8)])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_an_empty_party_gets_empty_labels_and_changes_no_others(empty, at):
    parties = [*ROWS[:at], empty, *ROWS[at:]]
    labels = lists(run(parties))
    assert labels.pop(at) == []
    assert labels == lists(run())


def test_all_rows_may_be_one_partys():
    labels = lists(run([[], np.concatenate(ROWS), []]))
    assert labels == [[], pooled_labels(run()), []]


def test_the_split_of_the_rows_does_not_change_the_labels():
    pooled = np.concatenate(ROWS)
    for n in (3, 5, 8):
        assert pooled_labels(run(np.array_split(pooled, n))) == pooled_labels(run())


def test_a_frame_without_rows_may_be_a_party():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 5.0]})
    result = run([frame, frame.iloc[:0], frame], 2)
    assert len(result.labels[1]) == 0


def test_a_frame_that_never_had_a_row_may_be_a_party():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 5.0]})
    result = run([frame, pd.DataFrame(columns=["a", "b"]), frame], 2)
    assert len(result.labels[1]) == 0


@pytest.mark.parametrize("start", [SPLIT, list(map(np.array, SPLIT)), tuple(map(tuple, SPLIT))])
def test_start_labels_may_be_arrays_lists_or_tuples(start):
    result = run(INTEGERS, 2, init=start)
    assert lists(result) == SPLIT
    assert [part.tolist() for part in result.start] == SPLIT


def test_start_labels_of_an_empty_party_are_an_empty_list():
    assert lists(run([*INTEGERS, []], 2, init=[*SPLIT, []])) == [*SPLIT, []]


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["k", "t", "ell", "precision", "n_init", "max_iter", "seed"])
def test_an_integer_argument_may_be_a_numpy_integer(name):
    value = {"k": 4, "t": 1, "ell": 1, "precision": 28, "n_init": 1, "max_iter": 300, "seed": 0}[name]
    arguments = {"parties": ROWS, "k": 4, name: np.int64(value)}
    assert lists(run(**arguments)) == lists(run())


@pytest.mark.some(2)
@pytest.mark.parametrize("bound", [64, 64.0, np.float32(64), np.int8(64)])
def test_a_bound_may_be_any_real_number(bound):
    assert run(bound=bound).job.bound == 64.0


def test_the_bound_of_a_simulation_is_the_largest_norm():
    assert run(INTEGERS, 2).job.bound == np.hypot(9, 9)


def test_rows_that_are_all_zero_are_one_cluster():
    with pytest.warns(secfc.ConvergenceWarning, match=r"1 of 2 clusters have no rows \(1\)"):
        result = run_with_distances([np.zeros((2, 2))] * 3, 2, init=[[0, 1]] * 3)
    assert (lists(result), result.inertia) == ([[0, 0]] * 3, 0.0)


# Output


def test_labels_of_arrays_are_int32_arrays():
    assert all(type(part) is np.ndarray and part.dtype == np.int32 for part in run().labels)


def test_labels_of_frames_are_series_with_the_frames_index():
    indices = [list("abcdefghi"), range(10, 16), pd.date_range("2020-01-01", periods=12)]
    frames = [pd.DataFrame(rows, index=index) for rows, index in zip(ROWS, indices, strict=True)]
    result = run(frames)
    for part, frame in zip(result.labels, frames, strict=True):
        assert isinstance(part, pd.Series)
        pd.testing.assert_index_equal(part.index, frame.index)
        assert part.name == "label"
    assert lists(result) == lists(run())


def test_a_series_keeps_an_index_with_duplicates():
    frame = pd.DataFrame(ROWS[0], index=[5] * 9)
    assert run([frame, *ROWS[1:]]).labels[0].index.tolist() == [5] * 9


def test_frames_and_arrays_may_be_mixed():
    result = run([pd.DataFrame(ROWS[0]), ROWS[1], ROWS[2].tolist()])
    assert [type(part) for part in result.labels] == [pd.Series, np.ndarray, np.ndarray]
    assert lists(result) == lists(run())


def test_sizes_count_the_labels():
    result = run()
    assert result.sizes.tolist() == np.bincount(np.concatenate(result.labels), minlength=4).tolist()


def test_history_holds_an_inertia_per_iteration_and_never_rises():
    result = run_with_distances()
    assert len(result.history) == result.n_iter
    assert all(later <= earlier for earlier, later in pairwise(result.history))
    assert result.history[-1] == result.inertia


def test_inertia_is_that_of_the_labels():
    result, pooled = run_with_distances(), np.concatenate(ROWS)
    labels = np.concatenate(result.labels)
    means = np.stack([pooled[labels == h].mean(axis=0) for h in range(4)])
    assert result.inertia == pytest.approx(((pooled - means[labels]) ** 2).sum(), rel=1e-6)


def test_inertia_is_in_the_units_of_the_data():
    one, thousand = run_with_distances(), run_with_distances([1000 * rows for rows in ROWS])
    assert lists(one) == lists(thousand)
    assert thousand.inertia == pytest.approx(1e6 * one.inertia, rel=1e-6)


def test_one_cluster_holds_all_rows():
    result = run(k=1)
    assert set(pooled_labels(result)) == {0}


def test_as_many_clusters_as_rows_are_possible():
    result = run_with_distances(k=27)
    assert (sorted(pooled_labels(result)), result.inertia) == (list(range(27)), 0.0)


def test_the_result_holds_the_public_job():
    job = run(t=1, ell=1, precision=30).job
    assert (job.n, job.k, job.t, job.ell, job.d, job.precision) == (3, 4, 1, 1, 3, 30)


def test_the_result_has_no_centres_unless_they_are_revealed():
    assert run().cluster_centers is None


@pytest.mark.parametrize("rows", [ROWS, [pd.DataFrame(part) for part in ROWS]], ids=["arrays", "frames"])
def test_inputs_are_not_modified(rows):
    before = [np.array(part) for part in rows]
    start = [np.arange(len(part)) % 4 for part in rows]
    run(rows, init=start)
    for part, copy in zip(rows, before, strict=True):
        np.testing.assert_array_equal(part, copy)
    assert [part.tolist() for part in start] == [[i % 4 for i in range(len(part))] for part in rows]


def test_read_only_inputs_are_accepted():
    rows = [part.copy() for part in ROWS]
    for part in rows:
        part.setflags(write=False)
    assert lists(run(rows)) == lists(run())


# Seeds and starts


@pytest.mark.parametrize("init", ["random", "separation"])
def test_equal_seeds_give_equal_results(init):
    one, other = (run_with_distances(init=init, seed=6) for _ in range(2))
    assert lists(one) == lists(other)
    assert one.history.tolist() == other.history.tolist()
    assert one.costs.messages == other.costs.messages


def test_another_seed_draws_another_start():
    assert np.concatenate(run(seed=6).start).tolist() != np.concatenate(run(seed=7).start).tolist()


def test_no_seed_draws_another_start_every_time():
    starts = {tuple(np.concatenate(run(seed=None).start).tolist()) for _ in range(3)}
    assert len(starts) == 3


def test_n_init_returns_the_best_start():
    rng = np.random.default_rng(3)
    ends = np.cumsum([len(rows) for rows in ROWS])[:-1]
    starts = [np.split(random_partition(rng, 27, 4), ends) for _ in range(8)]
    alone = [run_with_distances(init=start) for start in starts]
    best = min(alone, key=lambda result: result.inertia)
    assert len({result.inertia for result in alone}) > 1
    together = run_with_distances(n_init=8, seed=3)
    assert together.inertia == best.inertia
    assert lists(together) == lists(best)
    assert together.history.tolist() == best.history.tolist()
    assert [part.tolist() for part in together.start] == [part.tolist() for part in best.start]


def test_n_init_shares_only_once():
    sent = Counter(message.kind for message in run(n_init=6).costs.messages)
    assert sent["Share"] == 3 * 2
    assert sent["Ready"] == 3
    assert sent["Assignment"] > 6 * 3


# The end


def test_max_iter_ends_a_run_with_a_warning_and_converged_false():
    with pytest.warns(secfc.ConvergenceWarning, match="1 iterations did not converge"):
        result = run(max_iter=1)
    assert (result.converged, result.n_iter) == (False, 1)


def test_max_iter_is_followed_by_one_more_assignment():
    with pytest.warns(secfc.ConvergenceWarning):
        result = run_with_distances(max_iter=2)
    assert max(message.round for message in result.costs.messages) == 3
    assert result.inertia <= result.history[-1]


def test_a_run_that_converges_in_max_iter_warns_of_nothing():
    result = run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = run(max_iter=result.n_iter)
    assert again.converged
    assert lists(again) == lists(result)


def test_a_tolerance_ends_a_run_without_a_warning_and_one_more_assignment_follows():
    whole = run_with_distances(seed=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run_with_distances(seed=4, tol_moved=0.5)
    assert result.converged
    assert 1 < result.n_iter < whole.n_iter
    assert max(message.round for message in result.costs.messages) == result.n_iter + 1
    assert result.history.tolist() == whole.history[: result.n_iter].tolist()
    assert result.inertia == whole.history[result.n_iter]


@pytest.mark.some(1)
@pytest.mark.parametrize("tol_moved", [np.float64(0.25), np.float32(0.25), 0.25])
def test_a_tolerance_may_be_any_real_number(tol_moved):
    assert run(tol_moved=tol_moved).job == run(tol_moved=0.25).job


def test_a_convergence_warning_points_at_the_callers_line():
    with pytest.warns(secfc.ConvergenceWarning) as caught:
        secfc.run(ROWS, 4, 1, 1, max_iter=1, seed=0)
    assert caught[0].filename == __file__


# Privacy warnings


@pytest.mark.parametrize(
    ("d", "ell", "columns"), [(2, 2, "one column"), (3, 2, "two columns"), (4, 4, "one column")]
)
def test_segments_of_at_most_two_columns_are_warned_of(d, ell, columns):
    rows = [np.ones((2, d)) * j for j in range(2 * (ell + 1) - 1)]
    with pytest.warns(secfc.PrivacyWarning, match=f"d={d} and ell={ell} a segment has {columns}") as caught:
        secfc.run(rows, 2, t=1, ell=ell, seed=0, disclosure="coded")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("d", "ell"), [(1, 1), (2, 1), (5, 2), (6, 2), (7, 3)])
def test_wider_segments_and_whole_rows_are_not_warned_of(d, ell):
    rows = [np.ones((2, d)) * j for j in range(2 * (ell + 1) - 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        secfc.run(rows, 2, t=1, ell=ell, seed=0, disclosure="coded")


# Progress


def test_progress_is_called_with_rounds_that_never_fall():
    seen = []
    result = run(progress=seen.append)
    rounds = [now.round for now in seen]
    assert rounds == sorted(rounds)
    assert set(rounds) == set(range(max(message.round for message in result.costs.messages) + 1))
    assert all(isinstance(now, secfc.Progress) for now in seen)


def test_progress_passes_through_the_phases_in_order():
    seen = []
    run(progress=lambda now: seen.append(now.phase))
    assert list(dict.fromkeys(seen)) == ["identify", "share", "check", "iterate", "reveal"]


def test_progress_ends_with_no_row_moved_and_the_final_inertia():
    seen = []
    result = run_with_distances(progress=seen.append)
    assert (seen[-1].moved, seen[-1].iteration) == (0, result.n_iter)
    assert seen[-1].inertia == result.inertia


def test_an_error_in_progress_comes_out_unchanged():
    def stop(now):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(progress=stop)


# Limits


def test_a_limit_that_a_round_breaks_ends_the_run():
    with pytest.raises(secfc.LimitError, match="sets of at least 6 rows, but round 1 has a set of"):
        run(limits=secfc.Limits(smallest_set=6))


def test_limits_that_no_round_breaks_change_nothing():
    assert lists(run(limits=secfc.Limits(smallest_set=1, most_rounds=100))) == lists(run())


# The package


def test_import_is_light():
    heavy = "sklearn pandas pyarrow matplotlib numba nvflare rich typer scipy"
    code = f"import secfc, sys; print([name for name in {heavy.split()} if name in sys.modules])"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_run_on_arrays_imports_nothing_heavy():
    heavy = "sklearn pandas pyarrow matplotlib numba nvflare rich typer scipy"
    code = (
        "import secfc, sys; secfc.run([[[1.0]], [[2.0]], [[9.0]]], 2, 1, 1, init=[[0], [0], [1]]); "
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_exported_name_exists_once_and_in_order():
    assert all(hasattr(secfc, name) for name in secfc.__all__)
    assert secfc.__all__ == sorted(set(secfc.__all__))


def test_every_error_derives_from_secfc_error():
    errors = [getattr(secfc, name) for name in secfc.__all__ if name.endswith("Error")]
    assert len(errors) > 5
    assert all(issubclass(error, secfc.SecFCError) for error in errors)


def test_checks_change_nothing_of_an_honest_run():
    rng = np.random.default_rng(3)
    parties = [rng.normal(size=(m, 3)) for m in (4, 0, 6, 5, 3)]
    plain = secfc.run(parties, 3, 1, 1, seed=2, disclosure="coded")
    checked = secfc.run(parties, 3, 1, 1, seed=2, max_liars=1, disclosure="coded")
    for ours, theirs in zip(checked.labels, plain.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert checked.inertia == plain.inertia
    assert checked.faults == secfc.Faults()


def test_a_liar_is_warned_of_by_name_and_the_result_is_exact(monkeypatch):
    from secfc.kmeans.coded_distance import CodedPoints  # noqa: PLC0415

    rng = np.random.default_rng(3)
    parties = [rng.normal(size=(m, 3)) for m in (4, 2, 6, 5, 3)]
    plain = secfc.run(parties, 3, 1, 1, init="random", n_init=1, seed=2)
    real, liars = CodedPoints.answer, []

    def answer(points, start, stop):
        packed = real(points, start, stop)
        liars.append(points) if not liars else None
        if points is liars[0]:  # the first client that answers
            packed.planes()[0, 0, 0] ^= 1
        return packed

    monkeypatch.setattr(CodedPoints, "answer", answer)
    with pytest.warns(secfc.FaultWarning, match=r"^parties\[\d\] sent wrong answers and were excluded$"):
        result = secfc.run(parties, 3, 1, 1, seed=2, max_liars=1, disclosure="coded")
    assert len(result.faults.liars) == 1
    for ours, theirs in zip(result.labels, plain.labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.processes
@pytest.mark.parametrize("driver", ["in-process", "multiprocess"])
def test_both_disclosures_give_the_same_labels_with_both_drivers(driver):
    rng = np.random.default_rng(7)
    parties = [rng.normal(size=(m, 4)) for m in (30, 0, 25, 40, 11)]
    one, other = (
        secfc.run(parties, k=3, t=1, ell=2, seed=2, driver=driver, disclosure=disclosure)
        for disclosure in ("labels", "coded")
    )
    assert [a.tolist() for a in one.labels] == [a.tolist() for a in other.labels]
    assert one.n_iter == other.n_iter
    answers = {record.sender for record in other.costs.messages if record.kind == "CodedDistances"}
    assert answers == {1, 2, 3, 4, 5}


def test_no_warning_of_narrow_segments_where_the_server_sees_none_of_them(recwarn):
    rng = np.random.default_rng(7)
    parties = [rng.normal(size=(20, 2)) for _ in range(5)]
    secfc.run(parties, k=2, t=1, ell=2, seed=2, disclosure="labels")
    assert not [one for one in recwarn if one.category is secfc.PrivacyWarning]
