"""Whether a dealer's shares lie on polynomials: random combinations of them, hidden by covers.

Beside each part of its shares a client deals covers, shares of polynomials of degree below ell + t that are
uniform altogether. When all shares are dealt the server draws a seed; every client answers, for each part of
each dealer, cover + sum r f(alpha_j) with coefficients r of that seed. With a cover of its own each
combination is a uniform polynomial, whatever the rows are (docs/faults.md, "Liars in sharing"). With
membership privacy that happens part by part, before the dealers' shares of a part are added up.
"""

import hashlib
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from secfc.array_types import Floats, Shares
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues, packed_bytes, unpack
from secfc.field.residues import BLOCK, reduce
from secfc.kernels import Kernels
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.params import Job
from secfc.protocol.consistency import code_of, combinations_for
from secfc.protocol.context import SharePlan
from secfc.randomness import MaskSource
from secfc.row_layout import Layout, Parts
from secfc.sealing.identity import SIGNATURE_BYTES

Column = tuple[int, int]
"""Dealer and part: what a column of a report is about."""

_PLACE = struct.Struct("<HI")

NOT_READ = (1 << 24) - 1
"""Stands in a report for combinations of shares that the reporter could not read; no residue is so large."""


def covers_of(job: Job) -> int:
    """Covers of each part that a client deals for each prime; none where shares are not checked."""
    return combinations_for(job.max_liars) if job.checks_shares else 0


def by_part(job: Job) -> bool:
    """Whether each part of shares is checked by itself, because it is added up and forgotten then."""
    return job.checks_shares and job.ids_cap is not None


def proof_bytes(job: Job, primes: int) -> int:
    """Bytes of the covers, and of the signature where evidence may be asked for, behind a part of shares."""
    return packed_bytes((primes, covers_of(job), 1)) + SIGNATURE_BYTES * (job.max_liars > 0)


