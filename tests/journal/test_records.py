"""Files of records: whatever happened to the bytes, what is read is what was written, or an error."""

import os
import stat

import pytest

from secfc.errors import StorageError
from secfc.journal import records
from secfc.journal.records import RecordFile

WRITTEN = [(b"H", b"first"), (b"T", b""), (b"T", bytes(range(40))), (b"S", b"x")]


class DiedError(BaseException):
    """Stands for SIGKILL: nothing after it runs."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


@pytest.fixture
def written(path):
    file = RecordFile.create(path, WRITTEN[:1])
    for kind, payload in WRITTEN[1:]:
        file.append(kind, payload)
    file.sync()
    file.close()
    return path


@pytest.fixture
def dies(monkeypatch):
    """Let the process die once so many more bytes were written."""
    real = records.write_all

    def after(count):
        left = count

        def write_all(descriptor, data):
            nonlocal left
            real(descriptor, bytes(data)[:left])
            left -= len(data)
            if left < 0:
                raise DiedError

        monkeypatch.setattr(records, "write_all", write_all)

    yield after
    monkeypatch.setattr(records, "write_all", real)


def read(path):
    file = RecordFile.open(path)
    try:
        return list(file.records())
    finally:
        file.close()


def test_what_was_written_is_read(written):
    assert read(written) == WRITTEN


def test_records_follow_after_it_was_opened_again(written):
    file = RecordFile.open(written)
    file.append(b"T", b"more")
    assert list(file.records()) == [*WRITTEN, (b"T", b"more")]
    file.append(b"T", b"and more")
    file.close()
    assert read(written) == [*WRITTEN, (b"T", b"more"), (b"T", b"and more")]


def test_its_owner_alone_can_read_it(written):
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_cut_off_anywhere_it_has_whole_records_or_is_an_error(written):
    whole, seen = written.read_bytes(), set()
    for size in range(len(whole)):
        written.write_bytes(whole[:size])
        try:
            found = read(written)
        except StorageError:
            seen.add(0)
            continue
        assert found == WRITTEN[: len(found)]
        seen.add(len(found))
        assert read(written) == found  # what was incomplete is gone
    assert seen == {0, 1, 2, 3}


def test_with_any_bit_flipped_it_is_an_error(written):
    whole = written.read_bytes()
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        written.write_bytes(changed)
        with pytest.raises(StorageError, match="file: "):
            read(written)
        assert written.read_bytes() == changed


@pytest.mark.parametrize("moved", ["swapped", "cut out", "repeated"])
def test_records_in_other_places_are_an_error(path, moved):
    file = RecordFile.create(path, [(b"H", b"first")])
    sizes = [file.size]
    for text in (b"one", b"two", b"six"):
        file.append(b"T", text)
        sizes.append(file.size)
    file.close()
    whole = path.read_bytes()
    head, one, two, six = (whole[a:b] for a, b in zip([0, *sizes], sizes, strict=False))
    path.write_bytes(
        {"swapped": head + two + one, "cut out": head + two + six, "repeated": head + one + one}[moved]
    )
    with pytest.raises(StorageError, match=r"record \d is not as it was written"):
        read(path)


def test_a_record_of_another_file_is_an_error(written, tmp_path):
    other = RecordFile.create(tmp_path / "other", WRITTEN[:1])
    at = other.size
    other.append(*WRITTEN[1])
    other.close()
    first = RecordFile.create(written, WRITTEN[:1])
    first.close()
    written.write_bytes(written.read_bytes() + (tmp_path / "other").read_bytes()[at:])
    with pytest.raises(StorageError, match="record 1 is not as it was written"):
        read(written)


@pytest.mark.parametrize("text", [b"", b"secfc records 2\n" + bytes(80), b"something else"])
def test_another_file_is_an_error(path, text):
    path.write_bytes(text)
    with pytest.raises(StorageError, match="it is no file of records"):
        read(path)


def test_dying_at_any_byte_of_an_append_leaves_the_records_before(written, dies):
    whole = written.read_bytes()
    payload = bytes(30)
    for count in range(8 + 1 + 8 + len(payload) + 16):
        written.write_bytes(whole)
        file = RecordFile.open(written)
        dies(count)
        with pytest.raises(DiedError):
            file.append(b"T", payload)
        file.close()
        assert read(written) == WRITTEN


def test_dying_at_any_byte_of_a_new_file_leaves_the_one_that_was_there(written, dies):
    for count in range(16 + 32 + 8 + 1 + 8 + 3 + 16):
        dies(count)
        with pytest.raises(DiedError):
            RecordFile.create(written, [(b"H", b"new")])
        assert read(written) == WRITTEN


def test_a_second_process_cannot_open_it(written):
    file = RecordFile.open(written)
    with pytest.raises(StorageError, match="another process has it open"):
        RecordFile.open(written)
    file.close()
    assert read(written) == WRITTEN


def test_a_full_disk_is_an_error_of_ours(written, monkeypatch):
    def write(descriptor, data):
        raise OSError(28, "No space left on device")

    file = RecordFile.open(written)
    monkeypatch.setattr(records, "write_all", write)
    with pytest.raises(StorageError, match=r"file: No space left on device$"):
        file.append(b"T", b"text")
    file.close()


def test_a_short_write_is_completed(written, monkeypatch):
    real = os.write
    monkeypatch.setattr(records.os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:1]))
    file = RecordFile.open(written)
    file.append(b"T", b"byte by byte")
    file.close()
    assert read(written) == [*WRITTEN, (b"T", b"byte by byte")]


def test_removed_nothing_of_it_is_left(written, dies):
    dies(3)
    with pytest.raises(DiedError):
        RecordFile.create(written, WRITTEN)
    RecordFile.open(written).remove()
    assert list(written.parent.iterdir()) == []
