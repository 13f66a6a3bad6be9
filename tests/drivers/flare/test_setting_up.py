"""Setting up a consortium: files for others contain no secret, and files from others are checked."""

import json
import shutil
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding
from nvflare.lighter.utils import x509_name
from support.hospitals import JOB, NAMES, REFUSED, accept, command, new, requests, resigned

from secfc.agreement.consortium import Member
from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import read_key
from secfc.agreement.schemas import MADE_HERE
from secfc.drivers.flare.certificates import Authority, new_key, signing_request
from secfc.drivers.flare.hand_overs import RequestSchema, read_consortium, request_text
from secfc.drivers.flare.kits import AUTHORIZATION, CLASSES
from secfc.errors import ParameterError
from secfc.tables.toml_file import MAX_BYTES
from secfc.version import PROTOCOL, VERSION

pytestmark = pytest.mark.flare

OWNERS = "[owners]\nmost = 5\nmost_rows = 9\n"


def private_parts(folder):
    """All private keys in a folder, as bytes and as lines of their files."""
    for path in folder.rglob("*.key"):
        if path.is_file():
            text = path.read_text()
            assert "PRIVATE KEY" in text
            yield from (line.encode() for line in text.splitlines() if len(line) > 30 and "KEY" not in line)


def test_private_keys_are_their_owners_alone_and_in_no_file_that_is_handed_over(made):
    for name in NAMES:
        accept(made, name, status=0)
        command("job", "sign", made / name / "site.toml")
    keys = [path for path in made.rglob("*.key") if path.is_file()]
    assert (
        len(keys) == 3 * len(NAMES) + 5
    )  # with FLARE's copies; server, administrator, authority, coordinator
    for path in keys:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    secrets = list(private_parts(made))
    handed = [*requests(made), made / "consortium" / "consortium.toml"]
    handed += [made / name / "consortium" / "job.signatures" for name in NAMES]
    for path in handed:
        content = path.read_bytes()
        assert b"PRIVATE" not in content, path
        assert not [one for one in secrets if one in content], path


def test_the_sites_see_the_same_words_and_their_own_rows(made):
    words = read_job(made / "consortium" / "job.toml").consortium.words
    for name in NAMES:
        said = accept(made, name, status=0)
        assert words in said
        assert f"{name}: 3 rows fit the job" in said


def test_a_site_file_is_readable_and_relative(made):
    assert (made / "hospital-b" / "site.toml").read_text().splitlines()[1:] == [
        'party = "hospital-b"',
        'job = "consortium/job.toml"',
        'key = "identity.key"',
        'results = "results"',
        "",
        "[data]",
        'path = "rows.csv"',
        'id = "patient"',
        "",
        "[limits]",
        "smallest_set = 1",
    ]
    accept(made, "hospital-b", status=0)
    local = made / "hospital-b" / "consortium" / "kit" / "local"
    assert (local / "site.toml").resolve() == (made / "hospital-b" / "site.toml").resolve()
    (made / "hospital-b").rename(made / "moved")
    assert (made / "moved" / "consortium" / "kit" / "local" / "site.toml").is_file()


def test_kits_take_no_code_and_allow_one_class(made):
    accept(made, status=0)
    for kit, role in (
        (made / "hospital-a" / "consortium" / "kit", "client"),
        (made / "consortium" / "server", "server"),
    ):
        assert json.loads((kit / "local" / "authorization.json").read_text()) == AUTHORIZATION
        resources = json.loads((kit / "local" / "resources.json").read_text())
        assert resources["class_allow_list"] == [CLASSES[role]]
        assert resources["class_list_enforcement_mode"] == "enforce"
        assert "site_log_streamer" not in {one["id"] for one in resources["components"]}
    site = json.loads((made / "hospital-a" / "consortium" / "kit" / "local" / "resources.json").read_text())
    assert site["allow_log_streaming"] is False


READ_AS_FLARE_DOES = """
import sys
from nvflare.fuel.f3.comm_config import CommConfigurator
from nvflare.fuel.utils.config_service import ConfigService

ConfigService.initialize(section_files={}, config_path=[sys.argv[1]])
read = CommConfigurator()
print(read.get_streaming_retry_wait(5.0), read.get_streaming_retry_timeout(60.0))
"""


