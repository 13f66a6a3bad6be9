"""Killed sites and coordinators continue from their logs after a restart, byte for byte."""

import json
import random
import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from simulator.kills import COORDINATOR_KILLS, HALVES, KILLS, kill_at_halves
from support.describing import Describing
from support.hidden import expected
from support.kept import keeps_some
from support.machines import Machines
from support.preparing import Preparing
from support.sweeps import sweep

from plaintext_baselines import ExactLloyd
from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.agreement.logs import ledger
from secfc.agreement.statement import COMPLETE
from secfc.drivers.calls.callee import Callee
from secfc.drivers.calls.envelopes import Kind, decode_answer, decode_call
from secfc.drivers.sites.participant import Participant
from secfc.drivers.sites.site_files import SiteFiles
from secfc.errors import LimitError, MessageError, StorageError, TooManyFaultsError
from secfc.errors.codes import Code
from secfc.operations.decoding import agreed
from secfc.protocol.parties.party import COORDINATOR
from secfc.protocol.states import State

pytestmark = pytest.mark.usefixtures("clock")


@pytest.mark.some(1)
@pytest.mark.parametrize("what", KILLS)
def test_a_process_killed_at_any_call_goes_on_to_the_same_labels(what, tmp_path, organisations_of, blobs_of):
    whole = Machines(organisations_of(_folder(tmp_path, 0), blobs_of(9, 4, 12)))
    whole.run()
    for call in range(1 + KILLS.index(what), whole.calls + 1, 12):
        machines = Machines(organisations_of(_folder(tmp_path, call), blobs_of(9, 4, 12)), {call: what})
        assert machines.run() == (2 if what in COORDINATOR_KILLS else 1), call
        machines.assert_exact()


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 34))]
)
def test_processes_killed_again_and_again_go_on(seed, organisations):
    draw = random.Random(seed)
    kind = [{}, {"disclosure": "coded"}, {"precision": 40}, {"n_init": 2}][seed % 4]
    machines = Machines(organisations(20, 10, 30, **kind))
    machines.plan = {call: draw.choice(KILLS) for call in range(1, 200, 4)}
    machines.run()
    machines.assert_exact()


@pytest.mark.parametrize("disclosure", sweep(["labels", "coded"], keep=["labels"]))
def test_the_union_of_ids_goes_on_after_kills(organisations, disclosure):
    made = organisations(20, 0, 20, disclosure=disclosure, init="random")
    key = made.hide()
    machines = Machines(made, {call: KILLS[call % 5] for call in range(2, 60, 4)})
    machines.run()
    transcript = machines.coordinator.server.transcript
    exact = expected(made.agreement, made.rows, made.ids, key=key, transcript=transcript)
    for name, labels in zip(made.names, exact.labels, strict=True):
        np.testing.assert_array_equal(made.labels(name), labels)
    machines.assert_whole()


def test_what_is_opened_is_written_by_its_recipient_after_kills(tmp_path, organisations_of, blobs_of):
    opens = {
        "disclosure": "labels",
        "k": 2,
        "init": "random",
        "max_iter": 3,
        "reveal_centres": ["site-1"],
        "reveal_spread": 10,
    }
    consent = '[limits]\nreveal_centres = ["site-1"]\nreveal_spread = 10\n'
    written, plan = [], {}
    for number in range(2):
        made = organisations_of(_folder(tmp_path, number), blobs_of(20, 15, 25), **opens)
        for name in made.names:
            made.configure(name, more=consent)
        machines = Machines(made, plan)
        machines.run()
        machines.assert_whole()
        assert not machines.plan
        (results,) = made.written("site-1")
        written.append({path.name: path.read_text() for path in results.glob("*.csv")})
        plan = {call: KILLS[call % 5] for call in range(3, machines.calls + 1, 7)}
    assert written[0].keys() == {"labels.csv", "centres.csv", "spreads.csv", "sizes.csv"}
    assert written[0] == written[1]


def test_a_preparation_goes_on_after_kills(tmp_path):
    made = Preparing(tmp_path)
    machines = Machines(made, {call: KILLS[call % 5] for call in range(1, 60, 4)})
    machines.run()
    (prepared, _), job = made.prepared(), made.agreement.job
    starts = np.split(machines.coordinator.report.start, np.cumsum([len(rows) for rows in prepared])[:-1])
    exact = ExactLloyd(job.k, init=starts, bound=job.bound, precision=job.precision).fit(prepared)
    assert [made.labels(name) for name in made.names] == [labels.tolist() for labels in exact.labels_]
    machines.assert_logs_gone()


