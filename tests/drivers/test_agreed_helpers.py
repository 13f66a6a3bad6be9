"""Agreed jobs with helpers: parties without rows that have keys, site files and statements."""

import json

import pytest
from support.organisations import NAMES, Organisations

from secfc.agreement.audit import audit
from secfc.agreement.job_file import read_job
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import read_summary
from secfc.drivers.flare.jobs import export_job
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.drivers.sites.participant import Participant
from secfc.errors import AgreementError, ParameterError
from secfc.report.agreed_page import write_agreed_report

HELPERS = ("first", "second")


@pytest.fixture
def organisations(tmp_path):
    made = Organisations(tmp_path)
    made.add_helpers(*HELPERS)
    return made


def run(made):
    return run_agreed(
        made.agreement,
        file=made.job,
        sites=[made.site(name) for name in (*HELPERS, *NAMES)],
        summary=made.folder / "summary.json",
    )


@pytest.mark.some(1)
@pytest.mark.processes
@pytest.mark.parametrize("hidden", [False, True], ids=["", "ids"])
def test_labels_are_those_of_distances_and_a_helper_has_a_statement_alone(organisations, hidden):
    if hidden:
        organisations.hide()
    else:
        organisations.replace(organisations.job, "k = 2", "k = 2\nreveal_inertia = true")
        for name in NAMES:
            organisations.write_site(name, more="[limits]\nreveal_inertia = true\n")
    organisations.sign()
    run(organisations)
    found = {name: organisations.labels_by_id(name) for name in NAMES}
    for name in HELPERS:
        (folder,) = (organisations.folder / f"results-{name}").iterdir()
        assert [path.name for path in folder.iterdir()] == ["statement.json"]
        statement = json.loads((folder / "statement.json").read_text())["statement"]
        assert statement["ended"] == "complete"
        assert set(statement["took_part"]) == {*NAMES, *HELPERS}
    summary = read_summary(organisations.folder / "summary.json")
    assert [one.text for one in audit(summary, organisations.agreement) if not one.holds] == []
    for site in (None, read_site(organisations.site("first")), read_site(organisations.site("south"))):
        page = organisations.folder / "page.html"
        write_agreed_report(summary, organisations.agreement, page, name="summary", site=site)
        text = page.read_text(encoding="utf-8")
        assert f"{NAMES[0]} with {HELPERS[0]} or {HELPERS[1]}" in text
    if not hidden:
        here = organisations.simulated()
        told = json.loads((organisations.folder / "summary.json").read_text())["coordinator"]["result"]
        assert told["inertia"] == here.inertia > 0
        for name, own in zip(NAMES, here.labels, strict=True):
            assert found[name] == {f"{name}-{at}": one for at, one in enumerate(own)}


class TestWhoCompares:
    @pytest.mark.parametrize(
        ("helpers", "comparers"),
        [(("a",), (1, 2, 4)), (("a", "b"), (1, 4, 5)), (("a", "b", "c"), (4, 5, 6))],
    )
    def test_by_default_the_helpers_of_the_roster_behind_as_many_clients_as_are_needed(
        self, tmp_path, helpers, comparers
    ):
        made = Organisations(tmp_path)
        made.add_helpers(*helpers)
        assert made.agreement.job.comparers == comparers
        assert made.agreement.names == (*NAMES, *helpers)

    def test_the_job_names_them_in_their_order(self, organisations):
        organisations.replace(organisations.job, "k = 2", 'k = 2\ncomparers = ["second", "west", "first"]')
        assert organisations.agreement.job.comparers == (5, 3, 4)

    def test_every_helper_of_the_roster_compares(self, organisations):
        organisations.replace(organisations.job, "k = 2", 'k = 2\ncomparers = ["first", "west", "south"]')
        text = r"roster: the job needs 1 helpers, the roster has 2"
        with pytest.raises(ParameterError, match=text):
            read_job(organisations.job)

    def test_without_any_clients_do(self, tmp_path):
        made = Organisations(tmp_path)
        made.replace(made.job, "k = 2", 'k = 2\ndisclosure = "labels"')
        assert made.agreement.job.comparers == (1, 2, 3)
        made.replace(made.job, "k = 2", 'k = 2\ncomparers = ["first", "west", "south"]')
        with pytest.raises(ParameterError, match="'first' is no party of the roster"):
            read_job(made.job)

    def test_with_another_disclosure_a_roster_has_none(self, organisations):
        organisations.replace(organisations.job, 'disclosure = "labels"', 'disclosure = "coded"')
        with pytest.raises(ParameterError, match="the job needs 0 helpers, the roster has 2"):
            read_job(organisations.job)


class TestSiteFiles:
    def participant(self, made, name):
        return Participant(read_site(made.site(name)), made.agreement)

    def test_of_a_helper_has_no_data(self, organisations):
        organisations.sign()
        assert self.participant(organisations, "first").number == 4
        site = organisations.site("first")
        site.write_text(site.read_text() + '[data]\npath = "north.csv"\n')
        with pytest.raises(ParameterError, match=r"first\.toml:\d+: data: first is a helper and has no rows"):
            self.participant(organisations, "first")

    def test_of_another_party_has(self, organisations):
        organisations.sign()
        site = organisations.site("south")
        site.write_text(site.read_text().split("[data]")[0])
        with pytest.raises(ParameterError, match=r"south\.toml:\d+: data is needed"):
            self.participant(organisations, "south")

    def test_a_helper_signs_too(self, organisations):
        organisations.sign(*NAMES, "first")
        with pytest.raises(AgreementError, match=r"second \(not signed\)"):
            self.participant(organisations, "first")


@pytest.mark.processes
def test_a_party_that_was_lost_is_named_on_the_page_whatever_it_is(tmp_path):
    made = Organisations(tmp_path)
    made.add_helpers("first", "second", "third")
    made.sign()
    sites = [made.site(name) for name in made.agreement.names]
    run_agreed(made.agreement, file=made.job, sites=sites, summary=tmp_path / "summary.json")
    summary = read_summary(tmp_path / "summary.json")
    names, result = made.agreement.names, summary.coordinator["result"]

    def page(number, lost):
        faults = result["faults"] | {"absent": [number]}
        told = summary.coordinator | {"result": result | {"faults": faults}, "lost": lost}
        changed = summary.model_copy(update={"coordinator": told})
        path = write_agreed_report(changed, made.agreement, tmp_path / "page.html", name="s.json")
        lines = path.read_text(encoding="utf-8").split('id="clusters"')[1].split("</table>")[0].split("<tr>")
        return [line for line in lines if 'class="warn"' in line]

    for number, name in enumerate(names, 1):
        (line,) = page(number, {name: "PartyError: timeout"})
        assert line.startswith(f"<td>{name}</td>")
        assert "absent: it stopped answering" in line
        assert ("its rows are clustered" in line) == (number <= 3)
        assert "PartyError: timeout" in line
    with pytest.raises(ParameterError, match=r"s\.json: coordinator: faults: not that of a run of this job"):
        page(len(names) + 1, {})


def test_flare_waits_for_helpers(organisations, tmp_path):
    organisations.sign()
    folder = tmp_path / "exported"
    export_job(organisations.job, folder, deadline=60.0)
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["min_clients"] == 3 + 2
    assert set(meta["deploy_map"]["secfc"]) == {"server", *NAMES, *HELPERS}
