"""What every version must do, through public interfaces alone, each against an oracle.

A change of the protocol may change here what is disclosed, and nothing else.
"""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from support.breaking import breaks_at, lies
from support.hospitals import NAMES, command, requests
from support.killing import first_process_dies
from support.lloyd import begun_as

import secfc
from plaintext_baselines import DWF, EWF, FFCM, FKM, KFED, ExactLloyd, ParentChildKMeans
from secfc.prepare import Column, Schema

pytestmark = pytest.mark.filterwarnings("ignore::secfc.ConvergenceWarning", "ignore::secfc.FaultWarning")
CONSENT = secfc.Limits(reveal_centres=True, reveal_inertia=True, predict=True)


def blobs(seed: int, *counts: int, d: int = 3, whole: bool = False) -> list[np.ndarray]:
    """Rows of parties; with `whole` on a coarse grid, so that there are ties and equal rows."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice([-5, 0, 5], (m, 1)) + rng.normal(size=(m, d)) for m in counts]
    return [np.rint(one / 2) for one in rows] if whole else rows


def lists(labels) -> list[list[int]]:
    return [np.asarray(one).tolist() for one in labels]


def assert_exact(rows, result, *, k: int, weights=None, **options) -> None:
    """Labels, iterations and end are those of Lloyd in exact integers from the same first sets."""
    begun = begun_as(result.job, result.start)
    exact = ExactLloyd(k, **begun, **options).fit(rows, sample_weight=weights)
    assert lists(result.labels) == lists(exact.labels_)
    assert (result.n_iter, result.converged) == (exact.n_iter_, exact.converged_)


# Runs


@pytest.mark.parametrize("init", ["random", "k-means++"])
@pytest.mark.parametrize("whole", [False, True])
def test_eleven_parties_with_the_parameters_of_the_paper(init, whole):
    rows = blobs(1, 4, 7, 0, 5, 6, 3, 9, 4, 2, 8, 5, whole=whole)
    assert_exact(rows, secfc.run(rows, 4, t=4, ell=2, init=init, seed=2), k=4)


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
@pytest.mark.parametrize("seed", range(4))
def test_three_parties(disclosure, seed):
    rows = blobs(seed, 9, 6, 8, d=2, whole=seed % 2 == 0)
    result = secfc.run(rows, 5, t=1, ell=1, disclosure=disclosure, init="random", seed=seed)
    assert_exact(rows, result, k=5)


@pytest.mark.parametrize("k", [1, 7])
def test_one_cluster_and_as_many_as_rows(k):
    rows = blobs(3, 2, 3, 2)
    start = [np.arange(0, 2) % k, np.arange(2, 5) % k, np.arange(5, 7) % k]
    assert_exact(rows, secfc.run(rows, k, t=1, ell=1, init=start), k=k)


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
@pytest.mark.parametrize("seed", range(12))
def test_ties_and_emptied_clusters(disclosure, seed):
    """Of such starts most empty a cluster, and many have equally far rows."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(-4, 5, size=(m, 1)).astype(float) for m in (5, 4, 5)]
    start = [rng.permutation(np.arange(len(one)) % 4) for one in rows]
    assert_exact(rows, secfc.run(rows, 4, t=1, ell=1, disclosure=disclosure, init=start), k=4)


@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_of_equally_far_rows_the_first_goes_to_an_emptied_cluster(disclosure):
    """After round 1 cluster 2 is empty, and rows 0, 1 and 5 are equally far. Others give other labels."""
    rows = [np.array([[3.0], [-3.0], [-1.0]]), np.array([[2.0], [1.0]]), np.array([[-3.0], [1.0]])]
    start = [np.array([1, 2, 1]), np.array([2, 2]), np.array([0, 0])]
    result = secfc.run(rows, 3, t=1, ell=1, disclosure=disclosure, init=start)
    assert lists(result.labels) == [[2, 0, 0], [1, 1], [0, 1]]
    assert_exact(rows, result, k=3)


def test_one_start_of_several_is_the_best():
    rows = blobs(4, 9, 8, 9)
    given = {"t": 1, "ell": 1, "disclosure": "coded", "init": "random", "seed": 5}
    result = secfc.run(rows, 4, n_init=4, **given)
    assert_exact(rows, result, k=4)
    assert result.inertia <= secfc.run(rows, 4, n_init=1, **given).inertia


