"""Stores: a folder, or a store named by a URL, tested with an S3 server in this process."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support.clinics import OWNERS, Clinics

from plaintext_baselines import ExactLloyd
from secfc.agreement.deposits.store import Store, checked_store, store_of
from secfc.errors import AgreementError, ParameterError, StorageError


@pytest.fixture(scope="module")
def bucket():
    """The URL of an empty bucket; the environment has the server's address and keys."""
    server = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    started = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{started.get_host_and_port()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patches.setenv(name, "tests")
        patches.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("deposits")
        yield "s3://deposits"
        s3fs.S3FileSystem.clear_instance_cache()
    started.stop()


@pytest.fixture(params=["folder", "s3"])
def store(request, tmp_path):
    if request.param == "folder":
        return Store(str(tmp_path / "deposits"))
    return Store(f"{request.getfixturevalue('bucket')}/{tmp_path.name}")


def test_a_file_is_read_as_it_was_written_last(store):
    assert store.read("a/1", most=5) is None
    for data in (b"12345", b"678"):
        store.write("a/1", data)
        assert store.read("a/1", most=5) == data


def test_no_more_is_read_than_asked_for(store):
    store.write("a/1", bytes(1000))
    with pytest.raises(StorageError, match=r"/a/1: more than 999 bytes"):
        store.read("a/1", most=999)


def test_names_are_those_in_the_folder_also_of_what_came_meanwhile(store):
    assert store.names("a") == []
    store.write("a/1", b"x")
    assert store.names("a") == ["1"]
    store.write("a/2", b"x")
    store.write("a/b/3", b"x")
    assert sorted(store.names("a")) == ["1", "2", "b"]


def test_nothing_is_written_or_read_through_a_link_to_another_folder(tmp_path):
    store, elsewhere = Store(str(tmp_path / "deposits")), tmp_path / "elsewhere"
    store.write("a/b/1", b"x")
    elsewhere.mkdir()
    (elsewhere / "1").write_bytes(b"own")
    for link in ("c", "a/c", "a/c/d"):
        store.write("a/c/d/1", b"x")
        place = tmp_path / "deposits" / link
        if place.exists():
            shutil.rmtree(place)
        place.symlink_to(elsewhere)
        for act in (
            lambda at=f"{link}/1": store.write(at, b"y"),
            lambda at=f"{link}/1": store.read(at, most=9),
            lambda at=link: store.names(at),
        ):
            with pytest.raises(StorageError, match="a link or a file is in the way"):
                act()
        place.unlink()
    assert [(one.name, one.read_bytes()) for one in elsewhere.iterdir()] == [("1", b"own")]


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="folders are opened by path")
@pytest.mark.parametrize("call", ["open", "replace", "scandir"])
def test_a_folder_that_becomes_a_link_while_it_is_used_leads_nowhere_else(tmp_path, monkeypatch, call):
    store, elsewhere = Store(str(tmp_path / "deposits")), tmp_path / "elsewhere"
    store.write("a/b/1", b"x")
    elsewhere.mkdir()
    (elsewhere / "1").write_bytes(b"own")
    place, real, swapped = tmp_path / "deposits" / "a" / "b", getattr(os, call), []

    def swap(*args, **kwargs):
        """The folder is replaced once it was opened, before the next call."""
        opened = call == "open" and args[0] == "b"
        found = real(*args, **kwargs) if opened else None
        if (opened or call != "open") and not swapped:
            place.rename(place.with_name("c"))
            place.symlink_to(elsewhere)
            swapped.append(True)
        return found if opened else real(*args, **kwargs)

    monkeypatch.setattr(os, call, swap)
    if call == "scandir":
        (elsewhere / "2").write_bytes(b"own")
        assert store.names("a/b") == ["1"]
    else:
        store.write("a/b/1", b"y")
        assert (place.with_name("c") / "1").read_bytes() == b"y"
    assert swapped
    assert (elsewhere / "1").read_bytes() == b"own"


def test_clinics_deposit_in_an_object_store_and_open_their_labels(bucket, tmp_path):
    made = Clinics(tmp_path, owners=f'{OWNERS}store = "{bucket}/flow"\n')
    made.admit()
    made.deposit()
    made.close()
    network = made.network()
    network.run()
    assert not (tmp_path / "deposits").exists()
    start, job = [network.coordinator.report.start], made.agreement.job
    pooled = np.concatenate(list(made.clinics.values()))
    (exact,) = ExactLloyd(job.k, init=start, bound=job.bound).fit([pooled]).labels_
    assert [label for name in made.clinics for _, label in made.labels(name)] == exact.tolist()


def test_a_bucket_that_is_not_there_is_told_without_what_the_library_says(bucket):
    with pytest.raises(StorageError, match=r"^s3://nothing/a/1: \w+$"):
        Store("s3://nothing").write("a/1", b"x")


def test_the_extra_is_named_where_fsspec_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ParameterError, match=r"fsspec .* owners\.store, pip install '\.\[stores\]'"):
        Store("s3://deposits").names("a")