def test_flare_gives_a_slow_line_time_before_it_sends_again(made):
    accept(made, status=0)
    for kit in (made / "hospital-a" / "consortium" / "kit", made / "consortium" / "server"):
        command = [sys.executable, "-c", READ_AS_FLARE_DOES, str(kit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
        assert done.stdout.split() == ["120.0", "600.0"]


def test_a_helper_asks_without_rows_and_stands_behind(made):
    (made / "job.toml").write_text(
        JOB.replace("t = 1", "t = 1\ncomparers = ['hospital-a', 'helper', 'hospital-b']")
    )
    (made / "helper").mkdir()
    command("consortium", "request", "helper", "--helper", "--folder", made / "helper")
    assert "[data]" not in (made / "helper" / "site.toml").read_text()
    new(made, made / "helper" / "helper.request", *requests(made), status=0)
    agreement = read_job(made / "another" / "job.toml")
    assert agreement.names == (*NAMES, "helper")
    assert agreement.job.helpers == 1


@pytest.fixture
def committee(tmp_path):
    for name in NAMES:
        (tmp_path / name).mkdir()
        command("consortium", "request", name, "--committee", "--folder", tmp_path / name)
    (tmp_path / "job.toml").write_text(f"{JOB}\n{OWNERS}")
    out = ["--host", "localhost", "--port", 8002, "--out", tmp_path / "consortium"]
    command("consortium", "new", tmp_path / "job.toml", *requests(tmp_path), *out)
    return tmp_path


def test_members_of_a_committee_ask_without_rows_and_accept_a_job_with_owners(committee):
    assert "a member of the committee in the job" in accept(committee, status=0)


@pytest.mark.parametrize(
    "where", ["/etc", "../kit", "a/../../b", "C:/x", "file:///etc", "s3://a/../b", "s3://a::file://b"]
)
def test_a_store_elsewhere_is_refused_in_a_new_consortium_and_at_the_sites(committee, where):
    text = f"{JOB}\n{OWNERS}store = {json.dumps(where)}\n"
    resigned(committee, job=text)
    line = text.count("\n")
    assert f"consortium.toml: job:{line}: owners.store: a folder beside the job file or a" in accept(
        committee
    )
    (committee / "job.toml").write_text(text)
    assert f"job.toml:{line}: owners.store: a folder beside" in new(committee, *requests(committee))
    assert not (committee / "another").exists()


FIELDS = {
    "name": ('name = "hospital-a"', 'name = "hospital-d"'),
    "organisation": ('organisation = ""', 'organisation = "Another"'),
    "helper": ("helper = false", "helper = true"),
    "format": ("secfc request 1", "secfc request 2"),
    "unknown": ("helper", "code = 1\nhelper"),
    "name as a path": ('name = "hospital-a"', 'name = "../hospital-a"'),
    "signature": ('signature = "', 'signature = "A'),
}


@pytest.mark.parametrize(("old", "given"), FIELDS.values(), ids=FIELDS)
def test_a_request_that_was_changed_is_refused_by_name(made, old, given):
    path = requests(made)[0]
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, given, 1))
    assert "hospital-a.request" in new(made, *requests(made), status=REFUSED)


def test_a_request_with_the_key_of_another_is_refused(made):
    first, second = (path.read_text() for path in requests(made)[:2])
    line = next(line for line in second.splitlines() if line.startswith("key = "))
    own = next(line for line in first.splitlines() if line.startswith("key = "))
    requests(made)[0].write_text(first.replace(own, line))
    assert "not signed by the key" in new(made, *requests(made), status=3)


def test_a_request_and_a_consortium_file_of_another_protocol_say_both_versions(made):
    """Whatever keys another version has, and whoever signed it."""
    told = r"made by secfc 0.9, protocol 99; this is secfc "
    for path, read in (
        (requests(made)[0], lambda: new(made, *requests(made), status=3)),
        (made / "consortium" / "consortium.toml", lambda: accept(made, status=3)),
    ):
        text = path.read_text().replace(f"protocol = {PROTOCOL}", "protocol = 99\nlater = true")
        path.write_text(text.replace(f'secfc = "{VERSION}"', 'secfc = "0.9"'))
        said = read()
        assert f"{path}: {told}{VERSION}, protocol {PROTOCOL}" in said


def ask(folder, tls):
    """A request of hospital-a with another signing request, signed by its identity key."""
    key = read_key(folder / "hospital-a" / "identity.key")
    member = Member(name="hospital-a", key=key.public)
    requests(folder)[0].write_text(request_text(member, key, tls=tls, helper=False))