def test_given_centres_are_those_of_k_means():
    rows = blobs(5, 20, 20, 20)
    centres = np.concatenate(rows)[[0, 25, 45]]
    result = secfc.run(rows, 3, t=1, ell=1, init=centres)
    theirs = KMeans(3, init=centres, n_init=1, tol=0).fit(np.concatenate(rows))
    assert np.concatenate(result.labels).tolist() == theirs.labels_.tolist()


def test_steps_and_a_fraction_of_rows_that_may_move():
    rows = blobs(6, 12, 14, 13, whole=True)
    result = secfc.run(rows, 4, t=1, ell=1, step=1, tol_moved=0.2, max_iter=9, init="random", seed=1)
    assert_exact(rows, result, k=4, step=1, tol_moved=0.2, max_iter=9)


def test_weights_count_as_equal_rows():
    rows, rng = blobs(7, 8, 9, 7), np.random.default_rng(7)
    weights = [rng.integers(1, 6, len(one)) for one in rows]
    result = secfc.run(rows, 3, t=1, ell=1, sample_weight=weights, init="random", seed=4)
    assert_exact(rows, result, k=3, weights=weights)


def test_membership_privacy_gives_the_labels_of_the_union():
    rows = blobs(8, 6, 5, 4)
    ids = [[f"{party}-{row}" for row in range(len(one))] for party, one in enumerate(rows)]
    result = secfc.run(rows, 3, t=1, ell=1, ids=ids, init="random", seed=6)
    assert_exact(rows, result, k=3)
    assert sorted(result.by_id()) == sorted(one for own in ids for one in own)
    with pytest.raises(secfc.DuplicateIdError):
        secfc.run(rows, 3, t=1, ell=1, ids=[ids[0], ids[0][:5], ids[2]])


@pytest.mark.parametrize("liar", [1, 3])
def test_a_party_that_lies_is_named_and_changes_nothing(monkeypatch, liar):
    rows = blobs(9, 5, 6, 4, 5, 6)
    given = {"t": 1, "ell": 1, "max_liars": 1, "disclosure": "coded", "init": "random", "seed": 3}
    lies(monkeypatch, liar)
    result = secfc.run(rows, 3, **given)
    assert result.faults.liars == (liar,)
    assert_exact(rows, result, k=3)


@pytest.mark.processes
def test_processes_are_as_one_process():
    rows = blobs(10, 9, 9, 9)
    given = {"t": 1, "ell": 1, "init": "random", "seed": 8}
    apart, together = secfc.run(rows, 4, driver="multiprocess", **given), secfc.run(rows, 4, **given)
    assert lists(apart.labels) == lists(together.labels)
    assert_exact(rows, apart, k=4)


@pytest.mark.processes
def test_a_party_that_is_lost_keeps_its_rows_in_the_clustering(monkeypatch):
    rows = blobs(11, 9, 8, 7, 9)
    killed = breaks_at(monkeypatch, 4, "StepNotice", noticed=True, round_=2)
    result = secfc.run(rows, 4, t=1, ell=1, driver="multiprocess", disclosure="coded", init="random", seed=1)
    assert killed
    assert result.faults.absent == (4,)
    assert_exact(rows, result, k=4)


def test_a_committee_gives_every_owner_its_labels():
    rows = blobs(12, *[3] * 8)
    result = secfc.run(rows, 3, t=1, ell=1, committee=3, init="random", seed=2)
    assert_exact(rows, result, k=3)


def test_opened_centres_are_means():
    rows = blobs(13, 9, 8, 9)
    result = secfc.run(
        rows, 3, t=1, ell=1, limits=CONSENT, reveal=secfc.Reveal(centres="all"), init="random", seed=1
    )
    pooled, labels = np.concatenate(rows), np.concatenate(result.labels)
    means = [pooled[labels == h].mean(axis=0) for h in range(3)]
    np.testing.assert_allclose(result.cluster_centers, means, rtol=1e-7, atol=1e-7)


# Beside runs


