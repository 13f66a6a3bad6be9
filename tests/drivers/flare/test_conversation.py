"""Coordinator and sites in one process: every failure of a network, a site or its disk."""

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.network import (
    Network,
    assert_exact,
    names_of_lost,
    on_receive,
    third_round,
    vanishes,
)
from typer.testing import CliRunner

import secfc
from secfc.agreement.audit import audit
from secfc.agreement.signatures import signatures_path
from secfc.agreement.statement import read_summary
from secfc.cli.app import app
from secfc.drivers.calls.conversation import Conversation
from secfc.drivers.calls.envelopes import Kind, decode_answer
from secfc.drivers.flare.jobs import export_job, of_argument
from secfc.errors import (
    AgreementError,
    CheatError,
    DataError,
    LimitError,
    MessageError,
    ParameterError,
    PartyError,
    TooManyFaultsError,
)
from secfc.protocol.messages import Assignment, Finish, Plan, Share
from secfc.protocol.messages.wire import HEADER_BYTES, envelope
from secfc.report.agreed_page import write_agreed_report

pytestmark = pytest.mark.usefixtures("clock")

# A run to its end


def test_labels_equal_exact_lloyd_and_each_site_has_its_own(organisations):
    made = organisations(20, 0, 20)
    network = Network(made)
    network.run()
    assert_exact(made, network)
    assert names_of_lost(network) == {}
    assert made.labels("site-2").size == 0
    assert [made.statement(name)["ended"] for name in made.sites] == ["complete"] * 3


def test_messages_larger_than_a_piece_are_put_together_again(organisations, monkeypatch):
    monkeypatch.setattr("secfc.drivers.calls.envelopes.PIECE_BYTES", 700)
    made = organisations(200, 100, 300)
    network = Network(made)
    network.run()
    assert_exact(made, network)
    most = max(record.size for record in network.coordinator.meter.costs().messages)
    assert most > 10 * 700
    assert len(network.calls) > 3 * most / 700


def test_costs_count_every_message_of_every_party(organisations):
    made = organisations(20, 10, 30)
    network = Network(made)
    network.run()
    costs = network.coordinator.meter.costs()
    left = {}
    for name in made.sites:
        for kind, count in made.statement(name)["sent"].items():
            left[kind] = left.get(kind, 0) + count["bytes"]
    counted = {}
    for record in costs.messages:
        if record.sender:
            counted[record.kind] = counted.get(record.kind, 0) + record.size
    assert left == counted
    assert {phase.phase for phase in costs.phases if phase.role == "client"} >= {"share", "iterate"}


def test_timeline_names_every_round_once(organisations):
    network = Network(organisations(20, 10, 30))
    network.run()
    steps = [step[:2] for step in network.coordinator.timeline]
    assert steps[:3] == [("identify", 0), ("share", 0), ("iterate", 1)]
    assert len(set(steps)) == len(steps)


def test_the_summary_holds_and_was_signed_by_all(organisations, tmp_path):
    made = organisations(20, 10, 30)
    network = Network(made)
    network.run()
    network.write_summary(tmp_path / "summary.json", None)
    summary = read_summary(tmp_path / "summary.json")
    assert [finding.text for finding in audit(summary, made.agreement) if not finding.holds] == []
    assert [one.statement.party for one in summary.statements] == list(made.sites)
    assert summary.coordinator["ended"] == "complete"


def test_a_run_that_a_site_ends_is_stated_by_all_that_began_it(organisations, tmp_path):
    made = organisations(20, 10, 30)
    made.job.write_text(made.job.read_text() + "[limits]\nmost_rounds = 1\n")
    made.sign(made.job)
    network = Network(made)
    with pytest.raises(LimitError, match=r"^site-[123]: limit-rounds") as error:
        network.run()
    network.write_summary(tmp_path / "summary.json", error.value)
    summary = read_summary(tmp_path / "summary.json")
    assert [finding.text for finding in audit(summary, made.agreement) if not finding.holds] == []
    assert all("LimitError" in one.statement.ended for one in summary.statements)


