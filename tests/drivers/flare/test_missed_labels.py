"""A site that was lost in a run gets its labels from the copies that others sealed to it."""

import json
import re
import shutil

import numpy as np
import pytest
from support.breaking import breaks_at
from support.hidden import expected
from support.missed import change, fetch, says_missed, summary_of
from support.network import RUN, assert_exact, names_of_lost, on_receive
from support.preparing import PreparingSites
from typer.testing import CliRunner

from secfc.agreement import copies as copying
from secfc.agreement import statement as statements
from secfc.agreement.audit import audit, place_of
from secfc.agreement.copies import make_copies, open_copy, read_copy
from secfc.agreement.keys import read_key
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import (
    SignedStatement,
    read_summary,
    sign_statement,
    statement_of,
    write_summary,
)
from secfc.cli.app import app
from secfc.drivers.agreed import run_agreed
from secfc.drivers.calls import Kind
from secfc.drivers.fetching import fetch_labels
from secfc.drivers.participant import Participant
from secfc.drivers.past_runs import PastRuns
from secfc.errors import AgreementError, LimitError, SealError
from secfc.protocol.client import Client
from secfc.protocol.messages import Assignment, Finish, Plan, Share
from secfc.sealing.identity import Identity, Roster

# Fetching labels


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("kind", "round_"), [(Assignment, 3), (Finish, 0)], ids=["in the iterations", "with the result"]
)
@pytest.mark.parametrize(
    "job",
    [
        {"disclosure": "distances"},
        {"disclosure": "coded"},
        {"disclosure": "labels", "comparers": ["site-1", "site-3", "site-5"]},
    ],
    ids=lambda job: job["disclosure"],
)
def test_a_site_that_died_fetches_the_labels_of_a_whole_run(organisations, network_of, job, kind, round_):
    made = organisations(20, 10, 30, 5, 7, **job)
    network = network_of(made, [4], kind=kind, round_=round_)
    network.run()
    assert list(names_of_lost(network)) == ["site-4"]
    assert made.written("site-4") == []
    summary_of(network, made)
    fetched = fetch(made, "site-4")
    assert (fetched.makers, fetched.refused) == (["site-1", "site-2", "site-3", "site-5"], [])
    network.coordinator.lost.clear()
    assert_exact(made, network)
    stated, other = made.statement("site-4"), made.statement("site-1")
    assert stated["ended"] == "complete, with labels from copies of other parties"
    same = ("job", "run", "introductions", "took_part", "iterations", "converged", "versions")
    assert {key: stated[key] for key in same} == {key: other[key] for key in same}


def test_what_a_site_states_of_fetched_labels_is_signed_by_it(missed):
    fetched = fetch(missed, "site-4")
    signed = statement_of(json.loads((fetched.folder / "statement.json").read_text()), name="site-4")
    whole = read_summary(missed.folder / "summary.json")
    with_it = whole.model_copy(update={"statements": [*whole.statements, signed]})
    assert [one.text for one in audit(with_it, missed.agreement) if not one.holds] == []


def test_two_sites_that_died_fetch_theirs_and_neither_opens_the_others(organisations, network_of):
    made = organisations(20, 10, 30, 5, 7)
    network = network_of(made, [2, 4])
    network.run()
    summary = read_summary(summary_of(network, made))
    agreement = made.agreement
    for one in summary.statements:
        for copy in one.copies:
            other = read_key(made.folder / f"site-{6 - copy.recipient}.key")
            place = place_of(one.statement, agreement)
            with pytest.raises(SealError, match="not sealed to this key and place"):
                open_copy(copy, place, roster=agreement.consortium.roster, identity=other)
    for name in ("site-2", "site-4"):
        fetch(made, name)
    network.coordinator.lost.clear()
    assert_exact(made, network)


def test_a_site_that_lived_on_keeps_its_statement_and_gets_its_labels(organisations, network_of, monkeypatch):
    made = organisations(20, 10, 30, 5, 7)

    def act(message):
        if isinstance(message, Finish):
            raise RuntimeError

    on_receive(monkeypatch, 4, act)
    network = network_of(made)
    network.run()
    summary_of(network, made)
    stated = made.statement("site-4")
    assert stated["ended"] == "PartyError: internal at site-4"
    fetch(made, "site-4")
    assert made.statement("site-4") == stated
    network.coordinator.lost.clear()
    assert_exact(made, network)


