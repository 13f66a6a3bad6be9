"""What a client can say of the shares that it was dealt: its report, and the evidence when others differ."""

from collections.abc import Sequence

import numpy as np

from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.residues import reduce
from secfc.kmeans.coded_distance import CodedPoints
from secfc.params import Job, Parts
from secfc.protocol.dealing import Column, Reports, coefficients_of, combined, covers_of
from secfc.protocol.messages import SERVER, Dispute, Evidence, Message, Report
from secfc.protocol.signed import report_statement, share_statement
from secfc.sealing.handshake import Session
from secfc.sealing.identity import Identity


class Testimony:
    """One client's covers, and the signatures of those who dealt them.

    Parameters
    ----------
    job : Job
    session : Session
    number : int
        Of the client.
    identity : Identity
    primes : tuple of P ints

    Attributes
    ----------
    seed : bytes
        Of the challenge that was answered; empty before.
    """

    def __init__(
        self, *, job: Job, session: Session, number: int, identity: Identity, primes: tuple[int, ...]
    ) -> None:
        self._job, self._session, self._number, self._primes = job, session, number, primes
        self._identity = identity
        self._dealt: dict[Column, tuple[PackedResidues, bytes]] = {}  # covers and signature
        self._said: Report | None = None
        self.seed = b""
        self._columns: list[Column] = []
        self._shown = False

    def __repr__(self) -> str:
        return f"Testimony(client {self._number})"

    def sign(self, *, recipient: int, part: int, payload: bytes) -> bytes:
        """The signature of a part of the own shares, residues and covers, for another client."""
        return self._identity.sign(
            share_statement(
                self._session, dealer=self._number, recipient=recipient, part=part, payload=payload
            )
        )

    def keep(self, column: Column, covers: PackedResidues, signature: bytes = b"") -> None:
        """Note what came with a part of a dealer's shares; own shares need no signature."""
        self._dealt[column] = covers, signature

    def report(self, *, seed: bytes, parts: Parts, columns: Sequence[Column], points: CodedPoints) -> Report:
        """The client's combinations of each part of each dealer, signed, made once.

        Raises
        ------
        MessageError
            A second one is asked for, which would need other covers.
        """
        job, primes = self._job, self._primes
        if self._said is not None or not covers_of(job):
            raise MessageError("Challenge: a second one, or in a job without liars")
        count = covers_of(job)
        values = np.empty((len(primes), count, len(columns)))
        for at, column in enumerate(columns):
            covers, rows = unpack(self._dealt[column][0].planes()), parts.share_rows(*column)
            source = coefficients_of(self._session.run, seed, column)
            for index, p in enumerate(primes):
                coefficients = source.uniform(p, (count, job.width, rows.stop - rows.start))
                cover = reduce(covers[index, :, 0], p)
                values[index, :, at] = combined(cover, points.shares(index, rows), coefficients, p)
        payload = b"".join(pack(plane, p).tobytes() for plane, p in zip(values, primes, strict=True))
        residues = PackedResidues(shape=values.shape, payload=payload)
        statement = report_statement(
            self._session, reporter=self._number, seed=seed, columns=columns, residues=residues
        )
        self.seed, self._columns = seed, list(columns)
        self._said = Report(
            run=self._session.run,
            sender=self._number,
            recipient=SERVER,
            residues=residues,
            signature=self._identity.sign(statement),
        )
        return self._said

    def evidence(self, message: Dispute, *, parts: Parts, points: CodedPoints) -> list[Message]:
        """The shares that this client disputes, as their dealers signed them, once.

        What others report decides, and they sign it: a server cannot ask for shares of its choice. While at
        most t others lie, an honest client's report differs from R + A others' only about a dealer that lies.

        Raises
        ------
        MessageError
            The reports are not those of this check, or they do not dispute the own one.
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
                self._session,
                reporter=report.client,
                seed=self.seed,
                columns=self._columns,
                residues=report.residues,
            )
            self._session.roster.verify(report.client, report.signature, statement, what="its report")
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
        return [self._show(column, parts, points) for column in asked]

    def forget(self) -> None:
        """The check is over: nothing is reported or shown from now on."""
        self._dealt = {}

    def _show(self, column: Column, parts: Parts, points: CodedPoints) -> Message:
        covers, signature = self._dealt[column]
        rows = parts.share_rows(*column)
        planes = (points.shares(index, rows).astype(np.float64) for index in range(len(self._primes)))
        packed = [pack(plane, p).tobytes() for plane, p in zip(planes, self._primes, strict=True)]
        return Evidence(
            run=self._session.run,
            sender=self._number,
            recipient=SERVER,
            dealer=column[0],
            part=column[1],
            payload=b"".join((*packed, covers.payload)),
            signature=signature,
        )