def test_predictions_are_the_nearest_means():
    rows, new = blobs(14, 9, 8, 9), blobs(15, 4, 0, 5)
    result = secfc.run(rows, 3, t=1, ell=1, init="random", seed=3)
    found = secfc.predict(rows, result.labels, new, k=3, t=1, ell=1, limits=CONSENT)
    pooled, labels = np.concatenate(rows), np.concatenate(result.labels)
    means = np.array([pooled[labels == h].mean(axis=0) for h in range(3)])
    distances = ((np.concatenate(new)[:, None] - means) ** 2).sum(axis=2)
    assert np.concatenate(found.labels).tolist() == distances.argmin(axis=1).tolist()


def test_several_numbers_of_clusters_on_one_sharing():
    rows = blobs(16, 12, 11, 12)
    choice = secfc.choose_k(
        rows, [2, 3, 4], t=1, ell=1, init="random", seed=5, reveal=secfc.Reveal(inertia=True), limits=CONSENT
    )
    pooled = np.concatenate(rows)
    assert choice.best == 3
    assert [one.k for one in choice if one.labels is not None] == [3]
    for one in choice:
        if one.labels is None:  # nobody is told labels of another k than the best
            assert one.inertia > 0
            continue
        labels = np.concatenate(one.labels)
        used = np.unique(labels)
        means = {h: pooled[labels == h].mean(axis=0) for h in used}
        inertia = sum(((pooled[labels == h] - means[h]) ** 2).sum() for h in used)
        assert one.inertia == pytest.approx(inertia, rel=1e-6)


def test_prepared_columns_are_those_of_numpy():
    rng = np.random.default_rng(17)
    ages = [rng.integers(20, 90, 30).astype(float) for _ in range(3)]
    schema = Schema(columns=(Column(name="age", low=0, high=120, scale="standardise"),), smallest=2)
    found = secfc.Prepare(schema).fit_transform([pd.DataFrame({"age": one}) for one in ages])
    pooled = np.concatenate(ages)
    expected = (pooled - pooled.mean()) / pooled.std()
    np.testing.assert_allclose(np.concatenate(found)[:, 0], expected, rtol=1e-6, atol=1e-6)


def test_the_estimator_is_a_step_of_a_pipeline():
    rows = blobs(18, 9, 8, 9)
    halve = FunctionTransformer(lambda parties: [one / 2 for one in parties])
    model = secfc.SecureKMeans(3, t=1, ell=1, init="random", random_state=4)
    labels = Pipeline([("halve", halve), ("cluster", model)]).fit_predict(rows)
    expected = secfc.run([one / 2 for one in rows], 3, t=1, ell=1, init="random", seed=4)
    assert lists(labels) == lists(expected.labels)
    assert_exact([one / 2 for one in rows], expected, k=3)


# Files, commands and agreed jobs


def write(folder: Path, names, rows) -> list[Path]:
    files = []
    for name, own in zip(names, rows, strict=True):
        frame = pd.DataFrame(own, columns=["x", "y"])
        frame.insert(0, "patient", [f"{name}-{row}" for row in range(len(own))])
        files.append(folder / f"{name}.csv")
        frame.to_csv(files[-1], index=False)
    return files


def written(path: Path) -> dict[str, int]:
    with path.open() as file:
        return {row["patient"]: int(row["label"]) for row in csv.DictReader(file)}


def expected(names, rows, result) -> dict[str, dict[str, int]]:
    return {
        name: {f"{name}-{row}": label for row, label in enumerate(own)}
        for name, own in zip(names, lists(result.labels), strict=True)
    }


def test_the_command_writes_the_labels_of_a_run(tmp_path):
    names, rows = ("north", "south", "west"), blobs(19, 9, 7, 8, d=2)
    files = write(tmp_path, names, rows)
    options = ["--t", 1, "--ell", 1, "--init", "random", "--seed", 3, "--id", "patient"]
    command("run", *files, "-k", 3, *options, "--out", tmp_path / "out")
    result = secfc.run(rows, 3, t=1, ell=1, init="random", seed=3)
    assert_exact(rows, result, k=3)
    found = {name: written(tmp_path / "out" / f"{name}.labels.csv") for name in names}
    assert found == expected(names, rows, result)


JOB = """\
title = "A contract"
roster = "roster.toml"
expires = 9999-12-31

[clustering]
k = 3
t = 1
ell = 1
seed = 3
init = "random"
disclosure = "coded"

[columns]
x = [-20, 20]
y = [-20, 20]
"""
BOUND = float(np.hypot(20, 20))


