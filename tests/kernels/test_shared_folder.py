"""The temporary folder of compiled code: who uses it, who removes it, and what is not used."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import secfc

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there are no locks on folders"),
    pytest.mark.interpreters,
]

START = "import os, subprocess, sys; from secfc.kernels import shared_folder\n"
CHILD = """
from secfc.kernels import shared_folder
print(shared_folder.adopt(), flush=True)
input()
"""


@pytest.fixture
def start(tmp_path):
    """Start a process whose temporary folder is `tmp_path`; its input stays open until the test closes it."""
    started = []

    def begin(code, **variables):
        own = {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(secfc.__file__).parents[1])}
        process = subprocess.Popen(
            [sys.executable, "-c", START + dedent(code)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | own | variables,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


MAKE = "print(shared_folder.make(), flush=True)\ninput()"


def test_it_is_there_while_the_process_runs_and_gone_at_its_end(start, tmp_path):
    process = start(MAKE)
    folder = Path(process.stdout.readline().strip())
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    _, told = process.communicate("\n")
    assert told.count("SECFC_KERNELS_CACHE can name a folder that keeps it") == 1
    assert list(tmp_path.iterdir()) == []


def test_two_processes_have_two_and_none_removes_the_others(start, tmp_path):
    one, two = start(MAKE), start(MAKE)
    folders = {Path(process.stdout.readline().strip()) for process in (one, two)}
    assert set(tmp_path.iterdir()) == folders
    one.communicate("\n")
    assert len(list(tmp_path.iterdir())) == 1
    two.communicate("\n")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next(start, tmp_path):
    killed = start(MAKE)
    folder = Path(killed.stdout.readline().strip())
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert folder.exists()
    following = start(MAKE)
    made = Path(following.stdout.readline().strip())
    assert list(tmp_path.iterdir()) == [made]
    following.communicate("\n")
    assert list(tmp_path.iterdir()) == []


def test_a_started_process_that_outlives_the_first_keeps_it_and_removes_it(start, tmp_path):
    code = f"""
        shared_folder.make()
        child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE, text=True)
        print(child.stdout.readline(), end="", flush=True)
    """
    first = start(code)
    assert Path(first.stdout.readline().strip()).parent == tmp_path
    first.wait()
    assert len(list(tmp_path.iterdir())) == 1
    assert start(MAKE).stdout.readline()  # it removes what no process holds
    assert len(list(tmp_path.iterdir())) == 2
    first.stdin.write("\n")
    first.stdin.flush()
    first.stderr.read()  # until the started process ends
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("parent_first", [False, True])
def test_of_a_process_and_one_forked_from_it_the_last_removes_it(start, tmp_path, parent_first):
    code = """
        folder = shared_folder.make()
        go, tell = os.pipe()
        child = os.fork()
        if bool(child) == PARENT_FIRST:
            print(sorted(os.listdir(os.path.dirname(folder))) == [os.path.basename(folder)], flush=True)
            sys.exit()  # the pipe's end for writing is closed with this process
        os.close(tell)
        os.read(go, 1)
        print(os.path.exists(folder), flush=True)
    """.replace("PARENT_FIRST", str(parent_first))
    said, _ = start(code).communicate("")
    assert said.split() == ["True", "True"]
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_that_ends_at_once_removes_nothing(start, tmp_path):
    code = """
        folder = shared_folder.make()
        if not os.fork():
            os._exit(0)
        os.wait()
        print(os.path.exists(folder))
    """
    assert start(code).communicate("")[0] == "True\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["none", "open", "link", "file"])
def test_a_named_folder_that_is_not_of_this_user_only_is_not_used(start, tmp_path, kind):
    named = tmp_path / "secfc-kernels-abcdefgh"
    if kind == "open":
        named.mkdir()
        named.chmod(0o755)
    elif kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        named.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        named.touch()
    code = "print(shared_folder.adopt(), os.environ.get('SECFC_KERNELS_FOLDER'))"
    assert start(code, SECFC_KERNELS_FOLDER=str(named)).communicate("")[0] == "None None\n"


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="root alone can give folders away")
def test_a_named_folder_of_another_user_is_not_used_and_not_removed(start, tmp_path):
    named = tmp_path / "secfc-kernels-abcdefgh"
    named.mkdir(mode=0o700)
    os.chown(named, 1234, -1)
    code = "print(shared_folder.adopt(), shared_folder.make() is not None)"
    assert start(code, SECFC_KERNELS_FOLDER=str(named)).communicate("")[0] == "None True\n"
    assert list(tmp_path.iterdir()) == [named]


def test_a_folder_that_the_user_names_is_left_to_the_user(start, tmp_path):
    named = tmp_path / "secfc-kernels-mine"
    named.mkdir()
    code = "print(shared_folder.adopt(), shared_folder.make() is not None)"
    assert start(code, SECFC_KERNELS_CACHE=str(named)).communicate("")[0] == "None True\n"
    assert list(tmp_path.iterdir()) == [named]
