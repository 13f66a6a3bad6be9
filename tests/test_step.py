"""Rows that are multiples of a public step: represented exactly, with fewer primes; others are refused."""

import json
import os
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import secfc
from plaintext_baselines import ExactLloyd
from secfc import Limits
from secfc.api.given_centres import nearest_given
from secfc.cli.app import app
from secfc.field.fixed_point import MAX_STEPS, off_step, quantise, quantised_radius, step_of, unit_of
from secfc.protocol.job.making import make_job

STEPS = [1.0, 0.01, 0.25, 3.0, 0.1, 1e-7, 1e6]
WILLING = Limits(reveal_centres=True, reveal_spread=10, reveal_inertia=True, predict=True)
JOB = {"n": 3, "k": 2, "t": 1, "ell": 1, "d": 2, "bound": 100.0}

steps = st.one_of(st.sampled_from(STEPS), st.decimals("0.0001", "9999", places=4).map(float))


def multiples(whole, step):
    """The floats nearest to multiples of a decimal number, as a file would give them."""
    return np.array([[float(int(one) * Decimal(str(step))) for one in row] for row in whole])


def parties(step, *, m=60, d=3, n=4, seed=0, grid=9):
    whole = np.random.default_rng(seed).integers(-grid, grid + 1, size=(m, d))
    return np.array_split(multiples(whole, step), n)


def same(found, expected):
    return all(map(np.array_equal, found, expected))


# Representation


