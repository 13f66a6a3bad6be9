"""Parties that are killed at any moment go on from their journals: same bytes, same labels."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import restarting
from support.restarting import KINDS, Restarting, assert_same, everywhere, run
from support.sweeps import sweep, tries

import secfc
from secfc.drivers.in_process import run_in_process
from secfc.errors import StorageError
from secfc.journal.journal import Journal
from secfc.journal.ledger import Ledger
from secfc.kmeans.coded_distance import CodedPoints
from secfc.lagrange.sharer import Sharer
from secfc.limits import Limits
from secfc.protocol.messages import SERVER
from secfc.protocol.wire import envelope


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_with_journals_is_that_without(setup_of, whole, kind):
    setup = setup_of(**KINDS[kind])
    outcome = run_in_process(setup)
    for mine, theirs in zip(whole(kind).labels(), outcome.labels, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert whole(kind).deaths == []
    assert sum(map(len, whole(kind).carried.values())) == len(outcome.costs.messages)


# Without loss of power: test_masks.py.
@pytest.mark.parametrize("step", sweep((1, 3), keep=(3,)))
@pytest.mark.parametrize("kind", KINDS)
def test_killed_before_messages_that_they_send_when_power_is_lost_parties_send_the_same_bytes(
    setup_of, whole, kind, step
):
    expected = whole(kind)
    every = everywhere(expected)[::step]
    found = run(setup_of(**KINDS[kind]), sends_at=every, power=True)
    assert len(found.deaths) == len(every) > 10
    assert_same(found, expected)


@pytest.mark.parametrize("kind", sweep(KINDS, keep=("random", "centres", "union, liars")))
def test_killed_every_few_bytes_that_it_writes_a_party_sends_the_same_bytes(setup_of, whole, kind):
    expected = whole(kind)
    for party in (0, 2):
        step = expected.written[party] // 40
        points = [(party, at) for at in range(0, expected.written[party], step)]
        found = run(setup_of(**KINDS[kind]), bytes_at=points)
        assert len(found.deaths) >= 40
        assert_same(found, expected)


@pytest.mark.parametrize("kind", ["random", "liars", "union"])
@pytest.mark.parametrize("party", [SERVER, 2])
def test_a_party_whose_disk_was_full_says_so_and_goes_on_when_there_is_room(setup_of, whole, kind, party):
    expected = whole(kind)
    step = expected.written[party] // 40
    points = [(party, at) for at in range(0, expected.written[party], step)]
    found = run(setup_of(**KINDS[kind]), bytes_at=points, full=True)
    assert len(found.deaths) >= 40
    assert_same(found, expected)


@given(data=st.data())
@tries(0.5)
def test_killed_at_any_bytes_of_any_writes_parties_send_the_same_bytes(setup_of, whole, data):
    kind = data.draw(st.sampled_from(sorted(KINDS)))
    expected = whole(kind)
    party = st.sampled_from(sorted(expected.written))
    points = party.flatmap(lambda j: st.tuples(st.just(j), st.integers(0, expected.written[j])))
    sends = party.flatmap(lambda j: st.tuples(st.just(j), st.integers(0, len(expected.carried[j]))))
    found = run(
        setup_of(**KINDS[kind]),
        bytes_at=data.draw(st.lists(points, max_size=4)),
        sends_at=data.draw(st.lists(sends, max_size=3, unique=True)),
        power=data.draw(st.booleans()),
    )
    assert_same(found, expected)


class Absences:
    """Tells the server that clients are absent, when it has taken so many frames."""

    def __init__(self, *at):
        self.left = list(at)

    def __call__(self, run):
        while self.left and run.lines[SERVER].taken >= self.left[0][0]:
            run.order(SERVER, absent=self.left.pop(0)[1])


@pytest.mark.parametrize(
    ("disclosure", "first"),
    sweep(
        product(("coded", "distances"), (3, 14, 30)),
        keep=[("coded", 14), ("distances", 3), ("distances", 30)],
    ),
)
def test_what_a_server_was_told_of_clients_it_knows_again(setup_of, disclosure, first):
    setup = setup_of(counts=(3, 4, 0, 2, 3), disclosure=disclosure)
    expected = run(setup, Absences((first, 2), (first + 9, 4)))
    found = run(setup, Absences((first, 2), (first + 9, 4)), sends_at=everywhere(expected))
    assert len(found.deaths) > 30
    assert_same(found, expected)
    assert found.report.faults == expected.report.faults


def test_answers_to_rounds_that_are_over_are_not_computed_again(setup_of, tmp_path, monkeypatch):
    found = Restarting(setup_of(**KINDS["random"]), tmp_path).run()
    computed, answer = [], CodedPoints.answer

    def counted(points, start, stop):
        computed.append((start, stop))
        return answer(points, start, stop)

    monkeypatch.setattr(CodedPoints, "answer", counted)
    found._make(2)
    assert found.lines[2].resume(carried=found.carried_to(2), kept=0) == []
    assert computed == [(0, 4), (4, 8), (8, 12)]  # of the last round alone
    assert sum(envelope(one).kind == "CodedDistances" for one in found.carried[2]) > 9
    np.testing.assert_array_equal(found.parties[2].role.labels, found.labels()[1])
    found.journals[2].close()


@pytest.mark.parametrize(("carried", "kept"), [(1, 0), (0, 10**6)])
def test_a_journal_that_lacks_what_others_have_is_an_error(setup_of, tmp_path, carried, kept):
    found = Restarting(setup_of(**KINDS["random"]), tmp_path).run()
    found._make(2)
    counts = found.carried_to(2)
    counts[SERVER] += carried
    with pytest.raises(StorageError, match=r"were carried$|were written to it$"):
        found.lines[2].resume(carried=counts, kept=kept)
    found.journals[2].close()


def test_a_server_cannot_send_again_what_it_dropped(setup_of, tmp_path):
    found = Restarting(setup_of(**KINDS["random"]), tmp_path).run()
    found._make(SERVER)
    carried = found.carried_to(SERVER)
    carried[2] = 3
    with pytest.raises(StorageError, match=r"to party 2 left to send, but the first 3 were carried$"):
        found.lines[SERVER].resume(carried=carried, kept=0)
    found.journals[SERVER].close()


CHANGES = {
    "rows": lambda setup: setup.rows[1].__setitem__((0, 0), 1.5),
    "a row less": lambda setup: setup.rows.__setitem__(1, setup.rows[1][:-1]),
    "labels": lambda setup: setup.starts[1].__setitem__(0, 1),
    "limits": lambda setup: object.__setattr__(setup, "limits", Limits(smallest_set=2)),
    "job": lambda setup: object.__setattr__(setup, "job", replace(setup.job, max_iter=7)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_begun_with_anything_else_a_journal_is_refused(setup_of, tmp_path, change):
    setup = setup_of(counts=(3, 4, 2), starts=True)
    found = Restarting(setup, tmp_path).run()
    CHANGES[change](setup)
    with pytest.raises(StorageError, match="the party was begun with other rows, labels, IDs, limits or"):
        found._make(2)


@pytest.mark.parametrize("name", ["version", "run", "party"])
def test_a_journal_of_another_version_run_or_party_is_refused(setup_of, tmp_path, monkeypatch, name):
    setup = setup_of()
    found = Restarting(setup, tmp_path).run()
    if name == "version":
        monkeypatch.setattr(secfc, "__version__", "0.0.0")
    elif name == "run":
        monkeypatch.setattr(restarting, "RUN", bytes(16).hex())
    else:
        (tmp_path / "client-1").rename(tmp_path / "client-2")
    with pytest.raises(StorageError, match=rf"client-2: {name} "):
        found._make(2)


def test_a_journal_that_is_gone_is_an_error(setup_of, tmp_path):
    found = Restarting(setup_of(), tmp_path).run()
    (tmp_path / "client-2").unlink()
    with pytest.raises(StorageError, match="there is no journal, though the party had begun one"):
        found._make(2)


def test_a_second_file_of_another_journal_is_an_error(tmp_path):
    for name in ("one", "other"):
        journal = Journal.begin(tmp_path / name / "server", {})
        journal.checkpoint(b"state", taken=1, sent=2, ledger=Ledger(keeps=True))
        journal.close()
    (tmp_path / "other" / "server.round").replace(tmp_path / "one" / "server.round")
    with pytest.raises(StorageError, match="it belongs to another journal"):
        Journal.resume(tmp_path / "one" / "server")


def test_a_party_that_would_send_something_else_sends_nothing(setup_of, tmp_path, monkeypatch):
    found = Restarting(setup_of(), tmp_path).run()
    real = Sharer.share
    monkeypatch.setattr(Sharer, "share", lambda sharer, rows: real(sharer, rows + 1.0))
    found._make(3)
    with pytest.raises(StorageError, match=r"frame \d+ causes other messages than it did"):
        found.lines[3].resume(carried=[0] * 4, kept=0)
    found.journals[3].close()
