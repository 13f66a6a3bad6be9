"""Jobs that compare numbers of clusters and jobs that predict: agreed, signed, limited and audited."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.organisations import NAMES, Organisations

import secfc
from secfc.agreement.audit import audit
from secfc.agreement.job_file import read_job
from secfc.agreement.rows import read_rows
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import read_summary
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.report.agreed_page import write_agreed_report

pytestmark = pytest.mark.processes
SITES = {"labels": "reveal_inertia = true", "coded": "smallest_set = 1"}


@pytest.fixture
def made(tmp_path):
    return Organisations(tmp_path)


def consent(made, *lines):
    for name in NAMES:
        with made.site(name).open("a") as file:
            file.write("\n[limits]\n" + "\n".join(lines) + "\n")


def ran(made):
    """Run the job; return outcome, each party's labels and the summary, after an audit of its statements."""
    made.sign()
    agreement = read_job(made.job)
    path = made.folder / "summary.json"
    sites = [made.site(name) for name in NAMES]
    outcome = run_agreed(agreement, file=made.job, sites=sites, summary=path)
    summary = read_summary(path)
    assert all(finding.holds for finding in audit(summary, agreement))
    labels = []
    for name in NAMES:
        (found,) = (made.folder / f"results-{name}").glob("*/labels.csv")
        labels.append(pd.read_csv(found))
        page = made.folder / f"{name}.html"
        write_agreed_report(summary, agreement, page, name="summary.json", site=read_site(made.site(name)))
    return outcome, labels, json.loads(path.read_text())["coordinator"]["result"]


def assert_refused(made, text):
    """The site tells its own people the reason. The others learn only that it does not consent."""
    with pytest.raises(secfc.LimitError, match=text):
        read_site(made.site("south")).check(read_job(made.job))
    with pytest.raises(
        secfc.LimitError, match="no-consent: the party does not consent to what the job reveals"
    ):
        ran(made)


@pytest.mark.some(1)
@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_a_job_compares_numbers_of_clusters(made, disclosure):
    more = "reveal_inertia = true\n" if disclosure == "labels" else ""
    more += f'init = "random"\nn_init = 2\ndisclosure = "{disclosure}"'
    made.replace(made.job, "k = 2", f"k = 4\ncompared = [2, 3, 4]\n{more}")
    consent(made, SITES[disclosure])
    outcome, labels, result = ran(made)
    job = read_job(made.job).job
    assert (job.k, job.method.compared) == (4, (2, 3, 4))
    rows = [made.rows[name] for name in NAMES]
    limits = secfc.Limits(reveal_inertia=True)
    choice = secfc.choose_k(
        rows,
        range(2, 5),
        1,
        1,
        bound=job.bound,
        seed=7,
        init="random",
        n_init=2,
        disclosure=disclosure,
        reveal=secfc.Reveal(inertia=disclosure == "labels"),
        limits=limits,
    )
    assert outcome.k == result["k"] == choice.best
    for mine, theirs in zip(labels, choice[choice.best].labels, strict=True):
        np.testing.assert_array_equal(mine["label"], theirs)
    assert [(one["k"], one["inertia"], one["near_starts"]) for one in result["compared"]] == [
        (one.k, one.inertia, one.near_starts) for one in choice
    ]
    sizes = [None] * 3 if disclosure == "labels" else [one.sizes.tolist() for one in choice]
    assert [one["sizes"] for one in result["compared"]] == sizes
    page = (made.folder / "north.html").read_text()
    assert "3 numbers of clusters were compared, 2 to 4" in page
    assert f"k = {choice.best} is recommended: its " in page
    assert f"The parties have the labels of k = {choice.best}." in page


