"""What a run needs of a machine: its files, space, and the connection to the coordinator.

Each point has one function, which says what it found, or raises the error for what is wrong.
`secfc consortium start` and `run` need the points of `site_is_ready` and `coordinator_is_ready`.
`secfc consortium check` shows these and all others, and says what to do.

FLARE's own preflight is not used (docs/decisions/014-flare.md).
"""

import os
import shutil
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

from secfc.agreement.audit import Finding
from secfc.agreement.check import check_site
from secfc.agreement.job_file import read_job
from secfc.agreement.key_files import COORDINATOR_KEY, read_key
from secfc.agreement.signatures import check_signed, read_signatures, signatures_path, standing
from secfc.agreement.site_file import Site
from secfc.drivers.flare.certificates import AUTHORITY, check_certified
from secfc.drivers.flare.flare_processes import ServerProcess, in_use, target_of, used
from secfc.drivers.flare.hand_overs import read_consortium
from secfc.drivers.flare.kits import SERVER, check_path
from secfc.drivers.flare.run_state import contacts
from secfc.drivers.flare.setting_up import CONSORTIUM
from secfc.errors import AgreementError, ParameterError, PartyError, SecFCError, StorageError
from secfc.errors.codes import Code
from secfc.tables.number_texts import bytes_text
from secfc.version import PROTOCOL, VERSION

_LEAST_FREE = 1 << 30  # bytes; FLARE's logs and the labels of a million rows are a tenth of it
_CONNECT_SECONDS = 10.0
_CLOCKS_DIFFER = 300.0  # seconds; they decide the last day of job and certificates, and date statements
_SOON_DAYS = 60
_MOST_ANSWER = 1 << 12  # bytes of a server's answer that are read


@dataclass(frozen=True)
class Point:
    """One thing that must hold. `look` says what it found, or raises the error for what is wrong."""

    what: str
    look: Callable[[], str]
    advice: str = ""  # instead of the advice of the error's code

    def finding(self) -> Finding:
        """What was found, and what to do if it does not hold."""
        try:
            return Finding(holds=True, text=f"{self.what}: {self.look()}")
        except SecFCError as error:
            advice = self.advice or error.code.advice
            return Finding(holds=False, text=f"{self.what}: {error}", code=error.code, advice=advice)


def check_all(points: Sequence[Point]) -> None:
    """Raise the error of the first point that does not hold."""
    for point in points:
        point.look()


def site_is_ready(site: Site, kit: Path) -> list[Point]:
    """What `start` needs at a site, except for rows, which the run itself checks."""
    agreement = cache(partial(read_job, site.job))

    def key() -> str:
        number = agreement().consortium.number_of(site.party, read_key(site.key).public, file=site.key)
        return f"that of client {number} in the roster"

    def signature() -> str:
        state = standing(agreement(), read_signatures(signatures_path(site.job))).get(site.party)
        if state != "signed":
            text = f"{site.party}: {state or 'no party of the job'}; see secfc job sign"
            raise AgreementError(text, code=Code.NOT_SIGNED)
        return f"{site.party} has signed the job {agreement().digest.hex()[:16]}"

    def limits() -> str:
        site.check(agreement())
        return "they allow the job"

    sign = f"Read the job, then: secfc job sign {site.path}"
    return [
        Point("path", partial(_path, kit)),
        Point("certificate", partial(_certificate, kit, own="client", party=site.party)),
        Point("key", key),
        Point("signature", signature, sign),
        Point("limits", limits),
    ]


def coordinator_is_ready(job: Path) -> list[Point]:
    """What `run` needs at the coordinator. `job` is the job file in the consortium's folder."""
    folder = job.absolute().parent
    kit, agreement = folder / SERVER, cache(partial(read_job, job))

    def key() -> str:
        path = folder / COORDINATOR_KEY
        agreement().consortium.check_coordinator(read_key(path).public, file=path)
        return "that of the coordinator in the roster"

    def signatures() -> str:
        check_signed(agreement(), signatures_path(job))
        return f"all {len(agreement().names)} parties have signed the job {agreement().digest.hex()[:16]}"

    collect = f"Ask them for their signatures, then: secfc job collect {job} FILE..."
    return [
        Point("key", key),
        Point("path", partial(_path, kit)),
        Point("certificate", partial(_certificate, kit, own="server", party=SERVER)),
        Point("signatures", signatures, collect),
    ]


def look_at_site(site: Site, kit: Path) -> Iterator[Finding]:
    """Everything that a site can check, one finding after the other."""

    def rows() -> str:
        found = check_site(site).rows.table.rows
        return "none are needed" if site.source is None else f"{found.shape[0]} rows fit the job"

    folders = [kit, site.results, *(() if site.storage is None else (site.storage,))]
    points = [
        Point("versions", _versions),
        *site_is_ready(site, kit),
        Point("rows", rows),
        Point("lock", partial(_lock, kit)),
        Point("disk", partial(_space, folders)),
    ]
    yield from (point.finding() for point in points)
    yield from _connection(kit)


