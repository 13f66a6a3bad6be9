"""Agreed jobs with a process per party, each by its own files."""

import csv
import json
import stat

import numpy as np
import pytest
from support.hidden import expected
from support.organisations import NAMES

from plaintext_baselines import ExactLloyd
from secfc.agreement.audit import audit
from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import write_new_key
from secfc.agreement.signatures import signatures_path
from secfc.agreement.site_file import read_site
from secfc.agreement.statement import LEFT_OUT, read_summary
from secfc.crypto.handshake import transcript_of
from secfc.drivers.calls.conversation import Conversation
from secfc.drivers.calls.processes import ForkServer
from secfc.drivers.sites.agreed_run import run_agreed
from secfc.drivers.sites.participant import Participant
from secfc.errors import (
    AgreementError,
    DuplicateIdError,
    LimitError,
    ParameterError,
)
from secfc.errors.codes import Code
from secfc.protocol.client import Client
from secfc.protocol.messages.wire import decode, envelope
from secfc.protocol.program.stepping import letters_of
from secfc.protocol.states import State

RUN = bytes(16)


def run(made, *, sites=NAMES, deadline=None):
    return run_agreed(
        made.agreement,
        file=made.job,
        sites=[made.site(name) for name in sites],
        summary=made.folder / "summary.json",
        deadline=deadline,
    )


def test_a_key_that_is_not_the_rosters_starts_no_process(organisations, monkeypatch):
    write_new_key(organisations.folder / "other.key")
    monkeypatch.setattr(ForkServer, "start", None)
    with pytest.raises(AgreementError, match=r"other\.key: not the key that the roster has") as caught:
        run_agreed(
            organisations.agreement,
            file=organisations.job,
            sites=[organisations.site(name) for name in NAMES],
            summary=organisations.folder / "summary.json",
            key=organisations.folder / "other.key",
        )
    assert caught.value.code is Code.KEY_NOT_IN_ROSTER


@pytest.mark.processes
def test_labels_equal_those_of_a_simulation_and_stay_with_their_sites(organisations):
    outcome = run(organisations, sites=("west", "north", "south"))
    here = organisations.simulated()
    for name, own in zip(NAMES, here.labels, strict=True):
        assert organisations.labels_by_id(name) == {f"{name}-{at}": one for at, one in enumerate(own)}
        assert stat.S_IMODE(organisations.result(name).stat().st_mode) == 0o700
    for at_server, own in zip(outcome.labels, here.labels, strict=True):
        assert np.array_equal(at_server, own)
    assert outcome.n_iter == here.n_iter
    assert np.array_equal(outcome.history, here.history)


def consent(made, names=NAMES, recipients=("south",)):
    """Have the job reveal centres, with the consent of these sites; all sign again."""
    listed = ", ".join(f'"{name}"' for name in recipients)
    made.replace(made.job, "k = 2", f"k = 2\nreveal_centres = [{listed}]")
    for name in names:
        made.write_site(name, more=f"[limits]\nreveal_centres = [{listed}]\n")
    made.sign()


@pytest.mark.processes
def test_centres_that_all_consented_to_are_written_by_their_recipients_alone(organisations):
    consent(organisations)
    run(organisations)
    with (organisations.result("south") / "centres.csv").open() as file:
        found = [[float(row[name]) for name in ("age", "bmi")] for row in csv.DictReader(file)]
    rows = np.concatenate([organisations.rows[name] for name in NAMES])
    labelled = np.array([one for name in NAMES for one in organisations.labels_by_id(name).values()])
    for h, centre in enumerate(found):
        np.testing.assert_allclose(centre, rows[labelled == h].mean(axis=0), atol=1e-6)
    for name in ("north", "west"):
        assert sorted(path.name for path in organisations.result(name).iterdir()) == [
            "labels.csv",
            "statement.json",
        ]


@pytest.mark.processes
def test_centres_that_one_site_does_not_consent_to_are_revealed_to_nobody(organisations):
    consent(organisations, names=("north", "south"))
    with pytest.raises(LimitError, match=r"west.*: no-consent: "):
        run(organisations)
    text = (organisations.folder / "west.log").read_text()
    assert "west refuses the job: limits.reveal_centres: the job reveals centres to south" in text
    assert not list(organisations.folder.glob("results-*/*/labels.csv"))
    assert not list(organisations.folder.glob("results-*/*/centres.csv"))


@pytest.mark.processes
def test_the_summary_holds_and_counts_every_byte_that_left_a_party(organisations):
    outcome = run(organisations)
    summary = read_summary(organisations.folder / "summary.json")
    assert all(finding.holds for finding in audit(summary, organisations.agreement))
    for one in summary.statements:
        sent = {}
        for record in outcome.costs.messages:
            if record.sender == one.statement.client:
                sent[record.kind] = sent.get(record.kind, 0) + record.size
        assert {kind: left.bytes for kind, left in one.statement.sent.items()} == sent
        own = json.loads((organisations.result(one.statement.party) / "statement.json").read_text())
        assert own == one.model_dump()


