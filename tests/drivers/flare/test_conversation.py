"""Coordinator and sites in one process: every failure that a network, a site or its disk can have."""

import json
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import secfc
from plaintext_baselines import ExactLloyd
from secfc.drivers.flare import coordinator as module
from secfc.drivers.flare.calls import Call, Kind, decode_call
from secfc.drivers.flare.coordinator import Coordinator
from secfc.drivers.flare.site import Site
from secfc.errors import DataError, LimitError, MessageError, ParameterError, PartyError, ThresholdError
from secfc.protocol.client import Client
from secfc.protocol.messages import Assignment, Plan, Share
from secfc.protocol.server import Server

RUN = bytes(range(16))


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """No pauses, and no thread is left behind."""
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(module, "_CLOSING_SECONDS", 1.0)
    before = set(threading.enumerate())
    yield
    until = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < until:
        time.sleep(0.01)
    assert set(threading.enumerate()) <= before


class Network:
    """Carries calls to sites of this process; `spoil` may change, lose or answer any of them."""

    def __init__(self, organisations, *, deadline=5.0, spoil=None, aborted=lambda: False):
        self.sites = {
            name: Site(name=name, config=organisations.config(name)) for name in organisations.sites
        }
        self.calls, self._spoil = [], spoil
        agreement = organisations.agreement
        self.coordinator = Coordinator(
            agreement=agreement,
            server=Server(
                job=agreement.job,
                session=agreement.session(RUN),
                rng=np.random.default_rng(agreement.seed),
            ),
            run=RUN,
            send=self._send,
            deadline=deadline,
            aborted=aborted,
        )

    def _send(self, name, data, timeout):
        self.calls.append((name, decode_call(data).kind))

        def deliver():
            return self.sites[name].answer(data)

        return deliver() if self._spoil is None else self._spoil(name, decode_call(data), deliver)

    def run(self):
        return self.coordinator.run()


def on_receive(monkeypatch, number, act):
    """Have a client act before it takes a message; to raise is to break its process."""
    real = Client.receive

    def receive(self, message):
        if self.number == number:
            act(message)
        return real(self, message)

    monkeypatch.setattr(Client, "receive", receive)


def assert_exact(organisations, ended):
    starts = np.split(ended.report.start, np.cumsum([len(r) for r in organisations.rows])[:-1])
    job = organisations.agreement.job
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(organisations.rows)
    for name, labels in zip(organisations.sites, exact.labels_, strict=True):
        if name not in ended.lost:
            np.testing.assert_array_equal(organisations.labels(name), labels)


# A run to its end


def test_labels_equal_exact_lloyd_and_each_site_has_its_own(organisations):
    made = organisations(20, 0, 30)
    ended = Network(made).run()
    assert_exact(made, ended)
    assert ended.lost == {}
    assert made.labels("site-2").size == 0
    assert [made.summary(name)["ending"]["ended"] for name in made.sites] == ["complete"] * 3


def test_messages_larger_than_a_piece_are_put_together_again(organisations, monkeypatch):
    monkeypatch.setattr("secfc.drivers.flare.calls.PIECE_BYTES", 700)
    made = organisations(200, 100, 300)
    network = Network(made)
    assert_exact(made, network.run())
    most = max(record.size for record in network.coordinator.meter.costs().messages)
    assert most > 10 * 700
    assert len(network.calls) > 3 * most / 700


def test_costs_count_every_message_of_every_party(organisations):
    made = organisations(20, 10, 30)
    ended = Network(made).run()
    left = {}
    for name in made.sites:
        for kind, count in made.summary(name)["left"].items():
            left[kind] = left.get(kind, 0) + count["bytes"]
    counted = {}
    for record in ended.costs.messages:
        if record.sender:
            counted[record.kind] = counted.get(record.kind, 0) + record.size
    assert left == counted
    assert {phase.phase for phase in ended.costs.phases if phase.role == "client"} >= {"share", "iterate"}


def test_timeline_names_every_round_once(organisations):
    ended = Network(organisations(20, 10, 30)).run()
    assert [step[:2] for step in ended.timeline[:3]] == [("identify", 0), ("share", 0), ("iterate", 1)]
    assert len({step[:2] for step in ended.timeline}) == len(ended.timeline)


