"""Agreed jobs with a process per party, each by its own files."""

import csv
import json
import stat

import numpy as np
import pytest
from support.organisations import NAMES, Organisations

from secfc.agreement.audit import audit
from secfc.agreement.signatures import signatures_path
from secfc.agreement.statement import read_summary
from secfc.drivers.agreed import run_agreed
from secfc.drivers.in_process import run_in_process
from secfc.drivers.participant import Participant
from secfc.drivers.setup import Setup
from secfc.errors import AgreementError, DataError, LimitError, ParameterError
from secfc.limits import Limits

RUN = bytes(16)


@pytest.fixture
def organisations(tmp_path):
    made = Organisations(tmp_path)
    made.sign()
    return made


def run(made, *, sites=NAMES):
    return run_agreed(
        made.agreement,
        file=made.job,
        sites=[made.site(name) for name in sites],
        summary=made.folder / "summary.json",
    )


def results(made, name):
    (folder,) = (made.folder / f"results-{name}").iterdir()
    return folder


def labels(made, name):
    with (results(made, name) / "labels.csv").open() as file:
        return {row["patient"]: int(row["label"]) for row in csv.DictReader(file)}


@pytest.mark.processes
def test_labels_equal_those_of_a_simulation_and_stay_with_their_sites(organisations):
    outcome = run(organisations, sites=("west", "north", "south"))
    agreement = organisations.agreement
    here = run_in_process(
        Setup(
            job=agreement.job,
            rows=[organisations.rows[name] for name in NAMES],
            starts=None,
            names=list(NAMES),
            limits=Limits(),
            seed=agreement.seed,
        )
    )
    for name, expected in zip(NAMES, here.labels, strict=True):
        assert labels(organisations, name) == {f"{name}-{at}": one for at, one in enumerate(expected)}
        assert stat.S_IMODE(results(organisations, name).stat().st_mode) == 0o700
    for at_server, expected in zip(outcome.labels, here.labels, strict=True):
        assert np.array_equal(at_server, expected)
    assert outcome.n_iter == here.n_iter
    assert np.array_equal(outcome.history, here.history)


def consent(made, names=NAMES, recipients=("south",)):
    """Have the job reveal centres, and these sites consent; all sign again."""
    listed = ", ".join(f'"{name}"' for name in recipients)
    made.replace(made.job, "k = 2", f"k = 2\nreveal_centres = [{listed}]")
    for name in names:
        made.write_site(name, more=f"[limits]\nreveal_centres = [{listed}]\n")
    made.sign()


@pytest.mark.processes
def test_centres_that_all_consented_to_are_written_by_their_recipients_alone(organisations):
    consent(organisations)
    run(organisations)
    with (results(organisations, "south") / "centres.csv").open() as file:
        found = [[float(row[name]) for name in ("age", "bmi")] for row in csv.DictReader(file)]
    rows = np.concatenate([organisations.rows[name] for name in NAMES])
    labelled = np.array([one for name in NAMES for one in labels(organisations, name).values()])
    for h, centre in enumerate(found):
        np.testing.assert_allclose(centre, rows[labelled == h].mean(axis=0), atol=1e-6)
    for name in ("north", "west"):
        assert sorted(path.name for path in results(organisations, name).iterdir()) == [
            "labels.csv",
            "statement.json",
        ]


@pytest.mark.processes
def test_centres_that_one_site_does_not_consent_to_are_revealed_to_nobody(organisations):
    consent(organisations, names=("north", "south"))
    with pytest.raises(
        LimitError, match=r"west refuses the job: .*reveals centres to south; consent was given for"
    ):
        run(organisations)
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
        own = json.loads((results(organisations, one.statement.party) / "statement.json").read_text())
        assert own == one.model_dump()