@pytest.mark.processes
def test_a_run_that_a_site_ends_is_stated_by_all(organisations):
    organisations.replace(organisations.job, "[columns]", "[limits]\nmost_rounds = 1\n[columns]")
    organisations.sign()
    with pytest.raises(LimitError, match=r"[a-z]+: limit-rounds"):
        run(organisations)
    summary = read_summary(organisations.folder / "summary.json")
    findings = audit(summary, organisations.agreement)
    assert [finding.text for finding in findings if not finding.holds] == []
    assert [one.statement.party for one in summary.statements] == list(NAMES)
    assert all(one.statement.ended.startswith("LimitError: limit-rounds at ") for one in summary.statements)
    assert findings[-1].text == "the run did not end with a result"
    for name in NAMES:
        assert [path.name for path in organisations.result(name).iterdir()] == ["statement.json"]


@pytest.mark.processes
def test_a_site_keeps_shares_of_no_more_rows_than_its_own_file_says(organisations):
    organisations.write_site("south", more="[limits]\nmost_rows = 3\n")
    with pytest.raises(LimitError, match=r"^south: limit-rows: "):
        run(organisations)


def test_all_parties_must_have_signed_and_be_given_once(organisations):
    with pytest.raises(AgreementError, match="no site file of west was given"):
        run(organisations, sites=("north", "south"))
    with pytest.raises(AgreementError, match=r"north\.toml: .*north\.toml is the site file of north too"):
        run(organisations, sites=("north", "north", "south"))
    organisations.replace(organisations.site("west"), '"west"', '"east"')
    with pytest.raises(AgreementError, match=r"west\.toml: 'east' is not in the roster"):
        run(organisations)
    signatures_path(organisations.job).unlink()
    with pytest.raises(AgreementError, match="not all parties have signed"):
        run(organisations)
    assert not (organisations.folder / "summary.json").exists()


# Membership privacy


def ids_of(made):
    return [[f"{name}-{at}" for at in range(len(made.rows[name]))] for name in NAMES]


@pytest.mark.processes
def test_labels_by_id_equal_exact_lloyd_on_the_union_and_nothing_tells_whose_rows_are_whose(
    organisations, monkeypatch
):
    key = organisations.hide()
    organisations.sign()
    plans, real = [], Conversation.put
    session = organisations.agreement.session(bytes(16))

    def put(self, message):
        if envelope(message).kind == "Plan":
            plans.append(decode(bytes(message), k=2, session=session))
        real(self, message)

    monkeypatch.setattr(Conversation, "put", put)
    outcome = run(organisations)
    rows, ids = [organisations.rows[name] for name in NAMES], ids_of(organisations)
    present = dict(enumerate(plans[0].introductions, 1))
    transcript = transcript_of(organisations.agreement.session(bytes.fromhex(outcome.run_id)), present)
    exact = expected(organisations.agreement, rows, ids, key=key, transcript=transcript)
    for name, own, found in zip(NAMES, ids, exact.labels, strict=True):
        assert organisations.labels_by_id(name) == dict(zip(own, found.tolist(), strict=True))
    assert outcome.n_iter == exact.n_iter
    assert [part.size for part in outcome.labels] == [0, 0, 0]
    summary = (organisations.folder / "summary.json").read_text()
    findings = audit(read_summary(organisations.folder / "summary.json"), organisations.agreement)
    assert [finding.text for finding in findings if not finding.holds] == []
    assert not any(one in summary for own in ids for one in own)
    sent = [one.statement.sent for one in read_summary(organisations.folder / "summary.json").statements]
    assert sent[0] == sent[1] == sent[2]  # with 12, 9 and 5 rows


@pytest.mark.processes
def test_two_runs_of_a_job_have_nothing_in_common_for_who_lacks_the_key(organisations, monkeypatch):
    organisations.hide()
    organisations.sign()
    poles, real = [], Conversation.put
    session = organisations.agreement.session(bytes(16))

    def put(self, message):
        if envelope(message).kind == "StepNotice":
            for place, data in letters_of(decode(bytes(message), k=2, session=session).data):
                if place.tag == "union poles":
                    poles[-1] |= set(np.frombuffer(data, dtype=np.uint64).tolist())
        real(self, message)

    monkeypatch.setattr(Conversation, "put", put)
    for _ in range(2):
        poles.append(set())
        run(organisations)
        (organisations.folder / "summary.json").unlink()
    assert [len(one) for one in poles] == [26, 26]
    assert not poles[0] & poles[1]


@pytest.mark.processes
def test_an_id_that_two_sites_hold_ends_the_run_without_the_id(organisations):
    organisations.hide()
    text = (organisations.folder / "west.csv").read_text()
    (organisations.folder / "west.csv").write_text(text.replace("west-3", "north-3"))
    organisations.sign()
    with pytest.raises(DuplicateIdError) as caught:
        run(organisations)
    assert "north-3" not in (organisations.folder / "summary.json").read_text()
    assert "north-3" not in str(caught.value)
    assert [path.name for path in organisations.result("north").iterdir()] == ["statement.json"]