def test_a_site_keeps_evidence_of_a_coordinator_that_gave_two_results(organisations, monkeypatch, tmp_path):
    made = organisations(20, 10, 30)
    network = Network(made)
    honest = network.coordinator.server.receive

    def receive(message):
        return [
            replace(one, inertia=one.inertia + 1) if isinstance(one, Finish) and one.recipient == 3 else one
            for one in honest(message)
        ]

    monkeypatch.setattr(network.coordinator.server, "receive", receive)
    with pytest.raises(CheatError):
        network.run()
    paths = sorted(made.folder.glob("results-*/*/evidence.json"))
    assert paths
    for path in paths:
        told = CliRunner().invoke(app, ["audit", str(path), "--job", str(made.job)])
        assert (told.exit_code, "signed two of Finish" in told.output) == (0, True)
        report = tmp_path / "report.html"
        refused = CliRunner().invoke(
            app, ["audit", str(path), "--job", str(made.job), "--report", str(report)]
        )
        assert "is evidence, which contains no result" in re.sub(r"\s+", " ", refused.output)
        assert not report.exists()


# Faults of a network


def test_a_call_whose_answer_was_lost_is_repeated_and_not_handled_twice(organisations):
    lost = set()

    def spoil(site, call, deliver):
        answer = deliver()
        if (site, call.number) in lost:
            return answer
        lost.add((site, call.number))
        return None

    made = organisations(20, 10, 30)
    network = Network(made, spoil=spoil)
    network.run()
    assert_exact(made, network)


def test_a_call_that_was_lost_is_repeated(organisations):
    lost = set()

    def spoil(site, call, deliver):
        if (site, call.number) in lost:
            return deliver()
        lost.add((site, call.number))
        return None

    made = organisations(20, 10, 30)
    network = Network(made, spoil=spoil)
    network.run()
    assert_exact(made, network)


def test_an_answer_that_is_not_ours_loses_the_site_and_names_it(organisations):
    def spoil(site, call, deliver):
        return b"\x80\x04nonsense" if site == "site-2" else deliver()

    with pytest.raises(MessageError, match=r"site-2: .*not a secfc message"):
        Network(organisations(20, 10, 30), spoil=spoil).run()


def test_an_answer_to_another_call_is_refused(organisations):
    def spoil(site, call, deliver):
        answer = decode_answer(deliver())
        return replace(answer, number=answer.number + 7).encode()

    with pytest.raises(MessageError, match=r"an answer to call 7, call 0 was asked"):
        Network(organisations(20, 10, 30), spoil=spoil).run()


def test_a_message_in_another_sites_name_is_refused(organisations):
    def spoil(site, call, deliver):
        answer = decode_answer(deliver())
        if call.kind is Kind.OPEN and site == "site-1":
            body = bytearray(answer.body)
            body[8 + 4 + 1 + 16] = 2  # the sender, after the length, magic, type and run
            return replace(answer, body=bytes(body)).encode()
        return answer.encode()

    with pytest.raises(MessageError, match="site-1: a forged sender"):
        Network(organisations(20, 10, 30), spoil=spoil).run()


# Sites that are lost


BEFORE = pytest.mark.parametrize("kind", [Plan, Share], ids=["before sharing", "during sharing"])


@BEFORE
def test_a_site_lost_before_the_iterations_is_left_out_while_r_are_left(organisations, monkeypatch, kind):
    made = organisations(20, 10, 25, 5)
    network = Network(made, spoil=vanishes(monkeypatch, kind, 2), deadline=1.0)
    report = network.run()
    assert_exact(made, network, left_out=["site-2"])
    assert names_of_lost(network) == {"site-2": "PartyError: site-2: no answer within 1 s"}
    assert report.faults.left_out == (2,)
    assert report.counts == [20, 0, 25, 5]


