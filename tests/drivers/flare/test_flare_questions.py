"""Jobs that compare numbers of clusters, and jobs that predict, on one FLARE server with three sites."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from support.organisations import JOB, NAMES, Organisations

import secfc
from secfc.agreement.audit import audit
from secfc.agreement.job_file import read_job
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.federation import Federation
from secfc.drivers.flare.jobs import export_job

pytestmark = [pytest.mark.slow, pytest.mark.flare, pytest.mark.timeout(300)]

LIMITS = "[limits]\nreveal_inertia = true\npredict = true\n"


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    """Three hospitals, with their server and sites running."""
    folder = tmp_path_factory.mktemp("questions")
    made = Organisations(folder)
    with pytest.MonkeyPatch.context() as patch, Federation(folder / "flare", NAMES) as federation:
        patch.setenv("OMP_NUM_THREADS", "1")
        for name in NAMES:
            federation.join(name, made.site(name))
        federation.give_key(made.coordinator_key)
        federation.start()
        yield made, federation


@pytest.fixture
def ran(up, tmp_path):
    """Sign and run a job; return each site's table of labels and the result in the audited summary."""
    made, federation = up
    for name in NAMES:
        shutil.rmtree(made.folder / f"results-{name}", ignore_errors=True)

    def run(job, data=None):
        made.job.write_text(job)
        for name in NAMES:
            made.write_site(name, data=data and data.format(name=name), more=LIMITS)
        made.sign()
        export_job(made.job, tmp_path / "job", deadline=120.0)
        _, path = federation.run(tmp_path / "job", timeout=200.0)
        summary = read_summary(path)
        assert (summary.coordinator["ended"], summary.coordinator["lost"]) == ("complete", {})
        assert [one.text for one in audit(summary, read_job(made.job)) if not one.holds] == []
        tables = []
        for name in NAMES:
            (labels,) = (made.folder / f"results-{name}").glob("*/labels.csv")
            tables.append(pd.read_csv(labels))
        return tables, json.loads(path.read_text())["coordinator"]["result"]

    return run


def test_sites_compare_numbers_of_clusters_as_choose_k_does(up, ran):
    made, _ = up
    job = JOB.replace("k = 2", "k = 3\ncompared = [2, 3]\nn_init = 2\nreveal_inertia = true")
    tables, result = ran(job)
    rows = [made.rows[name] for name in NAMES]
    choice = secfc.choose_k(
        rows,
        range(2, 4),
        1,
        1,
        bound=read_job(made.job).job.bound,
        seed=7,
        n_init=2,
        reveal=secfc.Reveal(inertia=True),
        limits=secfc.Limits(reveal_inertia=True),
    )
    assert result["k"] == choice.best
    assert [(one["k"], one["inertia"], one["sizes"]) for one in result["compared"]] == [
        (one.k, one.inertia, one.sizes.tolist()) for one in choice
    ]
    for mine, theirs in zip(tables, choice[choice.best].labels, strict=True):
        np.testing.assert_array_equal(mine["label"], theirs)


def test_sites_predict_as_predict_does(up, ran):
    made, _ = up
    rows = [made.rows[name] for name in NAMES]
    old = secfc.run(rows, 2, 1, 1, seed=7, bound=200).labels
    added = [np.arange(len(one)) % 3 == 1 for one in rows]
    for name, one, labels, is_new in zip(NAMES, rows, old, added, strict=True):
        frame = pd.DataFrame(one, columns=["age", "bmi"]).assign(patient=range(len(one)))
        frame["cluster"] = pd.array(np.where(is_new, None, labels), dtype="Int64")
        frame.to_csv(made.folder / f"{name}-labelled.csv", index=False)
    tables, result = ran(
        JOB.replace("k = 2", "k = 2\npredict = true"),
        'path = "{name}-labelled.csv"\nid = "patient"\nstart = "cluster"\n',
    )
    expected = secfc.predict(
        [one[~is_new] for one, is_new in zip(rows, added, strict=True)],
        [one[~is_new] for one, is_new in zip(old, added, strict=True)],
        [one[is_new] for one, is_new in zip(rows, added, strict=True)],
        2,
        1,
        1,
        bound=read_job(made.job).job.bound,
        limits=secfc.Limits(predict=True),
    )
    assert (result["k"], result["compared"], result["history"]) == (2, [], [])
    for mine, labels, is_new, found in zip(tables, old, added, expected.labels, strict=True):
        np.testing.assert_array_equal(mine["label"][~is_new], labels[~is_new])
        np.testing.assert_array_equal(mine["label"][is_new], found)
