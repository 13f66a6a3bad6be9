"""What public choices with disclosure "labels" follow from: the job's seed, or a coin of the comparers.

Every party makes them itself, so nobody has to believe the server which rows a start begins with. A comparer
tells its value once shares have been checked and everybody was told who is left out: what the choices are
about is fixed by then.
"""

from collections.abc import Collection, Mapping

import numpy as np

from secfc.array_types import Labels
from secfc.errors import MessageError, SealError
from secfc.kmeans.label_search import LabelSearch
from secfc.params import Job
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.messages import SERVER, Coin, CoinRequest, Message
from secfc.row_layout import Layout
from secfc.sealing.coin import COIN_BYTES, commitment_to, toss
from secfc.sealing.handshake import start_digest


def check_value(value: bytes, *, commitment: bytes, run: bytes, party: int) -> None:
    """Raise MessageError unless a party committed itself to a value."""
    if commitment_to(value, run=run, party=party) != commitment:
        raise MessageError(f"client {party} told another value of the coin than it is committed to")


def values_in(coin: bytes, job: Job, *, commitments: Mapping[int, bytes], run: bytes) -> dict[int, bytes]:
    """The comparers' values in the first question, by comparer; none where they toss no coin.

    Raises
    ------
    MessageError
        There are not as many, or one is not what its comparer is committed to.
    """
    tossing = job.comparers if job.tosses else ()
    if len(coin) != COIN_BYTES * len(tossing):
        raise MessageError(f"Assignment: {len(coin)} bytes of a coin, {len(tossing)} values are needed")
    values = {party: coin[COIN_BYTES * at :][:COIN_BYTES] for at, party in enumerate(tossing)}
    for party, value in values.items():
        check_value(value, commitment=commitments[party], run=run, party=party)
    return values


def tell(
    message: CoinRequest, context: ClientContext, peers: Peers, *, left_out: Collection[int]
) -> list[Message]:
    """A comparer's value of the coin.

    Raises
    ------
    MessageError
        Nobody needs it, or the server leaves out others than this party was told.
    """
    job, number = context.job, context.number
    if not job.tosses or number not in job.comparers:
        raise MessageError(f"CoinRequest: to client {number}, which tosses no coin")
    if message.left_out != tuple(sorted(left_out)):
        raise MessageError("CoinRequest: without other clients than this one was told are left out")
    return [Coin(run=context.session.run, sender=number, recipient=SERVER, value=peers.coin)]


def check_start(
    sets: Labels, peers: Peers, layout: Layout, left_out: Collection[int], *, round_: int
) -> None:
    """Raise SealError unless sets are the start labels that each client has signed."""
    for j, start in enumerate(peers.starts, 1):
        if j not in left_out and start_digest(sets[layout.rows(j)]) != start:
            raise SealError(f"Assignment: round {round_} has not the start labels that client {j} signed")


def label_search(
    job: Job,
    *,
    m: int,
    transcript: bytes,
    left_out: Collection[int],
    values: Mapping[int, bytes],
    start: Labels | None,
) -> LabelSearch:
    """The search of a job, the same at every party.

    Parameters
    ----------
    job : Job
    m : int
        Rows that are in.
    transcript : bytes of length 32
    left_out : collection of int
        Clients whose rows are not in.
    values : mapping from comparer to bytes
        Of the coin, where one is tossed.
    start : ndarray of shape (m,), int32, or None
        Given sets, when ``job.init`` is "labels".
    """
    seed = toss(transcript, values, left_out) if job.tosses else job.seed
    return LabelSearch(
        m=m,
        starts=job.starts,
        compared=job.compared,
        max_iter=job.max_iter,
        init=job.init,
        predict=job.predict,
        rng=np.random.default_rng(seed),
        start=start,
    )
