"""Checks whether a dealer's shares lie on polynomials, by random combinations hidden by covers.

A *dealer* is a client that shares its rows. With each part of its shares it also deals *covers*: shares of
uniform polynomials of degree below ell + t. When all shares are dealt, every client reports, for each part of
each dealer, cover + sum r f(alpha_j). The coefficients r follow from a common seed. Each combination has a
cover of its own, so it is a uniform polynomial, whatever the rows are (docs/faults.md, "Liars in sharing").
With membership privacy this is done part by part, before the dealers' shares of a part are added up.
"""

import hashlib
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.crypto.randomness import MaskSource
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.array_types import Floats, Shares
from secfc.field.packing import PackedResidues, packed_bytes, unpack
from secfc.field.residues import BLOCK, reduce
from secfc.kernels import Kernels
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.protocol.answers.consistency import code_of, combinations_for
from secfc.protocol.context import SharePlan
from secfc.protocol.job.cases import Union
from secfc.protocol.job.job import Job
from secfc.protocol.job.row_layout import Layout, Parts

Column = tuple[int, int]
"""Dealer and part of a column of a report."""

_PLACE = struct.Struct("<HI")

NOT_READ = (1 << 24) - 1
"""Value in a report for shares that the reporter could not read. It is above every residue."""


def covers_of(job: Job) -> int:
    """Number of covers that a client deals for each part and prime. 0 where shares are not checked."""
    return combinations_for(job.max_liars) if job.checks_shares else 0


def by_part(job: Job) -> bool:
    """Whether each part of shares is checked by itself, because only the sum is kept afterwards."""
    return job.checks_shares and isinstance(job.rows, Union)


def proof_bytes(job: Job, primes: int) -> int:
    """Bytes after a part of shares: the covers, and a signature where evidence may be asked for."""
    return packed_bytes((primes, covers_of(job), 1)) + SIGNATURE_BYTES * (job.max_liars > 0)


