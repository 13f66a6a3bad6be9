"""Published experiments: the registry, verdicts, SecFC's column, missing files, the command."""

import json
from dataclasses import fields

import numpy as np
import pytest
import sklearn.datasets
from support.datasets import folder
from typer.testing import CliRunner

import secfc
from benchmarks.app import app
from benchmarks.reproduce import data, dwf_paper, ffcm_paper, figure1
from benchmarks.reproduce.common import (
    Context,
    FigureRow,
    Secure,
    best_half,
    claimed,
    judged,
    secure_run,
    threshold_for,
)
from benchmarks.reproduce.registry import EXPERIMENTS, Experiment, experiment
from benchmarks.reproduce.synthetic import dwf_blobs, ffcm_hidden
from plaintext_baselines.metrics import within_sse

NAMES = {
    *(f"secfc-{one}" for one in ("table1", "table2", "table3", "figure1")),
    *(f"fkm-figure{one}" for one in ("1b", "3", "4", "5")),
    *(f"ffcm-table{one}" for one in range(2, 6)),
    *(f"dwf-{rows}" for rows in ("synthetic", "mnist", "femnist")),
}
SECURE = Secure(value=1.0, same=9, rows=9)
FIGURE = {"name": "m", "setting": "s", "measure": "x", "secure": SECURE, "decimals": 1}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def command(*arguments, data_folder=None):
    environment = {"COLUMNS": "160", "NO_COLOR": "1", "SECFC_DATA": data_folder}
    return CliRunner().invoke(app, ["reproduce", *arguments], env=environment)


def rows_of(name, **options):
    context = Context(quick=True, folder=options.get("folder"))
    return list(experiment(name).rows(context))


def assert_sound(rows):
    assert rows
    for row in rows:
        assert row.same_labels == row.rows > 0
        assert (row.paper is None) == (row.tolerance is None)
        assert row.note or row.verdict not in ("differs", "fails")
        if row.paper is not None:
            assert (row.verdict == "agrees") == (abs(row.ours - row.paper) <= row.tolerance)


def test_the_registry_is_complete():
    assert set(EXPERIMENTS) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_experiment_has_a_function(name):
    paper, what = name.split("-")
    module = __import__(f"benchmarks.reproduce.{paper}_paper", fromlist=["EXPERIMENTS"])
    assert callable(module.EXPERIMENTS[what])


@pytest.mark.parametrize("name", sorted(one.name for one in EXPERIMENTS.values() if one.files))
def test_a_missing_file_is_one_line_that_says_what_to_get(name, tmp_path):
    with pytest.raises(secfc.DataError) as caught:
        rows_of(name, folder=tmp_path)
    text = str(caught.value)
    assert "\n" not in text
    assert EXPERIMENTS[name].files in text
    assert "get it from" in text


def test_without_a_folder_the_line_names_the_option():
    with pytest.raises(secfc.DataError, match="set --data-dir or SECFC_DATA to a folder with it, from"):
        rows_of("fkm-figure4")


def test_mnist_without_folder_or_network_is_one_line(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)
    with pytest.raises(secfc.DataError, match="could not be fetched from OpenML: set --data-dir"):
        data.mnist(None)


def test_mnist_from_openml_is_its_training_part(monkeypatch):
    def fetch(*arguments, **options):
        return np.full((70_000, 2), 255), np.full(70_000, "7", dtype=object)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    rows, digits = data.mnist(None)
    assert (rows.shape, rows.max(), digits.shape, digits[0]) == ((60_000, 2), 1.0, (60_000,), 7)


def test_an_unknown_name_is_told_its_neighbours():
    result = command("secfc-table9")
    assert result.exit_code == 2
    assert "there is no experiment 'secfc-table9'; did you mean secfc-table" in result.stderr


def test_no_name_points_at_the_list():
    result = command()
    assert result.exit_code == 2
    assert "--list shows them" in result.stderr