def test_with_membership_privacy_a_site_finds_its_rows_in_the_union(organisations, network_of):
    made = organisations(20, 0, 30, 5, 7)
    key = made.hide()
    network = network_of(made, [2, 4], kind=Assignment, round_=2)
    network.run()
    sent = read_summary(summary_of(network, made)).statements
    # Copies for sites with 0 and 5 rows have the same size, that of the public union.
    assert len({len(copy.sealed) for one in sent for copy in one.copies}) == 1
    assert sum(len(one.copies) for one in sent) == 6
    exact = expected(made.agreement, made.rows, made.ids, key=key, transcript=network.transcript)
    for at in (1, 3):
        assert fetch(made, made.sites[at]).rows == len(made.rows[at])
        np.testing.assert_array_equal(made.labels(made.sites[at]), exact.labels[at])
    text = (made.written("site-4")[0] / "labels.csv").read_text()
    assert all(one in text for one in made.ids[3])


def without_results(made, name):
    """A site's labels of a run, after its folder of results was lost."""
    labels = made.labels(name)
    for folder in made.written(name):
        shutil.rmtree(folder)
    return labels


def test_where_a_job_prepares_labels_are_those_of_the_sites_own_file(tmp_path, network_of, monkeypatch):
    made = PreparingSites(tmp_path)
    says_missed(monkeypatch, 2)
    network = network_of(made)
    network.run()
    summary_of(network, made)
    whole = without_results(made, "south")
    fetch(made, "south")
    assert made.labels("south") == whole


@pytest.mark.parametrize(
    "job",
    [{"k": 4, "compared": [2, 3, 4]}, {"disclosure": "coded", "max_liars": 1}, {"k": 1}, {"n_init": 2}],
    ids=repr,
)
def test_whatever_a_job_asks_labels_are_those_of_a_whole_run(organisations, network_of, monkeypatch, job):
    made = organisations(20, 10, 30, 5, 7, **job)
    says_missed(monkeypatch, 3)
    network = network_of(made)
    network.run()
    summary_of(network, made)
    whole = without_results(made, "site-3")
    assert fetch(made, "site-3").refused == []
    np.testing.assert_array_equal(made.labels("site-3"), whole)


def test_a_report_that_was_lost_comes_again_with_its_copies(organisations, network_of):
    made, lost = organisations(20, 10, 30, 5, 7), []
    network = network_of(made, [4])
    spoil = network._spoil

    def lose(site, call, deliver):
        answer = spoil(site, call, deliver)
        if site == "site-1" and call.kind is Kind.CLOSE and not lost:
            lost.append(answer)
            return None
        return answer

    network._spoil = lose
    network.run()
    assert lost
    assert [len(one.copies) for one in read_summary(summary_of(network, made)).statements] == [1, 1, 1, 1]


@pytest.mark.processes
@pytest.mark.parametrize("kind", ["Assignment", "Finish"])
def test_a_process_that_was_killed_fetches_by_the_command(organisations, monkeypatch, kind):
    made = organisations(20, 10, 30, 5, 7)
    killed, path = breaks_at(monkeypatch, 4, kind), made.folder / "summary.json"
    outcome = run_agreed(
        made.agreement, file=made.job, sites=[made.config(name) for name in made.sites], summary=path
    )
    assert killed
    assert list(outcome.lost) == [4]
    done = CliRunner().invoke(app, ["job", "fetch", str(made.config("site-4")), str(path)])
    said = " ".join(done.output.split())
    assert done.exit_code == 0
    assert "5 labels, equal in the copies of site-1, site-2, site-3, site-5" in said
    for name, labels in zip(made.sites, outcome.labels, strict=True):  # the lost one's are the server's
        np.testing.assert_array_equal(made.labels(name), labels)


def test_fetching_is_no_run(missed):
    site = read_site(missed.config("site-4"))
    past = PastRuns(site, missed.agreement)
    before = sorted(path.name for path in past._counted.iterdir())
    fetch(missed, "site-4")
    assert sorted(path.name for path in past._counted.iterdir()) == before == [RUN.hex()]


