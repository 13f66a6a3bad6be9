"""A client's shares: it shares its rows, and takes, checks and keeps the shares of other clients' rows.

Where shares of different dealers are added up, each part is checked by itself first. A client keeps what
every dealer sent of a part until the server says that no party disputes it any more. Then it keeps only the
sum (docs/faults.md, "Rows of a union").
"""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.array_types import Floats, Labels, Objects, Shares
from secfc.field.packing import PackedResidues, unpack
from secfc.field.residues import reduce
from secfc.kmeans.coded_distance import CodedPoints
from secfc.lagrange.sharer import Sharer
from secfc.lagrange.summing import SummedParts
from secfc.operations.ending.noise import noise_of
from secfc.protocol.choices import CheckValues
from secfc.protocol.context import ClientContext, Peers, SharePlan
from secfc.protocol.echoes import Echoes
from secfc.protocol.job.row_layout import WINDOW, Layout
from secfc.protocol.messages import Challenge, Dispute, Echo, LeaveOut, Message, Ready, Share
from secfc.protocol.messages.turns import turn_error
from secfc.protocol.opening.spreading import add_residues, deal_zeros
from secfc.protocol.testimony import Testimony
from secfc.sharing.dealing import Column, by_part, check_after, columns_of, combined, covers_of
from secfc.sharing.opened import Dealt, EarlyShares, Opener
from secfc.sharing.own_rows import OwnRows