def look_at_coordinator(job: Path, kit: Path, admin: Path) -> Iterator[Finding]:
    """Everything that the coordinator can check, one finding after the other."""
    server = ServerProcess(kit, admin)

    def consortium() -> str:
        schema, _ = read_consortium(job.with_name(CONSORTIUM))
        return f"made by secfc {schema.secfc}, protocol {schema.protocol}"

    def port() -> str:
        server.check_port()
        return f"{target_of(kit, 'server')[1]} of this machine is free"

    def sites() -> str:
        connected = {name for name, one in contacts(server.said()).items() if one.connected}
        if missing := [name for name in read_job(job).names if name not in connected]:
            raise PartyError(f"not connected: {', '.join(missing)}", code=Code.PARTY_VANISHED)
        return "all are connected"

    def name() -> str:
        return _address(read_consortium(job.with_name(CONSORTIUM))[0].host)

    ask = "Ask them to run secfc consortium check and secfc consortium start."
    points = [
        Point("versions", _versions),
        Point("consortium", consortium),
        *coordinator_is_ready(job),
        Point("disk", partial(_space, [kit, job.absolute().parent])),
        Point("name", name, "Compare --host of secfc consortium new with the name of this machine."),
    ]
    if in_use(kit):
        points += [Point("lock", partial(_lock, kit)), Point("sites", sites, ask)]
    else:
        other = "End the other program, or make a consortium with another --port."
        points.append(Point("port", port, other))
    yield from (point.finding() for point in points)


def _connection(kit: Path) -> Iterator[Finding]:
    """The way to the coordinator's server. After the first point that does not hold, no other can."""
    host, port = target_of(kit, "client")
    answers: list[bytes] = []

    def reach() -> str:
        begun = time.monotonic()
        try:
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError as error:
            why = "nothing answers" if isinstance(error, TimeoutError) else error.strerror
            raise PartyError(f"port {port} of {host}: {why}", code=Code.PARTY_VANISHED) from None
        return f"port {port} of {host} answers within {1000 * (time.monotonic() - begun):.0f} ms"

    def greet() -> str:
        answers.append(_greeted(kit / "startup", host, port))
        return "both certificates were accepted"

    def clock() -> str:
        return _difference(answers[0])

    unknown = "Ask the coordinator for its name, or your network for its entry."
    closed = (
        f"If secfc consortium run is running at the coordinator, ask for a way to its port {port} through "
        "all firewalls, without a proxy; else wait until it runs."
    )
    refused = (
        "Something between you and the coordinator answers instead of it, or a clock is wrong, or a "
        "certificate is of another consortium."
    )
    for point in (
        Point("name", partial(_address, host), unknown),
        Point("connection", reach, closed),
        Point("TLS", greet, refused),
        Point("clock", clock, "Set the clock of the machine that is wrong, by NTP."),
    ):
        found = point.finding()
        yield found
        if not found.holds:
            return


def _versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("nvflare", "cryptography", "numpy"))
    return f"secfc {VERSION}, protocol {PROTOCOL}, {libraries}"


def _path(kit: Path) -> str:
    check_path(kit)
    return f"FLARE can use {kit}"


def _certificate(kit: Path, *, own: str, party: str) -> str:
    last = check_certified(kit / "startup", own=own, party=party)
    left = (last - datetime.now(UTC).date()).days
    soon = "; all sites need a new consortium before" if left < _SOON_DAYS else ""
    return f"valid until {last.isoformat()}{soon}"


def _lock(kit: Path) -> str:
    if in_use(kit):
        raise used(kit)
    return f"no other command uses {kit}"


def _space(folders: Sequence[Path]) -> str:
    least: tuple[int, Path] | None = None
    for folder in folders:
        near = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
        if not os.access(near, os.W_OK):
            raise ParameterError(f"{near} may not be written to", code=Code.UNWRITABLE)
        free = shutil.disk_usage(near).free
        least = min(least or (free, near), (free, near))
    assert least is not None
    free, near = least
    if free < _LEAST_FREE:
        raise StorageError(f"{bytes_text(free)} are free in {near}", code=Code.DISK_FULL)
    return f"{bytes_text(free)} are free in {near}"


def _address(host: str) -> str:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "not a name"
        raise PartyError(f"{host}: {why}", code=Code.PARTY_VANISHED) from None
    return f"{host} is {', '.join(sorted({str(one[4][0]) for one in found}))}"


def _greeted(startup: Path, host: str, port: int) -> bytes:
    """The server's answer to a request that is none of FLARE's: it has the time of the server's clock."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # as FLARE, which takes every server with a certificate of the authority
    server = f"port {port} of {host}"
    try:
        context.load_verify_locations(startup / AUTHORITY)
        context.load_cert_chain(startup / "client.crt", startup / "client.key")
        with (
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as secure,
        ):
            secure.sendall(b"HEAD / HTTP/1.1\r\nHost: secfc\r\nConnection: close\r\n\r\n")
            if answer := secure.recv(_MOST_ANSWER):  # the server refuses a certificate only now
                return answer
            raise PartyError(f"{server}: it closed the connection", code=Code.PARTY_VANISHED)
    except ssl.SSLCertVerificationError as error:
        code = Code.EXPIRED if "expired" in error.verify_message else Code.BAD_SIGNATURE
        raise AgreementError(f"{server}: its certificate: {error.verify_message}", code=code) from None
    except OSError as error:
        why = (
            (isinstance(error, ssl.SSLError) and error.reason) or error.strerror or "it closed the connection"
        )
        raise PartyError(f"{server}: {why}", code=Code.PARTY_VANISHED) from None


def _difference(answer: bytes) -> str:
    """How much the server's clock differs from this machine's."""
    for line in answer.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "date":
            with suppress(ValueError, TypeError):
                seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
                text = f"the coordinator's differs from this one by {abs(seconds):.0f} s"
                if abs(seconds) > _CLOCKS_DIFFER:
                    raise PartyError(text)
                return text
    return "the coordinator does not say its time"
