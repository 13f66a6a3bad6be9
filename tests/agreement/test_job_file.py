"""The job file: its meaning, its digest, and its errors with their lines."""

from dataclasses import fields
from fractions import Fraction
from math import nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secfc.agreement.job_file import ClusteringSchema, norm_bound, read_job
from secfc.errors import ParameterError, ThresholdError
from secfc.protocol.job.job_options import JobOptions
from secfc.protocol.job.limits import Limits
from secfc.protocol.job.making import make_job


def test_a_job_file_and_its_roster_make_an_agreement(organisations):
    agreement = organisations.agreement
    assert agreement.job == make_job(
        n=3, k=2, t=1, ell=1, d=2, bound=norm_bound([(0, 120), (10.5, 60)]), seed=7, init="k-means++"
    )
    assert agreement.names == ("north", "south", "west")
    assert agreement.columns == {"age": (0.0, 120.0), "bmi": (10.5, 60.0)}
    assert agreement.limits == Limits()
    session = agreement.session(bytes(16))
    assert session.agreement == agreement.digest
    assert session.roster == agreement.consortium.roster


def test_every_parameter_of_a_job_can_be_agreed_on():
    derived = {"n", "d", "bound"}  # from roster and columns
    named = {"reveal_centres": "reveal_to", "comparers": "comparers"}
    named |= {"compared": "compared"}
    derived |= set(named.values())  # from lists
    derived |= {"owners", "deposits"}  # of a committee, in a simulation
    derived.add("totals")  # from the schema of a preparation
    derived |= {"described", "smallest_cell"}  # from that of described columns
    agreed = set(ClusteringSchema.model_fields) - set(named)
    assert agreed == {field.name for field in fields(JobOptions)} - derived
    decided = {"init", "n_init"}  # by other values, or "auto"
    for field in fields(JobOptions):
        if field.name in agreed - decided and not ClusteringSchema.model_fields[field.name].is_required():
            assert ClusteringSchema.model_fields[field.name].default == field.default


def test_membership_privacy_has_a_cap(organisations):
    organisations.replace(organisations.job, "k = 2", "k = 2\nids_cap = 100")
    assert organisations.agreement.job.rows.cap == 100


NOISE = 'reveal_centres = ["west"]\ncentres_epsilon = 1\ncentres_delta = 1e-6'


@pytest.mark.parametrize(
    ("options", "shown", "wrong", "told"),
    [
        (
            "tol_moved = 1e-3",
            "300 of a start, until an iteration changes fewer than 0.001 of all labels; ",
            ("1e-3", "1.0"),
            r"tol_moved: at least 0 and less than 1 is needed, 1\.0 was given",
        ),
        (
            NOISE,
            "epsilon 1.0, delta 1e-06, in each run; labels are exact and not covered",
            ("1e-6", "2"),
            r"centres_delta: a number above 0 and below 1 is needed, 2\.0 was given",
        ),
    ],
)
def test_options_are_shown_and_wrong_numbers_named(organisations, options, shown, wrong, told):
    organisations.replace(organisations.job, "k = 2", f"k = 2\n{options}")
    assert shown in organisations.shown()
    organisations.replace(organisations.job, *wrong)
    with pytest.raises(ParameterError, match=rf"job\.toml:\d+: {told}"):
        _ = organisations.agreement