@pytest.mark.parametrize("name", ["server", "Server", "coordinator"])
def test_a_request_in_the_coordinators_name_is_refused(made, name):
    key = read_key(made / "hospital-a" / "identity.key")
    tls = signing_request(new_key()[0], name)
    given = {
        "format": "secfc request 1",
        **MADE_HERE,
        "organisation": "",
        "helper": False,
        "tls": tls,
        "signature": "",
    }
    schema = RequestSchema.model_construct(name=name, key=key.public, **given)
    requests(made)[0].write_text(schema.signed_text(key))
    assert f"name: '{name}' is " in new(made, *requests(made))


def of_another_kind():
    key = generate_private_key(SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509_name("hospital-a"))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


def forged():
    """A signing request with a wrong signature in its last bytes."""
    lines = signing_request(new_key()[0], "hospital-a").splitlines()
    lines[-3] = lines[-3][::-1]
    return "\n".join([*lines, ""])


SIGNING = {
    "of another party": (lambda: signing_request(new_key()[0], "hospital-b"), "is not for hospital-a"),
    "of another kind": (of_another_kind, "an RSA key of 2048 to 8192 bits is needed"),
    "none": (lambda: "-----BEGIN", "no signing request"),
    "with a private key behind": (
        lambda: signing_request(new_key()[0], "hospital-a") + new_key()[1],
        "not one signing request",
    ),
    "forged": (forged, "tls: "),
}


@pytest.mark.parametrize(("tls", "told"), SIGNING.values(), ids=SIGNING)
def test_a_signing_request_that_cannot_be_used_is_refused(made, tls, told):
    ask(made, tls())
    assert told in new(made, *requests(made))


def test_a_signing_request_that_is_too_large_is_refused(made):
    path = requests(made)[0]
    path.write_text(path.read_text().replace("-----BEGIN", "x" * 10_001))
    assert "tls: " in new(made, *requests(made))


def test_a_request_that_is_too_large_is_not_read(made):
    path = requests(made)[0]
    path.write_text(path.read_text() + "#" * (1 << 15))
    assert "hospital-a.request: at most 32768 bytes are read" in new(made, *requests(made))


def test_requests_of_one_party_twice_and_too_few_are_refused(made):
    assert "is the name of party 1 too" in new(made, *requests(made), requests(made)[0])
    assert "ThresholdError" in new(made, *requests(made)[:2])


@pytest.mark.parametrize("host", ["", "a b", 'a"', "../x", "a/b", "-a", "a" * 300, "::1", "a\n"])
def test_a_host_that_is_none_is_refused(made, host):
    assert "host: the name or the IPv4 address" in new(made, *requests(made), host=host)


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "1e300"])
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("wait", ("run", "consortium/job.toml")),
        ("deadline", ("run", "consortium/job.toml")),
        ("timeout", ("run", "consortium/job.toml")),
        ("timeout", ("start", f"{NAMES[0]}/site.toml")),
        ("deadline", ("rehearse", "job.toml", f"{NAMES[0]}/site.toml")),
    ],
)
def test_seconds_that_are_none_are_refused_before_anything_starts(made, option, words, seconds):
    verb, file, *rest = words
    given = [verb, made / file, *(made / one for one in rest), f"--{option}={seconds}"]
    said = command("consortium", *given, status=2)
    assert f"--{option}: a number of seconds, 0 or more, is needed" in said


def test_a_job_that_names_other_files_is_refused_by_line(made):
    (made / "job.toml").write_text(JOB.replace("roster.toml", "../roster.toml"))
    assert 'job.toml:2: roster: "roster.toml" is needed' in new(made, *requests(made))
    (made / "job.toml").write_text(JOB.replace("k = 2", "k = 0"))
    told = new(made, *requests(made))
    assert f"{made}/job.toml:6: " in told


def test_a_consortium_is_not_written_over(made):
    before = sorted((path, path.stat().st_mtime_ns) for path in (made / "consortium").rglob("*"))
    words = ["consortium", "new", made / "job.toml", *requests(made), "--host", "localhost"]
    assert "is not empty" in command(*words, "--out", made / "consortium", status=2)
    assert sorted((path, path.stat().st_mtime_ns) for path in (made / "consortium").rglob("*")) == before


