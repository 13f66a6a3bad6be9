"""Centres and spreads by consent: clients send shares of sums over clusters to the agreed recipients.

A client's shares, summed over a cluster, are a share of the sum of its rows: a value of
``F_h = sum_{i in S_h} f_i``, which has the degree of f_i. So ell + t of them determine the sum, and t of them
reveal nothing. A recipient that knows F_h learns the sum and otherwise uniform numbers (docs/protocol.md,
"Centres by consent"). Sums of squares are sent with them, hidden as in secfc.protocol.opening.spreading.
"""

from collections.abc import Mapping

import numpy as np

from secfc.crypto.channel import TAG_BYTES
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.label_packing import labels_of
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues, packed_bytes, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.sharing import recover
from secfc.operations.ending.centres import centres_of
from secfc.operations.ending.spreads import deviations
from secfc.protocol.answers.consistency import code_of
from secfc.protocol.answers.decoding import points_of
from secfc.protocol.context import ClientContext, Peers
from secfc.protocol.job.job import Job
from secfc.protocol.messages import CentreShare, Finish, Message
from secfc.protocol.opening.spreading import check_inertia, decode_squares
from secfc.sharing.client_shares import ClientSharing


class CentreOpening:
    """A client's part in opening centres, once sharing is complete. It sends shares, and may get some."""

    def __init__(self, context: ClientContext, peers: Peers, sharing: ClientSharing) -> None:
        job = context.job
        self.number, self._job, self._run = context.number, job, context.session.run
        self._channels = peers.channels
        # With spreads it waits for a quorum, which sends shares in any case: more than R sums of squares show
        # whether one is wrong. For sums alone, R values already show that.
        self._enough = job.threshold + job.max_liars if job.opened.spread is None else peers.quorum
        self._sharing = sharing
        self._shape = (len(sharing.primes), job.sums_revealed * job.width, job.k)
        self._shares: dict[int, PackedResidues] = {}  # kept until they are used
        self._heard: set[int] = set()
        self._result: Finish | None = None
        # At a recipient, once enough shares are here: (k, d) in the data's units, NaN for a cluster without
        # rows. Deviations are population deviations, if the job opens spreads.
        self.centres: Floats | None = None
        self.deviations: Floats | None = None

    @property
    def _expected(self) -> int:
        """Number of clients that are in: the most shares that can come, its own included."""
        return 1 + len(self._channels.keys() - self._sharing.left_out)

    @property
    def due(self) -> bool:
        """Whether it still has to send its shares."""
        return bool(self._job.opened.to) and self._result is None

    @property
    def waits(self) -> bool:
        """Whether it still has to send its shares, or is a recipient without centres yet."""
        return self.due or (self.number in self._job.opened.to and self.centres is None)

    def tell(self, result: Finish) -> list[Message]:
        """Send the recipients its own shares of the sums over these clusters, once."""
        self._result = result
        messages: list[Message] = []
        if self._sharing.lacking:  # some shares are missing, so it has none of the sums
            self._open()
            return messages
        own = self._own_shares(labels_of(result.labels))
        for j in self._job.opened.to:
            if j == self.number:
                self._shares[j] = own
            elif j not in self._sharing.left_out:
                sealed = self._channels[j].seal(CentreShare.purpose, part=0, payload=own.payload)
                messages.append(CentreShare(run=self._run, sender=self.number, recipient=j, sealed=sealed))
        self._open()
        return messages

    def _own_shares(self, labels: Labels) -> PackedResidues:
        """Shares of the sums and, after them, of the sums of squares if these are opened."""
        sums = self._sharing.sums(labels)
        if self._job.opened.spread is None:
            return sums
        both = PackedResidues.empty(self._shape)
        both.planes()[:, : self._job.width] = sums.planes()
        both.planes()[:, self._job.width :] = self._sharing.hidden_squares(labels).planes()
        return both

    def take(self, message: CentreShare) -> None:
        """Keep another client's share. Open the centres when there are enough shares.

        TooManyFaultsError when the shares lie on no polynomial.
        """
        sender, sealed = message.sender, message.sealed.payload
        if self.number not in self._job.opened.to:
            raise MessageError(f"CentreShare: client {self.number} is no recipient of centres")
        if sender not in self._channels or sender in self._sharing.left_out:
            raise MessageError(f"CentreShare: from client {sender}, which is no other client of this run")
        if sender in self._heard:
            raise MessageError(f"CentreShare: a second one from client {sender}")
        expected = packed_bytes(self._shape) + TAG_BYTES
        if len(sealed) != expected:
            raise MessageError(
                f"CentreShare: {len(sealed)} sealed bytes from client {sender}, shape {self._shape} takes "
                f"{expected}"
            )
        payload = self._channels[sender].open(CentreShare.purpose, part=0, sealed=sealed)
        residues = PackedResidues(shape=self._shape, payload=payload)
        refused = self._sharing.kernels.refused(residues.planes(), self._sharing.primes)
        if refused >= 0:
            p = self._sharing.primes[refused]
            raise MessageError(f"CentreShare: a residue from client {sender} is not below its prime {p}")
        self._heard.add(sender)
        if self.centres is None:
            self._shares[sender] = residues
            self._open()

    def _open(self) -> None:
        """Decode once R + A shares are here, its own included: as many as any round needs.

        With spreads it waits for the shares of a quorum (at least R), which sums of squares need. So a
        recipient gets centres only together with spreads.
        """
        result = self._result
        if result is None or self.centres is not None or len(self._shares) < self._enough:
            return
        job, primes = self._job, self._sharing.primes
        sizes = self._sharing.layout.divisors(labels_of(result.labels), job.k)
        planes = {j: unpack(share.planes()) for j, share in sorted(self._shares.items())}
        try:
            reach = 0 if self._sharing.noise is None else self._sharing.noise.reach
            shares = {j: own[:, : job.width] for j, own in planes.items()}
            sums = open_sums(shares, job=job, primes=primes, sizes=sizes, reach=reach)
        except TooManyFaultsError:
            if len(self._shares) < self._expected:
                return  # with more shares more wrong ones can be located
            raise
        if job.opened.spread is not None:
            squares = decode_squares(
                {j: own[:, job.width :] for j, own in planes.items()}, job=job, primes=primes
            )
            found = deviations(sums, squares, job=job, sizes=sizes)
            check_inertia(sums, squares, job=job, sizes=sizes, result=result)
            self.deviations = found
        self.centres = centres_of(sums, job=job, sizes=sizes)
        self._shares.clear()


