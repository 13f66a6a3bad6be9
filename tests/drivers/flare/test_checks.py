"""`secfc consortium check`: a point that does not hold is named, and has an advice and a status."""

import json
import shutil
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from support.hospitals import NAMES, accept, command

from secfc.drivers.flare import certificates, checks, runs
from secfc.drivers.flare.certificates import Authority, new_key
from secfc.drivers.flare.checks import look_at_site
from secfc.drivers.flare.flare_processes import only_one
from secfc.drivers.flare.kits import SERVER
from secfc.version import PROTOCOL

pytestmark = pytest.mark.flare
WRONG = "DOES NOT HOLD"


@pytest.fixture
def site(made):
    """The site file of a hospital that has signed."""
    accept(made, NAMES[0], status=0)
    command("job", "sign", made / NAMES[0] / "site.toml")
    return made / NAMES[0] / "site.toml"


def kit_of(site):
    return site.parent / "consortium" / "kit"


def lead_to(site, host, port):
    path = kit_of(site) / "startup" / "fed_client.json"
    path.write_text(path.read_text().replace("localhost:8002", f"{host}:{port}"))


@contextmanager
def server(startup, *, late=timedelta(0), key="server.key", certificate="server.crt"):
    """A server with TLS that answers each request with its time; yields its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(startup / certificate, startup / key)
    context.load_verify_locations(startup / "rootCA.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    answer = f"HTTP/1.1 404 Not Found\r\nDate: {format_datetime(datetime.now(UTC) + late)}\r\n\r\n".encode()

    def serve():
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            plain.settimeout(20)
            with suppress(OSError), context.wrap_socket(plain, server_side=True) as secure:
                secure.recv(1000)
                secure.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def findings(site):
    """Findings that do not hold, by their first word."""
    found = list(runs.look_at(site))
    assert all(one.advice for one in found if not one.holds)
    return {one.text.partition(":")[0]: one for one in found if not one.holds}


def test_where_all_is_well_every_point_holds(made, site):
    with server(made / "consortium" / SERVER / "startup") as port:
        lead_to(site, "localhost", port)
        said = command("consortium", "check", site)
    assert WRONG not in said
    for text in (
        f"holds versions: secfc 0.1.0, protocol {PROTOCOL}, nvflare ",
        "holds certificate: valid until ",
        "holds key: that of client 1 in the roster",
        "holds signature: hospital-a has signed the job ",
        "holds rows: 3 rows fit the job",
        "holds lock: no other command uses ",
        " are free in ",
        "holds name: localhost is ",
        f"holds connection: port {port} of localhost answers within ",
        "holds TLS: both certificates were accepted",
        "holds clock: the coordinator's differs from this one by ",
    ):
        assert text in said


def test_a_host_without_an_address_is_named(site, monkeypatch):
    def unknown(host, *_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    lead_to(site, "nowhere.invalid", 8002)
    said = command("consortium", "check", site, status=4)
    assert (
        f"{WRONG} name: nowhere.invalid: Name or service not known Ask the coordinator for its name" in said
    )
    assert "connection:" not in said


def test_a_closed_port_is_named(site):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    lead_to(site, "localhost", port)
    said = command("consortium", "check", site, status=4)
    assert f"{WRONG} connection: port {port} of localhost: Connection refused" in said
    assert f"ask for a way to its port {port} through all firewalls" in said
    assert "TLS:" not in said


def test_a_server_of_another_authority_is_not_taken_for_the_coordinator(made, site):
    startup = made / "consortium" / SERVER / "startup"
    key, pem = new_key()
    other = Authority.new("secfc").certify(key.public_key(), name=SERVER, role="server", hosts=("localhost",))
    (startup / "other.crt").write_text(other)
    (startup / "other.key").write_text(pem)
    with server(startup, certificate="other.crt", key="other.key") as port:
        lead_to(site, "localhost", port)
        said = command("consortium", "check", site, status=1)
    assert f"{WRONG} TLS: port {port} of localhost: its certificate: " in said
    assert "answers instead of it" in said


def authority_of(made):
    return Authority(
        certificates.read_tls_key((made / "consortium" / "authority.key").read_text(), name=""),
        certificates._certificate((made / "consortium" / "authority.pem").read_text(), name=""),
    )


def expire(made, startup, own, name, role, monkeypatch):
    """Replace a kit's certificate by one that ended yesterday."""
    key = certificates.read_tls_key((startup / f"{own}.key").read_text(), name="")
    monkeypatch.setattr(certificates, "_DAYS", 0)
    pem = authority_of(made).certify(key.public_key(), name=name, role=role, hosts=("localhost",))
    (startup / f"{own}.crt").write_text(pem)


