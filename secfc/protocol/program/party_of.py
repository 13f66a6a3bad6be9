"""The party of a job: its roles, its code and its keys."""

from collections.abc import Mapping

from secfc.crypto.randomness import MaskSource
from secfc.field.primes import primes_of
from secfc.kernels import Kernels
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages.accepted import most_held_bytes
from secfc.protocol.parties.inbox import Inbox
from secfc.protocol.parties.party import COORDINATOR, Party, Roles
from secfc.sharing.codewords import Codewords


def roles_of(job: Job) -> Roles:
    """Who does what in a job. With disclosure "coded" the coordinator alone does what comparers do."""
    dealer, first, second = job.comparers or (COORDINATOR,) * 3
    return Roles(n=job.n, dealer=dealer, first=first, second=second)


def party_of(
    job: Job,
    planned: Layout,
    number: int,
    *,
    masks: MaskSource,
    kernels: Kernels,
    transcript: bytes,
    secrets: Mapping[int, bytes],
) -> Party:
    """A client, helper, or the coordinator, before its first step. `secrets` are as in `Party`."""
    roles = roles_of(job)
    may_lie = frozenset(roles.holders) - {*roles.comparers} if job.max_liars else frozenset[int]()
    primes = primes_of(job.residues(planned.weight))
    most = most_held_bytes(job, planned.m, len(primes))
    return Party(
        number=number,
        roles=roles,
        code=Codewords(n=job.n, t=job.t, ell=job.ell, primes=primes),
        kernels=kernels,
        masks=masks,
        transcript=transcript,
        secrets=secrets,
        inbox=Inbox(frozenset(roles.everybody), may_lie, most=most),
        max_liars=job.max_liars,
    )
