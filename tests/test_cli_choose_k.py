"""`secfc choose-k` accepts the options of `secfc run`, and names those that it cannot use."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import secfc
from secfc.cli.app import app


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Five parties of the columns age and dose, 4 to 8 rows each, 30 in all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(5)
    for name, m in zip("abcde", range(4, 9), strict=True):
        rows = rng.normal(size=(m, 2)) + rng.integers(3, size=(m, 1)) * 9
        np.savetxt(f"{name}.csv", rows, delimiter=",", header="age,dose", comments="")
    return tmp_path


def choose(*options):
    parties = [f"{name}.csv" for name in "abcde"]
    fixed = ["--t", "1", "--ell", "1", "--seed", "1", "--to", "3", "--driver", "in-process", "--quiet"]
    fixed += ["--disclosure", "coded", "--n-init", "2"]
    return CliRunner().invoke(app, ["choose-k", *parties, *fixed, *map(str, options)])


def candidates(*options):
    done = choose("--json", *options)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["result"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--max-liars", 2, "--disclosure", "coded"), "n >= R + 2A must hold, but 5 < 3 + 2 * 2"),
        (("--max-liars", -1), "max_liars: an integer >= 0 is needed, -1 was given"),
        (("--smallest-set", 0), "limits.smallest_set: at least 1 is needed, 0 was given"),
        (("--init", "k-means++", "--disclosure", "coded"), "init 'k-means++': not with"),
        (("--most-rounds", 0), "limits.most_rounds: at least 1 is needed, 0 was given"),
        (("--most-rounds", 1), "client 1 answers 1 rounds at most, but round 2 would begin"),
        (("--most-rows", 0), "limits.most_rows: at least 1 is needed, 0 was given"),
        (("--most-rows", 29), "a.csv keeps shares of 29 rows at most, but the parties have 30"),
        (("--largest-share", 0), "limits.largest_share: more than 0 and at most 1 is needed, 0.0 was given"),
        (
            ("--largest-share", "nan"),
            "limits.largest_share: more than 0 and at most 1 is needed, nan was given",
        ),
        (("--largest-share", 0.01), "a.csv allows one party a share of 0.01 of all rows"),
        (("--never-share", "income, dose"), "a.csv: the party's limits forbid"),
        (("--never-share", "dose", "--never-share", "income"), "a.csv: the party's limits forbid"),
        (("--log", "nowhere/log"), "--log: nowhere/log cannot be written (No such file or directory)"),
        (("--ids-cap", 40), "--ids-cap: only with --membership"),
        (("--membership",), "--membership: --id must name the column of row IDs"),
    ],
)
def test_options_that_cannot_be_are_named_and_leave_nothing(files, options, text):
    before = sorted(files.iterdir())
    done = choose(*options)
    assert done.exit_code == (3 if "LimitError" in done.stderr else 2), done.output
    assert text in " ".join(done.stderr.split())
    assert (done.stdout, sorted(files.iterdir())) == ("", before)


def test_help_groups_what_parties_refuse_and_has_an_example(files):
    shown = " ".join(CliRunner().invoke(app, ["choose-k", "--help"]).stdout.split())
    for option in ("--max-liars", "--disclosure", "--most-rows", "--smallest-set"):
        assert option in shown
    assert "Limits of every party" in shown
    assert "Example: secfc choose-k a.csv b.csv c.csv" in shown


def test_with_labels_it_compares_by_the_inertia_that_all_consent_to_open(files):
    labels, plain = ("--disclosure", "labels", "--init", "random"), candidates()
    found = candidates(*labels, "--reveal-inertia", "--consent", "all", "--comparers", "b,e,helper")
    for one, other in zip(found["candidates"], plain["candidates"], strict=True):
        assert one["sizes"] == (other["sizes"] if one["k"] == found["best"] else None)
        assert one["inertia"] == pytest.approx(other["inertia"])
        assert (one["silhouette"], one["davies_bouldin"]) == (None, None)
    done = choose(*labels, "--reveal-inertia", "--consent", "all")
    assert f"k = {found['best']} is recommended: its Calinski-Harabasz (" in done.output
    refused = choose(*labels)
    assert refused.exit_code == 2
    assert "reveal_inertia: True is needed to compare several k" in " ".join(refused.output.split())
    refused = choose(*labels, "--reveal-inertia", "--consent", "a,b,c,d")
    assert "e.csv did not consent" in refused.output
    refused = choose("--from", "6", "--to", "2")
    assert "--from: 6 is above --to 2" in refused.output


def resampled(*options):
    fixed = ["--t", "1", "--ell", "1", "--seed", "1", "--to", "3", "--driver", "in-process", "--quiet"]
    fixed += ["--resamples", "2", "--n-init", "1"]
    return CliRunner().invoke(app, ["choose-k", *(f"{name}.csv" for name in "abcde"), *fixed, *options])


def test_resamples_print_how_stable_clusters_are(files):
    parties = [np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1) for name in "abcde"]
    given = {"t": 1, "ell": 1, "resamples": 2, "n_init": 1, "seed": 1}
    found = secfc.stability(parties, (2, 3), limits=secfc.Limits(reveal_tables=True), **given)
    shown, told = resampled("--consent", "all"), resampled("--consent", "all", "--json")
    assert (shown.exit_code, told.exit_code) == (0, 0), shown.stderr
    assert f"Stability over 2 resamples\n{found}" in shown.stdout
    assert "Calinski" not in shown.stdout
    assert json.loads(told.stdout)["result"] == found.to_dict()


def test_with_the_inertia_the_comparison_is_printed_too(files):
    done = resampled("--consent", "all", "--reveal-inertia", "--json")
    assert {"stability", "again", "best", "candidates"} <= json.loads(done.stdout)["result"].keys()


def test_resamples_need_consent_and_something_to_draw(files):
    done = resampled()
    assert "reveal_tables: a.csv, b.csv, c.csv, d.csv, e.csv did not consent" in " ".join(done.output.split())
    done = resampled("--consent", "all", "--plot", "k.png")
    assert "--plot: with --resamples only if --reveal-inertia" in " ".join(done.output.split())
    assert not (files / "k.png").exists()