# Sites without labels


@pytest.mark.parametrize("kind", [Plan, Share])
def test_a_site_that_was_left_out_has_no_labels(organisations, network_of, kind):
    made = organisations(20, 10, 30, 5, 7)
    network = network_of(made, [4], kind=kind)
    report = network.run()
    assert report.faults.left_out == (4,)
    assert [one.copies for one in read_summary(summary_of(network, made)).statements] == [[], [], [], []]
    with pytest.raises(AgreementError, match=r"equal copies of its labels from 0 clients; 2 are needed$"):
        fetch(made, "site-4")


def test_nobody_copies_labels_of_a_site_that_was_left_out_whatever_the_coordinator_says(
    organisations, network_of, monkeypatch
):
    made = organisations(20, 10, 30, 5, 7)
    says_missed(monkeypatch, 4)
    network = network_of(made, [4], kind=Share)
    network.run()
    assert [one.copies for one in read_summary(summary_of(network, made)).statements] == [[], [], [], []]


def test_a_helper_makes_no_copy_and_fetches_nothing(organisations_of, blobs_of, tmp_path, network_of):
    made = organisations_of(
        tmp_path,
        blobs_of(20, 10, 30, 5, 7, 9, 8),
        helpers=2,
        t=2,
        disclosure="labels",
        comparers=["site-1", "helper-1", "helper-2"],
    )
    network = network_of(made, [4])
    network.run()
    path = summary_of(network, made)
    makers = {one.statement.party: len(one.copies) for one in read_summary(path).statements}
    assert makers == {name: int(name.startswith("site")) for name in makers}
    assert len(fetch(made, "site-4").makers) == 6
    with pytest.raises(AgreementError, match=r"^helper-1: a helper has no labels$"):
        fetch_labels(read_site(made.config("helper-1")), path)


def test_of_a_run_that_did_not_complete_there_are_no_copies(organisations, network_of):
    made = organisations(20, 10, 30, 5, 7)
    made.job.write_text(made.job.read_text() + "[limits]\nmost_rounds = 2\n")
    made.sign(made.job)
    network = network_of(made, [4], kind=Assignment, round_=2)
    with pytest.raises(LimitError) as error:
        network.run()
    path = made.folder / "summary.json"
    network.write_summary(path, error.value)
    assert not any(one.copies for one in read_summary(path).statements)
    with pytest.raises(AgreementError, match="from 0 clients"):
        fetch(made, "site-4")


# What a coordinator may do


def test_a_site_that_missed_nothing_is_copied_for_itself_alone(organisations, network_of, monkeypatch):
    made = organisations(20, 10, 30, 5, 7)
    says_missed(monkeypatch, 3)
    network = network_of(made)
    network.run()
    assert_exact(made, network)
    summary = read_summary(summary_of(network, made))
    assert [[copy.recipient for copy in one.copies] for one in summary.statements] == [[3], [3], [], [3], [3]]
    with pytest.raises(AgreementError, match="the site already has its labels of this run"):
        fetch(made, "site-3")


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "missed",
    [[4, 2], [2, 2], [0], [6], [1], [-1], [True], ["4"], [4.0], "4", {"4": 1}, None],
    ids=repr,
)
def test_a_list_of_the_coordinator_that_is_none_costs_nobody_its_labels(
    organisations, network_of, monkeypatch, missed
):
    made = organisations(20, 10, 30, 5, 7)
    network = network_of(made)
    real = Participant.end
    given = []

    def end(self, ended, numbers=()):
        given.append(numbers)
        return real(self, ended, numbers)

    monkeypatch.setattr(Participant, "end", end)
    monkeypatch.setattr(
        "secfc.drivers.coordinator.to_json", lambda value: json.dumps(value | {"missed": missed}).encode()
    )
    network.run()
    assert_exact(made, network)
    assert [] in given
    for numbers in given:
        assert numbers == [] or missed == [1]  # of the others


