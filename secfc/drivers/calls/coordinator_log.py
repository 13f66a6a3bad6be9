"""The coordinator's log of a run: the answers of sites, for a process that continues the run.

A site's answer is on the disk before it has any effect. The server draws only from the secrets in the log's
header, so the same answers in the same order cause the same messages to every site.
"""

import json
import secrets
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from secfc.agreement.logs.run_log import Entry, RunLog
from secfc.agreement.public_errors import PublicError
from secfc.crypto.randomness import KEY_BYTES, MaskSource
from secfc.drivers.calls.envelopes import Answer, decode_answer
from secfc.errors import SecFCError
from secfc.protocol.messages import RUN_ID_BYTES

if TYPE_CHECKING:  # this module imports a library that simulations do not need
    from secfc.agreement.job_file import Agreement


class Noted(StrEnum):
    """Kinds of entries."""

    ANSWER = "answer"  # of a client
    LOST = "lost"  # a lost client, and why
    BACK = "back"  # a lost client whose answers are taken again


class CoordinatorLog:
    """An open log."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        header = log.header
        self.begun: dict[str, Any] = header["begun"]  # the driver's own data for continuing
        self.run = bytes.fromhex(header["run"])
        self.secret = MaskSource(bytes.fromhex(header["secret"]))  # the server's, from its first position

    @classmethod
    def begin(cls, path: Path, *, run: bytes, begun: dict[str, Any]) -> Self:
        """The log of a new run."""
        header = {"run": run.hex(), "secret": secrets.token_hex(KEY_BYTES), "begun": begun}
        return cls(RunLog.begin(path, header))

    @classmethod
    def resume(cls, path: Path) -> Self | None:
        """The log of a run that has not ended, or None. Raises the errors of `RunLog.resume`."""
        log = RunLog.resume(path)
        return None if log is None else cls(log)

    def answers(self, taken: list[tuple[int, Answer]]) -> None:
        """Write answers of clients in the order in which they take effect. On the disk on return."""
        for client, answer in taken:
            self._log.append(Entry(kind=Noted.ANSWER, client=client, body=answer.encode()))
        self._log.commit()

    def lost(self, client: int, error: SecFCError) -> None:
        """Write that the run will continue without a client. On the disk on return."""
        body = json.dumps({**PublicError.of(error).to_json(), "text": str(error)}).encode()
        self._log.append(Entry(kind=Noted.LOST, client=client, body=body))
        self._log.commit()

    def back(self, clients: Iterable[int]) -> None:
        """Write that lost clients are heard again. On the disk on return."""
        for client in clients:
            self._log.append(Entry(kind=Noted.BACK, client=client))
        self._log.commit()

    def entries(self) -> Iterator[tuple[Noted, int, Any]]:
        """The entries that another process applies again, in order: kind, client, value."""
        for entry in self._log.entries():
            kind = Noted(entry.kind)
            value: Answer | SecFCError | None = None
            if kind is Noted.ANSWER:
                value = decode_answer(entry.body)
            elif kind is Noted.LOST:
                said = json.loads(entry.body)
                value = PublicError.read(said).error(said["text"])
            yield kind, entry.client, value

    def close(self) -> None:
        """Close the log and keep its file."""
        self._log.close()

    def remove(self) -> None:
        """Delete the log: the run has ended."""
        self._log.remove()


def bound_run(agreement: "Agreement", logs: Path | None) -> tuple[CoordinatorLog | None, "Agreement", bytes]:
    """The log of a job's run, the run's agreement and its identifier. Without a folder for logs it is new.

    With it a run that has not ended goes on. It stays bound to the deposits with which it began, so the store
    is not read.
    """
    path = None if logs is None else logs / log_name(agreement)
    log = None if path is None else CoordinatorLog.resume(path)
    agreement = _with_deposits(agreement, None if log is None else log.begun)
    run = secrets.token_bytes(RUN_ID_BYTES) if log is None else log.run
    if log is None and path is not None:
        log = CoordinatorLog.begin(path, run=run, begun={"deposits": agreement.deposit_values})
    return log, agreement, run


def agreement_of_run(agreement: "Agreement", logs: Path | None) -> "Agreement":
    """The agreement to which `bound_run` binds the job's run, with its folder of logs, if any."""
    header = None if logs is None else RunLog.header_of(logs / log_name(agreement))
    return _with_deposits(agreement, None if header is None else header["begun"])


def _with_deposits(agreement: "Agreement", begun: dict[str, Any] | None) -> "Agreement":
    from secfc.agreement.deposits.holdings import deposited  # noqa: PLC0415 (simulations do not need its library)

    if begun is None:
        return deposited(agreement)
    values = begun["deposits"]
    return agreement.with_deposits(*values) if values else agreement


def log_name(agreement: "Agreement") -> str:
    """The name of the log of a job's run."""
    return f"{agreement.digest.hex()}.log"
