"""Files that are never overwritten."""

import os

import pytest

from secfc.agreement import secret_files as files
from secfc.agreement.secret_files import write_new
from secfc.errors import ParameterError


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_a_file_that_is_there_stays_and_no_draft_is_left(tmp_path):
    path = tmp_path / "file"
    write_new(path, b"first", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ParameterError, match="it exists and is left as it is"):
        write_new(path, b"second")
    assert (path.read_bytes(), names(tmp_path)) == (b"first", ["file"])


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_process_that_is_killed_leaves_nothing_at_the_path(tmp_path, monkeypatch, call):
    class Killed(BaseException):
        pass

    def dies(*given):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, dies)
        patch.setattr(type(tmp_path), "unlink", lambda *given, **more: None)  # it does nothing more
        with pytest.raises(Killed):
            write_new(tmp_path / "file", b"data")
    assert not (tmp_path / "file").exists()
    write_new(tmp_path / "file", b"data")
    assert (tmp_path / "file").read_bytes() == b"data"


def test_without_hard_links_a_file_is_renamed(tmp_path, monkeypatch):
    def none(*given):
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(files.os, "link", none)
    write_new(tmp_path / "file", b"first")
    with pytest.raises(ParameterError, match="it exists"):
        write_new(tmp_path / "file", b"second")
    assert ((tmp_path / "file").read_bytes(), names(tmp_path)) == (b"first", ["file"])