def test_own_labels_are_written_before_any_copy_is_made_and_a_copy_that_fails_costs_nothing(
    organisations, network_of, monkeypatch
):
    made, seen = organisations(20, 10, 30, 5, 7), []
    says_missed(monkeypatch, 2, 4)

    def fails(labels, **given):
        maker = made.sites[given["place"].maker - 1]
        seen.append((maker, made.labels(maker).size))
        raise MemoryError

    monkeypatch.setattr("secfc.drivers.participant.make_copies", fails)
    network = network_of(made)
    network.run()
    assert_exact(made, network)
    assert sorted(seen) == [("site-1", 20), ("site-2", 10), ("site-3", 30), ("site-4", 5), ("site-5", 7)]
    statements = read_summary(summary_of(network, made)).statements
    assert [(one.statement.ended, one.copies) for one in statements] == [("complete", [])] * 5


def test_labels_for_copies_are_unpacked_one_client_at_a_time(organisations, network_of, monkeypatch):
    made, events = organisations(20, 10, 30, 5, 7), []
    says_missed(monkeypatch, 2, 3, 4)
    real, seal = Client.labels_of, copying.seal_box

    def labels_of(self, client):
        if self.number == 1:
            events.append(client)
        return real(self, client)

    def seal_box(payload, *, recipient, place):
        if place[80:82] == b"\x01\x00":  # the maker
            events.append("sealed")
        return seal(payload, recipient=recipient, place=place)

    monkeypatch.setattr(Client, "labels_of", labels_of)
    monkeypatch.setattr(copying, "seal_box", seal_box)
    network_of(made).run()
    assert events == [2, "sealed", 3, "sealed", 4, "sealed"]


def test_copies_that_do_not_fit_are_not_made(organisations, network_of, monkeypatch, missed):
    one = read_summary(missed.folder / "summary.json").statements[0]
    monkeypatch.setattr(copying, "MOST_TEXT", copying.text_of(one.copies) - 1)
    place = place_of(one.statement, missed.agreement)
    given = {
        "n_iter": 1,
        "converged": True,
        "place": place,
        "job": missed.agreement.job,
        "roster": missed.agreement.consortium.roster,
        "identity": read_key(missed.folder / "site-1.key"),
    }
    labels = [(4, np.zeros(5, dtype=np.int32))]
    with monkeypatch.context() as sealing:
        sealing.setattr(copying, "seal_box", None)  # nothing is sealed only to be dropped
        assert make_copies(labels, **given) == []
    monkeypatch.setattr(copying, "MOST_TEXT", copying.text_of(one.copies))
    assert len(make_copies(labels, **given)) == 1


def test_a_party_that_makes_too_many_copies_leaves_the_summary_readable(missed, monkeypatch):
    path = missed.folder / "summary.json"
    read = read_summary(path)
    monkeypatch.setattr(copying, "MOST_TEXT", copying.text_of(read.statements[1].copies))
    one = read.statements[0]
    more = one.model_copy(update={"copies": one.copies * 2})
    write_summary(path, missed.agreement, [more, *read.statements[1:]], read.coordinator)
    assert [len(one.copies) for one in read_summary(path).statements] == [0, 1, 1, 1]
    assert fetch(missed, "site-4").makers == ["site-2", "site-3", "site-5"]


@pytest.mark.parametrize("letter", ["\u00e9", "\U0001f600", "\x01", '"'])
def test_copies_that_grow_when_they_are_written_leave_the_summary_readable(missed, monkeypatch, letter):
    path = missed.folder / "summary.json"
    read = read_summary(path)
    most = copying.text_of(read.statements[1].copies)
    monkeypatch.setattr(copying, "MOST_TEXT", most)
    one = read.statements[0]
    grown = one.copies[0].model_copy(update={"sealed": letter * (most - copying._SIGNATURE_TEXT)})
    for copies, kept in (([grown], 0), (one.copies, 1)):
        lying = one.model_copy(update={"copies": copies})
        write_summary(path, missed.agreement, [lying, *read.statements[1:]], read.coordinator)
        assert [len(one.copies) for one in read_summary(path).statements] == [kept, 1, 1, 1]


def test_most_copies_of_most_parties_are_read(missed):
    assert statements.MOST_SUMMARY > copying.MOST_COPIES
    for n in (3, 40, 250):
        job = missed.agreement.job
        object.__setattr__(job, "n", n)
        assert n * copying.most_text(job) <= copying.MOST_COPIES


