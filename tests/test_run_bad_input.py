"""Input that `secfc.run` cannot use gives one secfc error that names party, argument and number."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from support.sweeps import crossed

import secfc
from secfc import DataError, ParameterError, ThresholdError
from secfc.drivers.calls.processes import ForkServer
from secfc.errors.codes import Code

SOME = np.arange(8.0).reshape(4, 2)
GOOD = [SOME, SOME + 1, SOME + 2]
FRAME = pd.DataFrame(SOME, columns=["age", "dose"])


def second(party):
    """Arguments with good rows, except for those of the second party."""
    return {"parties": [SOME, party, SOME]}


def frames(party):
    return {"parties": [FRAME, party, FRAME]}


def starting(*labels):
    return {"k": 2, "init": list(labels)}


def with_value(value, row=2, column=1):
    rows = SOME.copy()
    rows[row, column] = value
    return rows


ZEROS, ONES = [0] * 4, [1] * 4

ROWS = {
    "NaN": (
        second(with_value(np.nan)),
        "parties[1]: 1 values are NaN or infinite, the first in row 2, column 1",
    ),
    "infinity": (
        second(with_value(-np.inf, 0, 0)),
        "parties[1]: 1 values are NaN or infinite, the first in row 0, column 0",
    ),
    "several NaN": (second(np.full((3, 2), np.nan)), "parties[1]: 6 values are NaN"),
    "missing in a frame": (
        frames(pd.DataFrame({"age": [1.0, None], "dose": [1.0, 2.0]})),
        "parties[1]: 1 values are NaN or infinite, the first in row 1, column 'age'",
    ),
    "ragged": (second([[1.0, 2.0], [3.0]]), "parties[1]: its rows have different lengths"),
    "narrower": (second(np.ones((3, 1))), "parties[1]: 1 columns, parties[0] has 2"),
    "wider": (second(np.ones((0, 3))), "parties[1]: 3 columns, parties[0] has 2"),
    "first party another width": (
        {"parties": [np.ones((2, 3)), SOME, SOME]},
        "parties[1]: 2 columns, parties[0] has 3",
    ),
    "no column": (second(np.ones((3, 0))), "parties[1]: it has no columns"),
    "object": (second(SOME.astype(object)), "parties[1]: numbers are needed, dtype object"),
    "None inside": (second([[1.0, None]]), "parties[1]: numbers are needed, dtype object"),
    "str": (second([["1", "2"]]), "parties[1]: numbers are needed, dtype <U1"),
    "bytes": (second(np.array([[b"1", b"2"]])), "parties[1]: numbers are needed, dtype |S1"),
    "complex": (second(SOME + 0j), "parties[1]: numbers are needed, dtype complex128"),
    "datetime": (second(SOME.astype("datetime64[s]")), "parties[1]: numbers are needed, dtype datetime64[s]"),
    "timedelta": (
        second(SOME.astype("timedelta64[s]")),
        "parties[1]: numbers are needed, dtype timedelta64[s]",
    ),
    "records": (second(np.zeros((2, 2), dtype=[("a", "f8")])), "parties[1]: numbers are needed, dtype [('a'"),
    "integers beyond 64 bits": (second([[2**70, 1]]), "parties[1]: numbers are needed, dtype object"),
    "one-dimensional": (second(np.ones(2)), "parties[1]: an array of shape (rows, columns) is needed, (2,)"),
    "three-dimensional": (second(np.ones((1, 2, 2))), "parties[1]: an array of shape (rows, columns)"),
    "a number": (second(3.0), "parties[1]: an array of shape (rows, columns) is needed, ()"),
    "None": (second(None), "parties[1]: an array of shape (rows, columns) is needed, ()"),
    "a word": (second("rows"), "parties[1]: an array of shape (rows, columns) is needed, ()"),
    "masked": (
        second(np.ma.masked_greater(SOME, 5.0)),
        "parties[1]: 2 values are masked (missing)",
    ),
    "sparse of complex numbers": (
        second(scipy.sparse.csr_array(np.array(SOME) * 1j)),
        "parties[1]: numbers are needed, dtype complex128",
    ),
    "sparse of one dimension": (
        second(scipy.sparse.coo_array(np.ones(2))),
        "parties[1]: an array of shape (rows, columns) is needed, (2,)",
    ),
    "norm above float64": (second(np.full((2, 2), 1.7e308)), "parties[1]: a row's norm exceeds"),
    "text column": (
        frames(pd.DataFrame({"age": [1.0], "dose": ["much"]})),
        "parties[1]: column 'dose' is not numeric",
    ),
    "category column": (
        frames(pd.DataFrame({"age": pd.Categorical(["a"]), "dose": [1.0]})),
        "parties[1]: column 'age' is not numeric",
    ),
    "time column": (
        frames(pd.DataFrame({"age": [pd.Timestamp(0)], "dose": [1.0]})),
        "parties[1]: column 'age' is not numeric",
    ),
    "missing nullable integer": (
        frames(pd.DataFrame({"age": pd.array([1, None]), "dose": [1.0, 2.0]})),
        "parties[1]: 1 values are NaN or infinite, the first in row 1, column 'age'",
    ),
    "frame of other columns": (
        frames(FRAME.rename(columns={"dose": "height"})),
        "parties[1]: no column 'dose', parties[0] has it; it has 'height', which parties[0] lacks",
    ),
    "frame of fewer columns": (frames(FRAME[["age"]]), "parties[1]: no column 'dose', parties[0] has it"),
    "frame of equal names": (
        frames(FRAME.rename(columns={"dose": " age"})),
        "parties[1]: two columns have the name 'age'",
    ),
    "frame of other places": (
        {"parties": [FRAME.set_axis([0, 1], axis=1), FRAME.set_axis([1, 0], axis=1), FRAME]},
        "parties[1]: column 0 is 1, in parties[0] it is 0",
    ),
    "above the bound": (
        {"parties": [SOME, 9 * SOME, SOME], "bound": 20},
        "parties[1]: 3 rows have a norm above the bound 20.0, the first is row 1",
    ),
    "above a bound of 0": ({"bound": 0}, "parties[0]: 4 rows have a norm above the bound 0.0"),
    "start labels too few": (starting(ZEROS, [1], ZEROS), "parties[1]: 1 start labels for 4 rows"),
    "start labels too many": (starting(ZEROS, [1] * 5, ZEROS), "parties[1]: 5 start labels for 4 rows"),
    "start label equal to k": (
        starting(ZEROS, [0, 1, 2, 0], ONES),
        "parties[1]: start labels must lie in 0..1",
    ),
    "start label negative": (
        starting(ZEROS, [0, 1, -1, 0], ONES),
        "parties[1]: start labels must lie in 0..1",
    ),
    "start labels beyond int32": (
        starting(ZEROS, [0, 1, 2**32, 0], ONES),
        "parties[1]: start labels must lie",
    ),
    "start labels float": (
        starting(ZEROS, [0.0, 1.0, 0.0, 1.0], ONES),
        "parties[1]: start labels must be a one-dimensional integer array",
    ),
    "start labels bool": (
        starting(ZEROS, [True, False] * 2, ONES),
        "parties[1]: start labels must be a one-dim",
    ),
    "start labels str": (starting(ZEROS, ["a", "b"] * 2, ONES), "parties[1]: start labels must be a one-dim"),
    "start labels two-dimensional": (starting(ZEROS, [[0, 1]] * 2, ONES), "parties[1]: start labels must be"),
    "start labels ragged": (starting(ZEROS, [0, [1, 1], 0, 0], ONES), "parties[1]: "),
    "start labels None": (starting(ZEROS, None, ONES), "parties[1]: start labels must be a one-dim"),
}

ARGUMENTS = {
    "one array for all": ({"parties": SOME}, "parties: a list with one array or DataFrame per party"),
    "three-dimensional array for all": ({"parties": np.ones((3, 4, 2))}, "parties: a list with one array"),
    "one frame for all": ({"parties": FRAME}, "parties: a list with one array or DataFrame per party"),
    "a word for all": ({"parties": "abc"}, "parties: a list with one array or DataFrame per party"),
    "a dict without names": ({"parties": dict(enumerate(GOOD))}, "parties: names of parties are texts"),
    "a dict with an empty name": ({"parties": {" ": ONES, "b": ONES}}, "parties: names of parties are texts"),
    "a generator": ({"parties": iter(GOOD)}, "parties: a list with one array or DataFrame per party"),
    "None for all": ({"parties": None}, "parties: a list with one array or DataFrame per party"),
    "no party": ({"parties": []}, "parties: the list is empty"),
    "all parties empty lists": ({"parties": [[], [], []]}, "parties: no party has a row or a column"),
    "all parties without rows": (
        {"parties": [np.ones((0, 2))] * 3},
        "k: 2 clusters asked for, the parties hold 0 rows in all",
    ),
    "k above m": ({"k": 13}, "k: 13 clusters asked for, the parties hold 12 rows in all"),
    "k = 0": ({"k": 0}, "k: at least 1 is needed, 0 was given"),
    "k negative": ({"k": -3}, "k: at least 1 is needed, -3 was given"),
    "k = 2.5": ({"k": 2.5}, "k: an integer is needed, float was given"),
    "k = 2.0": ({"k": 2.0}, "k: an integer is needed, float was given"),
    "k bool": ({"k": True}, "k: an integer is needed, bool was given"),
    "k NumPy bool": ({"k": np.True_}, "k: an integer is needed, bool was given"),
    "k str": ({"k": "2"}, "k: an integer is needed, str was given"),
    "k None": ({"k": None}, "k: an integer is needed, NoneType was given"),
    "k above 65535": ({"k": 65536}, "k: at most 65535 clusters, 65536 was given"),
    "t = 0": ({"t": 0}, "t: at least 1 is needed, 0 was given"),
    "t bool": ({"t": True}, "t: an integer is needed, bool was given"),
    "t float": ({"t": 1.0}, "t: an integer is needed, float was given"),
    "ell = 0": ({"ell": 0}, "ell: at least 1 is needed, 0 was given"),
    "ell bool": ({"ell": True}, "ell: an integer is needed, bool was given"),
    "precision 0": ({"precision": 0}, "precision: at least 1 is needed, 0 was given"),
    "precision 53": ({"precision": 53}, "precision: at most 52 bits, 53 was given"),
    "precision float": ({"precision": 28.0}, "precision: an integer is needed, float was given"),
    "n_init 0": ({"n_init": 0}, "n_init: at least 1 is needed, 0 was given"),
    "n_init float": ({"n_init": 1.5}, "n_init: an integer is needed, float was given"),
    "n_init with start labels": (
        starting(ZEROS, ONES, ONES) | {"n_init": 2},
        "n_init: not with init by labels or centres: there is one start",
    ),
    "max_iter 0": ({"max_iter": 0}, "max_iter: at least 1 is needed, 0 was given"),
    "max_iter beyond all numbers of rounds": (
        {"max_iter": 2**32},
        "max_iter, n_init, resamples: the job has 4294967299 rounds, 4294967294 are possible",
    ),
    "max_iter infinite": ({"max_iter": np.inf}, "max_iter: an integer is needed, float was given"),
    "tol_moved negative": (
        {"tol_moved": -0.1},
        "tol_moved: at least 0 and less than 1 is needed, -0.1 was given",
    ),
    "tol_moved 1": ({"tol_moved": 1}, "tol_moved: at least 0 and less than 1 is needed, 1 was given"),
    "tol_moved NaN": (
        {"tol_moved": np.nan},
        "tol_moved: at least 0 and less than 1 is needed, nan was given",
    ),
    "tol_moved bool": ({"tol_moved": True}, "tol_moved: a number is needed, bool was given"),
    "tol_moved str": ({"tol_moved": "0.1"}, "tol_moved: a number is needed, str was given"),
    "tol_moved None": ({"tol_moved": None}, "tol_moved: a number is needed, NoneType was given"),
    "tol_moved an array": ({"tol_moved": np.zeros(1)}, "tol_moved: a number is needed, ndarray was given"),
    "bound negative": ({"bound": -1.0}, "bound: a finite number >= 0 is needed, -1.0 was given"),
    "bound NaN": ({"bound": np.nan}, "bound: a finite number >= 0 is needed, nan was given"),
    "bound infinite": ({"bound": np.inf}, "bound: a finite number >= 0 is needed, inf was given"),
    "bound bool": ({"bound": True}, "bound: a number is needed, bool was given"),
    "bound str": ({"bound": "9"}, "bound: a number is needed, str was given"),
    "bound complex": ({"bound": 9j}, "bound: a number is needed, complex was given"),
    "bound an array": ({"bound": np.ones(3)}, "bound: a number is needed, ndarray was given"),
    "bound beyond float64": ({"bound": 10**400}, "bound: "),
    "init unknown": ({"init": "k-means+++"}, "init: 'auto', 'k-means++', 'random', 'separation'"),
    "init 'labels' without labels": ({"init": "labels"}, "init: "),
    "init None": ({"init": None}, "init: "),
    "init a dict": ({"init": {0: ZEROS, 1: ONES, 2: ONES}}, "init: "),
    "init an iterator": ({"init": iter([ZEROS, ONES, ONES])}, "init: "),
    "init a Series": ({"init": pd.Series([ZEROS, ONES, ONES])}, "init: "),
    "init a frame": ({"init": pd.DataFrame([ZEROS, ONES, ONES])}, "init: "),
    "init a 0-d array": ({"init": np.array(3)}, "init: "),
    "init a number": ({"init": 3}, "init: "),
    "start labels of two parties": (
        starting(ZEROS, ONES),
        "init: start labels of 2 parties were given, there are 3",
    ),
    "a start cluster empty": (
        starting(ZEROS, [0, 0, 2, 2], ZEROS) | {"k": 4},
        "init: 2 of 4 clusters have no row in the start labels, the first is 1",
    ),
    "driver unknown": ({"driver": "threads"}, "driver: 'in-process', 'multiprocess' are possible, 'threads'"),
    "driver None": ({"driver": None}, "driver: 'in-process', 'multiprocess' are possible, None"),
    "disclosure unknown": (
        {"disclosure": "all"},
        "disclosure: 'coded', 'labels' are possible, 'all' was given",
    ),
    "disclosure None": (
        {"disclosure": None},
        "disclosure: 'coded', 'labels' are possible, None was given",
    ),
    "seed negative": ({"seed": -1}, "seed: None or an integer >= 0 is needed"),
    "seed float": ({"seed": 1.0}, "seed: None or an integer >= 0 is needed"),
    "seed bool": ({"seed": True}, "seed: None or an integer >= 0 is needed"),
    "seed str": ({"seed": "1"}, "seed: None or an integer >= 0 is needed"),
    "limits a dict": ({"limits": {"smallest_set": 2}}, "limits: "),
    "progress not callable": ({"progress": 3}, "progress: "),
    "ids a number": ({"ids": 3}, "ids: a list with one sequence of row IDs per party is needed"),
    "reveal a bool": ({"reveal": True}, "reveal: a secfc.Reveal is needed, bool was given"),
    "reveal.centres bool": (
        {"reveal": secfc.Reveal(centres=True)},
        "reveal.centres: 'all' or positions of parties, 0 to 2, are needed",
    ),
}

TOO_FEW = {
    "the defaults": (
        {"parties": GOOD, "t": 4, "ell": 2},
        "too few clients: n >= 2(ell + t) - 1 must hold, but 3 < 2(2 + 4) - 1 = 11; "
        "with 3 clients t=1, ell=1 fit: secfc.run(parties, k=2, t=1, ell=1)",
    ),
    "ten parties of eleven": (
        {"parties": [SOME] * 10, "t": 4, "ell": 2},
        "too few clients: n >= 2(ell + t) - 1 must hold, but 10 < 2(2 + 4) - 1 = 11; "
        "with 10 clients t=4, ell=1 or t=3, ell=2 fit: secfc.run(parties, k=2, t=4, ell=1)",
    ),
    "t=2 with three parties": (
        {"parties": GOOD, "t": 2, "ell": 1},
        "but 3 < 2(1 + 2) - 1 = 5; with 3 clients t=1, ell=1 fit: secfc.run(parties, k=2, t=1, ell=1)",
    ),
    "two parties": (
        {"parties": [SOME] * 2, "t": 1, "ell": 1},
        "but 2 < 2(1 + 1) - 1 = 3; no (t, ell) fits fewer than 3 clients",
    ),
    "one party": (
        {"parties": [SOME], "t": 1, "ell": 1},
        "but 1 < 2(1 + 1) - 1 = 3; no (t, ell) fits fewer than 3 clients",
    ),
}


def cases(table):
    params = [pytest.param(*case, id=name) for name, case in table.items()]
    return pytest.mark.parametrize(("arguments", "text"), params)


def error_of(arguments):
    with pytest.raises(secfc.SecFCError) as caught:
        secfc.run(**{"parties": GOOD, "k": 2, "t": 1, "ell": 1} | arguments)
    return caught.value


@cases(ROWS)
def test_rows_and_labels_that_cannot_be_used_are_a_data_error(arguments, text):
    error = error_of(arguments)
    assert type(error) is DataError
    assert re.match(re.escape(text), str(error)), str(error)


@cases(ARGUMENTS)
def test_arguments_that_cannot_be_used_are_a_parameter_error(arguments, text):
    error = error_of(arguments)
    assert type(error) is ParameterError
    assert re.match(re.escape(text), str(error)), str(error)


@cases(TOO_FEW)
def test_too_few_clients_are_a_threshold_error_with_the_inequality_and_what_fits(arguments, text):
    error = error_of(arguments)
    assert type(error) is ThresholdError
    assert str(error).endswith(text)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("n", "asked"), crossed(range(3, 14), [(4, 2), (1, 6), (6, 1), (9, 9)], together=1), ids=str
)
def test_the_call_that_the_threshold_error_proposes_works(n, asked):
    parties, (t, ell) = [SOME] * n, asked
    if n >= 2 * (ell + t) - 1:
        assert secfc.run(parties, 2, t, ell, seed=0).converged
        return
    with pytest.raises(ThresholdError) as caught:
        secfc.run(parties, 2, t, ell)
    call = re.search(r"secfc\.run\(parties, k=2, t=(\d+), ell=(\d+)\)$", str(caught.value))
    proposed = {"t": int(call[1]), "ell": int(call[2])}
    assert proposed["t"] <= t
    assert secfc.run(parties, k=2, **proposed, seed=0).converged


def test_what_is_wrong_with_all_parties_is_told_at_once():
    good = np.ones((3, 2))
    holes = np.array([[1.0, np.nan], [np.inf, 1.0]])
    texts = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0], "c": ["z", "z"]})
    mend = "; secfc.Prepare fills missing values in, and encodes texts"
    with pytest.raises(secfc.DataError) as caught:
        secfc.run([holes, good, texts, good.astype(str), [[1], [1, 2]]], 2, 1, 1)
    assert str(caught.value).splitlines() == [
        f"parties[0]: 2 values are NaN or infinite, the first in row 0, column 1{mend}",
        f"parties[2]: column 'a' is not numeric{mend}",
        f"parties[2]: column 'c' is not numeric{mend}",
        f"parties[3]: numbers are needed, dtype <U32 was given{mend}",
        "parties[4]: its rows have different lengths",
    ]
    assert caught.value.code is Code.MISSING_VALUE


def test_rows_on_the_bound_are_accepted():
    assert secfc.run([3 * np.eye(2)] * 3, k=2, t=1, ell=1, bound=3, seed=0).converged


@pytest.mark.parametrize("arguments", [second(with_value(np.nan)), {"k": 13}, {"t": 4}, {"seed": -1}])
def test_bad_input_starts_no_process(monkeypatch, arguments):
    def start(forks):
        raise AssertionError("a process was started")

    monkeypatch.setattr(ForkServer, "start", start)
    error_of(arguments | {"driver": "multiprocess"})


@pytest.mark.parametrize("number", [0, -2])
@pytest.mark.parametrize("name", ["smallest_set", "most_rounds", "most_rows"])
def test_limits_below_1_are_a_parameter_error(name, number):
    text = rf"^limits\.{name}: at least 1 is needed, {number} was given$"
    with pytest.raises(ParameterError, match=text):
        secfc.Limits(**{name: number})


@pytest.mark.parametrize("value", ["age", 3, [3], None])
def test_columns_never_shared_must_be_names(value):
    with pytest.raises(ParameterError, match=r"^limits\.never_shared: a tuple of column names"):
        secfc.Limits(never_shared=value)


def test_a_column_that_is_never_shared_ends_the_run_before_it_begins(monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("secfc.api.run._DRIVERS", {})
    frames = [pd.DataFrame({"age": [1.0, 2.0], "income": [3.0, 4.0]}) for _ in range(3)]
    text = r"^parties\[0\]: the party's limits forbid sharing column 'income'"
    with pytest.raises(secfc.LimitError, match=text):
        secfc.run(frames, k=2, t=1, ell=1, limits=secfc.Limits(never_shared=("diagnosis", "income")))


@pytest.mark.parametrize("value", [2.5, float("nan"), "2", True])
@pytest.mark.parametrize("name", ["smallest_set", "most_rounds", "most_rows"])
def test_limits_that_are_no_integers_are_a_parameter_error(name, value):
    with pytest.raises(ParameterError, match=rf"^limits\.{name}: "):
        secfc.Limits(**{name: value})


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", None])
def test_max_liars_is_a_number_of_clients(value):
    with pytest.raises(ParameterError, match=r"^max_liars: an integer >= 0 is needed"):
        secfc.run(GOOD, 2, 1, 1, max_liars=value)


def test_more_liars_than_the_clients_allow_name_the_inequality_and_what_fits():
    text = r"^max_liars: n >= R \+ 2A must hold, but 5 < 3 \+ 2 \* 2; .* at most max_liars=1 fits$"
    with pytest.raises(ThresholdError, match=text):
        secfc.run([*GOOD, SOME, SOME], 2, 1, 1, max_liars=2, disclosure="coded")


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "5"])
def test_a_deadline_is_a_number_of_seconds(value):
    with pytest.raises(ParameterError, match=r"^deadline: None or a number of seconds > 0 is needed$"):
        secfc.run(GOOD, 2, 1, 1, deadline=value)
