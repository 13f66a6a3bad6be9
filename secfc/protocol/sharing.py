"""A client's shares: its rows leave as shares, those of the others come, are checked and kept."""

from contextlib import suppress

from secfc.array_types import Floats, Labels, Shares
from secfc.errors import MessageError
from secfc.field.packing import PackedResidues
from secfc.kmeans.coded_distance import CodedPoints
from secfc.lagrange.sharer import Sharer
from secfc.lagrange.summing import SummedParts
from secfc.protocol.check_values import CheckValues
from secfc.protocol.context import ClientContext, Peers, SharePlan
from secfc.protocol.dealing import Column, by_part, check_after, columns_of, combined, covers_of
from secfc.protocol.early import EarlyShares
from secfc.protocol.echoes import Echoes
from secfc.protocol.messages import SERVER, Challenge, Dispute, Echo, LeaveOut, Message, Ready, Share
from secfc.protocol.opened import Dealt, open_share
from secfc.protocol.own_rows import OwnRows
from secfc.protocol.spreading import add_residues, deal_zeros
from secfc.protocol.summed import SummedShares
from secfc.protocol.testimony import Testimony
from secfc.protocol.turns import turn_error
from secfc.row_layout import WINDOW, Layout


class ClientSharing:
    """A client's part in sharing, and who and whose rows are in.

    Parameters
    ----------
    context : ClientContext
    peers : Peers
    layout : Layout
        All rows, as planned.
    own : OwnRows

    Attributes
    ----------
    layout : Layout
        All rows, as planned, until `close`; then those that are in.
    parts : Parts
        Of `layout`.
    left_out : set of int
    unread : set of int
        Clients that sent a part which could not be read, where liars are tolerated.
    points : CodedPoints
        What this client holds of all rows.
    received : dict of int to int
        Parts that are here, by sender.
    shared, announced : int
        Parts of its own rows that it has shared; parts that everybody has sent.
    primes : tuple of int
    kernels : Kernels
    """

    def __init__(self, context: ClientContext, peers: Peers, *, layout: Layout, own: OwnRows) -> None:
        job, session, channels = context.job, context.session, peers.channels
        self._number, self._job, self._run, self._channels = context.number, job, session.run, channels
        self._context = context
        self._plan = SharePlan(job=job, session=session, transcript=peers.transcript, layout=layout)
        self.layout, self.parts, self.primes, self._own = layout, self._plan.parts, self._plan.primes, own
        self.left_out = peers.left_out
        self.kernels = context.kernels(layout.run_residues(job))
        self.points = CodedPoints(
            shares=context.allocate((len(self.primes), job.width + 1, layout.m)),
            primes=self.primes,
            k=job.k,
            kernels=self.kernels,
        )
        self._sharer = Sharer(job=job, primes=self.primes, masks=context.masks, kernels=self.kernels)
        self._keeper = SummedParts(
            keep=self.points.store,
            clients=job.n if layout.common else 1,
            primes=self.primes,
            kernels=self.kernels,
        )
        self.unread: set[int] = set()
        self.received = dict.fromkeys(channels, 0)
        # Clients with fewer rows than others send fewer parts.
        sent = [
            -(-count // self.parts.share) for j, count in enumerate(layout.counts, 1) if j != self._number
        ]
        self._missing = [sum(count > part for count in sent) for part in range(self.parts.shares)]
        self._testimony = self._testimony_of(0)
        self._checked: list[Column] = []  # what the challenge is about, once it is here
        self._echoes = Echoes(context, peers, first=1 if by_part(job) else 0)
        self._summed: SummedShares | None = None  # where parts are checked before they are added up
        if by_part(job):
            self._summed = SummedShares(
                self._plan,
                number=self._number,
                kernels=self.kernels,
                echoes=self._echoes,
                testimony=self._testimony_of,
                add=self._add,
                unread=self.unread,
            )
        self._values = CheckValues(job, context.session.run, peers.checked)
        self._own_values = peers.checks
        self._zeros: dict[int, PackedResidues] = {}  # by dealer, where spreads are opened
        self.shared = 0
        self.announced = 0

    def __repr__(self) -> str:
        return f"ClientSharing(number={self._number}, parts={self.shared} of {self.parts.shares})"

    @property
    def complete(self) -> bool:
        """Whether every part has come and gone."""
        return self.announced == self.parts.shares

    def begin(self, early: EarlyShares) -> list[Message]:
        """The first parts, after those that overtook the plan were opened."""
        messages: list[Message] = []
        for part in range(min(WINDOW, self.parts.shares)):
            messages += self._share_part(part)
        for held in early.held:
            # What somebody else sent too early is no reason to refuse the plan: it counts as not sent.
            with suppress(MessageError):
                messages += self.on_share(held)
        if any([self.unreadable(sender) for sender in sorted(early.spoilt)]):
            messages += self.ready()
        return messages

    def on_share(self, message: Share) -> list[Message]:
        """Keep another client's next part.

        Where liars are tolerated, one that cannot be read is reported and no error.
        """
        if message.sender in self.left_out or self._number in self.left_out:
            return []  # on its way when the sender, or this client, was left out
        if message.part != self.received[message.sender]:
            raise turn_error(message.part, self.received[message.sender])(
                f"Share: part {message.part} from client {message.sender}, expected part "
                f"{self.received[message.sender]}"
            )
        # Nobody is asked for more than WINDOW parts beyond those that this client has reported about, and it
        # may still have to hear of WINDOW of these that they are settled.
        if self._summed is not None and message.part >= self._summed.added + 2 * WINDOW:
            raise MessageError(f"Share: part {message.part} from client {message.sender} too early")
        try:
            channel = self._channels[message.sender]
            dealt = open_share(message, plan=self._plan, channel=channel, kernels=self.kernels)
        except MessageError:
            if not self.unreadable(message.sender):
                raise
            return self.ready()
        return self._keep(message, dealt)

    def unreadable(self, sender: int) -> bool:
        """Note that what a client sent cannot be read, if it is to send shares and may lie."""
        if not self._job.max_liars or self.complete or sender not in self.received:
            return False
        sent = -(-self.layout.counts[sender - 1] // self.parts.share)
        if self.received[sender] == sent:
            return False
        self.unread.add(sender)
        for part in range(self.received[sender], sent):
            self._missing[part] -= 1
        self.received[sender] = sent
        return True

    @property
    def seed(self) -> bytes:
        """Of the last check of shares, which the server drew when all that is checked was dealt."""
        return self._echoes.latest

    @property
    def lacking(self) -> set[int]:
        """Clients whose rows are in and whose shares this client does not have."""
        return self.unread - self.left_out

    def on_continue(self, round_: int, part: int) -> list[Message]:
        """Share the next part."""
        if round_ != 0 or part != self.shared:
            raise MessageError(
                f"Continue: part {part} of round {round_}, part {self.shared} of round 0 is next"
            )
        if part >= self.parts.shares:
            raise MessageError(f"Continue: part {part}, there are {self.parts.shares}")
        if self._summed is not None:
            self._summed.settle(part - WINDOW + 1)
        return self._share_part(part)

    def on_challenge(self, message: Challenge) -> list[Message]:
        """Tell the other clients the seed; report once a quorum was given it.

        MessageError when it comes too early, or is a second one, which would need other covers; CheatError
        when the server signed another seed for another client.
        """
        told = self._values.of(message, transcript=self._plan.transcript, left_out=self.left_out)
        messages = self._challenged(message)
        self._values.keep(told)
        return messages

    def _challenged(self, message: Challenge) -> list[Message]:
        if self._summed is not None:
            return self._summed.on_challenge(message, complete=self.announced)
        if message.round or not self.complete:
            raise MessageError(f"Challenge: number {message.round}, or before all shares are here")
        if self._echoes.seed(0) or not covers_of(self._job):
            raise MessageError("Challenge: a second one, or in a run that needs none")
        self._checked = columns_of(self.remaining(), self.parts)
        return self._echoes.begin(message, self.left_out) + self._reported()

    def on_echo(self, message: Echo) -> list[Message]:
        """Take the seed that another client was given for a check."""
        if not covers_of(self._job):
            raise MessageError(f"Echo: from client {message.sender}, in a run that needs none")
        if self._summed is not None:
            return self._summed.on_echo(message, complete=self.announced)
        self._echoes.take(message, complete=int(self.complete))
        return self._reported()

    def _reported(self) -> list[Message]:
        """The report, once, when a quorum was given the same seed."""
        if not self._echoes.confirmed(0) or self._testimony.reported:
            return []
        return [
            self._testimony.report(
                seed=self._echoes.seed(0),
                columns=self._checked,
                combine=self._combined,
                kernels=self.kernels,
                unread=self.unread,
            )
        ]

    def on_dispute(self, message: Dispute) -> list[Message]:
        """Show the shares that this client disputes, as their dealers signed them."""
        if self._summed is not None:
            return self._summed.on_dispute(message)
        if message.round:
            raise MessageError(f"Dispute: number {message.round}, of a check of all shares")
        return self._testimony.evidence(message, shares=self._shares)

    def on_leave_out(self, message: LeaveOut) -> list[Message]:
        """Wait for a client's shares no longer; its rows are taken out before the first answer."""
        client = message.client
        if self.layout.common:
            raise MessageError(f"LeaveOut: of client {client}, who holds a part of every row")
        if not 1 <= client <= self._job.n or client in self.left_out:
            raise MessageError(f"LeaveOut: of client {client}, which is not in")
        self.left_out.add(client)
        if client == self._number:
            self._end_check()
        if client == self._number or self.complete:
            return []
        sent = -(-self.layout.counts[client - 1] // self.parts.share)
        for part in range(self.received.pop(client), sent):
            self._missing[part] -= 1
        return self.ready()

    def remaining(self) -> Layout:
        """The rows that are in."""
        return self.layout.without(self.left_out)

    def close(self) -> None:
        """Before the first answer, or the result: end all checks, and forget rows of those who were left out.

        What is kept until it is checked is added up, MessageError for a part that was not; the rows of others
        are numbered anew.
        """
        if self._summed is not None:
            self._summed.settle(self.parts.shares)
        self._end_check()
        if not self.left_out:
            return
        remaining = self.remaining()
        self.points.keep([self.layout.rows(j) for j, rows in enumerate(remaining.counts, 1) if rows])
        self.layout, self.parts = remaining, remaining.parts(self._job)

    def _end_check(self) -> None:
        """Nothing is reported or shown from now on."""
        self._testimony.forget()
        if self._summed is None:
            self._echoes.end(0)

    def own_labels(self, labels: Labels) -> Labels:
        """Those of this client's rows."""
        if self.left_out:
            return labels[self.remaining().rows(self._number)]
        return self._own.labels(labels)

    def hidden_squares(self, labels: Labels) -> PackedResidues:
        """Shares of the sums of squares over these clusters, (P, width, k), hidden by all zero-sharings.

        Of all dealers that are in, which everybody has since rows are complete: values of different clients
        lie on one polynomial whoever of them is still there.
        """
        zeros = [one for dealer, one in sorted(self._zeros.items()) if dealer not in self.left_out]
        self._zeros.clear()  # used once
        return add_residues([self.points.square_shares(labels), *zeros], self.primes)

    def _share_part(self, part: int) -> list[Message]:
        """Encode a part of the own rows; keep the own share, send the others theirs."""
        rows = self.parts.share_rows(self._number, part)
        packed = dict(enumerate(self._sharer.share(self._own.block(rows)), 1))
        testimony = self._take(self._number, part, packed.pop(self._number))
        covers: dict[int, PackedResidues] = {}
        if covers_of(self._job) and rows.stop > rows.start:
            covers = dict(enumerate(self._sharer.cover(covers_of(self._job)), 1))
            testimony.keep((self._number, part), covers[self._number])
        zeros: dict[int, PackedResidues] = {}
        if self._job.reveal_spread is not None and part == 0 and rows.stop > rows.start:
            zeros = dict(enumerate(deal_zeros(self._job, primes=self.primes, masks=self._context.masks), 1))
            self._zeros[self._number] = zeros[self._number]
        self.shared += 1
        if self.shared == self.parts.shares:
            self._own.forget()
        shares: list[Message] = []
        for j in self.received if rows.stop > rows.start else ():
            payload = packed.pop(j).payload
            if covers:
                signed = b"".join((payload, covers[j].payload))
                payload = signed + testimony.sign(recipient=j, part=part, payload=signed)
            if zeros:
                payload = b"".join((payload, zeros[j].payload))
            sealed = self._channels[j].seal(Share.purpose, part=part, payload=payload)
            shares.append(Share(run=self._run, sender=self._number, recipient=j, part=part, sealed=sealed))
        return shares + self.ready()

    def _keep(self, message: Share, dealt: Dealt) -> list[Message]:
        testimony = self._take(message.sender, message.part, dealt.residues)
        if dealt.zeros is not None:
            self._zeros[message.sender] = dealt.zeros
        if dealt.signature:
            testimony.keep((message.sender, message.part), dealt.covers, dealt.signature)
        self.received[message.sender] += 1
        self._missing[message.part] -= 1
        return self.ready()

    def _take(self, dealer: int, part: int, residues: PackedResidues) -> Testimony:
        """Keep a dealer's shares of a part; the testimony that speaks of them."""
        if self._summed is None:
            self._keeper.store(residues, part, self.parts.share_rows(dealer, part).start)
            return self._testimony
        self._summed.keep(dealer, part, residues)
        return self._summed.testimony(part)

    def _add(self, residues: PackedResidues, part: int) -> None:
        """Add a dealer's shares of a part to those of others."""
        self._keeper.store(residues, part, self.parts.share_rows(self._number, part).start)

    def _shares(self, column: Column, index: int) -> Shares:
        return self.points.shares(index, self.parts.share_rows(*column))

    def _combined(self, column: Column, index: int, coefficients: Floats) -> Floats:
        return combined(self._shares(column, index), coefficients, self.primes[index])

    def _testimony_of(self, round_: int) -> Testimony:
        identity = self._context.identity
        return Testimony(self._plan, number=self._number, identity=identity, round_=round_)

    def ready(self) -> list[Message]:
        """Say so for each part that has come from every other client and been sent to them."""
        messages: list[Message] = []
        while not self.complete and self._holds(self.announced):
            part = self.announced
            check = check_after(self._job, part, self.parts.shares) if self._values.told else None
            value = b"" if check is None else self._own_values[check]
            messages.append(
                Ready(run=self._run, sender=self._number, recipient=SERVER, part=part, value=value)
            )
            self.announced += 1
        return messages

    def _holds(self, part: int) -> bool:
        return self.shared > part and self._missing[part] == 0