def test_a_client_whose_key_shares_no_secret_gets_no_copy_and_costs_others_nothing(missed):
    agreement = missed.agreement
    one = read_summary(missed.folder / "summary.json").statements[0]
    keys = list(agreement.consortium.roster.keys)
    keys[3] = bytes([1]) + bytes(31)  # the neutral element
    made = make_copies(
        [(2, np.zeros(10, dtype=np.int32)), (4, np.zeros(5, dtype=np.int32))],
        n_iter=1,
        converged=True,
        place=place_of(one.statement, agreement),
        job=agreement.job,
        roster=Roster(tuple(keys), agreement.consortium.roster.coordinator),
        identity=read_key(missed.folder / "site-1.key"),
    )
    assert [copy.recipient for copy in made] == [2]


# What the commands print


def test_an_audit_says_who_copied_and_misses_one_statement(missed):
    findings = audit(read_summary(missed.folder / "summary.json"), missed.agreement)
    assert [one.text for one in findings if not one.holds] == ["site-4: its statement is missing"]
    said = [one.text for one in findings if one.text.endswith("; copies of labels for client 4")]
    assert [text[:6] for text in said] == ["site-1", "site-2", "site-3", "site-5"]


def test_the_command_names_copies_that_it_did_not_take(missed):
    change(missed, lambda values: values[0]["copies"][0].update(sealed="?"))
    path = missed.folder / "summary.json"
    done = CliRunner().invoke(app, ["job", "fetch", str(missed.config("site-4")), str(path)])
    said = re.sub(r"\s+", " ", done.output)
    assert done.exit_code == 0
    assert "not taken: site-1: client 1: its copy is not base64" in said
    assert "5 labels, equal in the copies of site-2, site-3, site-5" in said
    again = CliRunner().invoke(app, ["job", "fetch", str(missed.config("site-4")), str(path)])
    assert again.exit_code == 2
    assert "the site already has its labels" in re.sub(r"\s+", " ", again.output)


def test_copies_show_no_label_and_no_secret(missed):
    one = read_summary(missed.folder / "summary.json").statements[0]
    shown = repr(one) + repr(one.copies[0])
    assert one.copies[0].sealed not in shown
    assert one.copies[0].signature not in shown
    place = place_of(one.statement, missed.agreement)
    assert missed.agreement.digest.hex() not in repr(place)
    key = read_key(missed.folder / "site-4.key")
    payload = open_copy(one.copies[0], place, roster=missed.agreement.consortium.roster, identity=key)
    assert "labels" not in repr(read_copy(payload, job=missed.agreement.job))


def test_a_mark_stays_at_the_site_and_is_its_owners(missed):
    mark = missed.folder / "results-site-4.runs" / missed.agreement.digest.hex() / RUN.hex()
    assert mark.stat().st_mode & 0o777 == 0o600
    noted = [json.loads(line) for line in mark.read_text().splitlines() if line]
    assert set().union(*noted) == {"count", "key", "rows", "began", "introductions", "took_part"}
    text = (missed.folder / "summary.json").read_text()
    assert noted[0]["rows"] not in text
    assert noted[0]["key"] not in text


def test_while_another_process_of_the_site_works_on_the_run_nothing_is_fetched(missed, monkeypatch):
    missed.configure("site-4", first='storage = "scratch"\n')
    site = read_site(missed.config("site-4"))
    run, participant = bytes([9]) * 16, Participant(site, missed.agreement)
    log = participant.open_log(run)
    monkeypatch.setattr(PastRuns, "log_path", lambda self, run: log.path)
    try:
        with pytest.raises(AgreementError, match=r"^site-4: another process works on the run"):
            fetch(missed, "site-4")
    finally:
        log.close()
    assert missed.written("site-4") == []
    fetch(missed, "site-4")  # the log belongs to no site, and is removed with the run
    assert not log.path.exists()


def test_a_signed_statement_without_copies_is_as_before(missed):
    one = read_summary(missed.folder / "summary.json").statements[0]
    values = one.model_dump()
    del values["copies"]
    assert SignedStatement.model_validate(values).copies == []
    assert sign_statement(one.statement, read_key(missed.folder / "site-1.key")).signature == one.signature
    assert isinstance(Identity().public, bytes)