def test_tables_go_on_after_kills_and_ledgers_count_them_once(tmp_path, monkeypatch):
    """Also a ledger that had room for one opening when the run began."""
    monkeypatch.setattr(ledger, "MOST_OPENINGS", 1)
    made = Describing(tmp_path)
    made.resample()
    made.sign()
    machines = Machines(made)
    reached = kill_at_halves(monkeypatch, machines, KILLS)
    machines.run()
    assert reached == list(HALVES)
    machines.assert_whole()
    made.assert_tables()
    made.assert_stability()
    for name in made.names:
        noted = json.loads((tmp_path / f"results-{name}.ledger").read_text())["openings"]
        assert [sorted(one["cells"]) for one in noted] == [["los", "ward"]]
    labels = [made.labels(name) for name in made.names]
    made.predict()  # which opens no sum, so that the ledger need not have room
    made.sign()
    Machines(made).run()
    assert [made.labels(name) for name in made.names] == labels


def test_in_the_second_round_no_site_keeps_values_of_its_rows(organisations):
    """All three compare, so none of them is behind by a round."""
    made = organisations(20, 10, 30, disclosure="labels", precision=20)
    machines, found, unit = Machines(made), {}, made.agreement.job.unit

    def watch(call):
        later = machines.coordinator.server.progress.round == 2
        if later not in found and (later or machines.calls == 4):
            found[later] = [
                name
                for name, rows in zip(made.names, made.rows, strict=True)
                if keeps_some(machines.sites[name], rows, unit)
            ]

    machines.watch = watch
    machines.run()
    assert found[False]
    assert found[True] == []


def test_a_site_without_a_log_cannot_go_on_and_the_run_ends(organisations):
    made = organisations(20, 10, 30)
    machines = Machines(made, {12: "site before"}, keep=[])
    with pytest.raises(TooManyFaultsError, match="too few clients are left"):
        machines.run()
    assert machines.logs == []
    (lost,) = machines.coordinator.lost.values()
    assert (type(lost), lost.code) == (StorageError, Code.STORAGE)


def test_a_site_that_does_not_answer_interrupts_the_run_and_a_later_start_completes_it(organisations):
    made = organisations(20, 10, 30)
    machines = Machines(made)
    away = {"site-2"}
    machines.reaches = lambda name: machines.calls < 14 or name not in away
    first = machines.start()
    assert first.interrupted
    assert machines.logs
    away.clear()
    assert machines.run() == 1
    machines.assert_exact()


def test_sites_that_were_done_without_come_back_when_the_run_goes_on(organisations):
    """Four sites, of which three are enough. Two vanish."""
    made = organisations(12, 5, 9, 7)
    machines = Machines(made)
    away = []
    machines.reaches = lambda name: name not in away

    def vanish(call):
        """Two sites in round 2."""
        if machines.coordinator.server.progress.round > 1 and not away:
            away.extend(("site-2", "site-3"))

    machines.watch = vanish
    assert machines.start().interrupted
    assert machines.coordinator.lost.keys() <= {2, 3}  # the first that is missed ends the run
    away.clear()
    machines.watch = None
    # The sites that came back have answered. Then the coordinator is killed several times.
    machines.plan = {machines.calls + at: "coordinator after" for at in range(4, 60, 3)}
    assert machines.run() > 3
    machines.assert_exact()


def test_only_one_process_of_a_site_works_on_a_run(organisations):
    """The call is dropped and will come again, because the other process may be about to end."""
    made = organisations(20, 10, 30)
    machines = Machines(made)
    machines.reaches = lambda name: machines.calls < 14
    machines.start()
    second = Callee(partial(SiteFiles, name="site-1", file=made.site("site-1")))
    assert second.answer(machines.last["site-1"]) is None
    machines.kill("site-1")
    assert second.answer(machines.last["site-1"]) == machines.answered["site-1"]


def test_a_site_whose_log_was_changed_sends_nothing_more(organisations):
    made = organisations(20, 10, 30)
    machines = Machines(made)
    machines.reaches = lambda name: machines.calls < 14
    machines.start()
    for name in made.names:
        machines.kill(name)
    change(next((made.folder / "scratch-site-2").rglob("*.log")), machines.last["site-2"][67:-64])
    machines.reaches = lambda name: True
    with pytest.raises(TooManyFaultsError):
        machines.run()
    ((client, lost),) = machines.coordinator.lost.items()
    assert (client, type(lost), lost.code) == (2, StorageError, Code.STORAGE)


