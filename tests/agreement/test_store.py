"""Stores: a folder, or a store named by a URL, tested with an S3 server in this process."""

import os
import shutil
import sys

import numpy as np
import pytest
from support.clinics import Clinics

from plaintext_baselines import ExactLloyd
from secfc.agreement.store import Store, store_of
from secfc.errors import ParameterError, StorageError


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
    made = Clinics(tmp_path)
    made.replace(made.job, "most = 4", f'most = 4\nstore = "{bucket}/flow"')
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


@pytest.mark.parametrize("where", ["http://x/y", "file:///etc", "memory://x", "s3://a::http://b", "x://"])
def test_urls_of_other_kinds_are_refused(where, tmp_path):
    assert store_of(where, tmp_path) == where
    with pytest.raises(ParameterError, match=r"a folder or a URL of s3://, gs://, abfs:// is possible"):
        Store(where)


@pytest.mark.parametrize("where", ["s3://user@x", "s3://user:secret@x/y", "s3://x/y?key=secret"])
def test_a_url_with_credentials_is_refused_and_not_shown(where):
    with pytest.raises(ParameterError, match="without user and password") as caught:
        Store(where)
    assert "secret" not in str(caught.value)
