"""A PostgreSQL server for tests: loopback only, password authentication, TLS; it ends with the tests."""

import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType

import psycopg
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support.tools import postgresql

HOST = "127.0.0.1"
USER = "reader"
_SECONDS = 300.0
_RUN = '"$@" & server=$!; read -r _; kill -INT $server; wait $server'
"""Ends the server quickly when its own standard input ends, so also when the tests are killed."""


class Postgres:
    """A server with a user that may read; `fill` makes databases.

    Attributes
    ----------
    folder : Path
        The server's folder, with `log` and the certificate `root.crt`.
    password : str
        Of the user "reader".
    """

    def __init__(self) -> None:
        self._programs = postgresql()
        self._account = _account()
        # Not in pytest's folder, which only its owner may enter. Names of sockets must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="secfc-pg-", dir="/tmp" if self._account else None))
        self.log = self.folder / "log"
        self.password = secrets.token_hex(12)
        self._admin_password = secrets.token_hex(12)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Postgres":
        try:
            self._start()
            with self._admin() as admin:
                admin.execute(f"CREATE ROLE {USER} LOGIN PASSWORD '{self.password}'")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def is_shown(self, text: str) -> bool:
        """Whether a text has the password or the port. Digests and numbers may have its digits."""
        text = re.sub(r'[0-9a-f]{32,}|"bytes": \d+', "", text)
        return self.password in text or bool(re.search(rf"(?<![\w.]){self.port}(?!\w|\.\d)", text))

    def fill(self, database: str, statements: Iterable[str]) -> str:
        """Make a database that the user may read and, within its permissions, change; return its URL."""
        with self._admin() as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {database}")
        with self._admin(database) as admin:
            for statement in statements:
                admin.execute(statement)
            admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {USER}")
        return f"postgresql://{HOST}:{self.port}/{database}"

    def count(self, database: str, table: str) -> int:
        with self._admin(database) as admin:
            (number,) = admin.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
        return int(number)

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which the driver finds a site's credentials."""
        return {"PGUSER": USER, "PGPASSWORD": self.password}

    def stop(self) -> None:
        """End the server and remove its folder."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                with suppress(OSError, ValueError):
                    os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), 9)
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _admin(self, database: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user="admin",
            password=self._admin_password,
            dbname=database,
            autocommit=True,
            connect_timeout=5,
        )

    def _start(self) -> None:
        data, password = self.folder / "data", self.folder / "password"
        password.write_text(self._admin_password)
        _write_certificate(self.folder)
        if self._account:
            for path in (self.folder, *self.folder.iterdir()):
                shutil.chown(path, *self._account)
        initialise = ["initdb", "-D", data, "-U", "admin", f"--pwfile={password}", "--auth=scram-sha-256"]
        initialise += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        done = self._popen(initialise, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        said, _ = done.communicate(timeout=_SECONDS * 2)
        assert done.returncode == 0, said.decode()
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": self.folder,
            "fsync": "off",
            "log_statement": "all",
            "ssl": "on",
            "ssl_cert_file": self.folder / "root.crt",
            "ssl_key_file": self.folder / "server.key",
        }
        serve = [
            "postgres",
            "-D",
            data,
            *(word for item in settings.items() for word in ("-c", "=".join(map(str, item)))),
        ]
        with self.log.open("wb") as log:
            self._process = self._popen(serve, ["sh", "-c", _RUN, "sh"], stdin=subprocess.PIPE, stdout=log)
        until = time.monotonic() + _SECONDS
        while True:
            try:
                self._admin().close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, self.log.read_text()
                assert time.monotonic() < until, self.log.read_text()
                time.sleep(0.05)

    def _popen(
        self, command: list[object], before: Iterable[str] = (), **streams: object
    ) -> "subprocess.Popen[bytes]":
        words = [*before, str(self._programs / str(command[0])), *map(str, command[1:])]
        user, group = self._account or (None, None)
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stderr=subprocess.STDOUT,
            user=user,
            group=group,
            extra_groups=[] if self._account else None,
            **streams,  # type: ignore[call-overload]
        )


def _account() -> tuple[int, int] | None:
    """The account that runs the server. None: the current one. PostgreSQL refuses root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            found = pwd.getpwnam(name)
            return found.pw_uid, found.pw_gid
    raise AssertionError("neither the account postgres nor nobody exists")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def _write_certificate(folder: Path) -> None:
    """A self-signed certificate for the loopback address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "root.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    kept = folder / "server.key"
    kept.touch(mode=0o600)
    kept.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