def test_a_coordinator_whose_log_was_changed_says_nothing(organisations):
    made = organisations(20, 10, 30)
    machines = Machines(made)
    machines.reaches = lambda name: machines.calls < 14
    machines.start()
    before = machines.calls
    change(next((made.folder / "logs").iterdir()), b"answer")
    machines.reaches = lambda name: True
    with pytest.raises(StorageError, match=r"entry [0-9]+ is not as it was written"):
        machines.run()
    assert machines.calls == before


def stopped_at(machines, calls):
    """Run until `calls` calls were made; after that no call reaches a site."""
    machines.reaches = lambda name: machines.calls < calls
    machines.start()
    machines.reaches = lambda name: True
    return machines


def test_a_site_that_refused_a_call_refuses_it_again_and_its_statement_says_why(organisations, monkeypatch):
    """A coordinator that cheated gets no second try, neither by a kill nor by the end of FLARE's job."""
    machines = stopped_at(Machines(organisations(20, 10, 30)), 14)
    made, last = machines.made, decode_call(machines.last["site-1"])
    real = Participant.receive

    def refuse(self, data):
        if data == b"bad":
            raise LimitError("site-1: it refuses", code=Code.LIMIT)
        return real(self, data)

    def ask(body):
        call = replace(last, number=last.number + 1, position=last.position + len(last.body), body=body)
        return machines.sites["site-1"].answer(call.signed(read_key(made.folder / COORDINATOR_KEY)))

    monkeypatch.setattr(Participant, "receive", refuse)
    assert decode_answer(ask(struct.pack("<Q", 3) + b"bad")).kind is Kind.ERROR
    machines.kill("site-1")
    assert decode_answer(ask(b"")).kind is Kind.ERROR
    machines.sites["site-1"].end()
    assert made.statement("site-1")["ended"] == "LimitError: limit at site-1"
    assert not (made.written("site-1")[0] / "labels.csv").exists()
    assert not any((made.folder / "scratch-site-1").rglob("*.log"))


def test_a_site_answers_nothing_after_flare_has_ended_its_job(organisations):
    machines = stopped_at(Machines(organisations(20, 10, 30)), 14)
    for site in machines.sites.values():
        site.end()
    assert machines.sites["site-1"].answer(machines.last["site-1"]) is None
    for name in machines.made.names:
        machines.kill(name)
    machines.run()
    machines.assert_exact()


def test_labels_of_a_site_that_was_not_told_of_the_end_are_written(organisations):
    machines = Machines(organisations(20, 10, 30))
    closing = []
    machines.watch = lambda call: closing.append(call) if call.kind is Kind.CLOSE else None
    machines.reaches = lambda name: not closing
    machines.start()
    assert closing
    for site in machines.sites.values():
        site.end()
    for name, rows in zip(machines.made.names, machines.made.rows, strict=True):
        assert machines.made.statement(name)["ended"] == COMPLETE
        assert len(machines.made.labels(name)) == len(rows)
    assert machines.logs == []


def test_sites_that_ended_the_run_without_labels_do_not_count_as_done(organisations, monkeypatch):
    """Sites without a log: FLARE ended the job when the server had the result and no site had labels."""
    machines = Machines(organisations(20, 10, 30), keep=[])

    def confirms_to_the_server_alone(me):
        me.send(COORDINATOR, "same", b"")
        return
        yield

    def watch(call):
        if machines.coordinator.server.state is State.DONE:
            machines.plan.setdefault(machines.calls, "coordinator before")

    machines.watch = watch
    with monkeypatch.context() as patch:
        patch.setattr(agreed, "_confirm", confirms_to_the_server_alone)
        machines.start()
    machines.watch = None
    for site in machines.sites.values():
        site.end()
    for name in machines.made.names:
        machines.kill(name)
    with pytest.raises(TooManyFaultsError):
        machines.run()


def test_an_answer_that_announces_more_has_bytes(organisations):
    machines = Machines(organisations(20, 10, 30))
    real = machines._send

    def send(name, data, timeout):
        answer = real(name, data, timeout)
        if name == "site-2" and decode_call(data).kind is Kind.MESSAGES:
            return replace(decode_answer(answer), kind=Kind.MORE, body=b"").encode()
        return answer

    machines._send = send
    with pytest.raises(MessageError, match="site-2: an answer announces more bytes and is empty"):
        machines.run()
    assert machines.logs == []


def change(path, text):
    """Change the last byte of the file's last occurrence of the text."""
    data = bytearray(path.read_bytes())
    data[data.rindex(text) + len(text) - 1] ^= 1
    path.write_bytes(bytes(data))


def _folder(tmp_path, number):
    folder = tmp_path / str(number)
    folder.mkdir()
    return folder