def agreed(folder: Path, names, *, storage: bool = False, data: bool = True, more: str = "") -> Path:
    """Keys, roster and a job; the parties have site files. All but signatures."""
    for name in (*names, "hub"):
        key = folder / ("coordinator.key" if name == "hub" else f"{name}.key")
        command("keygen", key, "--name", name)
    public = [folder / f"{name}.pub" for name in names]
    command("roster", "add", folder / "roster.toml", *public, "--coordinator", folder / "coordinator.pub")
    (folder / "job.toml").write_text(JOB.replace("[columns]", f"{more}\n[columns]"))
    for name in names:
        lines = [
            f'party = "{name}"',
            'job = "job.toml"',
            f'key = "{name}.key"',
            f'results = "results-{name}"',
        ]
        lines += [f'storage = "scratch-{name}"'] if storage else []
        lines += ["[data]", f'path = "{name}.csv"', 'id = "patient"'] if data else []
        (folder / f"{name}.toml").write_text("\n".join([*lines, ""]))
    return folder / "job.toml"


@pytest.mark.processes
def test_an_agreed_job_with_a_killed_site_goes_on(tmp_path, monkeypatch):
    names, rows = ("north", "south", "west"), blobs(20, 9, 7, 8, d=2)
    write(tmp_path, names, rows)
    job, sites = agreed(tmp_path, names, storage=True), [tmp_path / f"{name}.toml" for name in names]
    for site in sites:
        command("job", "sign", site)
    killed = first_process_dies(monkeypatch, after_steps=20)
    command("job", "run", job, *sites)
    assert killed() == 1
    result = secfc.run(rows, 3, t=1, ell=1, init="random", seed=3, disclosure="coded", bound=BOUND)
    assert_exact(rows, result, k=3, bound=BOUND)
    (found,) = zip(*((tmp_path / f"results-{name}").iterdir() for name in names), strict=True)
    labels = {name: written(folder / "labels.csv") for name, folder in zip(names, found, strict=True)}
    assert labels == expected(names, rows, result)
    assert "DOES NOT HOLD" not in command("audit", tmp_path / "job.summary.json", "--job", job)


@pytest.mark.processes
def test_owners_deposit_rows_and_open_their_labels(tmp_path):
    members, owners = ("east", "south", "west"), ("clinic-1", "clinic-2", "clinic-3")
    rows = blobs(21, 5, 5, 6, d=2)
    write(tmp_path, owners, rows)
    job = agreed(tmp_path, members, data=False, more="[owners]\nmost = 9\nmost_rows = 9\n")
    sites = [tmp_path / f"{name}.toml" for name in members]
    for site in sites:
        command("job", "sign", site)
    for name in owners:
        command("keygen", tmp_path / f"{name}.key", "--name", name)
        command("deposit", "admit", sites[0], tmp_path / f"{name}.pub")
        (tmp_path / f"{name}.toml").write_text(
            f'party = "{name}"\njob = "job.toml"\nkey = "{name}.key"\ncertificate = "{name}.certificate"\n'
            f'results = "results-{name}"\n[data]\npath = "{name}.csv"\nid = "patient"\n'
        )
        command("deposit", "--site", tmp_path / f"{name}.toml")
    for site in sites:
        command("deposit", "close", site)
    command("job", "run", job, *sites)
    result = secfc.run(rows, 3, t=1, ell=1, init="random", seed=3, disclosure="coded", bound=BOUND)
    for name in owners:
        command("deposit", "open", "--site", tmp_path / f"{name}.toml")
    found = {name: written(next((tmp_path / f"results-{name}").iterdir()) / "labels.csv") for name in owners}
    assert found == expected(owners, rows, result)


SABOTAGE = Path(__file__).parent / "support" / "sabotage"


