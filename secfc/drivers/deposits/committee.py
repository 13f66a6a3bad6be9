"""Owners of rows and a committee on one machine. Owners deposit before the run and open labels after it."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from secfc.agreement.deposits.complete import Complete, complete
from secfc.crypto.identity import KEY_BYTES, Identity, Roster
from secfc.field.array_types import Floats, Labels
from secfc.kernels import Kernels, choose
from secfc.kernels.threads import ALONE, LEAST, Found, Item, Threads
from secfc.protocol.job.cases import Deposited
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import RUN_ID_BYTES
from secfc.sharing.deposits import Call, Intake, Owner, label_shares_of, sealed_labels_of

_TOGETHER = 256
"""Owners whose deposits are made before members take them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Committee:
    """The owners of a run, and the deposits of its members, member 1 first."""

    call: Call
    keys: list[bytes] = field(repr=False)  # private keys of server, members and helpers
    owners: dict[int, Owner] = field(repr=False)  # those with rows
    intakes: list[Intake]
    deposits: list[list[bytes]] = field(repr=False)  # per member, for processes of their own
    complete: Complete
    threads: Threads

    @classmethod
    def of(cls, job: Job, rows: Sequence[Floats], *, keeps: bool, threads: Threads = ALONE) -> "Committee":
        """Owners deal `rows`, one array an owner, to the clients of a job.

        Members take deposits here and check them. With `keeps` they have processes of their own that do so:
        deposits are kept for these, and the job says what honest members will find.
        """
        most = tuple(own.shape[0] for own in rows)
        keys = [secrets.token_bytes(KEY_BYTES) for _ in range(job.parties + 1)]
        server, *parties = (Identity(key) for key in keys)
        roster = Roster(tuple(party.public for party in parties), server.public)
        session = job.session(roster, secrets.token_bytes(RUN_ID_BYTES))
        each = partial(_each, threads)
        identities = each(lambda _: Identity(), rows)
        call = Call(job=job, session=session, keys=tuple(one.public for one in identities), most_rows=most)
        kernels = kernels_of(job, sum(most))
        intakes = [
            Intake(call, number=j, identity=member, kernels=kernels)
            for j, member in enumerate(() if keeps else parties[: job.n], 1)
        ]
        deposits: list[list[bytes]] = [[] for _ in range(job.n)]

        def deal(number: int) -> tuple[Owner, list[bytes]]:
            identity, own = identities[number - 1], rows[number - 1]
            owner = Owner(call, number=number, identity=identity, rows=own, kernels=kernels)
            return owner, owner.deposit()

        def take(member: int) -> None:
            for deposit in deposits[member]:
                intakes[member].take(deposit)
            deposits[member].clear()

        owners: dict[int, Owner] = {}
        held: dict[int, tuple[int, bytes]] = {}
        numbers = [number for number, count in enumerate(most, 1) if count]
        for start in range(0, len(numbers), _TOGETHER):
            together = numbers[start : start + _TOGETHER]
            for number, (owner, dealt) in zip(together, each(deal, together), strict=True):
                owners[number], held[number] = owner, (most[number - 1], call.said(dealt[0]))
                for of_member, deposit in zip(deposits, dealt, strict=True):
                    of_member.append(deposit)
            if not keeps:
                threads.each(take, range(job.n), size=LEAST * len(together))
        # Where members take deposits elsewhere, all will hold what owners dealt.
        found = complete(call, {j: one.held for j, one in enumerate(intakes, 1)} or {1: held}, {})
        assert not found.left_out  # owners of this process deal as they should
        return cls(
            call=call,
            keys=keys,
            owners=owners,
            intakes=intakes,
            deposits=deposits,
            complete=found,
            threads=threads,
        )

    @property
    def job(self) -> Job:
        """The job with the deposits."""
        return replace(self.call.job, rows=Deposited(self.complete.owners, self.complete.deposits))

    def labels(self, sealed: Mapping[int, bytes]) -> dict[int, Labels]:
        """Labels of each owner's rows, opened from what members sealed. Empty if too few members sealed."""
        job = self.call.job
        if len(sealed) < label_shares_of(job):
            return {}
        of_members = {j: sealed_labels_of(self.complete.owners, sealed[j], job.k) for j in sorted(sealed)}

        def open_(number: int) -> Labels:
            return self.owners[number].open({j: found[number] for j, found in of_members.items()})

        numbers = [number for number in self.owners if self.complete.owners[number - 1]]
        return dict(zip(numbers, _each(self.threads, open_, numbers), strict=True))


def _each(threads: Threads, work: Callable[[Item], Found], owners: Sequence[Item]) -> list[Found]:
    """What `work` gives of each owner, who takes as long as the least that a thread is started for.

    Most of that are signatures and key agreements, during which other threads go on.
    """
    return threads.each(work, owners, size=LEAST * len(owners))


def kernels_of(job: Job, m: int) -> Kernels:
    """Kernels for owners and members in one process."""
    return choose(Layout((m,)).run_residues(job) * (job.parties + 1))