def columns_of(layout: Layout, parts: Parts) -> list[Column]:
    """The parts of all clients' shares that are checked. `parts` says how they were cut.

    Deposits have none: they were checked when they were opened.
    """
    if layout.deposited:
        return []
    return [
        (client, part)
        for client, rows in enumerate(layout.counts, 1)
        for part in range(-(-rows // parts.share))
    ]


def drawn_together(job: Job, columns: Sequence[Column], parts: Parts) -> list[list[Column]]:
    """The columns, in order, grouped by the draw of their coefficients.

    With membership privacy all dealers have equally many rows in a part, and all use the same draw.
    Otherwise one draw is for as many columns as have together at most the rows of a whole part.
    """
    if by_part(job):
        return [list(columns)]
    groups: list[list[Column]] = []
    room = 0
    for column in columns:
        own = parts.share_rows(*column)
        if room < own.stop - own.start or not groups:
            groups.append([])
            room = parts.share
        groups[-1].append(column)
        room -= own.stop - own.start
    return groups


def most_checks(job: Job) -> int:
    """The greatest number of checks of shares in a run, at least 1."""
    if not isinstance(job.rows, Union) or not by_part(job):
        return 1
    return Layout((job.rows.cap,) * job.n, common=True).parts(job).shares


def check_after(job: Job, part: int, parts: int) -> int | None:
    """The check, counted from 0, that follows when all clients hold this part. None if none follows."""
    if by_part(job):
        return part
    return 0 if part == parts - 1 else None


def coefficients_of(transcript: bytes, seed: bytes, place: Column) -> MaskSource:
    """The source of the coefficients of a draw, prime after prime.

    `place` is the draw's first column, or (0, part) with membership privacy.
    """
    return MaskSource(hashlib.sha256(b"secfc check 3" + transcript + seed + _PLACE.pack(*place)).digest())


def drawn(
    plan: SharePlan, group: Sequence[Column], *, seed: bytes, kernels: Kernels | None = None
) -> Iterator[Floats]:
    """Coefficients of a draw modulo each prime, (c, width, rows).

    The rows are those of all columns, or with membership privacy those of one, the same for each column.
    Noise counts as rows (`secfc.operations.ending.noise`).
    """
    job, sizes = plan.job, sizes_of(plan.parts, group)
    dealer, part = group[0]
    source = coefficients_of(plan.transcript, seed, (0, part) if by_part(job) else (dealer, part))
    shape = covers_of(job), job.width, sizes[0] if by_part(job) else sum(sizes)
    for p in plan.primes:
        yield source.uniform(p, shape, kernels)


def sizes_of(parts: Parts, columns: Sequence[Column]) -> list[int]:
    """Number of rows of each column, noise included."""
    return [parts.dealt(*column) for column in columns]


def combined(shares: Floats | Shares, coefficients: Floats, p: int, sizes: Sequence[int]) -> Floats:
    """Reduced combinations, (c, columns), of concatenated columns with these sizes, none of them 0.

    Shares have shape (width, rows). Coefficients are centred residues of shape (c, width, rows).
    """
    count, width, rows = coefficients.shape
    held, totals = shares.astype(np.float64), np.zeros((count, rows))
    for start in range(0, width, BLOCK):
        # BLOCK products of centred residues stay below 2**53, and so do 2**29 reduced sums.
        block = slice(start, start + BLOCK)
        totals += reduce(np.einsum("cwi,wi->ci", coefficients[:, block], held[block]), p)
    return reduce(np.add.reduceat(totals, [0, *accumulate(sizes[:-1])], axis=1), p)


def combined_payload(
    payload: bytes | memoryview, *, plan: SharePlan, seed: bytes, columns: Sequence[Column], column: Column
) -> Floats:
    """The reduced combinations, (P, c), of one column of a check, from its residues and covers as dealt."""
    job, primes, count = plan.job, plan.primes, covers_of(plan.job)
    (rows,) = sizes_of(plan.parts, [column])
    octets, size = np.frombuffer(payload, dtype=np.uint8), packed_bytes((len(primes), job.width, rows))
    planes = octets[:size].reshape(len(primes), job.width, -1)
    covers, values = octets[size:].reshape(len(primes), count, -1), np.empty((len(primes), count))
    group = next(group for group in drawn_together(job, columns, plan.parts) if column in group)
    first = 0 if by_part(job) else sum(sizes_of(plan.parts, group[: group.index(column)]))
    for index, coefficients in enumerate(drawn(plan, group, seed=seed)):
        p, own = primes[index], coefficients[..., first : first + rows]
        shares, cover = reduce(unpack(planes[index]), p), reduce(unpack(covers[index])[:, 0], p)
        values[index] = reduce(cover + combined(shares, own, p, [rows])[:, 0], p)
    return values


def check_report(residues: PackedResidues, primes: tuple[int, ...], sender: int, *, liars: bool) -> None:
    """Raise MessageError unless every number is below its prime.

    Where liars are tolerated, a whole column may be `NOT_READ`.
    """
    unread = liars & (unpack(residues.planes()) == NOT_READ).all(axis=(0, 1))
    for plane, p in zip(residues.planes(), primes, strict=True):
        if not ((unpack(plane) < p) | unread).all():
            raise MessageError(f"Report: a residue from client {sender} is not below its prime {p}")


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What follows from reports."""

    # Reasons by client: dealers that dealt wrong shares, recipients that lie about what they were dealt.
    # These lie whatever evidence would show.
    dealers: dict[int, str]
    recipients: dict[int, str]
    # Pairs of dealer and recipient where only evidence shows who lies, with the first part in dispute.
    disputed: dict[tuple[int, int], int]
    # Pairs where the recipient says that it cannot read its shares: one lies, and nothing shows who.
    unread: frozenset[tuple[int, int]]


class Reports:
    """All reports, (P, c, len(columns)) each, and what follows from them. Every party finds the same.

    TooManyFaultsError when there are too few reports.
    """

    def __init__(
        self,
        job: Job,
        primes: tuple[int, ...],
        columns: Sequence[Column],
        reports: Mapping[int, PackedResidues],
    ) -> None:
        self._job, self._primes, self._columns = job, primes, list(columns)
        self._reporters = sorted(reports)
        absent, most = job.n - len(self._reporters), job.max_liars
        if len(self._reporters) < job.threshold + most:
            # With enough reports no honest recipient disputes an honest dealer, whatever t others report.
            raise TooManyFaultsError(
                f"to check shares, n >= R + S + A must hold: {job.n} < {job.threshold} + {absent} + {most}"
            )
        self._values = np.stack([unpack(reports[j].planes()) for j in self._reporters])  # (N, P, c, columns)
        self._unread = (self._values == NOT_READ).all(axis=(1, 2))  # (N, columns)
        self._codes: dict[tuple[int, ...], list[ReedSolomon]] = {}

    def _codes_of(self, positions: tuple[int, ...]) -> list[ReedSolomon]:
        """The code of the shares of these reporters, one for each prime."""
        if positions not in self._codes:
            job, clients = self._job, [self._reporters[at] for at in positions]
            self._codes[positions] = [
                code_of(job, index, clients, dimension=job.ell + job.t) for index in range(len(self._primes))
            ]
        return self._codes[positions]

    def findings(self) -> Findings:
        """Clients that lie, and disputes that only evidence decides.

        At most A clients lie. So a dealer lies if more than A recipients dispute its shares, and a recipient
        lies if it disputes more than A other dealers, or itself. TooManyFaultsError when there are too few
        reports to decide, or they disagree and no client may lie (A = 0).
        """
        most = self._job.max_liars
        if not most:
            self._refuse_lies()
        dealers: dict[int, str] = {}
        recipients: dict[int, str] = {}
        found: dict[Column, frozenset[int]] = {}
        unread: set[tuple[int, int]] = set()
        for at, column in enumerate([] if self._agree() else self._columns):
            without = {self._reporters[j] for j in np.flatnonzero(self._unread[:, at]).tolist()}
            unread.update((column[0], recipient) for recipient in without)
            # If more than A cannot read it, the dealer is known to lie, and the reports need not decide.
            wrong = frozenset() if len(without) > most else self._wrong(self._values[..., at], at)
            if wrong is None:
                dealers[column[0]] = "its shares are not on a polynomial"
            elif wrong:
                found[column] = wrong
        disputed: dict[tuple[int, int], int] = {}
        for (dealer, part), wrong in found.items():
            for recipient in sorted(wrong):
                disputed.setdefault((dealer, recipient), part)
        pairs = disputed.keys() | unread
        for dealer, count in Counter(dealer for dealer, _ in pairs).items():
            if count > most:
                dealers.setdefault(dealer, f"{count} clients dispute its shares")
        by_recipient = Counter(recipient for dealer, recipient in pairs if dealer not in dealers)
        for recipient, count in by_recipient.items():
            if count > most:
                recipients[recipient] = f"it disputes the shares of {count} clients"
        for dealer, recipient in pairs:
            if dealer == recipient:
                recipients.setdefault(recipient, "it disputes its own shares")
        known = dealers.keys() | recipients.keys()
        # A client that is left out takes its rows with it. Where rows stay in, the shares that a lying
        # recipient dealt stay too, so disputes about them remain open.
        settled = dealers.keys() if by_part(self._job) else known
        return Findings(
            dealers=dealers,
            recipients=recipients,
            disputed={
                (dealer, recipient): part
                for (dealer, recipient), part in disputed.items()
                if dealer not in settled and recipient not in known
            },
            unread=frozenset(unread),
        )

    def _refuse_lies(self) -> None:
        """Raise TooManyFaultsError about the first dealer on whose shares reports disagree."""
        for at, (dealer, part) in enumerate([] if self._agree() else self._columns):
            wrong = self._located(self._values[..., at], at)
            if wrong == frozenset():
                continue
            apart = (
                f"; the report of {', '.join(map(str, sorted(wrong)))} differs from the others"
                if wrong
                else ""
            )
            raise TooManyFaultsError(
                f"part {part} of the shares that client {dealer} dealt is not on a polynomial, according "
                f"to the clients' reports{apart}: client {dealer} dealt wrong shares or a report is "
                "wrong, and with max_liars=0 no client may lie",
                clients=sorted({dealer, *(wrong or ())}),
            )

    def _agree(self) -> bool:
        """Whether all reports of all parts are codewords, the usual case."""
        count = len(self._reporters)
        if self._unread.any():
            return False
        codes = self._codes_of(tuple(range(count)))
        return all(
            code.contains(reduce(self._values[:, index].reshape(count, -1), p))
            for index, (code, p) in enumerate(zip(codes, self._primes, strict=True))
        )

    def lie_off(self, column: Column, recipient: int, values: Floats) -> bool:
        """Whether a recipient's shares are not on the polynomial of the others' shares.

        `values`, (P, c), are combinations of these shares, from `combined_payload`.
        """
        at = self._columns.index(column)
        words = self._values[..., at].copy()
        words[self._reporters.index(recipient)] = values
        wrong = self._wrong(words, at)
        return wrong is None or recipient in wrong

    def _wrong(self, words: Floats, at: int) -> frozenset[int] | None:
        """Clients whose values are not on the polynomials of the others. None if no polynomials are near.

        `words`, (N, P, c), are about column `at`. Reporters that could not read it do not count.
        TooManyFaultsError when too few are left to decide.
        """
        wrong = self._located(words, at)
        job, unread = self._job, int(self._unread[:, at].sum())
        # If the dealer is honest, all that could not read its shares lie, and at most A - unread others.
        others = job.max_liars - unread
        beyond = len(self._reporters) - unread - (job.ell + job.t)
        if beyond >= 2 * others or (wrong is not None and len(wrong) <= beyond - others):
            return wrong
        raise TooManyFaultsError(
            f"to check shares, n >= ell + t + S + 2A must hold: {job.n} < {job.ell} + {job.t} + "
            f"{job.n - len(self._reporters)} + 2 * {job.max_liars}"
        )

    def _located(self, words: Floats, at: int) -> frozenset[int] | None:
        """Clients whose values are not on the nearest polynomials. None if none is near."""
        wrong: set[int] = set()
        positions = tuple(np.flatnonzero(~self._unread[:, at]).tolist())
        for index, p in enumerate(self._primes):
            errors = self._codes_of(positions)[index].wrong(reduce(words[list(positions), index], p))
            if errors is None:
                return None
            wrong.update(self._reporters[positions[error]] for error in errors)
        return frozenset(wrong)
