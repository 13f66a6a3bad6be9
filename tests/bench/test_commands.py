"""Each benchmark's quick mode runs and prints what it promised. No test checks how long anything took."""

import json
import re
from itertools import pairwise

import pytest
from support.datasets import folder
from typer.testing import CliRunner

from benchmarks.app import app
from benchmarks.costs import resilience, threads
from benchmarks.costs.iteration import CASES, QUICK_CASES
from benchmarks.costs.setting import PRECISION, Case
from benchmarks.costs.tables import TABLES, TITLES
from benchmarks.costs.traffic import measure_bytes
from secfc.kernels import VARIABLE, chosen_name
from secfc.row_layout import Layout


def assert_ordered(quartiles, median):
    low, high = quartiles
    assert 0 < low <= median <= high


def test_iteration_gives_the_promised_keys_of_the_cases_asked_for(rows_of):
    rows = rows_of("iteration", "--cases", "300,6,3,5,1,2", "--cases", "200,4,2,3,1,1")
    assert [(row["m"], row["d"], row["k"]) for row in rows] == [(300, 6, 3), (200, 4, 2)]
    promised = {"m", "d", "k", "n", "t", "ell", "precision", "client_ratio", "server_ratio", "R", "residues"}
    for row in rows:
        assert promised <= row.keys()
        assert row["precision"] == PRECISION
        assert_ordered(row["client_ratio_quartiles"], row["client_ratio"])
        assert_ordered(row["server_ratio_quartiles"], row["server_ratio"])
        assert row["turns"] >= 1


def test_iteration_at_another_precision_needs_fewer_residues(rows_of):
    fine, coarse = (rows_of("iteration", "--cases", "300,6,3,3,1,1", "--precision", p)[0] for p in (32, 8))
    assert coarse["precision"] == 8
    assert coarse["residues"] < fine["residues"]


def test_iteration_measures_the_sizes_that_bounds_were_set_for():
    sizes = {(case.m, case.d, case.k) for case in CASES}
    assert sizes == {(100_000, 100, 16), (60_000, 784, 10)}
    for m, d, k in sizes:
        assert {case.ell for case in CASES if (case.m, case.d, case.k) == (m, d, k)} == {1, 2, 4}
    assert any(2 * (case.ell + case.t) - 1 == 11 for case in CASES)