def test_the_page_of_a_summary_names_a_site_that_was_left_out(organisations, monkeypatch, tmp_path):
    made = organisations(20, 10, 25, 5)
    network = Network(made, spoil=vanishes(monkeypatch, Plan, 2), deadline=1.0)
    network.run()
    network.write_summary(tmp_path / "s.json", None)
    summary = read_summary(tmp_path / "s.json")
    page = write_agreed_report(summary, made.agreement, tmp_path / "r.html", name="s.json").read_text()
    assert "1 of 4 parties did not take part to the end" in page
    assert "left out: it vanished or was refused while rows were shared" in page
    assert "PartyError: timeout" in page
    assert "site-2: its statement is missing" in page


@BEFORE
def test_too_many_sites_lost_before_the_iterations_end_the_run_with_the_inequality(
    organisations, monkeypatch, kind
):
    made = organisations(20, 10, 30)
    network = Network(made, spoil=vanishes(monkeypatch, kind, 2), deadline=1.0)
    with pytest.raises(
        TooManyFaultsError, match=r"n >= R \+ S: 3 < 3 \+ 1.*the last: site-2: no answer within 1 s$"
    ):
        network.run()
    for name in ("site-1", "site-3"):
        assert made.statement(name)["ended"].startswith("TooManyFaultsError: ")
        assert not (made.written(name)[0] / "labels.csv").exists()


def test_a_site_lost_in_round_3_is_done_without_while_r_are_left(organisations, monkeypatch):
    made = organisations(20, 10, 30, 5)
    network = Network(made, spoil=third_round(monkeypatch, 4), deadline=1.0)
    report = network.run()
    assert_exact(made, network)
    assert list(names_of_lost(network)) == ["site-4"]
    assert report.faults.left_out == ()


@pytest.mark.parametrize("number", [2, 4])
def test_under_masks_a_responder_or_a_spare_site_lost_in_round_3_is_done_without(
    organisations, monkeypatch, number
):
    made = organisations(20, 10, 30, 5, disclosure="coded")
    network = Network(made, spoil=third_round(monkeypatch, number), deadline=1.0)
    network.run()
    assert_exact(made, network)
    assert list(names_of_lost(network)) == [f"site-{number}"]


@pytest.mark.parametrize("number", [2, 4])
def test_where_labels_alone_are_opened_a_site_that_does_not_compare_is_done_without(
    organisations, monkeypatch, number
):
    comparers = ["site-1", "site-3", "site-5"]
    made = organisations(20, 10, 30, 5, 7, disclosure="labels", comparers=comparers)
    network = Network(made, spoil=third_round(monkeypatch, number), deadline=1.0)
    network.run()
    assert_exact(made, network)
    assert list(names_of_lost(network)) == [f"site-{number}"]


def test_where_labels_alone_are_opened_the_inertia_is_told_by_consent(organisations, tmp_path):
    made = organisations(20, 10, 30, disclosure="labels", n_init=2, reveal_inertia=True)
    for name in made.sites:
        made.configure(name, more="[limits]\nreveal_inertia = true\n")
    network = Network(made)
    network.run()
    assert_exact(made, network)
    network.write_summary(tmp_path / "summary.json", None)
    pooled, labels = np.concatenate(made.rows), np.concatenate([made.labels(name) for name in made.sites])
    within = sum(
        ((pooled[labels == h] - pooled[labels == h].mean(axis=0)) ** 2).sum() for h in np.unique(labels)
    )
    told = read_summary(tmp_path / "summary.json").coordinator["result"]
    assert told["inertia"] == pytest.approx(within, rel=1e-6)


def test_where_labels_alone_are_opened_a_lost_comparer_ends_the_run_by_name(organisations, monkeypatch):
    made = organisations(20, 10, 30, 5, disclosure="labels")
    with pytest.raises(TooManyFaultsError, match=r"client 2, a comparer, is absent.*lost of 4: site-2"):
        Network(made, spoil=third_round(monkeypatch, 2), deadline=1.0).run()


