"""Public choices with disclosure "labels" follow from the job's seed or from a coin of the comparers.

Every party computes them itself and need not trust the server about the rows that a start begins with. A
comparer sends its value after shares were checked and all clients were told who is left out. So the rows are
fixed by then.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from secfc.array_types import Labels
from secfc.errors import MessageError, SealError
from secfc.kmeans.label_search import LabelSearch
from secfc.params import Job
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import TOLD_BYTES, Coin, CoinRequest, Message
from secfc.protocol.signed import value_statement
from secfc.row_layout import Layout
from secfc.sealing.coin import COIN_BYTES, commitment_to, toss
from secfc.sealing.handshake import Session, start_digest


def value_told(
    told: bytes,
    *,
    party: int,
    commitment: bytes,
    session: Session,
    transcript: bytes,
    tossing: Sequence[int],
    left_out: Collection[int],
) -> bytes:
    """The comparer's value of the coin in `told`, which is the value and its signature.

    MessageError when the value does not fit the commitment. SealError when the comparer did not sign it for
    this transcript, these tossing parties and these clients left out. Without that signature a server could
    ask comparers about different ones, and choose between coins when some comparers are lost.
    """
    value, signature = told[:COIN_BYTES], told[COIN_BYTES:]
    if commitment_to(value, run=session.run, party=party) != commitment:
        raise MessageError(f"client {party} told another value of the coin than it is committed to")
    signed = value_statement(transcript, party=party, value=value, tossing=tossing, left_out=left_out)
    session.roster.verify(party, signature, signed, what="its value of the coin about these rows")
    return value


def values_in(
    coin: bytes, job: Job, *, peers: Peers, session: Session, left_out: Collection[int]
) -> dict[int, bytes]:
    """The values in the first question, by comparer. Empty if no coin is tossed.

    MessageError for another number of values. Raises what `value_told` does.
    """
    named, needed = (job.comparers, job.tossers) if job.tosses else ((), 0)
    told = {j: coin[TOLD_BYTES * at :][:TOLD_BYTES] for at, j in enumerate(named)}
    tossing = tuple(j for j in named if any(told[j]))
    if len(coin) != TOLD_BYTES * len(named) or len(tossing) != needed:
        raise MessageError(f"Assignment: {len(coin)} bytes of a coin, {needed} values are needed")
    said, about = b"".join(told[j] for j in tossing), peers.transcript
    return told_values(said, tossing, peers=peers, session=session, about=about, left_out=left_out)


def told_values(
    told: bytes,
    tossing: Sequence[int],
    *,
    peers: Peers,
    session: Session,
    about: bytes,
    left_out: Collection[int],
) -> dict[int, bytes]:
    """The values of the parties `tossing`, concatenated in `told`. Raises what `value_told` does."""
    for party in tossing:
        if party not in peers.commitments:
            raise MessageError(f"client {party} tosses the coin and was not introduced")
    return {
        party: value_told(
            told[TOLD_BYTES * at :][:TOLD_BYTES],
            party=party,
            commitment=peers.commitments[party],
            session=session,
            transcript=about,
            tossing=tossing,
            left_out=left_out,
        )
        for at, party in enumerate(tossing)
    }


def tell(
    message: CoinRequest, context: ClientContext, peers: Peers, *, left_out: Collection[int]
) -> list[Message]:
    """The message with a comparer's value of the coin. If no party tosses, it only confirms its presence.

    MessageError if this party tosses no coin, the tossing parties are impossible, or other clients are left
    out than this party was told.
    """
    job, number, run, tossing = context.job, context.number, context.session.run, message.tossing
    if not job.tosses or number not in job.comparers:
        raise MessageError(f"CoinRequest: to client {number}, which tosses no coin")
    if message.left_out != tuple(sorted(left_out)):
        raise MessageError("CoinRequest: without other clients than this one was told are left out")
    if not tossing:
        return [Coin(run=run, sender=number)]
    named = tuple(j for j in job.comparers if j in tossing)
    if tossing != named or len(named) != job.tossers or number not in named:
        raise MessageError(f"CoinRequest: to client {number}, of a coin that {tossing} toss")
    told = value_statement(
        peers.transcript, party=number, value=peers.coin, tossing=tossing, left_out=left_out
    )
    signature = context.identity.sign(told)
    return [Coin(run=run, sender=number, value=peers.coin, signature=signature)]


def check_start(
    sets: Labels, peers: Peers, layout: Layout, left_out: Collection[int], *, round_: int
) -> None:
    """Raise SealError unless the sets are the start labels that each client signed."""
    for j, start in enumerate(peers.starts, 1):
        if j not in left_out and start_digest(sets[layout.rows(j)], layout.weights_of(j)) != start:
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
        starts=job.starts,
        compared=job.compared,
        max_iter=job.max_iter,
        tol_moved=job.tol_moved,
        init=job.init,
        predict=job.predict,
        rng=np.random.default_rng(seed),
        start=start,
        weights=layout.weights,
    )