class ClientSharing:
    """A client's part in sharing, and who is left out. `layout` has all planned rows until `close`."""

    def __init__(self, context: ClientContext, peers: Peers, *, layout: Layout, own: OwnRows) -> None:
        job, session, channels = context.job, context.session, peers.channels
        self._number, self._job, self._run, self._channels = context.number, job, session.run, channels
        self._context = context
        self._plan = SharePlan(job=job, session=session, transcript=peers.transcript, layout=layout)
        self.layout, self.parts, self.primes, self._own = layout, self._plan.parts, self._plan.primes, own
        self.left_out = peers.left_out
        self.kernels = context.kernels(layout.run_residues(job))
        self.points = CodedPoints(  # what this client holds of all rows
            shares=context.allocate((len(self.primes), job.width + 1, layout.m)),
            primes=self.primes,
            k=job.k,
            kernels=self.kernels,
            weights=layout.weights,
        )
        self._opener = Opener(self._plan, self.kernels)
        self._sharer = Sharer(job=job, primes=self.primes, masks=context.masks, kernels=self.kernels)
        self._keeper = SummedParts(
            keep=self.points.store,
            clients=job.n if layout.common else 1,
            primes=self.primes,
            kernels=self.kernels,
        )
        self.unread: set[int] = set()  # senders of an unreadable part, where liars are tolerated
        self.received = dict.fromkeys(channels, 0)  # parts received, by sender
        # Clients with fewer rows send fewer parts. Deposited shares are not sent at all.
        sent = [
            -(-count // self.parts.share)
            for j, count in enumerate(() if layout.deposited else layout.counts, 1)
            if j != self._number
        ]
        self._missing = [sum(count > part for count in sent) for part in range(self.parts.shares)]
        self._by_part = by_part(job)  # then check x + 1 is of part x, else check 0 is of all parts
        self._testimonies: dict[int, Testimony] = {}  # by check
        self._checked: dict[int, list[Column]] = {}  # columns of a received challenge, by check
        self._challenged = 0  # challenges received
        self._echoes = Echoes(context, peers, first=1 if self._by_part else 0)
        self._held: dict[Column, PackedResidues] = {}  # shares to check before they are added up
        self._added = 0  # parts added up
        self._values = CheckValues(job, context.session.run, peers.checked)
        self._own_values = peers.checks
        self._zeros: dict[int, PackedResidues] = {}  # by dealer, where spreads are opened
        self.noise = noise_of(job, layout)
        self._noise: dict[int, PackedResidues] = {}  # shares of it by dealer, where centres have noise
        self.shared = 0  # parts of its own rows that it has sent
        self.announced = 0  # parts that it has sent, and received from all others

    @property
    def complete(self) -> bool:
        """Whether every part was sent and received."""
        return self.announced == self.parts.shares

    def begin(self, early: EarlyShares) -> list[Message]:
        """Send the first parts and take shares that arrived early, or store what owners deposited."""
        if self._context.deposits is not None:
            self._context.deposits.store(self.points.store, len(self.primes))
            self._testimony(0)
            self.shared = self.parts.shares
            return self.ready()
        messages: list[Message] = []
        for part in range(min(WINDOW, self.parts.shares)):
            messages += self._share_part(part)
        for held in early.held:
            # A wrong early share must not block the plan. It counts as not sent.
            with suppress(MessageError):
                messages += self.on_share(held)
        if any([self.unreadable(sender) for sender in sorted(early.spoilt)]):
            messages += self.ready()
        return messages

    def on_share(self, message: Share) -> list[Message]:
        """Keep another client's next part. Where liars are tolerated, an unreadable part is reported."""
        if message.sender in self.left_out or self._number in self.left_out:
            return []  # sent before the sender, or this client, was left out
        if message.part != self.received[message.sender]:
            raise turn_error(message.part, self.received[message.sender])(
                f"Share: part {message.part} from client {message.sender}, expected part "
                f"{self.received[message.sender]}"
            )
        # The server asks for at most WINDOW parts beyond those that this client has reported about. Of the
        # reported parts, WINDOW may be settled without this client knowing yet.
        if self._by_part and message.part >= self._added + 2 * WINDOW:
            raise MessageError(f"Share: part {message.part} from client {message.sender} too early")
        try:
            rows = self.parts.share_rows(message.sender, message.part)
            dealt = self._opener.open(message, rows, self._channels[message.sender])
        except MessageError:
            if not self.unreadable(message.sender):
                raise
            return self.ready()
        return self._keep(message, dealt, rows)

    def unreadable(self, sender: int) -> bool:
        """Note that a client's share cannot be read. False if it owes no share or liars are not tolerated."""
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
        """The seed of the last check of shares, drawn after everything that is checked was dealt."""
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
        self._settle(part - WINDOW + 1)
        return self._share_part(part)

    def _settle(self, parts: int) -> None:
        """Add up the first parts. MessageError if this client has not reported about one of them."""
        if not self._by_part:
            return
        for part in range(self._added, parts):
            if part + 1 not in self._testimonies or not self._testimonies[part + 1].reported:
                raise MessageError(f"part {part} of the shares was not checked")
        for part in range(self._added, parts):
            for column in [column for column in self._held if column[1] == part]:
                rows = self.parts.share_rows(*column)
                self._keeper.store(self._rows_of(column, self._held.pop(column), rows), part, rows.start)
            del self._testimonies[part + 1], self._checked[part + 1]
            self._echoes.end(part + 1)
            self._added += 1

    def on_challenge(self, message: Challenge) -> list[Message]:
        """Send others the seed's proof, once: a second seed would need other covers. Report at a quorum."""
        told = self._values.of(message, transcript=self._plan.transcript, left_out=self.left_out)
        self._checked[message.round] = self._columns(message)
        self._challenged += 1
        messages = self._echoes.begin(message, self.left_out) + self._reported(message.round)
        self._values.keep(told)
        return messages

    def _columns(self, message: Challenge) -> list[Column]:
        """The columns of a challenge. MessageError while a client could still deal a part that is checked."""
        check = message.round
        if self._by_part:
            if check != self._challenged + 1 or check > self.announced:
                raise MessageError(
                    f"Challenge: number {check} when {self._challenged} came and {self.announced} parts are "
                    f"complete"
                )
            return [(dealer, check - 1) for dealer in range(1, self._job.n + 1)]
        if check or not self.complete:
            raise MessageError(f"Challenge: number {check}, or before all shares are here")
        if self._challenged or not covers_of(self._job):
            raise MessageError("Challenge: a second one, or in a run that needs none")
        return columns_of(self.remaining(), self.parts)

    def on_echo(self, message: Echo) -> list[Message]:
        """Take the proof of another client's seed for a check. CheatError if the seeds differ."""
        if not covers_of(self._job):
            raise MessageError(f"Echo: from client {message.sender}, in a run that needs none")
        self._echoes.take(message, complete=self.announced + 1 if self._by_part else int(self.complete))
        return self._reported(message.round)

    def _reported(self, check: int) -> list[Message]:
        """The report, once, when a quorum has the same seed."""
        if not self._echoes.confirmed(check) or self._testimonies[check].reported:
            return []
        return [
            self._testimonies[check].report(
                seed=self._echoes.seed(check),
                columns=self._checked[check],
                combine=self._combined,
                kernels=self.kernels,
                unread=self.unread,
            )
        ]

    def on_dispute(self, message: Dispute) -> list[Message]:
        """Send the shares that this client disputes, as their dealers signed them."""
        if message.round not in self._testimonies:
            raise MessageError(f"Dispute: number {message.round}, of nothing that is being checked")
        return self._testimonies[message.round].evidence(message, shares=self._shares)

    def on_leave_out(self, message: LeaveOut) -> list[Message]:
        """Stop waiting for a client's shares. Its rows are removed before the first answer."""
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
        """The layout without the clients left out."""
        return self.layout.without(self.left_out)

    def close(self) -> None:
        """Before the first answer or the result: end all checks, and drop rows of clients left out.

        Parts kept for a check are added up (MessageError for one that was not checked). The remaining rows
        get new numbers.
        """
        self._settle(self.parts.shares)
        self._end_check()
        if not self.left_out or self.layout.deposited:
            return
        remaining = self.remaining()
        self.points.keep([self.layout.rows(j) for j, rows in enumerate(remaining.counts, 1) if rows])
        self.layout, self.parts = remaining, remaining.parts(self._job)

    def _end_check(self) -> None:
        """End all checks: this client reports and shows nothing more."""
        for check, testimony in self._testimonies.items():
            testimony.forget()
            self._echoes.end(check)

    def own_labels(self, labels: Labels) -> Labels:
        """The labels of this client's own rows."""
        if self.left_out and not self.layout.deposited:
            return labels[self.remaining().rows(self._number)]
        return self._own.labels(labels)

    def sums(self, labels: Labels) -> PackedResidues:
        """Shares of the sums over these clusters, (P, width, k), with the noise of all dealers that are in.

        All clients have the same dealers' noise, as `hidden_squares` says of zeros. TooManyFaultsError when
        the noise of fewer dealers is in than privacy needs.
        """
        sums = self.points.set_shares(labels)
        if self.noise is None:
            return sums
        noise = [one for dealer, one in sorted(self._noise.items()) if dealer not in self.left_out]
        self._noise.clear()  # used once
        if len(noise) < self.noise.dealers:
            raise TooManyFaultsError(
                f"centres: noise of {len(noise)} clients is in, that of {self.noise.dealers} is needed"
            )
        return add_residues([sums, *noise], self.primes)

    def hidden_squares(self, labels: Labels) -> PackedResidues:
        """Shares of the sums of squares over these clusters, (P, width, k), hidden by shares of zero.

        It adds the shares of zero of all dealers that are in. All clients have these since rows are complete,
        so the values of any clients lie on one polynomial.
        """
        zeros = [one for dealer, one in sorted(self._zeros.items()) if dealer not in self.left_out]
        self._zeros.clear()  # used once
        return add_residues([self.points.square_shares(labels), *zeros], self.primes)

    def _share_part(self, part: int) -> list[Message]:
        """Encode a part of its own rows. Keep its own share, and send each other client its share."""
        rows = self.parts.share_rows(self._number, part)
        noise = None
        if self.noise is not None and part == 0 and rows.stop > rows.start:
            noise = self.noise.draw(self._job, self._context.masks)
        packed = dict(enumerate(self._sharer.share(self._own.block(rows), noise), 1))
        testimony = self._take((self._number, part), packed.pop(self._number), rows)
        covers: dict[int, PackedResidues] = {}
        if covers_of(self._job) and rows.stop > rows.start:
            covers = dict(enumerate(self._sharer.cover(covers_of(self._job)), 1))
            testimony.keep((self._number, part), covers[self._number])
        zeros: dict[int, PackedResidues] = {}
        if self._job.opened.spread is not None and part == 0 and rows.stop > rows.start:
            zeros = dict(enumerate(deal_zeros(self._job, primes=self.primes, masks=self._context.masks), 1))
            self._zeros[self._number] = zeros[self._number]
        self.shared += 1
        if self.shared == self.parts.shares:
            self._own.forget()

        def share(j: int) -> Message:
            payload = packed.pop(j).payload
            if covers:
                signed = b"".join((payload, covers[j].payload))
                payload = signed
                if self._job.max_liars:
                    payload += testimony.sign(recipient=j, part=part, payload=signed)
            if zeros:
                payload = b"".join((payload, zeros[j].payload))
            sealed = self._channels[j].seal(Share.purpose, part=part, payload=payload)
            return Share(run=self._run, sender=self._number, recipient=j, part=part, sealed=sealed)

        others, size = list(self.received) if rows.stop > rows.start else [], rows.stop - rows.start
        size *= len(self.primes) * self._job.width * len(others)
        return self.kernels.threads.each(share, others, size=size) + self.ready()

    def _keep(self, message: Share, dealt: Dealt, rows: slice) -> list[Message]:
        column = message.sender, message.part
        testimony = self._take(column, dealt.residues, rows)
        if dealt.zeros is not None:
            self._zeros[message.sender] = dealt.zeros
        if dealt.covers is not None:
            testimony.keep(column, dealt.covers, dealt.signature)
        self.received[message.sender] += 1
        self._missing[message.part] -= 1
        return self.ready()

    def _take(self, column: Column, residues: PackedResidues, rows: slice) -> Testimony:
        """Keep a dealer's shares of a part, and return the testimony of the check that covers it."""
        if self._by_part:
            self._held[column] = residues
        else:
            self._keeper.store(self._rows_of(column, residues, rows), column[1], rows.start)
        return self._testimony(column[1] + 1 if self._by_part else 0)

    def _rows_of(self, column: Column, residues: PackedResidues, rows: slice) -> PackedResidues:
        """The shares of rows among a dealer's shares of a part. Keep those of its noise."""
        count = rows.stop - rows.start
        if residues.shape[2] == count:
            return residues
        shares, self._noise[column[0]] = residues.cut(count)
        return shares

    def _testimony(self, check: int) -> Testimony:
        """The testimony of a check, made at its first part: what this client can report and show."""
        identity = self._context.identity
        if check not in self._testimonies:
            self._testimonies[check] = Testimony(
                self._plan, number=self._number, identity=identity, round_=check
            )
        return self._testimonies[check]

    def _shares(self, column: Column, index: int) -> Floats | Shares:
        if self._by_part:
            return reduce(unpack(self._held[column].planes()[index]), self.primes[index])
        return self._stored(column, index)

    def _stored(self, column: Column, index: int) -> Floats | Shares:
        """The shares of a column modulo one prime, from those of rows and of noise."""
        rows = self.points.shares(index, self.parts.share_rows(*column))
        if self.parts.dealt(*column) == rows.shape[1]:
            return rows
        noise = unpack(self._noise[column[0]].planes()[index])
        return np.concatenate([rows, reduce(noise, self.primes[index])], axis=1)

    def _combined(self, columns: Sequence[Column], index: int, coefficients: Floats) -> Floats:
        p, count = self.primes[index], coefficients.shape[0]
        if not self._by_part:
            held: list[Objects] = [self._stored(column, index) for column in columns]
            sizes = [shares.shape[1] for shares in held]
            return combined(np.concatenate(held, axis=1), coefficients, p, sizes)
        out, factors = np.empty((len(columns), count)), coefficients.reshape(count, -1)
        for column, of_column in zip(columns, out, strict=True):
            right = self.kernels.combine(self._held[column].planes()[index], factors, p, of_column)
            assert right  # residues were checked when they arrived
        return out.T

    def ready(self) -> list[Message]:
        """Send `Ready` for each part that was received from, and sent to, every other client."""
        messages: list[Message] = []
        while not self.complete and self._holds(self.announced):
            part = self.announced
            check = check_after(self._job, part, self.parts.shares) if self._values.told else None
            value = b"" if check is None else self._own_values[check]
            messages.append(Ready(run=self._run, sender=self._number, part=part, value=value))
            self.announced += 1
        return messages

    def _holds(self, part: int) -> bool:
        return self.shared > part and self._missing[part] == 0