@pytest.mark.parametrize("cut", [False, True], ids=["does not open", "is not encoded"])
def test_where_labels_alone_are_opened_who_sends_no_answer_is_named_beside_who_says_so(
    organisations, monkeypatch, cut
):
    def spoil(message):
        header = envelope(message)
        if (header.kind, header.sender) != ("MaskedAnswer", 1):
            return message
        return message[: HEADER_BYTES + 2] if cut else bytes(message[:-1]) + bytes([message[-1] ^ 1])

    put = Conversation.put
    monkeypatch.setattr(Conversation, "put", lambda self, message: put(self, spoil(message)))
    network = Network(organisations(20, 10, 30, disclosure="labels"), deadline=1.0)
    with pytest.raises(TooManyFaultsError, match=r"the last: site-2: too-many-faults \(site-1\)") as caught:
        network.run()
    assert caught.value.clients == (1, 2)


def test_under_masks_without_a_spare_a_lost_responder_ends_the_run_with_the_inequality(
    organisations, monkeypatch
):
    spoil = third_round(monkeypatch, 2)
    made = organisations(20, 10, 30, disclosure="coded")
    with pytest.raises(TooManyFaultsError, match=r"n >= R \+ S: 3 < 3 \+ 1.*lost of 3: site-2"):
        Network(made, spoil=spoil, deadline=1.0).run()


def test_centres_go_to_the_named_sites_although_a_spare_one_vanishes_with_the_result(
    organisations, monkeypatch
):
    made = organisations(20, 10, 30, 5, reveal_centres=["site-1", "site-3"])
    for name in made.sites:
        made.configure(name, more='[limits]\nreveal_centres = ["site-1", "site-3"]\n')
    network = Network(made, spoil=vanishes(monkeypatch, Finish, 2), deadline=1.0)
    network.run()
    assert_exact(made, network)
    assert sorted(path.parent.parent.name for path in made.folder.glob("results-*/*/centres.csv")) == [
        "results-site-1",
        "results-site-3",
    ]


def test_where_too_few_are_left_to_open_the_centres_sites_have_their_labels(organisations, monkeypatch):
    made = organisations(20, 10, 30, 5, 8, reveal_centres=["site-1"])
    for name in made.sites:
        made.configure(name, more='[limits]\nreveal_centres = ["site-1"]\n')
    network = Network(made, spoil=vanishes(monkeypatch, Finish, 2, 4), deadline=1.0)
    network.run()
    assert_exact(made, network)
    assert sorted(names_of_lost(network)) == ["site-2", "site-4"]
    assert [made.statement(name)["ended"] for name in ("site-1", "site-3", "site-5")] == ["complete"] * 3
    assert list(made.folder.glob("results-*/*/centres.csv")) == []


def test_labels_that_fewer_than_r_confirm_are_nobodys_where_centres_are_opened_too(
    organisations, monkeypatch
):
    made = organisations(20, 10, 30, 5, reveal_centres=["site-1"])
    for name in made.sites:
        made.configure(name, more='[limits]\nreveal_centres = ["site-1"]\n')
    network = Network(made, spoil=vanishes(monkeypatch, Finish, 2, 4), deadline=1.0)
    with pytest.raises(
        TooManyFaultsError, match=r"^too few parties can confirm the result to site-1, site-3; lost of 4"
    ):
        network.run()
    for name in ("site-1", "site-3"):
        assert not (made.written(name)[0] / "labels.csv").exists()


def opened_to_site_2(made, what, consent=""):
    """Run a job that opens numbers to site 2 alone, which has them in a file of its results."""
    for name in made.sites:
        made.configure(name, more=f'[limits]\nreveal_centres = ["site-2"]\n{consent}')
    network = Network(made)
    network.run()
    assert_exact(made, network)
    (path,) = made.folder.glob(f"results-*/*/{what}.csv")
    assert path.parent.parent.name == "results-site-2"
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)[:, 1:]
    assert numbers.shape == (made.agreement.job.k, made.agreement.job.d)
    return numbers


def test_spreads_go_to_the_named_sites(organisations):
    made = organisations(40, 30, 50, 35, reveal_centres=["site-2"], reveal_spread=10)
    assert (opened_to_site_2(made, "spreads", "reveal_spread = 10\n") > 0).all()