def test_an_expired_certificate_of_the_server_is_named(made, site, monkeypatch):
    startup = made / "consortium" / SERVER / "startup"
    expire(made, startup, "server", SERVER, "server", monkeypatch)
    with server(startup) as port:
        lead_to(site, "localhost", port)
        found = findings(site)
    assert list(found) == ["TLS"]
    assert "certificate has expired" in found["TLS"].text
    said = command("consortium", "check", made / "consortium" / "job.toml", status=3)
    assert f"{WRONG} certificate: {startup}/server.crt: the certificate of server ended on " in said


def test_an_expired_certificate_of_the_site_is_named_and_nothing_is_started(made, site, monkeypatch):
    expire(made, kit_of(site) / "startup", "client", NAMES[0], "client", monkeypatch)
    with server(made / "consortium" / SERVER / "startup") as port:
        lead_to(site, "localhost", port)
        found = findings(site)
    assert list(found) == ["certificate", "TLS"]
    assert "client.crt: the certificate of hospital-a ended on " in found["certificate"].text
    assert "make a new consortium" in found["certificate"].advice
    assert "ended on" in command("consortium", "start", site, status=3)


def test_a_certificate_that_ends_soon_is_said(made, site, monkeypatch):
    monkeypatch.setattr(checks, "_SOON_DAYS", 1100)
    (one,) = (one for one in runs.look_at(site) if one.text.startswith("certificate"))
    assert one.holds
    assert one.text.endswith("; all sites need a new consortium before")


def test_a_certificate_of_tomorrow_says_the_time_of_the_clock(made, site, monkeypatch):
    monkeypatch.setattr(certificates, "_CLOCKS_DIFFER", timedelta(days=-2))
    expire(made, kit_of(site) / "startup", "client", NAMES[0], "client", monkeypatch)
    found = findings(site)["certificate"]
    assert "is not valid before" in found.text
    assert f"this machine's clock says {datetime.now(UTC).date()}" in found.text


def test_a_clock_that_is_wrong_is_named(made, site):
    with server(made / "consortium" / SERVER / "startup", late=timedelta(hours=1)) as port:
        lead_to(site, "localhost", port)
        found = findings(site)
    assert list(found) == ["clock"]
    assert found["clock"].text.startswith("clock: the coordinator's differs from this one by 3")


def test_a_held_lock_is_named(made, site):
    with only_one(kit_of(site)), server(made / "consortium" / SERVER / "startup") as port:
        lead_to(site, "localhost", port)
        said = command("consortium", "check", site, status=3)
    assert f"{WRONG} lock: {kit_of(site)}: another secfc consortium start or run uses this kit" in said
    assert said.count(WRONG) == 1


def test_a_full_disk_is_named(site, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=12_000_000))
    found = findings(site)["disk"]
    assert found.text == f"disk: 12.0 MB are free in {min(kit_of(site), site.parent)}"
    assert found.advice == "Free some space and run again."


def test_rows_that_do_not_fit_the_job_are_named_as_accept_does(site):
    rows = site.parent / "rows.csv"
    rows.write_text(rows.read_text().replace("99", "101"))
    found = findings(site)["rows"]
    told = command("job", "check", site, status=2)
    assert " ".join(found.text.removeprefix("rows: ").split()) in told