# What a network does


def test_a_call_whose_answer_was_lost_is_repeated_and_not_handled_twice(organisations):
    lost = set()

    def spoil(site, call, deliver):
        answer = deliver()
        if (site, call.number) in lost:
            return answer
        lost.add((site, call.number))
        return None

    made = organisations(20, 10, 30)
    assert_exact(made, Network(made, spoil=spoil).run())


def test_a_call_that_was_lost_is_repeated(organisations):
    lost = set()

    def spoil(site, call, deliver):
        if (site, call.number) in lost:
            return deliver()
        lost.add((site, call.number))
        return None

    made = organisations(20, 10, 30)
    assert_exact(made, Network(made, spoil=spoil).run())


def test_an_answer_that_is_not_ours_loses_the_site_and_names_it(organisations):
    def spoil(site, call, deliver):
        return b"\x80\x04nonsense" if site == "site-2" else deliver()

    with pytest.raises(MessageError, match=r"site-2: .*not of this protocol"):
        Network(organisations(20, 10, 30), spoil=spoil).run()


def test_an_answer_to_another_call_is_refused(organisations):
    def spoil(site, call, deliver):
        answer = decode_call(deliver())
        return Call(kind=answer.kind, number=answer.number + 7, body=answer.body).encode()

    with pytest.raises(MessageError, match=r"an answer to call 7, call 0 was asked"):
        Network(organisations(20, 10, 30), spoil=spoil).run()


def test_a_message_in_another_sites_name_is_refused(organisations):
    def spoil(site, call, deliver):
        answer = decode_call(deliver())
        if call.kind is Kind.OPEN and site == "site-1":
            body = bytearray(answer.body)
            body[8 + 4 + 1 + 16] = 2  # the sender, behind the length, magic, type and run
            return Call(kind=answer.kind, number=answer.number, body=bytes(body)).encode()
        return answer.encode()

    with pytest.raises(MessageError, match="site-1: a forged sender"):
        Network(organisations(20, 10, 30), spoil=spoil).run()


# Sites that are lost


@pytest.mark.parametrize(
    ("kind", "phase"), [(Plan, "share"), (Share, "share")], ids=["before sharing", "during sharing"]
)
def test_a_site_lost_before_the_iterations_ends_the_run_by_name(organisations, monkeypatch, kind, phase):
    def act(message):
        if isinstance(message, kind):
            state["gone"] = True
            raise RuntimeError

    state = {"gone": False}
    on_receive(monkeypatch, 2, act)

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site == "site-2" and state["gone"] else answer

    made = organisations(20, 10, 30, 5)
    with pytest.raises(PartyError, match=rf"^site-2: no answer within 1 s \(phase {phase}\)$"):
        Network(made, spoil=spoil, deadline=1.0).run()
    for name in ("site-1", "site-3", "site-4"):
        assert made.summary(name)["ending"]["ended"].startswith("PartyError: site-2: no answer")
        assert not (made.written(name)[0] / "labels.csv").exists()


def third_round(monkeypatch, *numbers):
    """Sites that vanish when they are asked for round 3."""
    gone = set()
    for number in numbers:

        def act(message, number=number):
            if isinstance(message, Assignment) and message.round == 3:
                gone.add(f"site-{number}")
                raise RuntimeError

        on_receive(monkeypatch, number, act)

    def spoil(site, call, deliver):
        answer = deliver()
        return None if site in gone else answer

    return spoil


def test_a_site_lost_in_round_3_is_done_without_while_r_are_left(organisations, monkeypatch):
    spoil = third_round(monkeypatch, 4)
    made = organisations(20, 10, 30, 5)
    ended = Network(made, spoil=spoil, deadline=1.0).run()
    assert_exact(made, ended)
    assert list(ended.lost) == ["site-4"]


def test_too_many_sites_lost_in_round_3_ends_the_run_with_the_inequality(organisations, monkeypatch):
    spoil = third_round(monkeypatch, 3, 4)
    with pytest.raises(ThresholdError, match=r"2 < 2\(ell \+ t\) - 1 = 3.*site-3, site-4"):
        Network(organisations(20, 10, 30, 5), spoil=spoil, deadline=1.0).run()


