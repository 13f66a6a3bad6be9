"""The page of an agreed job's run, made from its summary, whose coordinator's part is not signed."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.organisations import NAMES, Organisations
from support.preparing import Preparing, tables
from typer.testing import CliRunner

from secfc.agreement.site_file import read_site
from secfc.agreement.statement import Summary, read_summary
from secfc.cli.app import app
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.errors import AgreementError, DataError, LimitError, ParameterError, SecFCError
from secfc.report.agreed_page import write_agreed_report
from secfc.report.coordinator_schema import adds_up
from secfc.report.fit import fit_of
from secfc.tables.number_texts import number_text

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    made = Organisations(tmp_path_factory.mktemp("agreed"))
    made.replace(made.job, "k = 2", 'k = 2\ndisclosure = "coded"')
    made.sign()
    sites = [made.site(name) for name in NAMES]
    run_agreed(made.agreement, file=made.job, sites=sites, summary=made.folder / "job.summary.json")
    return made


@pytest.fixture
def summary(ran):
    return read_summary(ran.folder / "job.summary.json")


NO_FAULTS = {name: [] for name in ("absent", "left_out", "liars", "cheats", "unread", "claimed")}


def told(summary: Summary, **changes):
    """The summary with another part of the coordinator."""
    return summary.model_copy(update={"coordinator": summary.coordinator | changes})


def result(summary, **changes):
    return told(summary, result=summary.coordinator["result"] | changes)


@pytest.fixture
def page(ran, tmp_path):
    def write(summary, path=tmp_path / "r.html"):
        return write_agreed_report(summary, ran.agreement, path, name="s.json").read_text(encoding="utf-8")

    return write


def test_it_says_which_job_ran_who_signed_and_who_learned_what(summary, page):
    text = page(summary)
    for said in (
        "<h1>Readmissions</h1>",
        summary.coordinator["run"],
        "2 (ell + t) − 1 = 2 (1 + 1) − 1 = 3",
        "north: its signature holds",
        "the exact distance of every row",
        "iterations, <span",
    ):
        assert said in text
    assert "did not take part to the end" not in text
    assert "NO</td>" not in text
    assert "nobody has signed that" in text


def test_parties_that_failed_are_named_with_what_they_failed_to_do(summary, page):
    faults = {"absent": [1], "left_out": [2], "liars": [3]}
    text = page(told(result(summary, faults=NO_FAULTS | faults), lost={"south": "PartyError: timeout"}))
    assert "3 of 3 parties did not take part to the end" in text
    rows = text.split('id="clusters"')[1].split("</table>")[0].split("<tr>")[2:]
    wanted = ("absent: it stopped answering", "left out: it vanished", "excluded: it sent wrong answers")
    for name, row, said in zip(NAMES, rows, wanted, strict=True):
        assert name in row
        assert said in row
    assert "PartyError: timeout" in rows[1]


def test_who_lied_about_shares_and_of_whom_nobody_can_tell_is_said(summary, page):
    faults = NO_FAULTS | {"left_out": [1], "cheats": [1], "unread": [[2, 3]]}
    text = page(result(summary, faults=faults))
    assert "3 of 3 parties did not take part to the end or are in a dispute that nobody can settle" in text
    rows = text.split('id="clusters"')[1].split("</table>")[0].split("<tr>")[2:]
    wanted = (
        "left out: it lied about shares, or the server withheld some; its rows are not clustered",
        "another client reports that it cannot read this client&#39;s shares, and it is not known",
        "it reports that it cannot read another client&#39;s shares, and it is not known",
    )
    for row, said in zip(rows, wanted, strict=True):
        assert said in row
        assert "excluded" not in row


def test_a_statement_that_does_not_hold_is_said(summary, page):
    first = summary.statements[0]
    changed = first.model_copy(update={"statement": first.statement.model_copy(update={"iterations": 99})})
    text = page(summary.model_copy(update={"statements": [changed, *summary.statements[1:]]}))
    assert "NO</td>" in text
    assert "north: its statement was changed" in text


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"counts": [1, 2]}, "counts"),
        ({"sizes": [0, 0], "counts": [0, 0, 0]}, "sizes"),
        ({"sizes": [13, 14]}, "sizes"),
        ({"faults": NO_FAULTS | {"absent": [4]}}, "faults"),
        ({"faults": NO_FAULTS | {"absent": ["<b>"]}}, "faults"),
        ({"faults": NO_FAULTS | {"cheats": [4]}}, "faults"),
        ({"faults": NO_FAULTS | {"unread": [[1, 4]]}}, "faults"),
        ({"faults": NO_FAULTS | {"unread": [[1]]}}, "faults"),
        ({"faults": NO_FAULTS | {"claimed": [[1, 4]]}}, "faults"),
        ({"history": []}, "history"),
        ({"history": [float("nan")]}, "history"),
        ({"inertia": None}, "inertia"),
        ({"near_ties": None}, "near_ties"),
        ({"inertia": None, "near_ties": None, "history": []}, "inertia"),
        ({"inertia": "<script>"}, "inertia"),
        ({"sizes": [-1, 27]}, "sizes"),
        ({"by_party": None}, "by_party"),
        ({"by_party": [[0, 0]] * 3}, "by_party"),
        ({"by_party": [[1], [1], [1]]}, "by_party"),
    ],
)
def test_what_cannot_be_told_of_this_job_is_refused_and_leaves_no_page(summary, page, tmp_path, changes, key):
    with pytest.raises(ParameterError, match=rf"s\.json: coordinator.*{key}") as raised:
        page(result(summary, **changes))
    assert "<" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_result_without_costs_is_refused(summary, page):
    with pytest.raises(ParameterError, match="costs"):
        page(told(summary, costs=None))


def test_a_run_that_failed_has_a_page_without_figures(tmp_path):
    made = Organisations(tmp_path)
    made.write_site("south", more="[limits]\nmost_rounds = 1\n")
    made.replace(made.job, "\n[columns]", "\n[limits]\nmost_rounds = 1\n\n[columns]")
    made.sign()
    path = tmp_path / "job.summary.json"
    with pytest.raises(LimitError):
        run_agreed(made.agreement, file=made.job, sites=[made.site(name) for name in NAMES], summary=path)
    written = write_agreed_report(read_summary(path), made.agreement, tmp_path / "r.html", name="s.json")
    text = written.read_text(encoding="utf-8")
    assert "No result." in text
    assert "LimitError" in text
    assert 'id="clusters"' not in text


def results_of(made, name):
    """A site's folder of results of its only run, and the labels there."""
    (folder,) = (made.folder / f"results-{name}").iterdir()
    lines = (folder / "labels.csv").read_text().splitlines()[1:]
    return folder, np.array([line.split(",")[-1] for line in lines], dtype=np.int32)