def test_keys_are_not_written_over(made):
    before = {path: path.read_bytes() for path in (made / "hospital-a").iterdir()}
    words = ["consortium", "request", "hospital-a", "--rows", "rows.csv", "--folder", made / "hospital-a"]
    assert "identity.key: it exists" in command(*words, status=2)
    (made / "hospital-a" / "identity.key").unlink()
    assert "tls.key: it exists" in command(*words, status=2)
    del before[made / "hospital-a" / "identity.key"]
    assert {path: path.read_bytes() for path in (made / "hospital-a").iterdir()} == before


CHANGED = {
    "host": ('host = "localhost"', 'host = "elsewhere"'),
    "port": ("port = 8002", "port = 8003"),
    "project": ('project = "secfc"', 'project = "other"'),
    "job": ("k = 2", "k = 3"),
    "roster": ('name = \\"hospital-a\\"', 'name = \\"hospital-x\\"'),
    "unknown": ("port =", "code = 1\nport ="),
    "no TOML": ("port =", "port"),
}


@pytest.mark.parametrize(("old", "given"), CHANGED.values(), ids=CHANGED)
def test_a_consortium_file_that_was_changed_is_refused_and_nothing_is_written(made, old, given):
    path = made / "consortium" / "consortium.toml"
    old, given = (text.replace('\\"', '"') for text in (old, given))
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, given, 1))
    assert "consortium.toml" in accept(made, status=REFUSED)


def test_a_certificate_or_authority_that_was_swapped_is_refused(made):
    path = made / "consortium" / "consortium.toml"
    schema, _ = read_consortium(path)
    text = path.read_text()
    path.write_text(text.replace(schema.authority, Authority.new("secfc").pem))
    assert "not signed by the key" in accept(made, status=3)


OUTCOMES = '[[column]]\nname = "stay"\nlow = 0\nhigh = 60\n'

HOSTILE = {
    "a host that is JSON": ({"host": 'x", "y": "'}, "host: "),
    "a port beyond": ({"port": 1 << 16}, "port: 1 to 65535"),
    "no port": ({"port": 0}, "port: 1 to 65535"),
    "a project that is a path": ({"project": "../up"}, "project: "),
    "a roster elsewhere": (
        {"job": JOB.replace("roster.toml", "/etc/passwd")},
        'roster: "roster.toml" is needed',
    ),
    "a schema elsewhere": (
        {"job": JOB.replace("expires", 'prepare = "../x"\nexpires')},
        'prepare: "schema.toml" is needed',
    ),
    "a schema that is missing": (
        {"job": JOB.replace("expires", 'prepare = "schema.toml"\nexpires')},
        "prepare: the file of the schema is missing",
    ),
    "outcomes elsewhere": (
        {"job": JOB.replace("expires", 'describe = "../x"\nexpires'), "describe": OUTCOMES},
        'describe: "outcomes.toml" is needed',
    ),
    "outcomes that are missing": (
        {"job": JOB.replace("expires", 'describe = "outcomes.toml"\nexpires')},
        "describe: the file of the schema is missing",
    ),
    "a job that is none": ({"job": JOB.replace("k = 2", "k = 0")}, "job.toml:6: "),
    "no certificate": ({"certificates": {}}, "certificates: one of each party"),
}


def test_a_site_has_the_schema_of_described_columns_beside_its_job(made):
    (made / "hospital-a" / "rows.csv").write_text("patient,x,stay\na,1,2\nb,2,\nc,99,4\n")
    site = made / "hospital-a" / "site.toml"
    site.write_text(site.read_text().replace("[limits]", "[limits]\ndescribe = 2"))
    resigned(made, job=JOB.replace("expires", 'describe = "outcomes.toml"\nexpires'), describe=OUTCOMES)
    accept(made, status=0)
    assert (made / "hospital-a" / "consortium" / "outcomes.toml").read_text() == OUTCOMES


@pytest.mark.parametrize(("changes", "told"), HOSTILE.values(), ids=HOSTILE)
def test_a_coordinator_that_signs_what_cannot_be_is_refused(made, changes, told):
    resigned(made, **changes)
    assert told in accept(made)


def certified(folder, *, authority=None, name="hospital-a", key=None):
    """Certificates with another one for hospital-a."""
    schema, _ = read_consortium(folder / "consortium" / "consortium.toml")
    authority = authority or Authority.new("secfc")
    public = (key or new_key()[0]).public_key()
    certificate = authority.certify(public, name=name, role="client")
    return {"certificates": {**schema.certificates, "hospital-a": certificate}, "authority": authority.pem}