def test_a_site_that_fails_in_round_3_is_done_without_and_tells_no_value(organisations, monkeypatch):
    def act(message):
        if isinstance(message, Assignment) and message.round == 3:
            raise ValueError("the secret is 123456.789")

    on_receive(monkeypatch, 2, act)
    made = organisations(20, 10, 30, 5)
    ended = Network(made).run()
    assert_exact(made, ended)
    assert ended.lost["site-2"].startswith("PartyError: ValueError at ")
    assert "123456" not in json.dumps(ended.lost)


def test_a_slow_site_costs_the_others_nothing_and_still_gets_its_labels(organisations, monkeypatch):
    def spoil(site, call, deliver):
        if site == "site-4" and call.kind is Kind.MESSAGES:
            time.sleep(0.05)
        return deliver()

    made = organisations(20, 10, 30, 5)
    ended = Network(made, spoil=spoil).run()
    assert ended.lost == {}
    assert_exact(made, ended)


def test_a_limit_ends_the_run_although_others_would_answer(organisations):
    made = organisations(20, 10, 30, 5)
    text = made.config("site-2").read_text()
    made.config("site-2").write_text(text + "[limits]\nmost_rounds = 2\n")
    with pytest.raises(LimitError, match=r"^site-2: client 2 answers 2 rounds"):
        Network(made).run()


def test_flare_aborting_the_job_ends_the_run(organisations):
    stop = threading.Event()

    def spoil(site, call, deliver):
        if site == "site-2" and call.kind is Kind.MESSAGES:
            time.sleep(0.2)
            stop.set()
        return None if stop.is_set() else deliver()

    with pytest.raises(PartyError, match=r"FLARE ended the job.*longest without an answer: site-2, 0\.\d s"):
        Network(organisations(20, 10, 30), spoil=spoil, aborted=stop.is_set).run()


def test_silence_ends_the_run(organisations):
    def spoil(site, call, deliver):
        answer = decode_call(deliver())
        body = b"" if call.kind is not Kind.CLOSE else answer.body
        return Call(kind=answer.kind, number=answer.number, body=body).encode()

    with pytest.raises(PartyError, match="nobody sent anything for 1 s in phase identify, 3 sites"):
        Network(organisations(20, 10, 30), spoil=spoil, deadline=0.5).run()


def test_a_site_with_another_key_than_the_rosters_is_refused(organisations):
    made = organisations(20, 10, 30)
    (made.folder / "site-2.key").write_text("11" * 32)
    with pytest.raises(ParameterError, match=r"^site-2: .*roster"):
        Network(made).run()


# What a site refuses before it shares anything


def test_a_site_refuses_another_job(organisations):
    made = organisations(20, 10, 30)
    (made.folder / "other.toml").write_text(made.text.replace("k = 3", "k = 4"))
    made.configure("site-2", job="other.toml")
    with pytest.raises(ParameterError, match=r"^site-2: it agreed to the job [0-9a-f]{16}, the coordinator"):
        Network(made).run()


def test_a_site_without_its_data_file_says_so(organisations):
    made = organisations(20, 10, 30)
    made.configure("site-3", data="missing.npy")
    with pytest.raises(DataError, match=r"site-3: .*missing\.npy: no such file"):
        Network(made).run()


def test_a_site_whose_rows_break_the_bound_says_so_without_a_value(organisations):
    made = organisations(20, 10, 30)
    np.save(made.folder / "site-3.npy", made.rows[2] * 1234.5)
    with pytest.raises(DataError, match="site-3: 30 rows have a norm above the bound"):
        Network(made).run()


def test_a_site_that_cannot_write_its_labels_is_named_and_others_have_theirs(organisations):
    made = organisations(20, 10, 30)
    (made.folder / "results-site-2").write_text("a file is in the way")
    ended = Network(made).run()
    assert list(ended.lost) == ["site-2"]
    assert "FileExistsError" in ended.lost["site-2"]
    assert_exact(made, ended)


def test_nothing_else_of_secfc_imports_nvflare():
    package = Path(secfc.__file__).parent
    found = [
        path
        for path in package.rglob("*.py")
        if re.search(r"^\s*(?:import|from) nvflare", path.read_text(), re.M)
    ]
    assert found == [package / "drivers" / "flare" / "components.py"]
