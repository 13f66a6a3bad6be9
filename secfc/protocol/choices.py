"""Public choices with disclosure "labels" follow from the job's seed or from a coin of the comparers.

Every party computes them itself and need not trust the server about the rows that a start begins with. A
comparer sends its value after shares were checked and all clients were told who is left out. So the rows are
fixed by then.

The seed of a check of shares follows from values of all clients likewise. A client sends its value when it
holds everything that is checked. So when all values are known, no dealer can choose its shares by the seed.
Introductions commit clients to their values, so none can choose its value by those of others.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from secfc.crypto.coin import COIN_BYTES, check_seed, commitment_to, toss
from secfc.crypto.handshake import Session, digest_of
from secfc.errors import MessageError, SealError
from secfc.field.array_types import Labels
from secfc.kmeans.label_search import LabelSearch
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.cases import LabelsOnly
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout
from secfc.protocol.messages import TOLD_BYTES, Challenge, Coin, CoinRequest, Message
from secfc.protocol.signed import value_statement


@dataclass(frozen=True, kw_only=True, eq=False)
class Toss:
    """A coin of the comparers, and what their signatures of their values are about."""

    session: Session
    transcript: bytes = field(repr=False)
    left_out: Collection[int]

    def _statement(self, party: int, value: bytes) -> bytes:
        return value_statement(self.transcript, party=party, value=value, left_out=self.left_out)

    def tell(self, context: ClientContext, value: bytes) -> list[Message]:
        """The message with a party's own value, signed."""
        signature = context.identity.sign(self._statement(context.number, value))
        return [Coin(run=self.session.run, sender=context.number, value=value, signature=signature)]

    def value_told(self, told: bytes, *, party: int, commitment: bytes) -> bytes:
        """The party's value of the coin in `told`, which is the value and its signature.

        MessageError when the value does not fit the commitment. SealError when the party did not sign it for
        this coin. Without that signature a server could ask comparers about different ones.
        """
        value, signature = told[:COIN_BYTES], told[COIN_BYTES:]
        if commitment_to(value, run=self.session.run, party=party) != commitment:
            raise MessageError(f"client {party} told another value of the coin than it is committed to")
        signed, what = self._statement(party, value), "its value of the coin about these rows"
        self.session.roster.verify(party, signature, signed, what=what)
        return value

    def values_told(self, told: Mapping[int, bytes], commitments: Mapping[int, bytes]) -> dict[int, bytes]:
        """The values of all who toss, from what each told. Raises what `value_told` does."""
        for party in told:
            if party not in commitments:
                raise MessageError(f"client {party} tosses the coin and was not introduced")
        return {
            party: self.value_told(one, party=party, commitment=commitments[party])
            for party, one in told.items()
        }


def values_in(
    coin: bytes, job: Job, *, peers: Peers, session: Session, left_out: Collection[int]
) -> dict[int, bytes]:
    """The values in the first question, by comparer. Empty if no coin is tossed.

    MessageError for another number of values. Raises what `Toss.value_told` does.
    """
    named = job.comparers if job.tosses else ()
    if len(coin) != TOLD_BYTES * len(named):
        raise MessageError(f"Assignment: {len(coin)} bytes of a coin, {len(named)} values are needed")
    told = {j: coin[TOLD_BYTES * at :][:TOLD_BYTES] for at, j in enumerate(named)}
    one = Toss(session=session, transcript=peers.transcript, left_out=left_out)
    return one.values_told(told, peers.commitments)


def tell(
    message: CoinRequest, context: ClientContext, peers: Peers, *, left_out: Collection[int]
) -> list[Message]:
    """The message with a comparer's value of the coin.

    MessageError if this party tosses no coin, or other clients are left out than this party was told.
    """
    job, number = context.job, context.number
    if not job.tosses or number not in job.comparers:
        raise MessageError(f"CoinRequest: to client {number}, which tosses no coin")
    if message.left_out != tuple(sorted(left_out)):
        raise MessageError("CoinRequest: without other clients than this one was told are left out")
    one = Toss(session=context.session, transcript=peers.transcript, left_out=left_out)
    return one.tell(context, peers.coin)


def check_start(
    sets: Labels, peers: Peers, layout: Layout, left_out: Collection[int], *, round_: int
) -> None:
    """Raise SealError unless the sets are the start labels that each client signed."""
    for j, start in enumerate(peers.starts, 1):
        if j not in left_out and digest_of(sets[layout.rows(j)]) != start:
            raise SealError(f"Assignment: round {round_} has not the start labels that client {j} signed")


def label_search(
    job: Job,
    *,
    layout: Layout,
    transcript: bytes,
    left_out: Collection[int],
    values: Mapping[int, bytes],
    start: Labels | None,
) -> LabelSearch:
    """The search of a job over the rows that are in, the same at every party. `start` are given sets."""
    seed = toss(transcript, values, left_out) if job.tosses else job.seed
    return LabelSearch(
        m=layout.m,
        starts=job.method.starts,
        compared=job.method.compared,
        max_iter=job.method.max_iter,
        tol_moved=job.method.tol_moved,
        init=job.method.init,
        rng=np.random.default_rng(seed),
        start=start,
        weights=layout.weights,
    )


class CheckValues:
    """The clients' values so far, at the server or a client. `commitments` are to each client's first one."""

    def __init__(self, job: Job, run: bytes, commitments: Mapping[int, bytes]) -> None:
        self.told = isinstance(job.disclosure, LabelsOnly)  # whether clients send values in this job
        self._n, self._run = job.n, run
        self._last = dict(commitments)  # value, or commitment to the first one, by client

    def check(self, client: int, value: bytes) -> None:
        """Raise MessageError unless `value` is the client's next value."""
        if commitment_to(value, run=self._run, party=client) != self._last[client]:
            raise MessageError(f"client {client} told another value for a check than it is committed to")

    def keep(self, values: Mapping[int, bytes]) -> None:
        """Keep values, by client."""
        self._last |= values

    def of(self, challenge: Challenge, *, transcript: bytes, left_out: Collection[int]) -> dict[int, bytes]:
        """The values of a challenge by client, of all that are in. MessageError unless its seed fits them."""
        given, count = challenge.values, self._n if self.told else 0
        if len(given) != COIN_BYTES * count:
            raise MessageError(f"Challenge: {len(given)} bytes of clients' values, {count} are needed")
        if not self.told:
            return {}
        values = {j: given[COIN_BYTES * (j - 1) :][:COIN_BYTES] for j in range(1, count + 1)}
        for client, value in values.items():
            if client not in left_out:
                self.check(client, value)
            elif any(value):
                raise MessageError(f"Challenge: a value of client {client}, which is left out")
        if challenge.seed != check_seed(transcript, challenge.round, given):
            raise MessageError("Challenge: the seed does not follow from the clients' values")
        return {j: value for j, value in values.items() if j not in left_out}