def test_centres_with_noise_go_to_the_named_sites(organisations):
    made = organisations(
        40, 30, 50, 35, disclosure="labels", reveal_centres=["site-2"], centres_epsilon=1, centres_delta=1e-6
    )
    centres = opened_to_site_2(made, "centres")
    labels = np.concatenate([made.labels(name) for name in made.sites])
    rows = np.concatenate(made.rows)
    exact = [rows[labels == h].mean(axis=0) for h in range(made.agreement.job.k)]
    assert (abs(centres - exact) > 1e-6).any()


def test_too_many_sites_lost_in_round_3_end_the_run_with_the_inequality(organisations, monkeypatch):
    spoil = third_round(monkeypatch, 3, 4)
    with pytest.raises(TooManyFaultsError, match=r"n >= R \+ S: 4 < 3 \+ 2.*lost of 4: site-3, site-4"):
        Network(organisations(20, 10, 30, 5), spoil=spoil, deadline=1.0).run()


def test_a_site_that_fails_in_round_3_is_done_without_and_tells_no_value(organisations, monkeypatch):
    def act(message):
        if isinstance(message, Assignment) and message.round == 3:
            raise ValueError("the secret is 123456.789")

    on_receive(monkeypatch, 2, act)
    made = organisations(20, 10, 30, 5)
    network = Network(made)
    network.run()
    assert_exact(made, network)
    lost = names_of_lost(network)
    assert lost["site-2"].startswith("PartyError: site-2: internal: ")
    assert "123456" not in json.dumps(lost)
    assert made.statement("site-2")["ended"] == "PartyError: internal at site-2"


def test_a_site_that_vanishes_with_the_result_leaves_the_others_theirs(organisations, monkeypatch):
    made = organisations(20, 10, 30, 5)
    network = Network(made, spoil=vanishes(monkeypatch, Finish, 2), deadline=1.0)
    network.run()
    assert_exact(made, network)
    assert list(names_of_lost(network)) == ["site-2"]


def test_a_result_that_too_few_confirm_ends_the_run(organisations, monkeypatch):
    made = organisations(20, 10, 30, 5)
    network = Network(made, spoil=vanishes(monkeypatch, Finish, 2, 3), deadline=1.0)
    with pytest.raises(TooManyFaultsError, match="too few parties can confirm the result to site-1, site-4"):
        network.run()
    for name in ("site-1", "site-4"):
        assert not (made.written(name)[0] / "labels.csv").exists()


def test_a_slow_site_costs_the_others_nothing_and_still_gets_its_labels(organisations, clock):
    def spoil(site, call, deliver):
        if site == "site-4" and call.kind is Kind.MESSAGES:
            clock.sleep(4.5)
        return deliver()

    made = organisations(20, 10, 30, 5)
    network = Network(made, spoil=spoil, deadline=5.0)
    network.run()
    assert names_of_lost(network) == {}
    assert_exact(made, network)


def test_a_site_whose_limits_the_job_breaks_ends_the_run_before_anything_is_read(organisations):
    made = organisations(20, 10, 30, 5)
    made.configure("site-2", data="missing.npy", more="[limits]\nmost_rounds = 2\n")
    with pytest.raises(LimitError, match=r"^site-2: limit: "):
        Network(made).run()
    assert made.written("site-2") == []


def test_flare_aborting_the_job_ends_the_run(organisations, clock):
    stop = threading.Event()

    def spoil(site, call, deliver):
        if site == "site-2" and call.kind is Kind.MESSAGES:
            clock.sleep(0.2)
            stop.set()
        return None if stop.is_set() else deliver()

    with pytest.raises(PartyError, match=r"FLARE ended the job.*longest without an answer: site-2, 0\.5 s"):
        Network(organisations(20, 10, 30), spoil=spoil, aborted=stop.is_set).run()