def sizes_of(ran, name):
    """Rows of a site's by cluster."""
    return np.bincount(results_of(ran, name)[1], minlength=2).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_a_partys_copy_says_whose_it_is_and_has_the_sizes_of_all(ran, summary, tmp_path, name):
    arguments = ["audit", str(ran.folder / "job.summary.json"), "--job", str(ran.job)]
    page = tmp_path / "r.html"
    done = CliRunner().invoke(app, [*arguments, "--report", str(page), "--site", str(ran.site(name))])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert f"the copy of {name}" in text
    assert sizes_on(text) == [sizes_of(ran, one) for one in NAMES]


def sizes_on(text):
    """Rows by cluster of each party on a page."""
    table = text.split('id="clusters"')[1].split("</table>")[0].split("<tr>")[2:]
    return [list(map(int, re.findall(r'<td class="n part"[^>]*>(\d+)</td>', row))) for row in table]


def test_sizes_that_are_not_those_of_a_sites_labels_are_refused(ran, summary, tmp_path):
    by_party = summary.coordinator["result"]["by_party"]
    swapped = [one[::-1] for one in by_party]  # they add up, as the sizes are swapped too
    changed = result(summary, by_party=swapped, sizes=summary.coordinator["result"]["sizes"][::-1])
    with pytest.raises(DataError, match=r"labels\.csv"):
        write_agreed_report(
            changed, ran.agreement, tmp_path / "r.html", name="s.json", site=read_site(ran.site("north"))
        )
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    "text",
    [
        "row,label\n0,1\n",
        "row,label\n0,x\n",
        "a,label\n" + "0,7\n" * 12,
        "a,label\n" + "0,4294967296\n" * 12,
        "",
        None,
    ],
)
def test_labels_that_are_not_those_of_the_run_are_refused(ran, summary, tmp_path, text):
    site = replace(read_site(ran.site("north")), results=tmp_path / "results")
    folder = site.results / summary.coordinator["run"]
    folder.mkdir(parents=True)
    if text is not None:
        (folder / "labels.csv").write_text(text)
    with pytest.raises(DataError, match=r"labels\.csv"):
        write_agreed_report(summary, ran.agreement, tmp_path / "r.html", name="s.json", site=site)
    assert not (tmp_path / "r.html").exists()


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Organisations that prepared and opened centres and spreads to north."""
    values = {name: {column: 4 * one for column, one in site.items()} for name, site in tables().items()}
    made = Preparing(tmp_path_factory.mktemp("opened"), values=values)
    consent = 'reveal_centres = ["north"]\nreveal_spread = 10'
    made.replace(made.job, "k = 2", f"k = 2\n{consent}")
    for name in NAMES:
        made.replace(made.site(name), "[limits]", f"[limits]\n{consent}")
    made.sign()
    path = made.folder / "job.summary.json"
    run_agreed(made.agreement, file=made.job, sites=[made.site(name) for name in NAMES], summary=path)
    return made


def own_copy(made, name, tmp_path, **changes):
    """A site's own page, as text."""
    told, site = read_summary(made.folder / "job.summary.json"), read_site(made.site(name))
    if changes:  # of its files of the run
        folder = tmp_path / told.coordinator["run"]
        shutil.copytree(site.results / told.coordinator["run"], folder)
        for file, (old, new) in changes.items():
            path = next(folder.glob(f"{file}.*"))
            path.write_text(re.sub(old, new, path.read_text(), count=1))
        site = replace(site, results=tmp_path)
    page = write_agreed_report(told, made.agreement, tmp_path / "r.html", name="s.json", site=site)
    return page.read_text(encoding="utf-8")