def test_the_library_of_a_store_is_named_where_it_is_missing(monkeypatch):
    fsspec = pytest.importorskip("fsspec")

    def missing(kind):
        raise ImportError

    monkeypatch.setattr(fsspec, "filesystem", missing)
    with pytest.raises(ParameterError, match="fsspec needs gcsfs for gs://, pip install gcsfs"):
        Store("gs://deposits").read("a/1", most=1)


def test_an_error_of_the_library_at_its_start_is_told_without_its_text(monkeypatch):
    fsspec = pytest.importorskip("fsspec")

    def fails(kind):
        raise RuntimeError("secret in a configuration file")

    monkeypatch.setattr(fsspec, "filesystem", fails)
    with pytest.raises(StorageError, match=r"^s3://deposits/a/1: RuntimeError$"):
        Store("s3://deposits").write("a/1", b"x")


POSSIBLE = "owners.store: a folder beside the job file or a URL of s3://, gs://, abfs:// is possible"
ABSOLUTE = ["/etc", "//server/share", "/", "C:/x", "C:x", "C:\\x", "\\\\server\\share", "\\x", "~", "~root/x"]
UPWARDS = [
    "..",
    "../x",
    "a/..",
    "a/../x",
    "a/../../x",
    "..\\x",
    "a\\..\\x",
    ".",
    "./a",
    "a/.",
    "..a",
    "%2e%2e/x",
]
KINDS = [
    "http://x/y",
    "file:///etc",
    "file:x",
    "local://x",
    "local:///x",
    "memory://x",
    "x://",
    "S3://x",
    "s3:/x",
]
ESCAPES = [
    *(
        f"{kind}://x/{rest}"
        for kind in ("s3", "gs", "abfs")
        for rest in ("..", "../y", "a/../../y", ".", "%2e%2e/y")
    ),
    *("s3://a::http://b", "s3://a::file:///etc", "simplecache::s3://a", "zip://x::s3://a", "::s3://a"),
    *("s3://", "s3:///x", "s3://../x", "s3://x//y", "s3://x/", "s3://x\\y", "s3://x#y", "s3://x y"),
]
TEXTS = [
    "",
    " ",
    "a//b",
    "a/",
    "a b",
    " a",
    "a\n",
    "a\0",
    "$HOME",
    "${HOME}/x",
    "a*",
    "a:b",
    "\u2024\u2024/x",
    "\uff0e\uff0e/x",
    "-x",
]
CREDENTIALS = ["s3://user@x", "s3://user:secret@x/y", "s3://x/y?key=secret", "abfs://x@secret.example/y"]


@pytest.fixture(scope="module")
def agreed(tmp_path_factory):
    return Clinics(tmp_path_factory.mktemp("agreed"))


@pytest.mark.parametrize("where", [*ABSOLUTE, *UPWARDS, *KINDS, *ESCAPES, *TEXTS])
def test_a_job_states_no_store_elsewhere(agreed, where):
    before, text = set(agreed.folder.rglob("*")), agreed.job.read_text()
    agreed.replace(agreed.job, "most = 4", f"most = 4\nstore = {json.dumps(where)}")
    line = text[: text.index("most = 4")].count("\n") + 2
    try:
        with pytest.raises(ParameterError) as caught:
            assert agreed.agreement.store is None
        assert str(caught.value).startswith(f"{agreed.job}:{line}: {POSSIBLE}")
    finally:
        agreed.job.write_text(text)
    assert set(agreed.folder.rglob("*")) == before


@pytest.mark.parametrize("where", CREDENTIALS)
def test_a_url_with_credentials_is_refused_and_not_shown(where):
    with pytest.raises(ParameterError, match="without user and password") as caught:
        checked_store(where)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "where", ["deposits", "a/b", "A_1.b-c/d..e", "s3://x", "gs://my_x/y.z", "abfs://x/y-1/z"]
)
def test_folders_beside_the_job_and_whole_urls_are_possible(where, tmp_path):
    assert checked_store(where) == where
    inside = Path(store_of(where, tmp_path)).resolve().is_relative_to(tmp_path)
    assert inside != ("://" in where)


def test_all_sign_the_store(agreed):
    """A site whose copy of the job names another store has another job than the others signed."""
    text, digests = agreed.job.read_text(), {agreed.agreement.digest}
    try:
        for where in ("other", "s3://x", "s3://y", "gs://x", "s3://x/y"):
            agreed.job.write_text(text.replace("most = 4", f'most = 4\nstore = "{where}"'))
            again = agreed.agreement
            digests.add(again.digest)
            with pytest.raises(AgreementError, match="signed another job"):
                agreed.member("north")
    finally:
        agreed.job.write_text(text)
    assert len(digests) == 6


@pytest.mark.parametrize("path", ["../x", "a/../x", "/x", "a//b", "", ".", "a\\b", "a/b~", "..", "a\n"])
def test_no_path_leads_out_of_a_store(store, path):
    for act in (lambda: store.write(path, b""), lambda: store.read(path, most=1), lambda: store.names(path)):
        with pytest.raises(ParameterError, match="is no path of a file in a store"):
            act()
