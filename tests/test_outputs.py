"""Paths of results are checked first, and a written file is complete or absent."""

import errno
import os
import sys
import tempfile

import pytest

import secfc
from secfc.tables.outputs import (
    check_file,
    check_new_file,
    check_new_folder,
    keep_earlier,
    replace_text,
    whole_folder,
)


def test_a_folder_appears_whole_with_the_folders_above_it(tmp_path):
    out = tmp_path / "a" / "b"
    with whole_folder("--out", out) as draft:
        (draft / "one").write_text("1")
        assert not out.exists()
    assert [path.name for path in out.iterdir()] == ["one"]
    assert [path.name for path in out.parent.iterdir()] == ["b"]


def test_an_empty_folder_is_filled(tmp_path):
    with whole_folder("--out", tmp_path / "out") as draft:
        (draft / "one").write_text("1")
    assert (tmp_path / "out" / "one").exists()


def test_a_folder_that_fails_half_way_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_folder("--out", tmp_path / "out") as draft:  # noqa: PT012
        (draft / "one").write_text("1")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_somebody_filled_meanwhile_is_left_alone(tmp_path):
    out = tmp_path / "out"
    told = pytest.raises(secfc.ParameterError, match=r"--out: .*out cannot be written")
    with told, whole_folder("--out", out) as draft:
        (draft / "one").write_text("1")
        out.mkdir()
        (out / "mine").write_text("mine")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "mine"]


@pytest.mark.parametrize(
    ("check", "name", "text"),
    [
        (check_new_folder, "full", "--x: .*full is not empty; name a new folder"),
        (check_new_folder, "file", "--x: .*file is a file; name a new folder"),
        (check_new_folder, "file/below", "--x: .*below cannot be written, .*file is no folder"),
        (check_new_file, "file", "--x: .*file already exists; name a new file"),
        (check_new_file, "no/file", "--x: .*file cannot be written, there is no folder .*no"),
        (check_new_file, "file/below", "--x: .*below cannot be written, .*file is no folder"),
        (check_file, "full", "--x: .*full is a folder; name a file"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_option(tmp_path, check, name, text):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(secfc.ParameterError, match=text):
        check("--x", tmp_path / name)


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="nothing is forbidden to the superuser"
)
@pytest.mark.parametrize("check", [check_new_folder, check_new_file])
def test_a_folder_that_may_not_be_written_to_is_refused_first(tmp_path, check):
    tmp_path.chmod(0o500)
    with pytest.raises(secfc.ParameterError, match="may not be written to"):
        check("--x", tmp_path / "new")


@pytest.mark.parametrize("check", [check_new_folder, check_new_file])
def test_a_folder_in_which_the_system_makes_nothing_is_refused_first(tmp_path, monkeypatch, check):
    def fail(**given):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkdtemp", fail)  # as for root, whom permissions do not limit
    with pytest.raises(secfc.ParameterError, match=r"--x: .* cannot be written, Read-only file system$"):
        check("--x", tmp_path / "new")


@pytest.mark.parametrize("check", [check_new_folder, check_new_file, check_file])
def test_a_name_that_is_too_long_is_refused_first(tmp_path, check):
    with pytest.raises(secfc.ParameterError, match=r"--x: .* cannot be written, .*too long"):
        check("--x", tmp_path / ("a" * 300))


def test_a_mount_point_is_refused_first_since_no_folder_can_take_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(secfc.ParameterError, match="it is a mount point; name a new folder in it"):
        check_new_folder("--x", tmp_path / "out")
    check_new_folder("--x", tmp_path / "out" / "new")


def test_what_can_be_written_is_not_made_yet(tmp_path):
    check_new_folder("--x", tmp_path / "a" / "b")
    check_new_file("--x", tmp_path / "file")
    check_new_file("--x", None)
    assert list(tmp_path.iterdir()) == []


def test_files_are_replaced_whole_or_not_at_all(tmp_path):
    replace_text(tmp_path / "a", "one")
    replace_text(tmp_path / "a", "two")
    assert (tmp_path / "a").read_text() == "two"
    with pytest.raises(secfc.ParameterError, match=r"no/a cannot be written \(No such file"):
        replace_text(tmp_path / "no" / "a", "three")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_results_of_earlier_runs_are_kept_by_number(tmp_path):
    path = tmp_path / "job.summary.json"
    keep_earlier(path)
    for text in ("first", "second", "third"):
        path.write_text(text)
        keep_earlier(path)
    assert [(tmp_path / f"job.summary.{at}.json").read_text() for at in (1, 2, 3)] == [
        "first", "second", "third",
    ]  # fmt: skip
    assert not path.exists()
