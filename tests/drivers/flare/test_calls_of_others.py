"""A site accepts calls only from the coordinator. In FLARE every site can call every other one."""

import struct
from dataclasses import replace
from functools import partial

import pytest
from support.network import RUN, Network, assert_exact

from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.drivers.calls import callee as module
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.envelopes import Call, Incoming, Kind, Place, decode_answer, from_json
from secfc.drivers.sites import site_files
from secfc.drivers.sites.site_files import SiteFiles
from secfc.errors import AgreementError, MessageError
from secfc.protocol.messages.accepted import Sizes

pytestmark = pytest.mark.usefixtures("clock")


def call(made, kind, number, *, key=COORDINATOR_KEY, run=RUN, recipient=1, body=b"", agreement=None):
    place = Place(run=run, agreement=agreement or made.agreement.digest, recipient=recipient)
    return Call(kind=kind, number=number, place=place, body=body).signed(read_key(made.folder / key))


def test_calls_of_another_site_are_dropped_and_the_run_is_exact(organisations):
    """Before every call of the coordinator, another site calls in its name, with everything it has seen."""
    made = organisations(20, 0, 20)
    seen, answers = [], []

    def spoil(site, said, deliver):
        if site == "site-1":
            for kind in Kind:
                for number in (said.number, said.number + 1):
                    forged = call(made, kind, number, key="site-2.key", run=said.place.run)
                    answers.append(network.sites[site].answer(forged))
            unsigned = call(made, said.kind, said.number, run=said.place.run, body=b"another")[:-64]
            answers.append(network.sites[site].answer(unsigned + bytes(64)))
            for old in seen[:-1]:  # what the coordinator signed for another site
                answers.append(network.sites[site].answer(old))
        else:
            seen.append(said.signed(read_key(made.folder / COORDINATOR_KEY)))
        return deliver()

    network = Network(made, spoil=spoil)
    network.run()
    assert_exact(made, network)
    assert len(answers) > 50
    assert set(answers) == {None}


def test_a_close_of_another_site_has_nothing_signed(organisations):
    made = organisations(20, 10, 30)
    network = Network(made)
    site = network.sites["site-1"]
    assert decode_answer(site.answer(call(made, Kind.OPEN, 0))).kind in (Kind.ANSWER, Kind.MORE)
    words = b'{"ended": "words of my choice"}'
    assert site.answer(call(made, Kind.CLOSE, 1, key="site-2.key", body=words)) is None
    report = decode_answer(site.answer(call(made, Kind.CLOSE, 1, body=words)))
    assert report.kind is Kind.REPORT
    assert "statement" in from_json(report.body)
    assert b"of my choice" not in bytes(report.body)


def test_calls_for_another_run_site_number_or_agreement_change_nothing(organisations):
    made = organisations(20, 10, 30)
    site = Network(made).sites["site-1"]
    assert site.answer(call(made, Kind.OPEN, 0, recipient=2)) is None
    assert site.answer(call(made, Kind.OPEN, 3)) is None
    assert site.answer(call(made, Kind.MESSAGES, 0)) is None
    told = decode_answer(site.answer(call(made, Kind.OPEN, 0, agreement=bytes(32))))
    assert told.kind is Kind.ERROR
    assert AgreementError.__name__ in from_json(told.body).values()
    first = site.answer(call(made, Kind.OPEN, 0))
    assert decode_answer(first).kind in (Kind.ANSWER, Kind.MORE)
    assert site.answer(call(made, Kind.OPEN, 0)) == first
    assert site.answer(call(made, Kind.MESSAGES, 1, run=bytes(16))) is None
    assert site.answer(call(made, Kind.MESSAGES, 2)) is None
    assert decode_answer(site.answer(call(made, Kind.MESSAGES, 1))).kind in (Kind.ANSWER, Kind.MORE)


def test_an_opening_of_a_run_that_has_been_opens_nothing(organisations):
    made = organisations(20, 10, 30)
    Network(made).run()
    site = Network(made).sites["site-1"]
    assert site.answer(call(made, Kind.OPEN, 0)) is None
    assert decode_answer(site.answer(call(made, Kind.OPEN, 0, run=bytes(16)))).kind in (
        Kind.ANSWER,
        Kind.MORE,
    )


def test_a_site_refuses_a_message_larger_than_any_of_the_job_when_it_is_announced(organisations):
    made = organisations(20, 10, 30)
    site = Network(made).sites["site-1"]
    site.answer(call(made, Kind.OPEN, 0))
    most = Sizes(made.agreement.job).most_to_client
    assert most < 1 << 29  # the first rows may come before the plan
    told = decode_answer(site.answer(call(made, Kind.MESSAGES, 1, body=struct.pack("<Q", most + 1))))
    assert (told.kind, b"bad-message" in bytes(told.body)) == (Kind.ERROR, True)


def test_the_coordinator_refuses_a_message_larger_than_any_of_the_job_when_it_is_announced(organisations):
    made = organisations(20, 10, 30)

    def spoil(site, said, deliver):
        answer = decode_answer(deliver())
        if site != "site-2" or said.kind is not Kind.MESSAGES:
            return answer.encode()
        return replace(answer, kind=Kind.ANSWER, body=struct.pack("<Q", 1 << 30)).encode()

    network = Network(made, spoil=spoil)
    with pytest.raises(MessageError, match=f"^site-2: oversized message: {1 << 30} bytes"):
        network.run()


def test_messages_of_an_honest_run_are_within_the_bounds(organisations, monkeypatch):
    made, real = organisations(20, 10, 30), Incoming.feed

    def feed(self, piece, **position):
        for message in real(self, piece, **position):
            taken.append(len(message))
            yield message

    taken = []
    monkeypatch.setattr(Incoming, "feed", feed)
    network = Network(made)
    network.run()
    assert_exact(made, network)
    after = Sizes(made.agreement.job, network.coordinator.server.planned)
    assert max(taken) <= max(after.most_to_client, after.most_from_client) < 1 << 26


def test_a_site_whose_roster_cannot_be_read_answers_nobody_and_reads_it_once(
    organisations, monkeypatch, caplog
):
    made = organisations(20, 10, 30)
    calls = [call(made, Kind.OPEN, 0), call(made, Kind.OPEN, 0, key="site-2.key")] * 10
    (made.folder / "roster.toml").write_text("none")
    reads = []
    monkeypatch.setattr(site_files, "read_job", lambda path: reads.append(path) or read_job(path))
    site = Callee(partial(SiteFiles, name="site-1", file=made.site("site-1")))
    with caplog.at_level("WARNING", logger=module.__name__):
        assert {site.answer(one) for one in calls} == {None}
    assert len(reads) == 1
    counts = [int(record.getMessage().split(" so far")[0].split()[-1]) for record in caplog.records]
    assert counts == [1, 2, 4, 8, 16]
    assert "roster.toml" in caplog.text


def test_the_coordinator_alone_is_told_of_a_data_error(organisations):
    made = organisations(20, 10, 30)
    (made.folder / "site-1.npy").unlink()
    site = Network(made).sites["site-1"]
    assert site.answer(call(made, Kind.OPEN, 0, key="site-2.key")) is None
    assert b"missing-file" in bytes(decode_answer(site.answer(call(made, Kind.OPEN, 0))).body)