def test_pages_are_written_for_a_party_without_rows_and_not_of_figures_that_cannot_be(made):
    (made.folder / "west.csv").write_text("patient,age,bmi\n")
    made.allow_share(0.6)
    made.replace(made.job, "k = 2", 'k = 3\ncompared = [2, 3]\ndisclosure = "coded"')
    ran(made)  # which writes each party's page
    summary, agreement = read_summary(made.folder / "summary.json"), read_job(made.job)
    told = summary.coordinator
    first, second = told["result"]["compared"]
    for one in (first | {"inertia": None}, first | {"sizes": []}, first | {"sizes": [1, 1]}):
        changed = told | {"result": told["result"] | {"compared": [one, second]}}
        page = made.folder / "changed.html"
        with pytest.raises(secfc.ParameterError, match="coordinator: compared: not that of a run of this"):
            write_agreed_report(
                summary.model_copy(update={"coordinator": changed}), agreement, page, name="summary.json"
            )
        assert not page.exists()


def test_with_labels_each_party_consents_to_the_inertias(made):
    made.replace(made.job, "k = 2", 'k = 3\ncompared = [2, 3]\ndisclosure = "labels"\nreveal_inertia = true')
    assert_refused(
        made,
        r"limits\.reveal_inertia: the job reveals the inertia of each k; to consent, write",
    )


@pytest.mark.parametrize("compared", ["[2, 2.5]", '["2"]', "[0, 3]", "[2, 4]", "[3, 2]", "3"])
def test_numbers_of_clusters_that_cannot_be_compared_are_refused(made, compared):
    made.replace(made.job, "k = 2", f'k = 3\ncompared = {compared}\ndisclosure = "coded"')
    with pytest.raises(secfc.ParameterError, match=r"job\.toml:\d+: clustering\.compared|compared: "):
        read_job(made.job)


@pytest.fixture
def predicting(made):
    """Rows with a label, and every third row without one; the labels that a prediction gives."""
    rows = {name: made.rows[name] for name in NAMES}
    parts = [rows[name] for name in NAMES]
    first = secfc.run(parts, 2, 1, 1, seed=7, bound=200).labels
    new = [np.arange(len(one)) % 3 == 1 for one in parts]
    for name, one, labels, is_new in zip(NAMES, parts, first, new, strict=True):
        frame = pd.DataFrame(one, columns=["age", "bmi"]).assign(
            patient=[f"{name}-{at}" for at in range(len(one))]
        )
        frame["cluster"] = pd.array(np.where(is_new, None, labels), dtype="Int64")
        frame.to_csv(made.folder / f"{name}.csv", index=False)
        made.write_site(name, data=f'path = "{name}.csv"\nid = "patient"\nstart = "cluster"\n')
    made.replace(made.job, "k = 2", "k = 2\npredict = true")
    return parts, first, new


@pytest.mark.some(1)
@pytest.mark.parametrize("disclosure", ["labels", "coded"])
def test_a_job_predicts(made, predicting, disclosure):
    parts, first, new = predicting
    made.replace(made.job, "predict = true", f'predict = true\ndisclosure = "{disclosure}"')
    consent(made, "predict = true")
    _, labels, result = ran(made)
    agreement = read_job(made.job)
    expected = secfc.predict(
        [one[~added] for one, added in zip(parts, new, strict=True)],
        [one[~added] for one, added in zip(first, new, strict=True)],
        [one[added] for one, added in zip(parts, new, strict=True)],
        2,
        1,
        1,
        bound=agreement.job.bound,
        disclosure=disclosure,
        limits=secfc.Limits(predict=True),
    )
    for mine, old, added, found in zip(labels, first, new, expected.labels, strict=True):
        np.testing.assert_array_equal(mine["label"][~added], old[~added])
        np.testing.assert_array_equal(mine["label"][added], found)
    assert (result["k"], result["compared"], result["history"]) == (2, [], [])
    page = (made.folder / "west.html").read_text()
    assert "A prediction: rows without a label got that of the nearest mean of the rows that had one" in page
    assert "which rows are new" in page
    assert not re.search("iterations, <span|<b>[^<]*</b> inertia", page)