def own_key(folder):
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    return load_pem_private_key((folder / "hospital-a" / "tls.key").read_bytes(), password=None)


def test_a_certificate_of_another_key_name_or_authority_is_refused(made):
    resigned(made, **certified(made))
    assert "is of another key than this party's" in accept(made)
    resigned(made, **certified(made, key=own_key(made), name="hospital-b"))
    assert "is not one of hospital-a by an authority" in accept(made)
    other = certified(made, key=own_key(made)) | {"authority": Authority.new("secfc").pem}
    resigned(made, **other)
    assert "is not by the authority in it" in accept(made)
    resigned(made, **(certified(made, key=own_key(made)) | {"authority": "x"}))
    assert "a certificate cannot be read" in accept(made)
    resigned(made, **certified(made, key=own_key(made)))  # another authority, of the same coordinator
    accept(made, status=0)


def test_a_certificate_that_certifies_another_is_refused(made):
    """A site's certificate is not an authority."""
    authority = Authority.new("secfc")
    site_key, _ = new_key()
    site = x509.load_pem_x509_certificate(
        authority.certify(site_key.public_key(), name="hospital-b", role="client").encode()
    )
    below = replace(authority, key=site_key, certificate=site)
    resigned(made, **certified(made, authority=below, key=own_key(made)))
    assert "not by the authority" in accept(made)


def test_a_file_that_is_too_large_is_not_read(made):
    path = made / "consortium" / "consortium.toml"
    path.write_text(path.read_text() + "#" * MAX_BYTES)
    assert f"at most {MAX_BYTES} bytes are read" in accept(made)


def test_a_site_that_is_no_party_or_has_another_key_is_refused(made):
    site = made / "hospital-a" / "site.toml"
    text = site.read_text()
    site.write_text(text.replace('"hospital-a"', '"hospital-d"'))
    assert "'hospital-d' is not in the roster" in accept(made, status=3)
    site.write_text(text)
    shutil.copy(made / "hospital-b" / "identity.key", made / "hospital-a" / "identity.key")
    assert "not the key that the roster has for hospital-a" in accept(made, status=3)


def test_a_consortium_is_accepted_once(made):
    accept(made, status=0)
    assert "is not empty" in command(
        "consortium",
        "accept",
        made / "consortium" / "consortium.toml",
        "--site",
        made / "hospital-a" / "site.toml",
        status=2,
    )


def test_rows_that_do_not_fit_are_told_at_once_and_can_be_mended(made):
    (made / "hospital-c" / "rows.csv").write_text("patient,x\na,1\nb,200\n")
    site = made / "hospital-c" / "site.toml"
    words = command("consortium", "accept", made / "consortium" / "consortium.toml", "--site", site, status=2)
    assert "column 'x' has 1 values outside the job's range" in words
    assert "column 'x' has 1 values" in command("job", "sign", site, status=2)
    (made / "hospital-c" / "rows.csv").write_text("patient,x\na,1\nb,20\n")
    assert "hospital-c: 2 rows fit" in command("job", "check", site)
    command("job", "sign", site)


def test_a_signing_key_is_told_of_without_its_content(made):
    (made / "hospital-a" / "tls.key").write_text("-----BEGIN SECRET-----")
    words = accept(made)
    assert "tls.key: no key for TLS" in words
    assert "SECRET" not in words
    (made / "hospital-a" / "tls.key").chmod(0o644)
    assert "a private key that others may read" in accept(made)


def test_parameter_errors_of_the_commands_name_the_option(tmp_path):
    words = ["consortium", "request", "a", "--folder", tmp_path]
    assert "--rows: exactly one of --rows, --helper and --committee is needed" in command(*words, status=2)
    assert "--rows: exactly one" in command(*words, "--rows", "x", "--helper", status=2)
    for name in ("server", "coordinator"):
        words = ["consortium", "request", name, "--rows", "x", "--folder", tmp_path]
        assert f"name: '{name}' is " in command(*words, status=2)
    assert "name: 1 to 63 letters" in command(
        "consortium", "request", "a/b", "--rows", "x", "--folder", tmp_path, status=2
    )
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ParameterError):
        read_consortium(tmp_path / "none.toml")
