"""The common data of all parties of a run, from files or from a simulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from secfc.agreement.public_errors import PublicError
from secfc.crypto.handshake import Session
from secfc.crypto.identity import Roster
from secfc.errors import SecFCError
from secfc.protocol.job.job import Job

if TYPE_CHECKING:  # this module imports a library that simulations do not need
    from secfc.agreement.job_file import Agreement


@dataclass(frozen=True, kw_only=True)
class RunTerms:
    """The job, the parties and their keys."""

    job: Job
    names: tuple[str, ...]  # of the parties, client 1 first
    roster: Roster
    digest: bytes  # `Agreement.run_digest`: of the agreement and the deposits that count
    simulated: bool = False  # whether one caller owns all data: then error texts may leave a party

    @classmethod
    def of(cls, agreement: "Agreement") -> Self:
        """The terms of an agreement."""
        return cls(
            job=agreement.job,
            names=agreement.names,
            roster=agreement.consortium.roster,
            digest=agreement.run_digest,
        )

    @classmethod
    def of_simulation(cls, job: Job, names: tuple[str, ...], roster: Roster) -> Self:
        """The terms of a simulation. Its agreement is the job and the roster."""
        digest = job.session(roster, b"").agreement
        return cls(job=job, names=names, roster=roster, digest=digest, simulated=True)

    def session(self, run: bytes) -> Session:
        """The session of a run on these terms."""
        return Session(run=run, agreement=self.digest, roster=self.roster)

    def told(self, error: SecFCError) -> dict[str, Any]:
        """A party's message to the coordinator about an error, as JSON values."""
        told = PublicError.of(error).to_json()
        return told | {"text": str(error)} if self.simulated else told

    def error_of(self, said: Mapping[str, Any], client: int) -> SecFCError:
        """The error that a client reported. Its text is kept only in a simulation: its data has one owner."""
        name, found = self.names[client - 1], PublicError.read(said)
        if not self.simulated:
            return found.said_by(client, names=self.names)
        text = str(said.get("text"))
        return found.error(text if text.startswith(name) else f"{name}: {text}")
