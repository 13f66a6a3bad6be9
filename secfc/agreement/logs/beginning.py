"""Starts or resumes a party's run: its secrets are drawn and written, or read again."""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from secfc.agreement.logs.disk import Buffer
from secfc.agreement.logs.run_log import RunLog
from secfc.crypto.randomness import KEY_BYTES
from secfc.errors import StorageError

_DIGEST_BYTES = 32
_LENGTH_BYTES = 8


def open_log(
    path: Path,
    *,
    run: str,
    party: int,
    given: Iterable[Buffer],
    names: Sequence[str],
    more: Mapping[str, Any] | None = None,
) -> tuple[RunLog, dict[str, bytes]]:
    """The log of a party in a run, new or resumed, and the party's secrets.

    `given` is everything that the party's messages depend on, except its secrets and the calls that it takes.
    With other input under the same secrets, two messages under one mask would reveal their difference.
    `names` are those of the secrets, of `KEY_BYTES` each. `more` are further values of a new log's header.

    Raises StorageError if the log is of another run, party, program or input.
    """
    log = RunLog.resume(path)
    if log is None:
        drawn = {name: secrets.token_bytes(KEY_BYTES) for name in (*names, "digest")}
        header = {
            "run": run,
            "party": party,
            "given": keyed_digest(given, drawn["digest"]),
            "secrets": {name: secret.hex() for name, secret in drawn.items()},
            **(more or {}),
        }
        return RunLog.begin(path, header), drawn
    begun = log.header
    try:
        for name, value in {"run": run, "party": party}.items():
            if begun[name] != value:
                raise StorageError(f"{path}: {name} {begun[name]!r}, not {value!r}")
        drawn = {name: bytes.fromhex(secret) for name, secret in begun["secrets"].items()}
        if begun["given"] != keyed_digest(given, drawn["digest"]):
            raise StorageError(
                f"{path}: the party was started with other rows, labels, IDs, limits or another job"
            )
        if not set(names) <= drawn.keys():
            raise StorageError(f"{path}: it lacks secrets")
    except BaseException:
        log.close()
        raise
    return log, drawn


def keyed_digest(pieces: Iterable[Buffer], key: bytes) -> str:
    """A digest of pieces and their lengths, in hexadecimal. Without the key it reveals nothing about rows."""
    digest = blake2b(key=key, digest_size=_DIGEST_BYTES)
    for one in pieces:
        digest.update(len(one).to_bytes(_LENGTH_BYTES, "little"))
        digest.update(one)
    return digest.hexdigest()


def as_bytes(value: Any) -> bytes:
    """A JSON value as bytes for `given`."""
    return json.dumps(value, sort_keys=True).encode()