@given(step=steps, whole=st.lists(st.integers(-(MAX_STEPS // 2), MAX_STEPS // 2), min_size=1, max_size=5))
def test_multiples_become_their_integers(step, whole):
    rows = multiples([whole], step)
    bound = max(float(np.linalg.norm(rows)), step)
    if bound <= MAX_STEPS * step:
        assert quantise(rows, unit_of(bound, 1, step)).tolist() == [whole]
        assert not off_step(rows, step, bound).any()


@given(step=steps, whole=st.integers(-1000, 1000), part=st.floats(0.001, 0.999))
def test_what_is_no_multiple_is_found(step, whole, part):
    rows = np.array([[0.0], [(whole + part) * step]])
    assert off_step(rows, step, 2000 * step).tolist() == [False, True]


@pytest.mark.parametrize("value", [0.1 + 0.2, 0.1 + 0.2 - 0.3, 3 * 0.1, 1.1 * 3])
def test_what_float_arithmetic_makes_of_decimals_is_a_multiple(value):
    assert not off_step(np.array([[value]]), 0.1, 1.0).any()


@given(
    step=steps,
    whole=st.lists(st.lists(st.integers(-99, 99), min_size=2, max_size=2), min_size=1, max_size=9),
)
def test_no_quantised_row_exceeds_the_radius(step, whole):
    rows = multiples(whole, step)
    bound = float(np.linalg.norm(rows, axis=1).max())
    radius = quantised_radius(bound, 32, 2, step)
    assert max(a * a + b * b for a, b in whole) <= radius**2


@pytest.mark.parametrize(
    ("bound", "step", "radius"), [(200.0, 1.0, 200), (2.0, 0.01, 200), (2.5, 1.0, 3), (0.0, 1.0, 1)]
)
def test_the_radius_is_the_least_integer_that_is_none_below_the_bound(bound, step, radius):
    assert quantised_radius(bound, 32, 3, step) == radius


def test_integers_take_three_primes_where_32_bits_take_five():
    bits, exact = (make_job(**JOB, disclosure="coded", **more) for more in ({}, {"step": 1}))
    assert (bits.residues(10_000), exact.residues(10_000)) == (5, 3)


def test_the_modulus_has_its_margin_over_the_largest_distance_of_integers():
    job = make_job(**JOB, disclosure="coded", step=1)
    primes = job.residues(5_000)
    assert 16_588_801**primes > (2 * 5_000 * 100) ** 2 << 24


def test_a_step_changes_the_digest_and_none_does_not():
    assert make_job(**JOB).digest != make_job(**JOB, step=1).digest == make_job(**JOB, step=1.0).digest
    assert make_job(**JOB, step=1).digest != make_job(**JOB, step=0.5).digest


def test_the_step_of_an_unknown_or_tiny_multiple_is_none():
    assert step_of(Fraction(1, 100), 5.0) == 0.01
    assert step_of(None, 5.0) is None
    assert step_of(Fraction(1, 1 << 60), 5.0) is None


# Runs


@pytest.mark.parametrize("step", [1.0, 0.01])
def test_exact_lloyd_on_multiples_is_that_on_the_integers_themselves(step):
    rows = parties(step)
    start = np.array_split(np.arange(60) % 4, 4)
    by_step, whole = (
        ExactLloyd(4, init=start, step=one).fit(given) for one, given in ((step, rows), (1, parties(1.0)))
    )
    assert same(by_step.labels_, whole.labels_)
    assert by_step.unit_ == Fraction(str(step))
    assert by_step.inertia_ == pytest.approx(whole.inertia_ * step**2, rel=1e-14)


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_opened_centres_and_spreads_are_those_of_the_rows(disclosure):
    rows = parties(0.01, m=120, grid=900)
    result = secfc.run(
        rows,
        2,
        1,
        1,
        seed=1,
        step=0.01,
        disclosure=disclosure,
        reveal=secfc.Reveal(centres="all", spread=True),
        limits=WILLING,
    )
    pooled, labels = np.concatenate(rows), np.concatenate(result.labels)
    for h in range(2):
        whole = np.rint(pooled[labels == h] * 100).astype(int)
        exact = [float(Fraction(int(column.sum()), 100 * len(whole))) for column in whole.T]
        assert result.cluster_centers[h].tolist() == exact
        assert np.allclose(result.cluster_std[h], pooled[labels == h].std(axis=0), rtol=1e-12)


@given(
    step=st.sampled_from([1.0, 0.1, 0.01, 0.3]),
    whole=st.lists(st.integers(-4, 4), min_size=1, max_size=6),
    ends=st.lists(st.integers(-8, 8), min_size=2, max_size=4),
)
def test_the_nearest_given_centre_is_exact_in_steps(step, whole, ends):
    rows, centres = multiples([[one] for one in whole], step), np.array([[one * step / 2] for one in ends])
    unit = unit_of(10.0, 1, step)
    exact = [[abs(one - Fraction(float(centre)) / unit) for (centre,) in centres] for one in whole]
    assert nearest_given(rows, centres, unit).tolist() == [found.index(min(found)) for found in exact]


# Refusals


@pytest.fixture
def off():
    rows = parties(1.0)
    rows[2][[3, 7], 1] += 0.4999
    return rows


@pytest.mark.parametrize("options", [{}, {"committee": 3}, {"disclosure": "coded"}])
def test_a_party_with_other_rows_is_refused_by_name_and_count(off, options):
    with pytest.raises(secfc.DataError) as caught:
        secfc.run(off, 3, 1, 1, step=1, **options)
    assert str(caught.value) == (
        "parties[2]: 2 rows have a value that is no multiple of the step 1.0, the first is row 3"
    )


def test_new_rows_that_are_no_multiples_are_refused_by_name(off):
    old = parties(1.0)
    labels = [np.arange(len(part)) % 3 for part in old]
    with pytest.raises(secfc.DataError, match=r"^new_rows\[2\]: 2 rows .* the first is row 3$"):
        secfc.predict(old, labels, off, 3, 1, 1, step=1, limits=WILLING)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"step": 0}, "step: a finite number above 0 is needed, 0 was given"),
        ({"step": -1.0}, "step: a finite number above 0 is needed, -1.0 was given"),
        ({"step": float("nan")}, "step: a finite number above 0 is needed, nan was given"),
        ({"step": float("inf")}, "step: a finite number above 0 is needed, inf was given"),
        ({"step": 10**400}, "step: a finite number above 0 is needed"),
        ({"step": True}, "step: a number is needed, bool was given"),
        ({"step": "1"}, "step: a number is needed, str was given"),
        ({"step": 1e-12}, "step: the bound 100.0 has more than 2**44 steps of 1e-12"),
        ({"step": 5e-324}, "step: the bound 100.0 has more than 2**44 steps of 5e-324"),
        ({"step": 1e-320, "bound": 1e-310}, "step: at least 2.2250738585072014e-308 is needed"),
    ],
)
def test_a_step_that_cannot_be_is_refused(given, text):
    with pytest.raises(secfc.ParameterError) as caught:
        make_job(**JOB | given)
    assert str(caught.value).startswith(text)


