"""A union with all parties in one process: the reference for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Ints
from secfc.psu.plan import UnionPlan
from secfc.psu.prime import Elements
from secfc.psu.roles import UnionClient, UnionServer
from secfc.psu.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class United:
    """The result of a union.

    Attributes
    ----------
    m : int
        IDs of the union.
    rows : list of ndarray of shape (m_j,), int64
        For each party, the rows of its IDs, in their order.
    bytes_dealt, bytes_opened : int
        Between clients, and from clients to the server.
    stages : int
    """

    m: int
    rows: list[Ints] = field(repr=False)
    bytes_dealt: int
    bytes_opened: int
    stages: int


def unite(plan: UnionPlan, parties: Sequence[Tokens]) -> United:
    """Run the union to its end.

    Raises
    ------
    DuplicateIdError, UnionError
        See `secfc.psu.course`.
    """
    server = UnionServer(plan)
    clients = [
        UnionClient(number=j, plan=plan, tokens=tokens, masks=MaskSource())
        for j, tokens in enumerate(parties, start=1)
    ]
    dealt = opened = 0
    while not server.course.finished:
        checking = server.checking
        for part in range(server.parts):
            shares = opened_by(clients, part)
            for role in (server, *clients) if checking else (server,):
                role.open(part, shares)
            dealt += plan.n * (plan.n - 1) * 8 * server.dealt_size(part)
            opened += sum(share.nbytes for share in shares.values())
        found = None if checking else server.found()
        for role in (server, *clients):
            if found is None:
                role.take_verdict()
            else:
                role.take_found(found)
    return United(
        m=server.course.m,
        rows=[client.rows() for client in clients],
        bytes_dealt=dealt,
        bytes_opened=opened,
        stages=server.course.number,
    )


def opened_by(clients: Sequence[UnionClient], part: int) -> dict[int, Elements]:
    """The share of each client of what is opened of a part."""
    dealt = {client.number: client.deal(part).shares for client in clients}
    return {
        client.number: client.opening(
            part, {dealer: shares[client.number - 1] for dealer, shares in dealt.items()}
        )
        for client in clients
    }