def test_the_command_says_what_file_is_missing(tmp_path):
    result = command("fkm-figure4", data_folder=str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: DataError: ")
    assert "cluster_wise_client0.csv is missing: get it from" in result.stderr


def test_a_data_dir_that_is_no_folder_is_refused(tmp_path):
    result = command("fkm-figure4", "--data-dir", str(tmp_path / "none"))
    assert (result.exit_code, "is no folder" in result.stderr) == (2, True)


@pytest.mark.parametrize(("ours", "verdict", "note"), [(1.5, "agrees", ""), (1.6, "differs", "why")])
def test_the_verdict_is_the_tolerance(ours, verdict, note):
    row = judged(**FIGURE, paper=1.0, ours=ours, tolerance=0.5, otherwise="why")
    assert (row.verdict, row.note) == (verdict, note)


@pytest.mark.parametrize(
    ("claim", "holds", "verdict"), [("c", True, "holds"), ("c", False, "fails"), ("", True, "no figure")]
)
def test_a_claim_holds_or_fails(claim, holds, verdict):
    row = claimed(**FIGURE, ours=1.0, claim=claim, holds=holds, otherwise="why")
    assert (row.verdict, row.paper, row.note) == (verdict, None, "why" if verdict == "fails" else "")


def test_the_better_half_is_by_score_and_rounded_up():
    runs = [np.array([score, 10 * score]) for score in (3.0, 1.0, 2.0)]
    assert best_half(runs, [3.0, 1.0, 2.0]).tolist() == [1.5, 15.0]


@pytest.mark.parametrize("d", [1, 2, 5, 784])
def test_the_threshold_fits_the_clients(d):
    for n in range(3, 120):
        t, ell = threshold_for(n, d)
        assert t >= 1 <= ell
        assert 2 * (ell + t) - 1 <= n
        assert d // ell > 2 or ell == 1


def test_two_parties_are_joined_by_one_without_rows():
    drawn = ffcm_hidden(random_state=0)
    run = secure_run(drawn.parties, 3, seed=0)
    assert [len(own) for own in run.labels] == [1000, 1000]
    assert (run.same, run.rows) == (2000, 2000)


def test_who_computes_changes_no_label():
    drawn = ffcm_hidden(random_state=0)
    parties = [half for rows in drawn.parties for half in np.array_split(rows, 4)]
    all_parties, three = (secure_run(parties, 3, seed=0, committee=committee) for committee in (None, 3))
    for a, b in zip(all_parties.labels, three.labels, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_run_that_max_iter_ends_is_compared_at_the_same_iteration():
    drawn = ffcm_hidden(random_state=0)
    run = secure_run(drawn.parties, 3, seed=0, max_iter=1)
    assert run.same == run.rows


@pytest.mark.parametrize("name", ["ffcm-table2", "ffcm-table3"])
def test_a_synthetic_experiment_from_end_to_end(name, monkeypatch):
    monkeypatch.setattr(ffcm_paper, "REPEATS", 2)
    result = command(name, "--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["experiment"], answer["quick"]) == (name, True)
    assert all(set(row) == {field.name for field in fields(FigureRow)} for row in answer["rows"])
    rows = [FigureRow(**row) for row in answer["rows"]]
    assert_sound(rows)
    assert {row.name for row in rows} == {"central", "avg1", "avg2"}


def test_a_table_of_ffcm_takes_the_sses_of_the_parties_own_centres_if_a_run_does_not_settle():
    drawn = ffcm_hidden(random_state=0)
    fitted = ffcm_paper.model("avg1", 3, seed=0, rounds=1, fuzziness=1.1).fit(drawn.parties)
    assert not fitted.converged_
    measured = ffcm_paper.measures(drawn.centers, fitted, drawn.parties)
    by_hand = [
        within_sse([rows], own, squared=False)
        for rows, own in zip(drawn.parties, fitted.local_centers_, strict=True)
    ]
    assert measured["within SSE"] == pytest.approx(sum(by_hand) / 2)
    assert measured["within SSE"] < within_sse(drawn.parties, fitted.cluster_centers_, squared=False)


def test_a_tolerance_is_two_standard_errors_of_a_difference():
    found = ffcm_paper.MeanOfRuns.of([1.0, 3.0])
    assert (found.mean, found.tolerance) == (2.0, pytest.approx(2 * 2**0.5))
    assert ffcm_paper.MeanOfRuns.of([1.0]).tolerance == 0


def test_dwf_averages_all_scores_but_the_accuracy_of_the_better_half():
    runs = [np.array([score, 10 * score, 0]) for score in (3.0, 1.0)]
    assert [dwf_paper.mean_of(runs, which) for which in (0, 1)] == [2.0, 10.0]


def test_the_three_tables_of_dwf_come_from_the_same_runs(monkeypatch):
    drawn = [rows[:4] for rows in dwf_blobs(random_state=0).parties], [np.arange(4) % 5] * dwf_paper.PARTIES
    told = []
    monkeypatch.setattr(dwf_paper, "_draws", lambda *_: iter([drawn]))
    context = Context(quick=True, folder=None, tell=told.append)
    effort = dwf_paper.Effort(runs=1, max_iter=3, secfc_iter=1)
    monkeypatch.setitem(dwf_paper.QUICK, "synthetic", effort)
    monkeypatch.setitem(dwf_paper.DISTRIBUTIONS, "synthetic", ("iid",))
    rows = list(experiment("dwf-synthetic").rows(context))
    assert_sound(rows)
    assert [row.measure for row in rows] == [one for one in dwf_paper.MEASURES for _ in dwf_paper.METHODS]
    assert told[1:] == [f"  run 1 of 1, {name}" for name in ("EWF", "DWF", "k-FED", "SecFC")]


@pytest.mark.slow
def test_secfc_table_1_agrees_where_the_clusters_are_apart(monkeypatch):
    from benchmarks.reproduce import secfc_paper  # noqa: PLC0415

    monkeypatch.setattr(secfc_paper, "TABLE_1", {(4, 4): secfc_paper.TABLE_1[4, 4]})
    rows = rows_of("secfc-table1")
    assert_sound(rows)
    assert {row.name: row.verdict for row in rows} == {
        "Lloyd": "agrees",
        "k-FED": "differs",
        "SecFC": "agrees",
    }


def test_labels_that_differ_end_with_an_error(monkeypatch):
    row = judged(
        **FIGURE | {"secure": Secure(value=1.0, same=8, rows=9)},
        paper=1.0,
        ours=1.0,
        tolerance=1.0,
        otherwise="",
    )
    monkeypatch.setattr(Experiment, "rows", lambda self, context: iter([row]))
    result = command("fkm-figure4")
    assert (result.exit_code, "8 of 9" in result.stdout) == (1, True)
    assert "must not happen" in result.stderr


def test_figure_1_varies_n_d_and_m(monkeypatch):
    monkeypatch.setattr(figure1, "QUICK_SWEEPS", {"n": (5, 6), "d": (4,), "m": (50,)})
    monkeypatch.setitem(figure1.DEFAULTS, "m", 40)
    rows = rows_of("secfc-figure1")
    assert_sound(rows)
    assert [row.setting.partition(" ")[0] for row in rows[::3]] == ["n", "n", "d", "m"]


@pytest.mark.data
@pytest.mark.parametrize("noise", ["", "_ppc50_noise1", "_ppc50_noise1.5"])
def test_the_grids_files_are_whole(noise):
    parties, classes = data.fkm_parties(folder(), "1", noise)
    assert [len(own) for own in parties] == [len(own) for own in classes]
    assert sum(map(len, parties)) == 800
    assert len(np.unique(np.concatenate(classes))) == 16


@pytest.mark.data
def test_the_clients_of_figure_4_hold_their_numbers_of_clusters():
    _, classes = data.fkm_variable(folder())
    assert [len(np.unique(own)) for own in classes] == [16, 1, 3, 10, 7]


@pytest.mark.data
def test_femnist_is_the_papers_draw():
    parties, classes = data.femnist_iid(folder())
    assert (len(parties), sum(map(len, parties))) == (100, 16_744)
    assert [len(own) for own in parties] == [len(own) for own in classes]
    assert [len(own) for own in data.femnist_writers(folder())][:1] != [0]
