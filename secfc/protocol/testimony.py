"""What a client can say about the shares that it was dealt: its report, and evidence if others differ."""

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate

import numpy as np

from secfc.crypto.identity import Identity
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.array_types import Bools, Floats, Shares
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, pack, unpack
from secfc.field.residues import reduce
from secfc.kernels import Kernels
from secfc.protocol.context import SharePlan
from secfc.protocol.messages import Dispute, Evidence, Message, Report
from secfc.protocol.signed import report_statement, share_statement
from secfc.sharing.dealing import Column, Reports, by_part, covers_of, drawn, drawn_together, sizes_of

SharesOf = Callable[[Column, int], Floats | Shares]
"""The shares of a column modulo the prime of an index: reduced residues, (width, rows)."""

Combine = Callable[[Sequence[Column], int, Floats], Floats]
"""Reduced combinations of columns, (c, columns), with coefficients of one draw (`drawn_together`)."""


class Testimony:
    """One client's covers, and their dealers' signatures, for one check. `round_` is 0 for all shares."""

    def __init__(self, plan: SharePlan, *, number: int, identity: Identity, round_: int = 0) -> None:
        self._plan, self._job, self._number, self._primes = plan, plan.job, number, plan.primes
        self._transcript, self._identity, self._round = plan.transcript, identity, round_
        self._dealt: dict[Column, tuple[bytes, bytes]] = {}  # covers, (P, c) packed, and signature
        self._said: Report | None = None
        self.seed = b""  # of the challenge that was answered
        self._columns: list[Column] = []
        self._shown = False

    @property
    def reported(self) -> bool:
        """Whether the challenge was answered."""
        return self._said is not None

    def sign(self, *, recipient: int, part: int, payload: bytes) -> bytes:
        """Sign residues and covers of a part that this client deals to another client."""
        return self._identity.sign(
            share_statement(
                self._transcript, dealer=self._number, recipient=recipient, part=part, payload=payload
            )
        )

    def keep(self, column: Column, covers: PackedResidues, signature: bytes = b"") -> None:
        """Keep covers and signature of a part of a dealer's shares. Its own shares need no signature."""
        self._dealt[column] = bytes(covers.payload), signature

    def report(
        self,
        *,
        seed: bytes,
        columns: Sequence[Column],
        combine: Combine,
        kernels: Kernels,
        unread: Collection[int] = (),
    ) -> Report:
        """The signed report: combinations of each part of each dealer. Made once, as covers are used once.

        For dealers in `unread` it says that it could not read their shares.
        """
        job, primes = self._job, self._primes
        assert self._said is None
        values = np.zeros((len(primes), covers_of(job), len(columns)))
        readable = np.array([dealer not in unread for dealer, _ in columns], dtype=bool)
        covers = b"".join(self._dealt[column][0] for column in columns if column[0] not in unread)
        octets = np.frombuffer(covers, dtype=np.uint8).reshape(-1, *values.shape[:2], BYTES_PER_RESIDUE)
        values[..., readable] = unpack(octets)[..., 0].transpose(1, 2, 0)
        groups = drawn_together(job, columns, self._plan.parts)
        stops = list(accumulate(map(len, groups)))

        def add(number: int) -> None:
            group, stop = groups[number], stops[number]
            start = stop - len(group)
            read = readable[start:stop]
            asked, places = [group[at] for at in np.flatnonzero(read)], start + np.flatnonzero(read)
            of_rows: slice | Bools = slice(None)
            if not (by_part(job) or read.all()):
                of_rows = np.repeat(read, sizes_of(self._plan.parts, group))
            for index, coefficients in enumerate(drawn(self._plan, group, seed=seed, kernels=kernels)):
                if asked:
                    values[index][:, places] += combine(asked, index, coefficients[..., of_rows])

        # Each group has its own draw and its own places.
        rows = sum(sizes_of(self._plan.parts, columns))
        kernels.threads.each(add, range(len(groups)), size=len(primes) * job.width * rows)
        payload = b"".join(
            pack(reduce(plane, p), p).tobytes() for plane, p in zip(values, primes, strict=True)
        )
        residues = PackedResidues(shape=values.shape, payload=bytearray(payload))
        for at, (dealer, _) in enumerate(columns):
            if dealer in unread:
                residues.planes()[..., BYTES_PER_RESIDUE * at : BYTES_PER_RESIDUE * (at + 1)] = 0xFF
        statement = report_statement(
            self._transcript, reporter=self._number, seed=seed, columns=columns, residues=residues
        )
        self.seed, self._columns = seed, list(columns)
        self._said = Report(
            run=self._plan.session.run,
            sender=self._number,
            round=self._round,
            residues=residues,
            signature=self._identity.sign(statement),
        )
        return self._said

    def evidence(self, message: Dispute, *, shares: SharesOf) -> list[Message]:
        """The shares that this client disputes, as their dealers signed them, once.

        The signed reports of others decide which, so a server cannot ask for shares of its choice. While at
        most t others lie, an honest client's report differs from R + A others' only about a lying dealer.
        """
        if self._said is None or self._shown:
            raise MessageError("Dispute: before a report, or a second one")
        own = self._said.residues
        for report in message.reports:
            if not 1 <= report.client <= self._job.n or report.residues.shape != own.shape:
                raise MessageError(
                    f"Dispute: a report of shape {report.residues.shape} from client {report.client}, "
                    f"expected {own.shape}"
                )
            statement = report_statement(
                self._transcript,
                reporter=report.client,
                seed=self.seed,
                columns=self._columns,
                residues=report.residues,
            )
            self._plan.session.roster.verify(report.client, report.signature, statement, what="its report")
        residues = {report.client: report.residues for report in message.reports}
        if self._number not in residues or bytes(residues[self._number].payload) != bytes(own.payload):
            raise MessageError("Dispute: without the client's own report")
        try:
            findings = Reports(self._job, self._primes, self._columns, residues).findings()
        except TooManyFaultsError as error:
            raise MessageError(f"Dispute: {error}") from None
        asked = [(d, part) for (d, recipient), part in findings.disputed.items() if recipient == self._number]
        if not asked:
            raise MessageError("Dispute: of none of the client's own shares")
        self._shown = True
        return [self._show(column, shares) for column in asked]

    def forget(self) -> None:
        """End the check: this client shows nothing more."""
        self._dealt = {}

    def _show(self, column: Column, shares: SharesOf) -> Message:
        covers, signature = self._dealt[column]
        planes = (shares(column, index).astype(np.float64) for index in range(len(self._primes)))
        packed = [pack(plane, p).tobytes() for plane, p in zip(planes, self._primes, strict=True)]
        return Evidence(
            run=self._plan.session.run,
            sender=self._number,
            round=self._round,
            dealer=column[0],
            part=column[1],
            payload=b"".join((*packed, covers)),
            signature=signature,
        )
