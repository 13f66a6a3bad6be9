"""What all parties of a run have in common, whether files say it or a simulation does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from secfc.errors import SecFCError
from secfc.params import Job
from secfc.public_errors import PublicError
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Roster

if TYPE_CHECKING:  # reading files takes a library that simulations do without
    from secfc.agreement.job_file import Agreement


@dataclass(frozen=True, kw_only=True)
class RunTerms:
    """The job, the parties and their keys."""

    job: Job
    names: tuple[str, ...]  # of the clients, client 1's first
    roster: Roster
    digest: bytes  # of the agreement, with whose deposits count
    prepares: bool = False  # whether clients open means and deviations of all values before anything else
    simulated: bool = False  # whether one caller owns all parties' data: texts of errors may leave a party

    @classmethod
    def of(cls, agreement: "Agreement") -> Self:
        """The terms of an agreement."""
        return cls(
            job=agreement.job,
            names=agreement.names,
            roster=agreement.consortium.roster,
            digest=agreement.run_digest,
            prepares=bool(agreement.opened),
        )

    @classmethod
    def of_simulation(cls, job: Job, names: tuple[str, ...], roster: Roster) -> Self:
        """The terms of a simulation; its agreement is the job and the roster."""
        digest = Session.of(job=job, roster=roster, run=b"").agreement
        return cls(job=job, names=names, roster=roster, digest=digest, simulated=True)

    def session(self, run: bytes) -> Session:
        """A run on these terms."""
        return Session(run=run, agreement=self.digest, roster=self.roster)

    def told(self, error: SecFCError) -> dict[str, Any]:
        """What a party tells the coordinator of an error, as JSON takes it."""
        told = PublicError.of(error).to_json()
        return told | {"text": str(error)} if self.simulated else told

    def error_of(self, said: Mapping[str, Any], client: int) -> SecFCError:
        """The error that a client told; in a simulation, where all files are the caller's, with its text."""
        name, found = self.names[client - 1], PublicError.read(said)
        if not self.simulated:
            return found.said_by(client, name=name)
        text = str(said.get("text"))
        return found.error(text if text.startswith(name) else f"{name}: {text}")