def open_sums(
    shares: Mapping[int, Floats], *, job: Job, primes: tuple[int, ...], sizes: Ints, reach: int = 0
) -> list[list[int]]:
    """Sums over clusters, d lists of k signed integers of quantised rows, from shares of them.

    `shares`, (P, width, k) by client, are canonical residues of at least ell + t clients. More than ell + t
    are checked. TooManyFaultsError when more are wrong than can be located, or a sum is larger than the
    number of rows of its cluster, `sizes`, allows, with noise of up to `reach`.
    """
    residues = np.empty((len(primes), job.ell * job.width, job.k))
    clients = sorted(shares)
    for index, p in enumerate(primes):
        words = np.array([shares[j][index] for j in clients])
        residues[index] = _segments(words, clients, job=job, index=index, p=p)
    radix = MixedRadix(primes)
    found, modulus = radix.integers(radix.digits(residues[:, : job.d])), radix.radices[-1] * primes[-1]
    sums = [[int(one) - (modulus if 2 * int(one) > modulus else 0) for one in line] for line in found]
    for h in np.flatnonzero(sizes).tolist():
        if any(abs(line[h]) > int(sizes[h]) * job.radius + reach for line in sums):
            raise TooManyFaultsError(
                f"centres: a sum over cluster {h} is larger than its {sizes[h]} rows allow: some client's "
                f"share of it is wrong"
            )
    return sums


def _segments(words: Floats, clients: list[int], *, job: Job, index: int, p: int) -> Floats:
    """Sums modulo one prime, (ell * width, k), from the shares of these clients, (clients, width, k)."""
    coded = job.ell + job.t
    alpha, beta = points_of(job, PRIMES[index], clients)
    flat = reduce(words.reshape(len(clients), -1), p)
    # A wrong polynomial differs from the right one in more than len(clients) - coded places. So none is as
    # near to a word that up to A liars changed.
    most = max(0, min(job.max_liars, len(clients) - coded - job.max_liars))
    wrong = code_of(job, index, clients, dimension=coded).wrong(flat)
    if wrong is None or len(wrong) > most:
        raise TooManyFaultsError(
            f"centres: shares of clients {', '.join(map(str, clients))} do not agree, and it is not "
            "known which are wrong"
        )
    kept = [at for at in range(len(clients)) if at not in wrong][:coded]
    basis = lagrange_basis([alpha[at] for at in kept], beta, p)
    return recover(reduce(words[kept], p), basis, p).reshape(job.ell * job.width, job.k)
