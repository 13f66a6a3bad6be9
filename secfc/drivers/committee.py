"""Owners of rows and a committee on one machine. Owners deposit before the run and open labels after it."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from secfc.array_types import Floats, Labels
from secfc.kernels import Kernels, choose
from secfc.params import Job
from secfc.protocol.deposits import (
    Call,
    Complete,
    Intake,
    Owner,
    complete,
    copies_of,
    sealed_labels_of,
)
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.row_layout import Layout
from secfc.sealing.handshake import Session
from secfc.sealing.identity import KEY_BYTES, Identity, Roster


@dataclass(frozen=True, kw_only=True, eq=False)
class Committee:
    """The owners of a run, and the deposits of its members, member 1 first."""

    call: Call
    keys: list[bytes] = field(repr=False)  # private keys of server, members and helpers
    owners: dict[int, Owner] = field(repr=False)  # those with rows
    intakes: list[Intake]
    deposits: list[list[bytes]] = field(repr=False)  # per member, for processes of their own
    complete: Complete

    @classmethod
    def of(cls, job: Job, rows: Sequence[Floats], *, keeps: bool) -> "Committee":
        """Owners deal `rows`, one array per owner, to the clients of a job. `keeps` keeps their deposits."""
        most = tuple(own.shape[0] for own in rows)
        keys = [secrets.token_bytes(KEY_BYTES) for _ in range(job.parties + 1)]
        server, *parties = (Identity(key) for key in keys)
        roster = Roster(tuple(party.public for party in parties), server.public)
        session = Session.of(job=job, roster=roster, run=secrets.token_bytes(RUN_ID_BYTES))
        identities = [Identity() for _ in rows]
        call = Call(job=job, session=session, keys=tuple(one.public for one in identities), most_rows=most)
        kernels = kernels_of(job, sum(most))
        intakes = [
            Intake(call, number=j, identity=member, kernels=kernels)
            for j, member in enumerate(parties[: job.n], 1)
        ]
        owners: dict[int, Owner] = {}
        deposits: list[list[bytes]] = [[] for _ in intakes]
        for number, (own, identity) in enumerate(zip(rows, identities, strict=True), 1):
            if own.shape[0]:
                owners[number] = Owner(call, number=number, identity=identity, rows=own, kernels=kernels)
                for at, deposit in enumerate(owners[number].deposit()):
                    intakes[at].take(deposit)
                    if keeps:
                        deposits[at].append(deposit)
        found = complete(call, dict(enumerate(intakes, 1)))
        assert not found.left_out  # owners in this process deal correctly
        return cls(call=call, keys=keys, owners=owners, intakes=intakes, deposits=deposits, complete=found)

    @property
    def job(self) -> Job:
        """The job with the deposits."""
        return replace(self.call.job, owners=self.complete.owners, deposits=self.complete.deposits)

    def labels(self, sealed: Mapping[int, bytes]) -> dict[int, Labels]:
        """Labels of each owner's rows, opened from what members sealed. Empty if too few members sealed."""
        if len(sealed) < copies_of(self.call.job):
            return {}
        of_members = {j: sealed_labels_of(self.complete.owners, sealed[j]) for j in sorted(sealed)}
        return {
            number: owner.open({j: found[number] for j, found in of_members.items()})
            for number, owner in self.owners.items()
            if self.complete.owners[number - 1]
        }


def kernels_of(job: Job, m: int) -> Kernels:
    """Kernels for owners and members in one process."""
    return choose(Layout((m,)).run_residues(job) * (job.parties + 1))
