"""Coordinator and sites in one process: every failure of a network, a site or its disk."""

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from support.network import (
    Network,
    assert_exact,
    names_of_lost,
    on_receive,
    vanishes,
)

import secfc
from secfc.agreement.signatures import signatures_path
from secfc.drivers.calls.envelopes import Kind, decode_answer
from secfc.drivers.flare.jobs import export_job, job_of
from secfc.errors import (
    AgreementError,
    MessageError,
    ParameterError,
    PartyError,
    TooManyFaultsError,
)
from secfc.protocol.messages import Plan, StepNotice

pytestmark = pytest.mark.usefixtures("clock")


# Faults of a network


@pytest.mark.parametrize("lost", ["call", "answer"])
def test_what_was_lost_is_repeated_and_not_handled_twice(organisations, lost):
    before = set()

    def spoil(site, call, deliver):
        first = (site, call.number) not in before
        before.add((site, call.number))
        answer = None if first and lost == "call" else deliver()
        return None if first else answer

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


def test_a_site_lost_before_sharing_is_left_out_while_r_are_left(organisations, monkeypatch):
    made = organisations(20, 10, 25, 5)
    network = Network(made, spoil=vanishes(monkeypatch, Plan, 2), deadline=1.0)
    report = network.run()
    assert_exact(made, network, left_out=["site-2"])
    assert names_of_lost(network) == {"site-2": "PartyError: site-2: no answer within 1 s"}
    assert report.faults.left_out == (2,)
    assert report.counts == [20, 0, 25, 5]


def test_centres_go_to_the_named_sites_although_a_spare_one_vanishes(organisations, monkeypatch):
    made = organisations(20, 10, 30, 5, reveal_centres=["site-1", "site-3"])
    for name in made.names:
        made.configure(name, more='[limits]\nreveal_centres = ["site-1", "site-3"]\n')
    spoil = vanishes(monkeypatch, StepNotice, 2, when=lambda message: message.round == 3)
    network = Network(made, spoil=spoil, deadline=1.0)
    network.run()
    assert list(names_of_lost(network)) == ["site-2"]
    assert_exact(made, network)
    assert sorted(path.parent.parent.name for path in made.folder.glob("results-*/*/centres.csv")) == [
        "results-site-1",
        "results-site-3",
    ]


def test_a_site_that_fails_in_round_3_is_done_without_and_tells_no_value(organisations, monkeypatch):
    def act(message):
        if isinstance(message, StepNotice) and message.round == 3:
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
    made.site("site-2").write_text(made.site("site-3").read_text())
    with pytest.raises(AgreementError, match="site-2: not-agreed: "):
        Network(made).run()


def test_a_job_that_not_all_have_signed_is_not_exported(organisations, tmp_path):
    made = organisations(20, 10, 30)
    signatures_path(made.job).unlink()
    with pytest.raises(AgreementError, match="not all parties have signed"):
        export_job(made.job, tmp_path / "flare", deadline=60.0)
    assert not (tmp_path / "flare").exists()


def test_a_flare_job_names_the_job_file(organisations, tmp_path):
    made = organisations(20, 10, 30)
    export_job(made.job, tmp_path / "flare", deadline=60.0)
    config = json.loads((tmp_path / "flare" / "secfc" / "config" / "config_fed_server.json").read_text())
    text = config["workflows"][0]["args"]["job"]
    assert job_of(text) == made.job.resolve()
    with pytest.raises(ParameterError, match="the FLARE job's job file: not base64"):
        job_of("{")


def test_nothing_else_of_secfc_imports_nvflare():
    package = Path(secfc.__file__).parent
    found = {
        path.parent
        for path in package.rglob("*.py")
        if re.search(r"^\s*(?:import|from) nvflare", path.read_text(), re.M)
    }
    assert found == {package / "drivers" / "flare"}
