"""Starts from given centres, `SecureKMeans(warm_start=True)` and ``secfc run --init FILE``."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from typer.testing import CliRunner

import secfc
from secfc import Limits, SecureKMeans
from secfc.api.given_centres import nearest_given
from secfc.cli.app import app

_RNG = np.random.default_rng(12)
GROUPS = _RNG.permutation(np.arange(40) % 4)
POOLED = GROUPS[:, None] * np.array([9.0, -7.0, 5.0]) + _RNG.normal(size=(40, 3))
PARTIES = np.split(POOLED, [15, 15, 26])
"""Four groups far from each other; the second party has no row."""

CENTRES = np.arange(4)[:, None] * np.array([9.0, -7.0, 5.0])
OVERLAPPING = np.split(_RNG.normal(size=(60, 3)), [20, 41])
WILLING = {"reveal": secfc.Reveal(centres="all"), "limits": Limits(reveal_centres=True)}
ENTRIES = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 0.1, 1.0, 2.0, 1e-310, 7.0])


def run(parties=PARTIES, k=4, **more):
    return secfc.run(parties, k, 1, 1, **more)


def lists(labels):
    return [list(map(int, part)) for part in labels]


def matrices(rows, columns):
    entries = st.lists(ENTRIES, min_size=rows * columns, max_size=rows * columns)
    return entries.map(lambda drawn: np.array(drawn).reshape(rows, columns))


def by_fractions(rows, centres, exponent):
    """The rule as it is documented."""
    scale = Fraction(2) ** exponent
    found = []
    for row in rows.tolist():
        whole = [round(Fraction(value) * scale) for value in row]
        distances = [
            sum((a - Fraction(b) * scale) ** 2 for a, b in zip(whole, centre, strict=True))
            for centre in centres.tolist()
        ]
        found.append(distances.index(min(distances)))
    return found


# The nearest given centre


@given(
    rows=matrices(6, 2),
    centres=st.integers(1, 5).flatmap(lambda k: matrices(k, 2)),
    exponent=st.sampled_from([-3, 0, 2, 29]),
)
def test_the_nearest_centre_is_exact_and_ties_go_to_the_lowest(rows, centres, exponent):
    labels = nearest_given(rows, centres, Fraction(2) ** -exponent)
    assert labels.dtype == np.int32
    assert labels.tolist() == by_fractions(rows, centres, exponent)


@pytest.mark.parametrize(
    ("centres", "expected"),
    [
        ([[1.0], [-1.0]], 0),
        ([[-1.0], [1.0]], 0),
        ([[1.0], [-np.nextafter(1.0, 0.0)]], 1),  # their squares differ by 2**-52
        ([[1.0], [1.0]], 0),
        ([[5e-324], [0.0]], 1),  # squares underflow
        ([[-5e-324], [5e-324]], 0),
        ([[1e300], [-9e299]], 1),  # and overflow
        ([[1.7e308], [1e200]], 1),
        ([[1.7e308], [-1.7e308]], 0),
    ],
)
def test_floats_that_cannot_decide_do_not(centres, expected):
    assert nearest_given(np.zeros((3, 1)), np.array(centres), Fraction(2) ** -40).tolist() == [expected] * 3


def test_blocks_of_rows_are_put_together():
    rows = _RNG.normal(size=(5000, 2))
    centres = _RNG.normal(size=(100, 2))
    expected = ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(nearest_given(rows, centres, Fraction(2) ** -45), expected)
    assert nearest_given(rows[:0], centres, Fraction(2) ** -45).size == 0


# Forms of given centres


def framed(columns, kind=pd.DataFrame):
    return kind({name: CENTRES[:, "abc".index(name)] if name in "abc" else [0] * 4 for name in columns})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames_are_matched_by_name(kind):
    parties = [pd.DataFrame(rows, columns=list("abc")) for rows in PARTIES]
    parties[2] = parties[2][["c", "a", "b"]]
    assert lists(run(parties, init=framed("bca", kind)).labels) == lists(run(init=CENTRES).labels)
    assert lists(run(init=framed("abc", kind)).labels) == lists(run(init=CENTRES).labels)
    with pytest.warns(secfc.ColumnWarning, match=r"'cluster' \(init\)"):
        run(parties, init=framed(["cluster", *"abc"], kind))
    with pytest.raises(secfc.DataError, match=r"^init: no column 'c', parties\[0\] has it"):
        run(parties, init=framed("abd", kind))
    with pytest.raises(secfc.DataError, match=r"^init: no column 'c', parties\[2\] has it"):
        run([*PARTIES[:2], *parties[2:]], init=framed("abd", kind))


def test_whole_numbers_are_centres_in_an_array_and_labels_in_a_list():
    rows = [np.array([[0.0, 0.0], [1.0, 7.0]]), np.array([[0.0, 1.0], [9.0, 9.0]]), np.array([[1.0, 1.0]])]
    assert lists(run(rows, 2, init=np.array([[0, 0], [9, 9]])).start) == [[0, 0], [0, 1], [0]]
    with pytest.raises(secfc.ParameterError, match="init: start labels of 2 parties were given, there are 3"):
        run(rows, 2, init=[[0, 0], [9, 9]])


# What is refused


def test_a_party_refuses_centres_with_few_rows():
    found = run(k=2, init=CENTRES[:2], limits=Limits(smallest_set=10))
    assert np.bincount(np.concatenate(found.start)).tolist() == [10, 30]
    with pytest.raises(
        secfc.LimitError,
        match=r"^client \d answers for sets of at least 11 rows, but round 1 has ",
    ):
        run(k=2, init=CENTRES[:2], limits=Limits(smallest_set=11))


SPOILED = CENTRES.copy()
SPOILED[2, 1] = np.nan


@pytest.mark.parametrize(
    ("init", "more", "text"),
    [
        (CENTRES[:3], {}, r"^init: centres of shape \(4, 3\) are needed, \(3, 3\) was given$"),
        (CENTRES[:, :2], {}, r"^init: centres of shape \(4, 3\) are needed, \(4, 2\) was given$"),
        (CENTRES[0], {}, r"^init: centres of shape \(4, 3\) are needed, \(3,\) was given$"),
        (pd.DataFrame(CENTRES[1:]), {}, r"^init: centres of shape \(4, 3\) are needed, \(3, 3\) was given$"),
        (SPOILED, {}, "^init: 1 values are NaN or infinite, the first in row 2, column 1$"),
        (np.full((4, 3), np.inf), {}, "^init: 12 values are NaN or infinite"),
        (CENTRES.astype(complex), {}, "^init: numbers are needed, dtype complex128 was given$"),
        (CENTRES.astype(str), {}, "^init: numbers are needed, dtype "),
        (
            CENTRES * [[1], [1], [1e9], [1e9]],
            {},
            "^init: 2 of 4 centres are not the nearest centre of any row, the first is 2$",
        ),
        (CENTRES.tolist(), {"k": 4}, r"^parties\[0\]: start labels must be a one-dimensional integer array$"),
    ],
)  # fmt: skip
def test_centres_that_cannot_be_used_are_refused(init, more, text):
    with pytest.raises(secfc.SecFCError, match=text):
        run(init=init, **more)


# The estimator


def model(**more):
    return SecureKMeans(3, t=1, ell=1, random_state=3, **more)


def test_the_estimator_takes_centres_and_is_cloned_with_them():
    first = SecureKMeans(4, t=1, ell=1, init=CENTRES)
    copy = clone(first)
    assert np.array_equal(copy.init, CENTRES)
    assert lists(copy.fit(PARTIES).labels_) == lists(run(init=CENTRES).labels)


def test_a_converged_fit_that_is_continued_ends_at_once_with_the_same_labels():
    found = model(warm_start=True, n_init=2, init="k-means++", **WILLING).fit(OVERLAPPING)
    first, centres = lists(found.labels_), found.cluster_centers_
    found.fit(OVERLAPPING)
    assert found.n_iter_ == 1
    assert lists(found.result_.start) == lists(found.labels_) == first
    assert np.array_equal(found.cluster_centers_, centres)


@pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_is_continued_where_it_stopped():
    rows = [np.linspace(start, start + 30, 20)[:, None] for start in (0.0, 7.3, 25.1)]
    start = np.array([[0.0], [2.0], [4.0]])
    whole = model(init=start).fit(rows)
    found = model(init=start, warm_start=True, max_iter=1, **WILLING).fit(rows)
    assert not found.converged_
    found.set_params(max_iter=300).fit(rows)
    assert lists(found.labels_) == lists(whole.labels_)
    assert found.n_iter_ == whole.n_iter_ - 3 > 1  # a round, the last assignment, that to the centres


def test_a_fit_whose_centres_were_not_opened_is_not_continued():
    found = model(warm_start=True).fit(OVERLAPPING)
    with pytest.raises(
        secfc.ParameterError,
        match=r"^warm_start: the centres .* not opened; fit with reveal=secfc.Reveal\(centres=...\)",
    ):
        found.fit(OVERLAPPING)


def test_an_empty_cluster_has_no_centre_to_go_on_from():
    rows = [np.zeros((2, 1)), np.ones((2, 1)), np.zeros((1, 1))]
    with pytest.warns(secfc.ConvergenceWarning, match="1 of 3 clusters have no rows"):
        found = model(warm_start=True, init=[[0, 1], [2, 2], [0]], **WILLING).fit(rows)
    assert np.isnan(found.cluster_centers_).sum() == 1
    with pytest.raises(secfc.DataError, match=r"^init: 1 values are NaN or infinite, "):
        found.fit(rows)


# The command


def command(*options, out="result"):
    fixed = ["--t", "1", "--ell", "1", "--driver", "in-process", "--quiet", "-k", "3", "--out", out]
    return CliRunner().invoke(app, ["run", "a.csv", "b.csv", "c.csv", *fixed, *options])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in zip("abc", OVERLAPPING, strict=True):
        pd.DataFrame(rows, columns=["age", "dose", "time"]).to_csv(f"{name}.csv", index=False)
    return tmp_path


def labels_in(folder):
    return [pd.read_csv(folder / f"{name}.labels.csv")["label"].tolist() for name in "abc"]


def test_the_command_goes_on_from_the_file_of_centres_that_it_wrote(folder):
    opened = ("--reveal-centres", "b", "--consent", "all", "--seed", "3")
    assert command(*opened).exit_code == 0
    centres = pd.read_csv("result/b.centres.csv")
    centres[["time", "cluster", "dose", "age"]].to_csv("other.csv", index=False)
    for at, file in enumerate(("result/b.centres.csv", "other.csv")):
        assert command("--init", file, out=f"again-{at}").exit_code == 0
        assert labels_in(folder / f"again-{at}") == labels_in(folder / "result")
        assert '"n_iter": 1,' in (folder / f"again-{at}" / "summary.json").read_text()


@pytest.mark.parametrize(
    ("init", "text"),
    [
        ("kmeans", "--init: auto, k-means++, random, separation or a file is possible; 'kmeans' is no file"),
        ("a.csv", "init: centres of shape (3, 3) are needed, (20, 3) was given"),
        ("narrow.csv", "narrow.csv: no column 'time'; it has cluster, age, dose"),
        ("empty.csv", "empty.csv: column 'age' has 1 missing values, the first in row 1"),
    ],
)
def test_the_command_names_what_is_wrong_with_a_start(folder, init, text):
    (folder / "narrow.csv").write_text("cluster,age,dose\n0,1,2\n1,2,3\n2,3,4\n")
    (folder / "empty.csv").write_text("cluster,age,dose,time\n0,1,2,3\n1,,3,4\n2,3,4,5\n")
    found = command("--init", init)
    assert found.exit_code == 2
    assert text in " ".join(found.stderr.split())
    assert not (folder / "result").exists()