@pytest.mark.processes
def test_a_run_that_a_site_ends_is_stated_by_all(organisations):
    organisations.replace(organisations.job, "[columns]", "[limits]\nmost_rounds = 1\n[columns]")
    organisations.sign()
    with pytest.raises(LimitError, match="answers 1 rounds"):
        run(organisations)
    summary = read_summary(organisations.folder / "summary.json")
    findings = audit(summary, organisations.agreement)
    assert [finding.text for finding in findings if not finding.holds] == []
    assert [one.statement.party for one in summary.statements] == list(NAMES)
    assert all("LimitError" in one.statement.ended for one in summary.statements)
    assert findings[-1].text == "the run did not end with a result"
    for name in NAMES:
        assert [path.name for path in results(organisations, name).iterdir()] == ["statement.json"]


@pytest.mark.processes
def test_a_site_with_another_job_refuses_by_name(organisations):
    copy = organisations.folder / "copy"
    copy.mkdir()
    (copy / "job.toml").write_text(organisations.job.read_text().replace("k = 2", "k = 3"))
    (copy / "roster.toml").write_text(organisations.roster.read_text())
    original, organisations.job = organisations.job, copy / "job.toml"
    organisations.sign()
    organisations.job = original
    organisations.replace(organisations.site("south"), '"job.toml"', '"copy/job.toml"')
    with pytest.raises(
        AgreementError, match=r"south: it agreed to the job [0-9a-f]{16}, the coordinator runs"
    ):
        run(organisations)
    assert not (organisations.folder / "results-south").exists()


@pytest.mark.processes
def test_a_site_whose_limits_the_job_breaks_refuses_before_anything_is_read(organisations):
    organisations.write_site("west", data='path = "missing.csv"\n', more="[limits]\nleast_t = 2\n")
    with pytest.raises(LimitError, match=r"west\.toml:10: west refuses the job: limits\.least_t"):
        run(organisations)
    assert not list(organisations.folder.glob("results-*"))
    assert not (organisations.folder / "summary.json").exists()


@pytest.mark.processes
def test_a_site_without_its_rows_says_so(organisations):
    (organisations.folder / "west.csv").unlink()
    with pytest.raises(DataError, match=r"^west: .*west\.csv: no such file"):
        run(organisations)
    summary = read_summary(organisations.folder / "summary.json")
    (west,) = (one.statement for one in summary.statements if one.statement.party == "west")
    assert west.sent == {}
    assert west.introductions is None


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


# A party by itself


def test_a_party_refuses_what_it_has_not_agreed_to(organisations):
    party = Participant(organisations.site("south"))
    with pytest.raises(AgreementError, match="south: it agreed to the job"):
        party.open(run=RUN, digest=bytes(32), number=2)
    with pytest.raises(
        AgreementError, match="south: it is client 2 of the job, the coordinator takes it for 1"
    ):
        party.open(run=RUN, digest=party.agreement.digest, number=1)
    assert party.close("ended") is None
    assert not (organisations.folder / "results-south").exists()


def test_a_party_with_another_key_or_without_signatures_does_not_begin(organisations):
    organisations.replace(organisations.site("south"), "south.key", "north.key")
    with pytest.raises(AgreementError, match=r"north\.key: not the key that the roster has for south"):
        Participant(organisations.site("south"))
    organisations.write_site("south")
    signatures_path(organisations.job).unlink()
    with pytest.raises(AgreementError, match=r"not all parties have signed"):
        Participant(organisations.site("south"))


def test_a_party_states_its_end_once_and_shows_no_secret(organisations):
    party = Participant(organisations.site("south"))
    party.open(run=RUN, digest=party.agreement.digest, number=2)
    signed = party.close("PartyError: \x1b[2J\nsomething")
    assert signed.statement.ended == "PartyError:  [2J something"
    assert signed.statement.sent["Hello"].messages == 1
    assert party.close("again") is None
    assert repr(party) == "Participant('south')"
    assert sorted(path.name for path in results(organisations, "south").iterdir()) == ["statement.json"]


def test_a_folder_of_results_that_cannot_be_made_is_told(organisations):
    (organisations.folder / "results-south").write_text("in the way")
    party = Participant(organisations.site("south"))
    party.open(run=RUN, digest=party.agreement.digest, number=2)
    with pytest.raises(ParameterError, match=r"^south: results: .*results-south: File exists"):
        party.close("ended")
