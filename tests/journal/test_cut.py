"""A journal that is cut, rolled back, changed or another run's: it goes on exactly, or is a StorageError."""

import shutil
from contextlib import suppress

import pytest
from support import restarting
from support.restarting import Restarting
from support.sweeps import sweep

from secfc.drivers.counts import Carried
from secfc.errors import StorageError
from secfc.journal.ledger import Stands
from secfc.journal.records import RecordFile
from secfc.protocol.messages import SERVER

KINDS = {
    "random": {"counts": (3, 4, 0, 2, 3), "k": 2},
    "liars": restarting.KINDS["liars"] | {"k": 2},
    "union": {"ids": True, "counts": (3, 4, 2), "k": 2},
}
FILES = ("server", "server.round", "client-2")


class StoppedError(BaseException):
    """All processes are killed."""


@pytest.fixture(scope="module", params=KINDS)
def left(request, setup_of, tmp_path_factory):
    """A run whose processes have all just been killed, some way in the rounds, and the folder of journals."""

    folder, steps = tmp_path_factory.mktemp("left"), []

    def between(run):
        steps.append(run.parties[SERVER].role and run.parties[SERVER].role.progress.round)
        if steps[-1] == 2 and steps.count(2) == 3:
            raise StoppedError

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr("secfc.row_layout.PART_BYTES", 1)
        patches.setattr("secfc.row_layout.PART_ROWS", 4)
        found = Restarting(setup_of(**KINDS[request.param]), folder / "storage")
        with suppress(StoppedError):
            found.run(between)
    for journal in found.journals.values():
        journal.close()
    shutil.copytree(folder / "storage", folder / "as left")
    return found, folder / "as left"


def records_of(path):
    """Where each record of a file ends, and the prefix."""
    file = RecordFile.open(path)
    ends = [start + length + 16 for _, start, length in file._places]
    file.close()
    return [48, *ends]


def attempt(left, *, kept, change=lambda folder: None):
    """Start a party from its journal as it was changed; what it sends again, or None if it refuses."""
    found, source = left
    party = found.trying
    shutil.rmtree(found.folder)
    shutil.copytree(source, found.folder)
    change(found.folder)
    begun, found.kept[party] = found.kept[party], kept
    try:
        found._make(party)
        return found.lines[party].resume(carried=found.carried_to(party), kept=kept)
    except StorageError:
        return None
    finally:
        found.kept[party] = begun
        if party in found.journals:
            found.journals.pop(party).close()


def assert_known(found, party, messages):
    """What a party sends again is, byte for byte, what it has sent or was about to."""
    given = set(found.given[party].values())
    assert all(bytes(message) in given for message in messages)


def cut_at(name, size):
    def cut(folder):
        with (folder / name).open("r+b") as file:
            file.truncate(size)

    return cut


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("lost", [False, True], ids=["counted", "count lost"])
@pytest.mark.parametrize("step", sweep((1, 4), keep=(4,)))
def test_a_journal_that_is_cut_anywhere_goes_on_or_is_refused(left, name, lost, step):
    found, source = left
    found.trying = SERVER if name.startswith("server") else 2
    ends = records_of(source / name)
    kept = 0 if lost else found.kept[found.trying]
    whole = attempt(left, kept=kept)
    assert whole is not None
    assert_known(found, found.trying, whole)
    refused = 0
    for end in {*ends[:-1:step], *ends[-3:-1]}:
        for size in {0, 20, end - 1, end, end + 1, end + 24, end + 30}:
            messages = attempt(left, kept=kept, change=cut_at(name, size))
            refused += messages is None
            assert_known(found, found.trying, messages or [])
            assert messages is None or found.lines[found.trying].taken >= kept
    assert refused


@pytest.mark.parametrize("name", FILES)
def test_a_journal_with_a_changed_byte_is_refused(left, name):
    found, source = left
    found.trying = SERVER if name.startswith("server") else 2
    whole = (source / name).read_bytes()
    places = {0, 16, 47, 48, len(whole) - 1, *range(49, len(whole), max(1, len(whole) // 20))}

    for at in places:
        changed = whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]
        kept = found.kept[found.trying]
        change = lambda folder, changed=changed: (folder / name).write_bytes(changed)  # noqa: E731
        assert attempt(left, kept=kept, change=change) is None


@pytest.mark.parametrize("name", FILES)
def test_the_journal_of_another_run_is_refused(left, setup_of, tmp_path, monkeypatch, name):
    found, _ = left
    monkeypatch.setattr(restarting, "RUN", bytes(16).hex())
    Restarting(setup_of(counts=(3, 4, 0, 2, 3), k=2), tmp_path).run()
    monkeypatch.undo()
    found.trying = SERVER if name.startswith("server") else 2
    kept = found.kept[found.trying]
    assert attempt(left, kept=kept, change=lambda folder: shutil.copy(tmp_path / name, folder / name)) is None


@pytest.mark.parametrize("gone", ["server", "server.round", "client-2"])
def test_a_journal_that_is_gone_is_refused(left, gone):
    found, _ = left
    found.trying = SERVER if gone.startswith("server") else 2
    kept = found.kept[found.trying]
    assert attempt(left, kept=kept, change=lambda folder: (folder / gone).unlink()) is None


def stands(taken_from=(), sent_to=(), forgotten=()):
    return Stands(taken=5, taken_from=dict(taken_from), sent_to=dict(sent_to), forgotten=dict(forgotten))


class TestACarrierThatHasLostCount:
    """Server, and clients 1 and 2; the server has sent 4 to each, 3 of which it cannot make again."""

    def told(self, one, two):
        carried = Carried(3, awaited=range(3))
        server = stands({1: 2, 2: 2}, {1: 4, 2: 4}, {1: 3, 2: 3})
        for party, what in ((SERVER, server), (1, one)):
            carried.has(party, what)
            assert carried.lacking() == []
            carried.release()
            assert not carried.known
        carried.has(2, two)
        return carried

    def test_finds_nobody_where_nothing_was_cut(self):
        whole = stands({SERVER: 3, 2: 1}, {SERVER: 2, 2: 1}), stands({SERVER: 4, 1: 0}, {SERVER: 3, 1: 1})
        carried = self.told(*whole)
        assert carried.lacking() == []
        carried.release()
        assert carried.by(SERVER) == [0, 3, 4]

    def test_finds_a_client_that_misses_what_cannot_be_sent_again(self):
        carried = self.told(stands({SERVER: 2}, {SERVER: 2}), stands({SERVER: 3}, {SERVER: 2}))
        assert carried.lacking() == [1]

    def test_finds_a_client_that_never_sent_what_others_have_of_it(self):
        carried = self.told(stands({SERVER: 3, 2: 1}, {SERVER: 2}), stands({SERVER: 3}, {SERVER: 2}))
        assert carried.lacking() == [2]
        carried.without(2)
        assert carried.lacking() == []
        carried.release()
        assert carried.by(SERVER) == [0, 3, None]