def columns_of(layout: Layout, parts: Parts) -> list[Column]:
    """The parts of all clients' shares that are checked; `parts` is how they were cut.

    What was deposited was checked when it was opened.
    """
    if layout.deposited:
        return []
    return [
        (client, part)
        for client, rows in enumerate(layout.counts, 1)
        for part in range(-(-rows // parts.share))
    ]


def drawn_together(job: Job, columns: Sequence[Column], parts: Parts) -> list[list[Column]]:
    """The columns by the draw of their coefficients, in their order.

    With membership privacy all dealers have as many rows in a part, and one draw is for each of them.
    Elsewhere as many columns as have the rows of a whole part have coefficients of one draw.
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
    """Checks of shares that a run can have, at least 1."""
    if job.ids_cap is None or not by_part(job):
        return 1
    return Layout((job.ids_cap,) * job.n, common=True).parts(job).shares


def check_after(job: Job, part: int, parts: int) -> int | None:
    """Which check, counted from 0, comes when everybody holds this part; None if none does."""
    if by_part(job):
        return part
    return 0 if part == parts - 1 else None


def coefficients_of(transcript: bytes, seed: bytes, place: Column) -> MaskSource:
    """Where the coefficients of a draw come from, prime after prime; its place is that of its first column.

    With membership privacy that is (0, part).
    """
    return MaskSource(hashlib.sha256(b"secfc check 3" + transcript + seed + _PLACE.pack(*place)).digest())


def drawn(
    plan: SharePlan, group: Sequence[Column], *, seed: bytes, kernels: Kernels | None = None
) -> Iterator[Floats]:
    """Coefficients of a draw modulo each prime, (c, width, rows): of all its columns, or of each the same."""
    job, sizes = plan.job, sizes_of(plan.parts, group)
    dealer, part = group[0]
    source = coefficients_of(plan.transcript, seed, (0, part) if by_part(job) else (dealer, part))
    shape = covers_of(job), job.width, sizes[0] if by_part(job) else sum(sizes)
    for p in plan.primes:
        yield source.uniform(p, shape, kernels)


def sizes_of(parts: Parts, columns: Sequence[Column]) -> list[int]:
    """Rows of each of these."""
    rows = [parts.share_rows(*column) for column in columns]
    return [own.stop - own.start for own in rows]


def combined(shares: Floats | Shares, coefficients: Floats, p: int, sizes: Sequence[int]) -> Floats:
    """Combinations, (c, columns), reduced, of columns of these sizes, none 0, one behind the other.

    Shares have shape (width, rows), coefficients, centred residues, (c, width, rows).
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
    """The combinations of one of the columns of a check, given residues and covers as dealt.

    They have shape (P, c), reduced.
    """
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

    Where liars are tolerated, a whole column may say `NOT_READ`.
    """
    unread = liars & (unpack(residues.planes()) == NOT_READ).all(axis=(0, 1))
    for plane, p in zip(residues.planes(), primes, strict=True):
        if not ((unpack(plane) < p) | unread).all():
            raise MessageError(f"Report: a residue from client {sender} is not below its prime {p}")


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What reports tell."""

    # Clients that lie about what they dealt, or were dealt, with the reason, whatever evidence would show.
    dealers: dict[int, str]
    recipients: dict[int, str]
    # Dealers and recipients of whom only evidence tells who lies; the first part that they differ about.
    disputed: dict[tuple[int, int], int]
    # Dealers, and recipients that say that they cannot read theirs: one lies, and nothing tells who.
    unread: frozenset[tuple[int, int]]


class Reports:
    """The reports of all who reported, (P, c, len(columns)) each, and what follows from them, for everybody.

    TooManyFaultsError when there are too few to tell.
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
            # As many as keep an honest recipient from disputing an honest dealer, whatever t others report.
            raise TooManyFaultsError(
                f"to check shares, n >= R + S + A must hold: {job.n} < {job.threshold} + {absent} + {most}"
            )
        self._values = np.stack([unpack(reports[j].planes()) for j in self._reporters])  # (N, P, c, columns)
        self._unread = (self._values == NOT_READ).all(axis=(1, 2))  # (N, columns)
        self._codes: dict[tuple[int, ...], list[ReedSolomon]] = {}

    def _codes_of(self, positions: tuple[int, ...]) -> list[ReedSolomon]:
        """The codes of what these reporters were dealt, one for each prime."""
        if positions not in self._codes:
            job, clients = self._job, [self._reporters[at] for at in positions]
            self._codes[positions] = [
                code_of(job, index, clients, dimension=job.ell + job.t) for index in range(len(self._primes))
            ]
        return self._codes[positions]

    def findings(self) -> Findings:
        """Who lies, and whose dispute only evidence decides.

        At most A recipients lie, so a dealer that more than A dispute lies, as does a recipient that disputes
        more than A other dealers, or itself. TooManyFaultsError when there are too few reports to tell, or
        they disagree and nobody may lie.
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
            # With more than that the dealer is known to lie; others' reports need not tell anything.
            wrong = frozenset() if len(without) > most else self._wrong(self._values[..., at], at)
            if wrong is None:
                dealers[column[0]] = "its shares lie on no polynomial"
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
        # Whoever is left out takes its rows with it. Where rows stay in, so do the shares that a client who
        # lies about others' has dealt.
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
        """Raise TooManyFaultsError where reports disagree, about the first dealer; nothing tells who lies."""
        for at, (dealer, part) in enumerate([] if self._agree() else self._columns):
            wrong = self._located(self._values[..., at], at)
            if wrong == frozenset():
                continue
            apart = f", that of {', '.join(map(str, sorted(wrong)))} apart from the others" if wrong else ""
            raise TooManyFaultsError(
                f"part {part} of the shares that client {dealer} dealt lies on no polynomial, as clients "
                f"report of it{apart}: client {dealer} dealt badly or a report is wrong, and at most "
                f"max_liars=0 clients may lie",
                clients=sorted({dealer, *(wrong or ())}),
            )

    def _agree(self) -> bool:
        """Whether all reports of all parts are codewords, as they nearly always are."""
        count = len(self._reporters)
        if self._unread.any():
            return False
        codes = self._codes_of(tuple(range(count)))
        return all(
            code.contains(reduce(self._values[:, index].reshape(count, -1), p))
            for index, (code, p) in enumerate(zip(codes, self._primes, strict=True))
        )

    def lie_off(self, column: Column, recipient: int, values: Floats) -> bool:
        """Whether what a dealer gave a recipient is not on the polynomial of the others' shares.

        `values` are combinations of what it gave, (P, c), as `combined_payload` makes them.
        """
        at = self._columns.index(column)
        words = self._values[..., at].copy()
        words[self._reporters.index(recipient)] = values
        wrong = self._wrong(words, at)
        return wrong is None or recipient in wrong

    def _wrong(self, words: Floats, at: int) -> frozenset[int] | None:
        """Whose values, of shape (N, P, c), are not on the polynomials of the others; None if none tell.

        They are about column `at`; those who could not read it say nothing. TooManyFaultsError when there are
        too few of them to tell.
        """
        wrong = self._located(words, at)
        job, unread = self._job, int(self._unread[:, at].sum())
        # If the dealer is honest, those who could not read its shares lie, and so many others at most.
        others = job.max_liars - unread
        beyond = len(self._reporters) - unread - (job.ell + job.t)
        if beyond >= 2 * others or (wrong is not None and len(wrong) <= beyond - others):
            return wrong
        raise TooManyFaultsError(
            f"to check shares, n >= ell + t + S + 2A must hold: {job.n} < {job.ell} + {job.t} + "
            f"{job.n - len(self._reporters)} + 2 * {job.max_liars}"
        )

    def _located(self, words: Floats, at: int) -> frozenset[int] | None:
        """Whose values are not on the nearest polynomials; None if none is near."""
        wrong: set[int] = set()
        positions = tuple(np.flatnonzero(~self._unread[:, at]).tolist())
        for index, p in enumerate(self._primes):
            errors = self._codes_of(positions)[index].wrong(reduce(words[list(positions), index], p))
            if errors is None:
                return None
            wrong.update(self._reporters[positions[error]] for error in errors)
        return frozenset(wrong)