def test_a_given_bound_far_above_the_rows_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", secfc.PrecisionWarning)
        secfc.run(parties(1.0), 3, 1, 1, seed=0, step=1, bound=2.0**40)


@pytest.mark.parametrize("step", [0, -1.0, 1e-20])
def test_exact_lloyd_refuses_a_step_that_cannot_be(step):
    with pytest.raises(ValueError, match=r"^step must be above 0"):
        ExactLloyd(2, step=step).fit(parties(1.0))


def test_exact_lloyd_refuses_rows_that_are_no_multiples(off):
    with pytest.raises(ValueError, match="party 2 has a value that is no multiple of step=1"):
        ExactLloyd(2, step=1).fit(off)


# The command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in zip("abc", parties(0.01, n=3), strict=True):
        np.savetxt(f"{name}.csv", rows, fmt="%.2f", delimiter=",", header="x,y,z", comments="")
    return ["a.csv", "b.csv", "c.csv"]


def command(*words):
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return done.exit_code, done.output


def labels_in(folder, name):
    return np.loadtxt(f"{folder}/{name}.labels.csv", delimiter=",", skiprows=1, dtype=int, usecols=1)


GIVEN = ("-k", 3, "--t", 1, "--ell", 1, "--driver", "in-process", "-q")


@pytest.mark.filterwarnings("ignore")
def test_a_run_and_a_prediction_on_the_command_line_have_one_step(files):
    assert command("run", *files, *GIVEN, "--seed", 1, "--step", 0.01, "--out", "result") == (0, "")
    result = secfc.run(parties(0.01, n=3), 3, 1, 1, seed=1, step=0.01)
    assert same([labels_in("result", name) for name in "abc"], result.labels)
    given = ("--run", "result", "--new", "b=a.csv", "--consent", "all", "--driver", "in-process", "-q")
    assert command("predict", *files, *given, "--out", "new")[0] == 0
    with open("new/summary.json") as file:
        assert json.load(file)["parameters"]["step"] == 0.01
    with open("c.csv", "a") as file:
        file.write("0.005,0,0\n")
    status, output = command("run", *files, *GIVEN, "--step", 0.01, "--out", "other")
    assert status == 2
    assert "c.csv: 1 rows have a value that is no multiple of the step 0.01, the first is row 20" in output
    assert not os.path.exists("other")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("more", "step"), [((), 0.01), (("--precision", 24), None), (("--step", 0.005), 0.005)]
)
def test_a_preparation_gives_the_step_unless_another_or_a_precision_is_given(files, more, step):
    columns = (f'[[column]]\nname = "{one}"\nlow = -1\nhigh = 1\nstep = 0.01\n' for one in "xyz")
    with open("schema.toml", "w") as file:
        file.write("\n".join(columns))
    assert command("prepare", *files, "--schema", "schema.toml", "--t", 1, "--out", "ready", "-q")[0] == 0
    prepared = [f"ready/{one}" for one in files]
    given = (*GIVEN, "--prepared", "ready/preparation.json", "--out", "result")
    assert command("run", *prepared, *given, *more)[0] == 0
    with open("result/summary.json") as file:
        assert json.load(file)["parameters"]["step"] == step