# Weights


@pytest.mark.processes
def test_weights_come_from_each_sites_own_column(organisations):
    organisations.replace(organisations.job, 'disclosure = "coded"', 'disclosure = "labels"\ninit = "random"')
    organisations.replace(organisations.job, "k = 2", "k = 2\nweighted = true")
    weights = []
    for name in NAMES:
        header, *lines = (organisations.folder / f"{name}.csv").read_text().split()
        weights.append(np.arange(len(lines)) ** 3 + 1)
        lines = [f"{line},{weight}" for line, weight in zip(lines, weights[-1], strict=True)]
        (organisations.folder / f"{name}.csv").write_text("\n".join([f"{header},beds", *lines, ""]))
        organisations.write_site(name, data=f'path = "{name}.csv"\nid = "patient"\nweight = "beds"\n')
    organisations.allow_share(0.8)  # of all weight, which north has more than half of
    organisations.sign()
    outcome = run(organisations)
    rows = [organisations.rows[name] for name in NAMES]
    job, start = organisations.agreement.job, outcome.by_party(outcome.start)
    given = {"bound": job.bound, "precision": job.precision}
    exact = ExactLloyd(2, init=start, **given).fit(rows, sample_weight=weights)
    for name, found in zip(NAMES, exact.labels_, strict=True):
        assert list(organisations.labels_by_id(name).values()) == found.tolist()


# Sites that break


@pytest.mark.processes
def test_a_site_that_cannot_write_its_labels_is_named_and_others_have_theirs(organisations):
    (organisations.folder / "results-west").write_text("a file is in the way")
    outcome = run(organisations)
    assert str(outcome.lost[3]).startswith("west: unwritable: ")
    assert "results-west: File exists" in (organisations.folder / "west.log").read_text()
    lost = {"west": "ParameterError: unwritable"}
    assert read_summary(organisations.folder / "summary.json").coordinator["lost"] == lost
    assert len(organisations.labels_by_id("north")) == 12


# A party without the others


def participant(organisations):
    site = read_site(organisations.site("south"))
    return Participant(site, read_job(site.job))


def test_a_party_with_another_key_or_without_signatures_does_not_begin(organisations):
    organisations.replace(organisations.site("south"), "south.key", "north.key")
    with pytest.raises(AgreementError, match=r"north\.key: not the key that the roster has for south"):
        participant(organisations)
    organisations.write_site("south")
    signatures_path(organisations.job).unlink()
    with pytest.raises(AgreementError, match=r"not all parties have signed"):
        participant(organisations)


def test_a_party_states_its_end_once(organisations):
    party = participant(organisations)
    party.open(RUN)
    signed = party.close("PartyError: timeout at west")
    assert signed.statement.ended == "PartyError: timeout at west"
    assert signed.statement.sent["Hello"].messages == 1
    assert party.close("again") is None
    assert sorted(path.name for path in organisations.result("south").iterdir()) == ["statement.json"]


def test_labels_that_cannot_be_read_are_told_to_the_site_alone(organisations, monkeypatch, caplog):
    party = participant(organisations)
    party.open(RUN)
    labels = np.zeros(len(party._rows.table.ids), dtype=np.int32)
    labels[1] = -1
    monkeypatch.setattr(Client, "state", State.DONE)
    monkeypatch.setattr(Client, "labels", labels)
    report = party.end("")
    results = organisations.result("south")
    assert organisations.labels_by_id("south")["south-1"] == -1
    told = (
        f"1 of {labels.size} labels are -1: a party lied, and they cannot be read; a prediction with these "
        "labels would tell all parties which rows these are\n"
    )
    assert (results / "unreadable.txt").read_text() == told
    assert organisations.statement("south")["ended"] == "complete"
    assert "label" not in json.dumps(report) + caplog.text


def test_a_run_takes_place_once(organisations):
    party = participant(organisations)
    party.open(RUN)
    party.close(LEFT_OUT)
    again = participant(organisations)
    with pytest.raises(AgreementError, match=rf"^south: the run {RUN.hex()} has been: see "):
        again.open(RUN)


def test_an_id_key_that_others_may_read_is_refused_before_rows_are_read(organisations):
    organisations.hide()
    organisations.sign()
    (organisations.folder / "ids.key").chmod(0o644)
    (organisations.folder / "south.csv").unlink()
    with pytest.raises(ParameterError, match=r"ids\.key: an ID key that others may read"):
        participant(organisations)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("error", "ended"),
    [(KeyboardInterrupt, "PartyError: stopped"), (ValueError, "PartyError: internal")],
)
def test_the_summary_of_a_run_that_the_caller_stops_does_not_call_it_complete(organisations, error, ended):
    def stop(progress):
        if progress.round == 1:
            raise error

    summary = organisations.folder / "summary.json"
    with pytest.raises(error):
        run_agreed(
            organisations.agreement,
            file=organisations.job,
            sites=[organisations.site(name) for name in NAMES],
            summary=summary,
            on_progress=stop,
        )
    assert read_summary(summary).coordinator["ended"] == ended
