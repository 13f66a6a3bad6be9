"""`secfc.run` as users call it: input, output, warnings, and the cost of its import."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import secfc
from secfc.operations import to_owners

_RNG = np.random.default_rng(11)
ROWS = [(_RNG.normal(size=(m, 3)) + _RNG.integers(4, size=(m, 1)) * 4).round(4) for m in (9, 6, 12)]
INTEGERS = [[[0, 1], [1, 0], [9, 9]], [[8, 9]], [[0, 0], [9, 8]]]
SPLIT = [[0, 0, 1], [1], [0, 1]]
"""The two clusters of INTEGERS, from any start that is nearly right."""


def run(parties=ROWS, k=4, **arguments):
    """The cheapest kind of run: what is tested here is the same in all."""
    fixed = {"t": 1, "ell": 1, "seed": 0, "disclosure": "coded", "init": "random"}
    return secfc.run(parties, k, **fixed | arguments)


def lists(result):
    return [part.tolist() for part in result.labels]


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


@pytest.mark.some(1)
@pytest.mark.parametrize("empty", [[], np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int8)])
@pytest.mark.parametrize("at", [0, 1, 3])
def test_an_empty_party_gets_empty_labels_and_changes_no_others(empty, at):
    parties = [*ROWS[:at], empty, *ROWS[at:]]
    labels = lists(run(parties))
    assert labels.pop(at) == []
    assert labels == lists(run())


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


def test_the_bound_of_a_simulation_is_the_largest_norm():
    assert run(INTEGERS, 2).job.bound == np.hypot(9, 9)


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


def test_another_seed_draws_another_start():
    starts = [np.concatenate(run(seed=seed, init="random").start).tolist() for seed in (6, 7)]
    assert starts[0] != starts[1]


def test_no_seed_draws_another_start_every_time():
    starts = {tuple(np.concatenate(run(seed=None, init="random").start).tolist()) for _ in range(3)}
    assert len(starts) == 3


def test_n_init_shares_only_once():
    both = [run(n_init=n_init).costs for n_init in (2, 6)]
    few, many = ([one.sent_bytes for one in costs.phases if one.phase == "share"] for costs in both)
    assert few == many
    assert both[0].rounds < both[1].rounds


# The end


def test_max_iter_ends_a_run_with_a_warning_and_converged_false():
    with pytest.warns(secfc.ConvergenceWarning, match="1 iterations did not converge"):
        result = run(max_iter=1)
    assert (result.converged, result.n_iter) == (False, 1)


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


def test_an_error_in_progress_comes_out_unchanged():
    def stop(now):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(progress=stop)


# The package


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


def test_a_label_that_its_owner_cannot_read_is_minus_1_in_a_run_like_any_other(monkeypatch, tmp_path):
    real, plain = to_owners.labels_of_bits, run(disclosure="labels")

    def turned(bits):
        if bits.shape[2] == len(ROWS[1]):
            bits[:, 0, 2] += 1
        return real(bits)

    monkeypatch.setattr(to_owners, "labels_of_bits", turned)
    told = r"parties\[1\]: 1 of 6 labels are -1: a party lied, and they cannot be read"
    with pytest.warns(secfc.FaultWarning, match=f"^{told}; a prediction with these labels"):
        result = run(disclosure="labels")
    expected = lists(plain)
    expected[1][2] = -1
    assert lists(result) == expected
    for party, shown in ((None, True), (0, False), (1, True)):
        page = result.report(tmp_path / "page.html", party=party).read_text(encoding="utf-8")
        assert ("labels are -1" in page) == shown


def test_no_warning_of_narrow_segments_where_the_server_sees_none_of_them(recwarn):
    rng = np.random.default_rng(7)
    parties = [rng.normal(size=(20, 2)) for _ in range(5)]
    secfc.run(parties, k=2, t=1, ell=2, seed=2, disclosure="labels")
    assert not [one for one in recwarn if one.category is secfc.PrivacyWarning]