@pytest.mark.usefixtures("predicting")
def test_a_job_without_a_row_to_predict_is_refused_as_predict_refuses_it(made):
    consent(made, "predict = true")
    for name in NAMES:
        frame = pd.read_csv(made.folder / f"{name}.csv", dtype={"cluster": "Int64"})
        frame[frame["cluster"].notna()].to_csv(made.folder / f"{name}.csv", index=False)
    with pytest.raises(secfc.SecFCError, match="predict: no party has a new row"):
        ran(made)
    rows, none = [np.ones((4, 1))] * 3, [[]] * 3
    with pytest.raises(secfc.ParameterError, match=r"^predict: no party has a new row$"):
        secfc.predict(rows, [[0] * 4] * 3, none, 1, 1, 1, limits=secfc.Limits(predict=True))


@pytest.mark.usefixtures("predicting")
def test_each_party_consents_to_a_prediction(made):
    assert_refused(
        made, r"limits\.predict: the job predicts the cluster of rows; to consent, write predict = true"
    )


@pytest.mark.some(2)
@pytest.mark.usefixtures("predicting")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('init = "k-means++"', "clustering.init: a prediction has 'labels'"),
        ("max_iter = 7", "clustering.max_iter: a prediction has 1"),
        ("tol_moved = 0.1", "predict: not with tol_moved"),
        ('reveal_centres = ["north"]', "reveal_centres: not with predict"),
    ],
)
def test_a_prediction_is_no_clustering(made, line, text):
    made.replace(made.job, "predict = true", f"predict = true\n{line}")
    with pytest.raises(secfc.ParameterError) as caught:
        read_job(made.job)
    assert text in str(caught.value)


@pytest.mark.usefixtures("predicting")
def test_a_label_that_is_none_is_refused_by_place(made):
    consent(made, "predict = true")
    lines = (made.folder / "west.csv").read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if line.endswith((",0", ",1")))
    lines[at] = lines[at][:-1] + "2"
    (made.folder / "west.csv").write_text("\n".join([*lines, ""]))
    with pytest.raises(secfc.DataError, match=r"has 1 below -1 or above k - 1 = 1, the first in row \d"):
        read_rows(read_site(made.site("west")), read_job(made.job))


def test_a_job_with_resamples_writes_how_partitions_overlap_to_every_party(made):
    made.replace(made.job, "k = 2", "k = 3\ncompared = [2, 3]\nresamples = 2\nn_init = 1")
    consent(made, "reveal_tables = true")
    outcome, labels, result = ran(made)
    assert (outcome.k, result["inertia"], result["compared"][1]["inertia"]) == (2, None, None)
    told = [
        json.loads(next((made.folder / f"results-{name}").glob("*/stability.json")).read_text())
        for name in NAMES
    ]
    assert all(one == told[0] for one in told)
    two, three = told[0]["stability"]
    assert (two["k"], three["k"], told[0]["again"]) == (2, 3, 0)
    assert two["sizes"] == np.bincount(np.concatenate([one["label"] for one in labels]), minlength=2).tolist()
    assert np.array(three["tables"]).sum((2, 3)).tolist() == [[sum(two["sizes"])] * 3] * 3
    page = (made.folder / "north.html").read_text()
    assert '<h2 id="stability">' in page
    assert f'<td class="n">{three["dispersion"]:.3f}</td>' in page
    assert "how many rows each two clusters of two of them share" in page
    path = next((made.folder / "results-north").glob("*/stability.json"))
    for wrong in (
        "{}",
        '{"stability": [{"tables": 3}], "again": 0}',
        '{"stability": [{"tables": [[]]}], "again": 0}',
    ):
        path.write_text(wrong)
        with pytest.raises(secfc.DataError, match=r"stability\.json: no tables of resamples"):
            write_agreed_report(
                read_summary(made.folder / "summary.json"),
                read_job(made.job),
                made.folder / "again.html",
                name="summary.json",
                site=read_site(made.site("north")),
            )


def test_each_party_consents_to_tables_of_resamples(made):
    made.replace(made.job, "k = 2", "k = 2\nresamples = 2")
    assert_refused(
        made,
        r"limits\.reveal_tables: the job reveals how partitions of 2 resamples overlap; to consent, write "
        r"reveal_tables = true",
    )