@pytest.mark.slow
@pytest.mark.flare
@pytest.mark.timeout(600)
def test_a_consortium_over_flare_whose_server_was_killed_goes_on(tmp_path):
    pytest.importorskip("nvflare")
    rows = blobs(22, 60, 60, 60, d=2)
    for name, own in zip(NAMES, rows, strict=True):
        (tmp_path / name).mkdir()
        write(tmp_path / name, ["rows"], [own])
        data = ["--rows", "rows.csv", "--id", "patient", "--folder", tmp_path / name]
        command("consortium", "request", name, *data)
        site = tmp_path / name / "site.toml"
        site.write_text('storage = "scratch"\n' + site.read_text())
    made, plan = tmp_path / "consortium", tmp_path / "sabotage.json"
    (tmp_path / "job.toml").write_text(JOB.replace("k = 3", "k = 5"))
    place = ["--host", "localhost", "--port", free_port(), "--out", made]
    command("consortium", "new", tmp_path / "job.toml", *requests(tmp_path), *place)
    for name in NAMES:
        command("consortium", "accept", made / "consortium.toml", "--site", tmp_path / name / "site.toml")
        command("job", "sign", tmp_path / name / "site.toml")
    environment = os.environ | {
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(SABOTAGE), os.environ.get("PYTHONPATH", "")]),
        "SECFC_SABOTAGE": str(plan),
        "OMP_NUM_THREADS": "1",
    }
    started = []

    def start(who, *words):
        with (tmp_path / f"{who}.said").open("ab") as said:
            words = [sys.executable, "-m", "secfc", *map(str, words)]
            given = {"cwd": tmp_path, "env": environment, "stdin": subprocess.DEVNULL}
            started.append(subprocess.Popen(words, stdout=said, stderr=said, **given))
        return started[-1]

    def said(who):
        return (tmp_path / f"{who}.said").read_text()

    given = [tmp_path / name / "consortium" / "job.signatures" for name in NAMES]
    run = ["consortium", "run", made / "job.toml", *given, "--resumable", "--timeout", "240"]
    plan.write_text(json.dumps({"server": ["StepReport", 3, "site"]}))
    try:
        sites = [start(name, "consortium", "start", tmp_path / name / "site.toml") for name in NAMES]
        assert start("first", *run).wait(timeout=300) == 1, said("first")
        assert "PartyError: the FLARE server has ended" in said("first")
        assert not (made / "job.summary.json").exists()
        assert [site.poll() for site in sites] == [None] * len(sites)  # they wait for the server
        plan.write_text("{}")
        assert start("second", *run).wait(timeout=300) == 0, said("second")
        for name, site in zip(NAMES, sites, strict=True):
            assert site.wait(timeout=120) == 0, said(name)
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # so that FLARE's processes end, too
                process.wait(timeout=60)
    audited = command("audit", made / "job.summary.json", "--job", made / "job.toml")
    assert "DOES NOT HOLD" not in audited
    result = secfc.run(rows, 5, t=1, ell=1, init="random", seed=3, disclosure="coded", bound=BOUND)
    assert_exact(rows, result, k=5, bound=BOUND)
    assert result.n_iter > 3
    for name, own in zip(NAMES, lists(result.labels), strict=True):
        (folder,) = (tmp_path / name / "results").iterdir()
        assert list(written(folder / "labels.csv").values()) == own
        assert list((tmp_path / name / "scratch").rglob("*.log")) == []


def free_port() -> int:
    import socket  # noqa: PLC0415 - for the run over FLARE alone

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# Plaintext methods


def test_distributed_lloyd_is_dwf_with_one_plain_step():
    rows = blobs(23, 20, 15, 25)
    centres = np.concatenate(rows)[[0, 25, 45]]
    plain = ExactLloyd(3, init=centres).fit(rows)
    one_step = {"local_iter": 1, "learning_rate": 1.0, "momentum": 0.0}
    found = DWF(3, init=centres, **one_step).fit(rows)
    assert lists(found.labels_) == lists(plain.labels_)


@pytest.mark.parametrize("method", [KFED, FKM, DWF, EWF, FFCM, ParentChildKMeans])
def test_a_federated_method_finds_clusters_that_are_far_apart(method):
    rng = np.random.default_rng(24)
    truth = [np.arange(30) % 3 for _ in range(4)]
    rows = [np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])[own] + rng.normal(size=(30, 2)) for own in truth]
    found = method(3, random_state=0).fit(rows)
    pairs = set(zip(np.concatenate(truth).tolist(), np.concatenate(found.labels_).tolist(), strict=True))
    assert len(pairs) == 3
