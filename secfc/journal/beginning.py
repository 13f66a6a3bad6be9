"""How a party begins a run, or goes on with it: its secrets are drawn and written down, or read again."""

import json
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import secfc
from secfc.errors import StorageError
from secfc.journal.journal import Journal
from secfc.journal.records import Buffer
from secfc.journal.run_log import RunLog

Kept = TypeVar("Kept", Journal, RunLog)

_DIGEST_KEY_BYTES = 32
_LENGTH_BYTES = 8


def open_journal(
    kind: type[Kept],
    path: Path,
    *,
    run: str,
    party: int,
    given: Iterable[Buffer],
    sizes: Mapping[str, int],
    begun: bool,
) -> tuple[Kept, dict[str, bytes]]:
    """The journal of a party in a run, begun or gone on with, and the party's secrets.

    Parameters
    ----------
    kind : type
        Of the journal.
    path : Path
    run : str
        Identifier in hexadecimal.
    party : int
    given : iterable of bytes-like
        Everything that the party's messages depend on besides its secrets and the frames that it takes. With
        anything else under the same secrets, two messages under one mask would tell their difference.
    sizes : mapping of str to int
        Names of the secrets and their bytes.
    begun : bool
        Whether the party is known to have one.

    Raises
    ------
    StorageError
        When the journal is of another run, party, program or input, or is gone.
    """
    journal = kind.resume(path)
    if journal is None:
        if begun:
            raise StorageError(f"{path}: there is no journal, though the party had begun one")
        drawn = {name: secrets.token_bytes(size) for name, size in sizes.items()}
        drawn["digest"] = secrets.token_bytes(_DIGEST_KEY_BYTES)
        header = {
            "version": secfc.__version__,
            "run": run,
            "party": party,
            "began": datetime.now(UTC).isoformat(timespec="seconds"),
            "given": _digest(given, drawn["digest"]),
            "secrets": {name: secret.hex() for name, secret in drawn.items()},
        }
        return kind.begin(path, header), drawn
    try:
        return journal, _checked(journal, run=run, party=party, given=given, names=sizes.keys())
    except BaseException:
        journal.close()
        raise


def _checked(
    journal: Journal | RunLog, *, run: str, party: int, given: Iterable[Buffer], names: Iterable[str]
) -> dict[str, bytes]:
    header: dict[str, Any] = journal.header
    expected = {"version": secfc.__version__, "run": run, "party": party}
    for name, value in expected.items():
        if header.get(name) != value:
            raise StorageError(f"{journal.path}: {name} {header.get(name)!r}, not {value!r}")
    drawn = {name: bytes.fromhex(secret) for name, secret in header["secrets"].items()}
    if header["given"] != _digest(given, drawn["digest"]):
        raise StorageError(
            f"{journal.path}: the party was begun with other rows, labels, IDs, limits or another job"
        )
    if not set(names) <= drawn.keys():
        raise StorageError(f"{journal.path}: it lacks secrets")
    return drawn


def _digest(given: Iterable[Buffer], key: bytes) -> str:
    """Keyed, so that it alone tells nothing of the rows."""
    digest = blake2b(key=key)
    for one in given:
        digest.update(len(one).to_bytes(_LENGTH_BYTES, "little"))
        digest.update(one)
    return digest.hexdigest()


def as_bytes(value: Any) -> bytes:
    """A value as JSON takes it, as bytes for `given`."""
    return json.dumps(value, sort_keys=True).encode()