def test_quick_iteration_is_large_enough_for_the_kernels_of_large_jobs(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    for case in QUICK_CASES:
        job = case.job(bound=1.0, precision=PRECISION)
        assert chosen_name(Layout((case.m,)).run_residues(job)) == chosen_name(1 << 40)


def test_protections_are_compared_with_each_switched_off(rows_of):
    rows = rows_of("protections", "--quick")
    assert [row["without"] for row in rows] == ["nothing", "the margin", "the range check", "signatures"]
    assert [rows[0][f"{role}_ratio"] for role in ("client", "server", "sharing")] == [1.0] * 3
    assert rows[1]["residues"] <= rows[0]["residues"] == rows[2]["residues"] == rows[3]["residues"]
    assert all(row[role] > 0 for row in rows for role in ("client", "server", "sharing"))


def test_comparing_counts_bytes_and_exchanges_of_each_party(rows_of_drivers):
    rows = rows_of_drivers("comparing", "--quick")
    assert [(row["chunk"], row["changed"]) for row in rows] == [(3, 0.0), (4, 0.0), (3, 1.0), (4, 1.0)]
    assert all(row[f"{role}_seconds"] > 0 for row in rows for role in ("dealer", "first", "second"))
    for narrow, wide in (rows[:2], rows[2:]):
        assert narrow["dealt_bytes"] < wide["dealt_bytes"]
        assert narrow["exchanges"] == wide["exchanges"] + 1
    assert_ordered(rows[0]["ratio_quartiles"], rows[0]["ratio"])
    # 200 rows are 4 words of each wire: 452 dealt and 114 opened for a pair, an AND of two and its output.
    assert rows[0]["dealt_bytes"] == 8 * 4 * (2 * 452 + 1)
    assert rows[0]["each_way_bytes"] == 8 * 4 * (2 * 114 + 1)


def test_disclosure_compares_a_client_with_itself(rows_of):
    (row,) = rows_of("disclosure", "--quick")
    assert_ordered(row["ratio_quartiles"], row["ratio"])
    assert row["neighbours"] == row["t"] + 1
    assert row["dealt_bytes"] == row["neighbours"] * row["residues"] * row["k"] * row["m"] * 3


def test_sharing_needs_five_residues_and_says_what_the_generator_took(rows_of):
    (row,) = rows_of("sharing", "--quick")
    assert (row["n"], row["t"], row["ell"], row["residues"]) == (11, 4, 2, 5)
    assert row["megabytes"] == 8 * row["m"] * row["d"] / 1e6
    assert 0 < row["generator_share"] < 1
    assert 0 < row["sealing_share"] < 1 - row["generator_share"]
    assert row["opening_ratio"] > 0
    assert_ordered(row["rate_quartiles"], row["rate"])
    assert row["plaintext_ratio"] > 0


@pytest.mark.slow
def test_figure1_sweeps_n_d_and_m_with_t_a_third_of_n(rows_of):
    rows = rows_of("figure1", "--quick")
    assert {row["swept"] for row in rows} == {"n", "d", "m"}
    for row in rows:
        assert row["t"] == -(-row["n"] // 3)
        assert row["R"] + 2 > row["n"], "no larger ell would fit"
        assert row["k"] == 4
        assert_ordered(row["client_seconds_quartiles"], row["client_seconds"])
        assert_ordered(row["server_seconds_quartiles"], row["server_seconds"])
        assert_ordered(row["kfed_seconds_quartiles"], row["kfed_seconds"])
        assert row["client_to_kfed"] > 0
        assert row["server_to_kfed"] > 0
    for swept in ("n", "d", "m"):
        values = [row[swept] for row in rows if row["swept"] == swept]
        assert all(a < b for a, b in pairwise(values))


def test_owners_cost_deposits_and_a_run(rows_of):
    rows = rows_of("owners", "--quick")
    assert [row["cost"] for row in rows] == ["deposits", "run", "together"]
    assert rows[2]["seconds"] == [
        sum(both) for both in zip(*(row["seconds"] for row in rows[:2]), strict=True)
    ]
    for row in rows:
        assert (row["owners"], row["m"], row["n"]) == ([20, 40], 400, 3)
        assert all(seconds > 0 for seconds in row["seconds"])
        for count, seconds, each in zip(row["owners"], row["seconds"], row["milliseconds"], strict=True):
            assert each == pytest.approx(1e3 * seconds / count)
        assert row["deposit_bytes"] > 3 * row["residues"] * 4 * 10


def test_owners_are_projected_by_parts_of_which_the_longest_is_divided_first(rows_of_drivers):
    rows = rows_of_drivers("owners", "--quick", "--project", "100000,1000,4")
    by_part = {(row["party"], row["part"]): row for row in rows}
    opened = by_part["member", "opens deposits"]
    assert opened["bytes"] == 1000 * by_part["owner", "deals"]["bytes"] // 3
    assert opened["disk"] == opened["bytes"] + 4 * opened["primes"] * (4 + 1) * 100_000
    longest = max(
        (row for row in rows if row["party"] != "owner"),
        key=lambda row: max(row["seconds"], row["line_seconds"]),
    )
    assert [row for row in rows if row["first"]] == [longest]
    assert all(
        row["core_seconds"] == pytest.approx(4 * row["seconds"]) for row in rows if row["party"] != "owner"
    )


@pytest.mark.slow
def test_scaling_fits_an_exponent_to_each_cost_and_sweep(rows_of):
    rows = rows_of("scaling", "--quick")
    assert {row["cost"] for row in rows} == {"share", "client", "server"}
    for row in rows:
        assert len(row["values"]) == len(row["seconds"]) == len(row["residues_swept"])
        assert row[row["swept"]] in row["values"]
        assert all(seconds > 0 for seconds in row["seconds"])
    paper = {(row["cost"], row["swept"]): row["paper_exponent"] for row in rows}
    assert paper["client", "k"] == pytest.approx(1)
    assert paper["client", "ell"] == pytest.approx(-1)
    assert paper["client", "n"] == pytest.approx(0)
    assert paper["share", "k"] == pytest.approx(0)


@pytest.mark.processes
@pytest.mark.interpreters
def test_runs_give_scikit_learns_labels_with_both_drivers(rows_of):
    rows = rows_of("runs", "--quick")
    disclosures = ["coded", "distances", "labels"]
    assert [row["driver"] for row in rows] == ["in-process"] * 3 + ["multiprocess"] * 3
    assert [row["disclosure"] for row in rows] == disclosures * 2
    for row in rows:
        assert row["labels_equal"]
        assert row["differing_rows"] == 0
        if row["disclosure"] != "labels":
            assert row["inertia"] == pytest.approx(row["plaintext_inertia"], rel=1e-6)
        assert row["n_iter"] > 1
        assert row["cpu_seconds"] >= 0.9 * row["work_seconds"] > 0
        assert row["peak_bytes"] is None or row["driver"] == "in-process"
        assert row["peak_bytes"] is None or 30e6 < row["peak_bytes"] < 2e9
        assert_ordered(row["cpu_ratio_quartiles"], row["cpu_ratio"])
        assert_ordered(row["wall_ratio_quartiles"], row["wall_ratio"])
    assert rows[0]["n_iter"] == rows[1]["n_iter"]


def test_bytes_stay_within_two_percent_of_the_least_for_large_payloads(rows_of):
    rows = rows_of("bytes", "--quick")
    assert {row["phase"] for row in rows} == {"identify", "share", "iterate", "reveal"}
    for row in rows:
        assert row["bytes"] >= row["least_bytes"] > 0
    large = [row for row in rows if row["large"]]
    assert {"Share", "CodedDistances"} <= {row["kind"] for row in large}
    assert all(row["ratio"] <= 1.02 for row in large)


def test_links_follow_from_bytes_and_exchanges(rows_of):
    rows = {(row["disclosure"], row["link"], row["part"]): row for row in rows_of("links", "--quick")}
    assert len(rows) == 9
    for row in rows.values():
        expected = [8 * row["line_bytes"] / rate + row["legs"] / 100 for rate in (10e6, 100e6, 1e9)]
        assert row["seconds"] == pytest.approx(expected)
    # With "coded" there is one question and one answer. The busiest line brings all answers to the server.
    for part in ("first", "later"):
        row = rows["coded", "lan", part]
        answers = 3 * row["residues"] * row["k"] * row["m"] * row["n"]
        assert row["legs"] == 2
        assert answers <= row["line_bytes"] <= 1.01 * answers
    lan, wan = rows["labels", "lan", "later"], rows["labels", "wan", "later"]
    assert 2 < wan["legs"] < lan["legs"]
    assert wan["line_bytes"] > lan["line_bytes"]


@pytest.mark.processes
@pytest.mark.interpreters
@pytest.mark.slow
def test_memory_is_seen_of_every_process_and_nothing_stays_behind(rows_of, tmp_path):
    (row,) = rows_of("memory", "--cases", "4000,8,3,3,1,1", "--storage", tmp_path)
    assert row["storage"]
    for name in ("client_peak", "client_median", "driver_peak", "idle"):
        assert 1 << 20 < row[name] < 1 << 34
    assert row["client_median"] <= row["client_peak"]
    assert row["pooled_bytes"] == 8 * 4000 * 8
    assert row["share_bytes"] >= 4 * row["residues"] * (8 + 1) * 4000
    assert row["samples"] > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_membership_gives_the_labels_of_an_ordinary_run_and_what_both_take(rows_of, tmp_path):
    (row,) = rows_of("membership", "--cases", "2000,4,3,3,1,1", "--storage", tmp_path)
    assert row["storage"]
    assert row["labels_equal"]
    assert row["converged"]
    for name in ("client_peak", "driver_peak", "ordinary_client_peak"):
        assert 1 << 20 < row[name] < 1 << 34
    assert max(row["client_peak"], row["driver_peak"]) < row["total_peak"]
    # Each of three clients shares a vector for every row, which is three times as many rows as it has.
    assert 2.9 < row["share_bytes"] / row["ordinary_share_bytes"] < 3.1
    assert row["union_bytes"] > 0
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_printed_without_json():
    done = CliRunner().invoke(app, ["iteration", "--cases", "200,4,2,3,1,1"])
    assert done.exit_code == 0
    assert TITLES["iteration"] in done.stdout


@pytest.mark.parametrize("text", ["1,2,3", "a,b,c,d,e,f", "0,4,2,3,1,1", "200,4,2,3,1,-1", ""])
def test_a_malformed_case_is_one_clear_line(text):
    done = CliRunner().invoke(app, ["iteration", "--cases", text])
    assert done.exit_code == 2
    assert "m,d,k,n,t,ell" in done.output
    assert "Traceback" not in done.output


def test_too_few_clients_are_refused_as_everywhere():
    done = CliRunner().invoke(app, ["iteration", "--cases", "200,4,2,3,4,2"])
    assert done.exit_code == 2
    assert "ThresholdError" in done.output


def test_every_benchmark_has_a_table_and_a_title():
    assert TABLES.keys() == TITLES.keys()


@pytest.mark.processes
@pytest.mark.slow
def test_resilience_counts_endings_and_none_within_the_bound_is_wrong(rows_of, monkeypatch):
    monkeypatch.setattr(resilience, "QUICK_RUNS", 1)
    monkeypatch.setattr(resilience, "CASE", Case(m=60, d=4, k=4, n=11, t=2, ell=2))
    monkeypatch.setattr(resilience, "QUICK_COST_CASES", (Case(m=100, d=4, k=3, n=11, t=2, ell=2),))
    monkeypatch.setattr(resilience, "QUICK_LABELS_CASES", (Case(m=60, d=4, k=4, n=3, t=1, ell=1),))
    rows = rows_of("resilience", "--quick")
    assert all(row["wrong"] == 0 or not row["within"] for row in rows)
    assert all(row["exact"] + row["stopped"] + row["wrong"] == row["runs"] for row in rows)
    within = [row for row in rows if row["within"]]
    assert all(row["exact"] == row["runs"] for row in within)
    assert all(row["named"] is None or row["named"] > 0 for row in within)
    assert all(row["missed_bits"] > 40 for row in rows if row["tolerated"])
    assert [row["within"] for row in rows if row["overhead"] is None] == [True] * 7 + [False] * 4
    assert len([row for row in rows if row["overhead"] is not None]) == 7


@pytest.mark.processes
@pytest.mark.interpreters
@pytest.mark.slow
def test_record_stores_rows_with_machine_commit_and_command_and_writes_the_page(tmp_path):
    arguments = ["record", "--quick", "--only", "sharing", "--out", str(tmp_path / "results")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    stored = json.loads((tmp_path / "results" / "sharing.json").read_text())
    assert stored["command"] == "python -m benchmarks sharing --json --quick"
    assert stored["quick"]
    assert stored["rows"][0]["rate"] > 0
    assert {"machine", "commit", "started", "seconds"} <= stored.keys()
    assert "`python -m benchmarks sharing --json --quick`" in (tmp_path / "RESULTS.md").read_text()


def test_attacks_are_run_by_letter(rows_of):
    assert {row["attack"] for row in rows_of("privacy", "--quick", "--only", "l")} == {"l-rows"}
    done = CliRunner().invoke(app, ["privacy", "--only", "k,z"])
    assert done.exit_code == 2
    assert "attacks are a to p, 'z' was given" in done.output


def test_the_union_is_measured_beside_a_plain_one():
    done = CliRunner().invoke(app, ["union", "--ids", "200", "-n", "5", "-t", "1"])
    assert done.exit_code == 0, done.output
    assert "200 IDs: plain set union" in done.output
    assert "load 16" in done.output


def test_an_ordinary_run_stands_beside_one_with_membership_privacy():
    done = CliRunner().invoke(app, ["union-run", "--rows", "300", "--columns", "3", "-n", "5", "-t", "1"])
    assert done.exit_code == 0, done.output
    headings = [line for line in done.output.splitlines() if "300 x 3" in line]
    assert [one.split(" 300")[0] for one in headings] == ["ordinary", "membership privacy"]


def test_a_tolerance_saves_iterations_and_bytes_of_a_run_that_ends_slowly():
    done = CliRunner().invoke(app, ["tail", "--case", "600,2,4,3,1,1", "--tolerances", "0,0.05"])
    assert done.exit_code == 0, done.output
    heading, whole, short = done.output.splitlines()
    assert heading == "600 x 2, k = 4, n = 3, t = 1, ell = 1, distances"
    found = [
        re.fullmatch(rf"tol_moved {tol}: (\d+) iterations, converged True, ([\d.e-]+) GB, .*", line)
        for tol, line in ((0.0, whole), (0.05, short))
    ]
    (iterations, sent), (fewer, less) = ((int(one[1]), float(one[2])) for one in found)
    assert fewer < iterations
    assert less < sent


@pytest.mark.processes
@pytest.mark.interpreters
@pytest.mark.slow
def test_engines_are_measured_by_driver(rows_of_drivers):
    pytest.importorskip("psutil")  # of the extra flare
    rows = rows_of_drivers("engines", "--quick", "--only", "in-process,multiprocess")
    assert [row["driver"] for row in rows] == ["in-process", "multiprocess"]
    assert all(row["rounds"] > 0 and row["round_bytes"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["engines", "--only", "carrier pigeons"], "carrier pigeons"),
        (["union", "--loads", "9"], "8, 16, 32"),
        (["union", "--ids", "many"], "whole numbers"),
        (["precision", "nothing"], "there is no dataset 'nothing'"),
        (["protections", "--cases", "1,2,3"], "m,d,k,n,t,ell"),
        (["comparing", "--sizes", "10"], "m,k"),
        (["comparing", "--sizes", "10,11"], "2 <= k <= m"),
    ],
)
def test_what_a_study_cannot_measure_is_one_clear_line(arguments, text):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert text in done.output
    assert "Traceback" not in done.output


@pytest.mark.data
def test_starts_and_precision_read_the_tests_datasets(monkeypatch):
    monkeypatch.setenv("SECFC_DATA", str(folder()))
    done = CliRunner().invoke(app, ["starts", "fkm-beta1", "--starts", "1", "--rows", "200"])
    assert done.exit_code == 0, done.output
    assert "| fkm-beta1 | 200 | 2 | 16 |" in done.output
    done = CliRunner().invoke(app, ["precision", "s1", "--seeds", "1", "--bits", "24,32", "--step", "1"])
    assert done.exit_code == 0, done.output
    assert "start 0: " in done.output
    assert 'of shares and of a round, "distances": 5 and 4, 5 and 5, 4 and 4' in done.output


def test_work_in_threads_is_counted_and_measured_by_role(rows_of, monkeypatch):
    monkeypatch.setattr("secfc.threads.LEAST", 1 << 12)  # so small a run takes no threads otherwise
    monkeypatch.setattr(threads, "PAIRS", 1)
    monkeypatch.setattr(threads, "ITERATIONS", 3)
    rows = rows_of("threads", "--cases", "3000,12,4,3,1,1")
    assert {row["disclosure"] for row in rows} == {"coded", "distances", "labels"}
    assert all(0 <= row["serial_share"] <= 1 <= row["many"] + 1e-9 for row in rows)
    assert all(row["seconds"] > 0 for row in rows)
    clients = [row for row in rows if row["work"] == "iterate, clients"]
    assert clients
    assert all(row["serial_share"] < 1 for row in clients if row["disclosure"] == "distances")


def test_iterations_send_at_most_a_two_thousandth_more_than_their_elements_take():
    rows = measure_bytes(Case(m=20_000, d=2, k=4, n=3, t=1, ell=1))
    (whole,) = [row for row in rows if (row.phase, row.kind) == ("iterate", "all")]
    assert 1 <= whole.ratio <= 1.0005