def test_the_copy_of_a_site_that_centres_were_opened_to_has_them_in_the_units_of_the_schema(opened, tmp_path):
    text = own_copy(opened, "north", tmp_path)
    table = text.split('id="profiles"')[1].split("</table>")[0]
    assert "age (years)" in table
    assert "dose (mg)" in table
    pooled = np.concatenate(opened.prepared()[0])  # all labels are those of the same clusters
    everybodys = np.concatenate([results_of(opened, name)[1] for name in NAMES])
    for h in range(2):
        cluster = opened.prepared()[1].restore(pooled[everybodys == h])
        for column in range(2):
            mean, deviation = cluster[:, column].mean(), cluster[:, column].std()
            assert f'title="{number_text(mean, 6)} ± {number_text(deviation, 6)};' in table
    assert text.count("north, because all consented") == 1


def test_that_copy_has_how_well_its_own_rows_fit(opened, tmp_path):
    table = own_copy(opened, "north", tmp_path).split("<h3>Own rows</h3>")[1].split("</table>")[0]
    folder, labels = results_of(opened, "north")
    centres = np.loadtxt(folder / "centres.csv", delimiter=",", skiprows=1)[:, 1:]
    rows, preparation = opened.prepared()
    wanted = fit_of(rows[0], labels, preparation.scale(centres))
    shown = re.findall(r'class="n part"[^>]*>([^<]+)<', table)
    assert shown == ["–" if one.silhouette is None else f"{one.silhouette:.2f}" for one in wanted]
    assert re.findall(r'<td class="n">(\d+)</td>', table) == [str(one.rows) for one in wanted]


def test_that_copy_says_which_of_its_labels_could_not_be_read(opened, tmp_path):
    text = own_copy(opened, "north", tmp_path, labels=(r",1\n", ",-1\n"))
    labels = results_of(opened, "north")[1]
    assert f"north: 1 of {labels.size} labels are -1: a party lied, and they cannot be read; " in text
    assert sizes_on(text)[0] == [(labels == 0).sum(), (labels == 1).sum() - 1]
    assert "<h3>Own rows</h3>" in text


@pytest.mark.parametrize("reader", [*NAMES, None])
def test_a_site_reads_how_many_of_its_own_values_were_missing_and_nobody_elses(opened, tmp_path, reader):
    if reader is None:
        told = read_summary(opened.folder / "job.summary.json")
        page = write_agreed_report(told, opened.agreement, tmp_path / "r.html", name="s.json")
        text = page.read_text(encoding="utf-8")
    else:
        text = own_copy(opened, reader, tmp_path)
    section = text.split('id="ran"')[1].split("<h2")[0]
    mean = number_text(opened.prepared()[1].statistics["age"].mean, 4)
    assert (f"standardised by mean {mean} and deviation" in section) == (reader is not None)
    assert "standardised by mean and deviation of all rows" in section  # in the paragraph
    for name in NAMES:
        lines = (opened.folder / f"{name}.csv").read_text().splitlines()
        at = [column.casefold() for column in lines[0].split(",")].index("age")
        missing = sum(not line.split(",")[at] for line in lines[1:])
        assert (f"{name}: {missing} missing, 0 clipped of {len(lines) - 1}" in section) == (name == reader)


