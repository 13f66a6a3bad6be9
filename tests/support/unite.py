"""A union with all parties in one process: the reference for tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Ints
from secfc.psu.plan import UnionPlan
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
    while not server.finished:
        for part in range(server.parts):
            for client in clients:
                shares = client.deal(part).shares
                for other in clients:
                    if other is not client:
                        other.take(client.number, part, shares[other.number - 1])
                dealt += shares.nbytes - shares[0].nbytes
            for client in clients:
                share = client.opening(part)
                server.take(client.number, part, share)
                opened += share.nbytes
        said = server.conclude()
        for client in clients:
            if isinstance(said, bool):
                client.take_verdict(said)
            else:
                client.take_found(said)
    return United(
        m=server.m,
        rows=[client.rows() for client in clients],
        bytes_dealt=dealt,
        bytes_opened=opened,
        stages=server.stage,
    )