def test_silence_ends_the_run(organisations):
    def spoil(site, call, deliver):
        answer = decode_answer(deliver())
        body = b"" if call.kind is not Kind.CLOSE else answer.body
        return replace(answer, body=body).encode()

    with pytest.raises(TooManyFaultsError, match="no message for 1 s from site-1, "):
        Network(organisations(20, 10, 30), spoil=spoil, deadline=0.5).run()


def test_a_site_with_another_key_than_the_rosters_is_refused(organisations):
    made = organisations(20, 10, 30)
    made.configure("site-2", key="site-3")
    with pytest.raises(AgreementError, match=r"^site-2: key-not-in-roster: "):
        Network(made).run()


# What a site refuses before it shares anything


def test_a_site_refuses_another_job_and_its_own_log_says_why(organisations, caplog):
    made = organisations(20, 10, 30)
    made.configure("site-2", job=made.another_job())
    with pytest.raises(AgreementError, match=r"^site-2: not-agreed: "):
        Network(made).run()
    assert "site-2: it agreed to the job " in caplog.text


def test_a_site_without_its_data_file_says_so(organisations):
    made = organisations(20, 10, 30)
    made.configure("site-3", data="missing.npy")
    with pytest.raises(DataError, match=r"site-3: missing-file: "):
        Network(made).run()


def test_a_site_whose_rows_break_the_jobs_ranges_says_so_without_a_value(organisations):
    made = organisations(20, 10, 30)
    np.save(made.folder / "site-3.npy", made.rows[2] * 1234.5)
    with pytest.raises(DataError, match=r"site-3: out-of-range: "):
        Network(made).run()


def test_a_site_that_cannot_write_its_labels_is_named_and_others_have_theirs(organisations):
    made = organisations(20, 10, 30)
    (made.folder / "results-site-2").write_text("a file is in the way")
    network = Network(made)
    network.run()
    assert list(names_of_lost(network)) == ["site-2"]
    assert names_of_lost(network)["site-2"].startswith("ParameterError: site-2: unwritable: ")
    assert_exact(made, network)


def test_a_site_that_could_not_write_its_labels_writes_them_when_it_ends(organisations):
    made = organisations(20, 10, 30)
    in_the_way = made.folder / "results-site-2"
    in_the_way.write_text("a file is in the way")
    network = Network(made)
    network.run()
    assert list(names_of_lost(network)) == ["site-2"]
    in_the_way.unlink()
    network.sites["site-2"].end()
    network.coordinator.lost.clear()
    assert_exact(made, network)
    assert any(path.name == "statement.json" for path in in_the_way.rglob("*"))
    network.sites["site-2"].end()
    assert len(list(in_the_way.iterdir())) == 1


def test_a_site_file_of_another_party_is_refused(organisations):
    made = organisations(20, 10, 30)
    made.config("site-2").write_text(made.config("site-3").read_text())
    with pytest.raises(AgreementError, match="site-2: not-agreed: "):
        Network(made).run()


def test_a_job_that_not_all_have_signed_is_not_exported(organisations, tmp_path):
    made = organisations(20, 10, 30)
    signatures_path(made.job).unlink()
    with pytest.raises(AgreementError, match="not all parties have signed"):
        export_job(made.job, tmp_path / "flare", deadline=60.0)
    assert not (tmp_path / "flare").exists()


def test_the_agreement_in_a_flare_job_is_the_one_that_was_exported(organisations, tmp_path):
    made = organisations(20, 10, 30)
    export_job(made.job, tmp_path / "flare", deadline=60.0)
    config = json.loads((tmp_path / "flare" / "secfc" / "config" / "config_fed_server.json").read_text())
    text = config["workflows"][0]["args"]["agreement"]
    assert of_argument(text).digest == made.agreement.digest
    assert "{" not in text
    with pytest.raises(ParameterError, match="the FLARE job's agreement: not base64"):
        of_argument("{")


def test_nothing_else_of_secfc_imports_nvflare():
    package = Path(secfc.__file__).parent
    found = {
        path.parent
        for path in package.rglob("*.py")
        if re.search(r"^\s*(?:import|from) nvflare", path.read_text(), re.M)
    }
    assert found == {package / "drivers" / "flare"}
