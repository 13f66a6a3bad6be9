"""Unless all have signed a job, no site runs it and no coordinator starts it."""

import json
import shutil
from pathlib import Path

import pytest
from support.hospitals import JOB, NAMES, accept, command, requests

from secfc.agreement.job_file import read_job
from secfc.agreement.signatures import check_signed, read_signatures, signatures_path
from secfc.agreement.site_file import read_site
from secfc.drivers.flare.jobs import export_job, take_signatures
from secfc.errors import AgreementError, SecFCError
from secfc.tables.toml_file import MAX_BYTES

pytestmark = pytest.mark.flare


def signed_by_all(folder):
    for name in NAMES:
        accept(folder, name, status=0)
        command("job", "sign", folder / name / "site.toml")
    files = [folder / name / "consortium" / "job.signatures" for name in NAMES]
    command("job", "collect", folder / "consortium" / "job.toml", *files)
    export_job(folder / "consortium" / "job.toml", folder / "exported", deadline=60.0)
    path = folder / "exported" / "secfc" / "config" / "config_fed_client.json"
    (executor,) = json.loads(path.read_text())["executors"]
    return executor["executor"]["args"]["signatures"]


def test_signatures_of_all_come_with_the_job_and_are_verified_by_the_sites_own_roster(made):
    text = signed_by_all(made)
    site_file = made / "hospital-a" / "site.toml"
    own = read_site(site_file)
    agreement, path = read_job(own.job), signatures_path(own.job)
    assert [one.party for one in read_signatures(path)] == ["hospital-a"]
    with pytest.raises(AgreementError, match="not all parties have signed"):
        check_signed(agreement, path)
    for wrong in ("x", text[:-8], text[:40] + text[40:].swapcase(), "A" * (3 * MAX_BYTES), None, 5, ["x"]):
        with pytest.raises(SecFCError):
            take_signatures(site_file, wrong)
        assert [one.party for one in read_signatures(path)] == ["hospital-a"]
    take_signatures(site_file, "")
    assert [one.party for one in read_signatures(path)] == ["hospital-a"]
    take_signatures(site_file, text)
    check_signed(agreement, path)


def test_signatures_of_another_job_are_not_taken(made, tmp_path):
    signed_by_all(made)
    other = tmp_path / "other"
    shutil.copytree(made, other, symlinks=True)
    shutil.rmtree(other / "exported")
    for name in NAMES:
        shutil.rmtree(other / name / "consortium")
    shutil.rmtree(other / "consortium")
    (other / "job.toml").write_text(JOB.replace("k = 2", "k = 3"))
    out = ["--host", "localhost", "--out", other / "consortium"]
    command("consortium", "new", other / "job.toml", *requests(other), *out)
    text = signed_by_all(other)
    site_file = made / "hospital-a" / "site.toml"
    with pytest.raises(AgreementError, match="signed another job"):
        take_signatures(site_file, text)


def test_nobody_starts_what_is_not_signed(made):
    accept(made, status=0)
    site = made / "hospital-a" / "site.toml"
    assert "hospital-a: not signed" in command("consortium", "start", site, status=3)
    job = made / "consortium" / "job.toml"
    command("job", "sign", site)
    own = made / "hospital-a" / "consortium" / "job.signatures"
    words = command("consortium", "run", job, own, status=3)
    assert "hospital-b (not signed), hospital-c (not signed)" in words
    assert not (made / "consortium" / "server" / "console.txt").exists()


def test_the_file_of_a_kit_that_is_missing_is_named(made):
    signed_by_all(made)
    job = Path(shutil.copytree(made / "consortium", made / "bare", symlinks=True)) / "job.toml"
    shutil.rmtree(made / "bare" / "server")
    assert "bare/server: no startup kit" in command("consortium", "run", job, status=2)