@pytest.mark.parametrize("left", [0, 5])
def test_rows_that_are_no_more_those_of_the_run_leave_it_out_and_say_so(opened, tmp_path, left):
    path = opened.folder / "north.csv"
    whole = path.read_text()
    try:
        path.write_text("\n".join(whole.splitlines()[:left]))
        text = own_copy(opened, "north", tmp_path)
    finally:
        path.write_text(whole)
    assert 'id="profiles"' in text
    assert "they could not be read again as they were in the run" in text
    assert "<h3>Own rows</h3>" not in text


@pytest.mark.parametrize("name", ["south", "west", None])
def test_no_other_copy_has_them(opened, tmp_path, name):
    told = read_summary(opened.folder / "job.summary.json")
    site = None if name is None else read_site(opened.site(name))
    page = write_agreed_report(told, opened.agreement, tmp_path / "r.html", name="s.json", site=site)
    assert 'id="profiles"' not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "change", "text"),
    [
        ("centres", (r",[^,]*\n", "\n"), r"centres\.csv"),
        ("centres", (r"\n0,[^,]*,", "\n0,,"), r"centres\.csv: a number is missing"),
        ("centres", (r"\n0,[^,]*,", "\n0,x,"), r"centres\.csv: not 2 clusters of 5 columns of numbers"),
        ("centres", (r"\n1,.*\n", "\n"), r"centres\.csv: not 2 clusters of 5 columns of numbers"),
        ("preparation", ("years", "months"), r"preparation\.json"),
    ],
)
def test_opened_centres_that_cannot_be_those_of_the_run_are_refused(opened, tmp_path, file, change, text):
    with pytest.raises(SecFCError, match=text):
        own_copy(opened, "north", tmp_path, **{file: change})
    assert not (tmp_path / "r.html").exists()


def test_a_site_of_another_roster_is_refused(ran, summary, tmp_path):
    site = replace(read_site(ran.site("north")), party="elsewhere")
    with pytest.raises(AgreementError, match="'elsewhere' is not in the roster"):
        write_agreed_report(summary, ran.agreement, tmp_path / "r.html", name="s.json", site=site)


def test_a_site_file_without_a_page_is_refused(ran):
    arguments = ["audit", str(ran.folder / "job.summary.json"), "--job", str(ran.job)]
    done = CliRunner().invoke(app, [*arguments, "--site", str(ran.site("north"))])
    assert done.exit_code == 2
    assert "--site: only with --report" in done.output


def test_audit_writes_it_and_refuses_a_file_that_is_there(ran, tmp_path):
    page = tmp_path / "r.html"
    arguments = ["audit", str(ran.folder / "job.summary.json"), "--job", str(ran.job), "--report", str(page)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "Readmissions" in page.read_text(encoding="utf-8")
    page.write_text("mine")
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2
    assert page.read_text() == "mine"


def test_job_run_writes_it_and_audit_the_same_from_its_summary(tmp_path):
    made = Organisations(tmp_path)
    made.sign()
    sites = [str(made.site(name)) for name in NAMES]
    arguments = ["job", "run", str(made.job), *sites, "--quiet", "--report", str(tmp_path / "r.html")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    path = tmp_path / "job.summary.json"
    write_agreed_report(read_summary(path), made.agreement, tmp_path / "again.html", name="s.json")
    page, again = ((tmp_path / name).read_text().splitlines() for name in ("r.html", "again.html"))
    assert [a for a, b in zip(page, again, strict=True) if a != b and " UTC</p>" not in a] == []
    result = json.loads(path.read_text())["coordinator"]["result"]
    assert result["counts"] == list(map(len, made.rows.values()))
    assert (result["sizes"], result["by_party"]) == (None, None)  # nobody knows them


@pytest.mark.parametrize(
    ("by_party", "counts", "holds"),
    [
        ([[1, 2], [3, 0]], [3, 3], True),
        (None, None, True),  # membership privacy
        ([[1, 2], [3, 0]], None, False),
        (None, [3, 3], False),
        ([[2, 1], [3, 0]], [3, 3], False),
        ([[1, 2], [3, 0]], [4, 2], False),
        ([[1, 2, 0], [3, 0, 0]], [3, 3], False),
        ([], [], False),
    ],
)
def test_sizes_by_party_add_up_to_clusters_and_parties_or_are_unknown_with_both(by_party, counts, holds):
    assert adds_up(by_party, counts, [4, 2]) == holds