def test_a_signature_by_another_version_is_named(site):
    path = site.parent / "consortium" / "job.signatures"
    path.write_text(path.read_text().replace(f"protocol = {PROTOCOL}", "protocol = 99"))
    found = findings(site)["signature"]
    assert "its signature was made by secfc 0.1.0, protocol 99; this is secfc 0.1.0, protocol" in found.text


def test_who_has_not_signed_is_told_what_to_do(made):
    accept(made, NAMES[1], status=0)
    site = made / NAMES[1] / "site.toml"
    found = findings(site)["signature"]
    assert "hospital-b: not signed" in found.text
    assert found.advice == f"Read the job, then: secfc job sign {site}"


def test_a_site_without_a_kit_is_one_clear_error(made):
    assert "no startup kit" in command("consortium", "check", made / NAMES[1] / "site.toml", status=2)


# The coordinator


@pytest.fixture
def job(made):
    """The job file of a coordinator that has all signatures; the port of its kit is free."""
    for name in NAMES:
        accept(made, name, status=0)
        command("job", "sign", made / name / "site.toml")
    path = made / "consortium" / "job.toml"
    command("job", "collect", path, *(made / name / "consortium" / "job.signatures" for name in NAMES))
    with socket.socket() as listener:
        listener.bind(("", 0))
        port = listener.getsockname()[1]
    file = path.parent / SERVER / "startup" / "fed_server.json"
    file.write_text(file.read_text().replace(":8002", f":{port}"))
    return path


def test_at_the_coordinator_every_point_holds(job):
    said = command("consortium", "check", job)
    assert WRONG not in said
    assert "holds signatures: all 3 parties have signed the job" in said
    assert "holds name: localhost is " in said
    assert " of this machine is free" in said


def test_who_has_not_signed_is_named_at_the_coordinator(job):
    path = job.with_name("job.signatures")
    first, *entries = path.read_text().split("[[signature]]")
    path.write_text("[[signature]]".join([first, *(one for one in entries if NAMES[1] not in one)]))
    found = findings(job)
    assert list(found) == ["signatures"]
    assert "hospital-b (not signed)" in found["signatures"].text


def test_a_port_in_use_is_named_at_the_coordinator(job):
    file = job.parent / SERVER / "startup" / "fed_server.json"
    port = int(json.loads(file.read_text())["servers"][0]["service"]["target"].partition(":")[2])
    with socket.create_server(("", port)):
        found = findings(job)
    assert list(found) == ["port"]
    assert found["port"].text == f"port: port {port} of this machine is in use"


def test_a_consortium_of_another_version_is_named_at_the_coordinator(job):
    path = job.with_name("consortium.toml")
    path.write_text(path.read_text().replace(f"protocol = {PROTOCOL}", "protocol = 99", 1))
    said = command("consortium", "check", job, status=3)
    assert "protocol 99; this is secfc 0.1.0, protocol" in said


def test_during_a_run_the_coordinator_sees_who_is_not_connected(job):
    kit = job.parent / SERVER
    with only_one(kit):
        line = "2026-11-28 21:59:53,026 - conn_manager - INFO - "
        line += "Connection [CN0000{} 1 <= 2 SSL {}] is {} PID: 7\n"
        lines = [line.format(at, name, "created:") for at, name in enumerate(NAMES)]
        lines.append(line.format(1, NAMES[1], "closed"))
        (kit / "console.txt").write_text("".join(lines))
        found = findings(job)
    assert list(found) == ["lock", "sites"]
    assert found["sites"].text == "sites: not connected: hospital-b"


def test_points_come_one_by_one(site):
    """A wrong host takes seconds: what was found before is shown at once."""
    found = look_at_site(runs.read_site(site), kit_of(site))
    assert next(found).text.startswith("versions: ")
    found.close()