CHANGES = {
    "title": ('"Readmissions"', '"Readmission"'),
    "k": ("k = 2", "k = 3"),
    "seed": ("seed = 7", "seed = 8"),
    "no seed": ("seed = 7", ""),
    "range": ("[0, 120]", "[0, 121]"),
    "column": ("age =", "years ="),
    "order of columns": ('age = [0, 120]\n"bmi" = [10.5, 60]', '"bmi" = [10.5, 60]\nage = [0, 120]'),
    "precision": ("k = 2", "k = 2\nprecision = 31"),
    "start": ("k = 2", 'k = 2\ninit = "random"'),
    "tolerance": ("k = 2", "k = 2\ntol_moved = 1e-3"),
    "noise": ("k = 2", f"k = 2\n{NOISE}"),
    "recipients": ("k = 2", 'k = 2\nreveal_centres = ["south"]'),
    "spreads": ("k = 2", 'k = 2\nreveal_centres = ["south"]\nreveal_spread = 10'),
    "limits": ("[columns]", "[limits]\nsmallest_set = 2\n[columns]"),
    "membership privacy": ("k = 2", "k = 2\nids_cap = 100"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_digest_changes_with_whatever_is_agreed(organisations, change):
    before = organisations.agreement
    organisations.replace(organisations.job, *change)
    assert organisations.agreement.digest != before.digest
    assert organisations.agreement.to_json() != before.to_json()


def test_the_digest_changes_with_the_roster(organisations):
    before = organisations.agreement.digest
    organisations.replace(organisations.roster, "Hospital south", "Hospital South")
    assert organisations.agreement.digest != before


def test_the_digest_stays_when_nothing_else_is_meant(organisations, tmp_path):
    before = organisations.agreement
    organisations.replace(
        organisations.job, "k = 2", "  k=2 # clusters\nprecision = 32\ninit = 'auto'\nn_init = 1"
    )
    organisations.replace(organisations.job, "[0, 120]", "[-0.0, 12e1]")
    organisations.replace(organisations.job, "n_init = 1", "n_init = 1\ntol_moved = -0.0")
    (tmp_path / "other").mkdir()
    organisations.roster.rename(tmp_path / "other" / "r.toml")
    organisations.replace(organisations.job, '"roster.toml"', '"other/r.toml"')
    assert organisations.agreement.digest == before.digest
    assert organisations.agreement.to_json() == before.to_json()


def test_the_digest_covers_what_this_version_makes_of_the_file(organisations, monkeypatch):
    before = organisations.agreement.digest
    monkeypatch.setattr("secfc.agreement.job_file.norm_bound", lambda ranges: 200.0)
    assert organisations.agreement.digest != before


WRONG = {
    "unknown key": ("k = 2", "k = 2\nkk = 3", "8: clustering.kk: unknown key; did you mean k?"),
    "type": ("k = 2", 'k = "2"', "7: clustering.k: an integer is needed"),
    "boolean": ("t = 1", "t = true", "8: clustering.t: an integer is needed"),
    "range": ("t = 1", "t = 0", "8: t: at least 1 is needed, 0 was given"),
    "precision": ("seed = 7", "precision = 53", "10: precision: at most 52 bits, 53 was given"),
    "seed": ("seed = 7", "seed = -1", "10: clustering.seed: "),
    "start": (
        "seed = 7",
        'init = "label"',
        "10: clustering.init: 'random', 'separation', 'k-means++', 'labels' or 'auto' is",
    ),
    "hidden start": (
        "seed = 7",
        'init = "labels"\nids_cap = 9',
        "10: init by labels or centres: not with ids: start labels",
    ),
    "cap": ("seed = 7", "ids_cap = 0", "10: ids_cap: at least 1 is needed"),
    "salt": ("seed = 7", 'ids_salt = "00"', "10: clustering.ids_salt: unknown key"),
    "disclosure": (
        "seed = 7",
        'disclosure = "all"',
        "10: clustering.disclosure: 'coded' or 'labels' is possible",
    ),
    "recipient": (
        "seed = 7",
        'reveal_centres = ["server"]',
        "10: clustering.reveal_centres: 'server' is no party of the roster (north, south, west)",
    ),
    "recipient twice": (
        "seed = 7",
        'reveal_centres = ["west", "west"]',
        "10: clustering.reveal_centres: each party once",
    ),
    "missing": ("k = 2\n", "", "6: clustering.k is needed"),
    "no columns": ('age = [0, 120]\n"bmi" = [10.5, 60]\n', "", "12: columns: at least 1 is needed"),
    "backwards": ("[0, 120]", "[120, 0]", "13: columns.age: its range is needed, [least, largest]"),
    "infinite": ("[0, 120]", "[0, inf]", "13: columns.age: its range is needed"),
    "not a number": ("[0, 120]", "[nan, 1]", "13: columns.age: its range is needed"),
    "three values": ("[10.5, 60]", "[0, 1, 2]", "14: columns.bmi: its range is needed"),
    "text": ("[10.5, 60]", '["0", "1"]', "14: columns.bmi[1]: a number is needed"),
    "too large": ("[10.5, 60]", "[0, 1.7e308]", "12: columns: the bound on a row's norm exceeds"),
    "beyond floats": ("[10.5, 60]", "[0, 1" + "0" * 400 + "]", "14: columns.bmi[2]: "),
    "nested name": ("age =", "a.ge =", "13: columns.a: a list is needed"),
    "limits": ("[columns]", "[limits]\nsmallest_set = 0\n[columns]", "13: limits.smallest_set: at least 1"),
    "rounds": ("[columns]", "[limits]\nmost_rounds = 0\n[columns]", "13: limits.most_rounds: at least 1"),
    "title": ('"Readmissions"', '""', "1: title: 1 to 200 printable characters"),
    "terminal": ('"Readmissions"', '"\\u001b[2J"', "1: title: 1 to 200 printable characters"),
    "data in the job": ("[columns]", '[data]\npath = "x.csv"\n[columns]', "12: data: unknown key"),
}


@pytest.mark.parametrize(("old", "new", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_job_file_is_told_by_line(organisations, old, new, told):
    organisations.replace(organisations.job, old, new)
    if "1.7e308" in new:
        organisations.replace(organisations.job, "[0, 120]", "[0, 1.7e308]")
    with pytest.raises(ParameterError) as caught:
        read_job(organisations.job)
    assert told in str(caught.value).replace(f"{organisations.job}:", "")
    assert str(caught.value).startswith(f"{organisations.job}:")


def test_too_few_clients_is_told_by_line_with_the_inequality(organisations):
    organisations.replace(organisations.job, "ell = 1", "ell = 2")
    with pytest.raises(
        ThresholdError, match=r"job\.toml:6: too few clients: .*3 < 2\(2 \+ 1\) - 1 = 5; .*t=1, ell=1"
    ):
        read_job(organisations.job)


def test_a_roster_that_is_wrong_is_told_by_its_own_line(organisations):
    organisations.replace(organisations.roster, '"south"', '"north"')
    with pytest.raises(ParameterError, match=r"roster\.toml:13: party 2: 'north' is the name of party 1 too"):
        read_job(organisations.job)
    organisations.roster.unlink()
    with pytest.raises(ParameterError, match=r"roster\.toml: No such file"):
        read_job(organisations.job)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e307, max_value=1e307)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_the_bound_is_the_least_float_that_no_norm_exceeds(ranges):
    bound = norm_bound(ranges)
    square = sum(max(Fraction(low) ** 2, Fraction(high) ** 2) for low, high in ranges)
    assert Fraction(bound) ** 2 >= square
    if bound:
        assert Fraction(nextafter(bound, 0.0)) ** 2 < square
