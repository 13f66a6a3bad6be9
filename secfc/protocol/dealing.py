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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from secfc.array_types import Floats, Shares
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import PackedResidues, packed_bytes, unpack
from secfc.field.residues import BLOCK, reduce
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.params import Job
from secfc.protocol.consistency import code_of, combinations_for
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
    """Bytes of the covers and the signature that follow the residues of a part of shares."""
    count = covers_of(job)
    return packed_bytes((primes, count, 1)) + SIGNATURE_BYTES if count else 0


def columns_of(layout: Layout, parts: Parts) -> list[Column]:
    """The parts of all clients' shares that are checked; `parts` is how they were cut."""
    return [
        (client, part)
        for client, rows in enumerate(layout.counts, 1)
        for part in range(-(-rows // parts.share))
    ]


def place_of(job: Job, column: Column) -> Column:
    """What coefficients are drawn for: with membership privacy the same for every dealer's shares of a part.

    There all dealers have as many rows in a part; elsewhere each has its own.
    """
    return (0, column[1]) if by_part(job) else column


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
    """Where the coefficients for a place come from, prime after prime."""
    return MaskSource(hashlib.sha256(b"secfc check 2" + transcript + seed + _PLACE.pack(*place)).digest())


def combined(shares: Floats | Shares, coefficients: Floats, p: int) -> Floats:
    """Combinations, (c,), reduced, of shares, (width, rows), with centred residues, (c, width, rows)."""
    count, size = coefficients.shape[0], shares.size
    line, factors = shares.astype(np.float64).reshape(-1), coefficients.reshape(count, -1)
    whole = size // BLOCK * BLOCK
    # BLOCK products of centred residues stay below 2**53, and so do 2**29 reduced sums.
    total = reduce(factors[:, whole:] @ line[whole:], p)
    if whole:
        sums = np.einsum(
            "cbi,bi->cb", factors[:, :whole].reshape(count, -1, BLOCK), line[:whole].reshape(-1, BLOCK)
        )
        total = reduce(total + reduce(sums, p).sum(axis=1), p)
    return total


def combined_payload(
    payload: bytes | memoryview,
    *,
    rows: int,
    job: Job,
    transcript: bytes,
    seed: bytes,
    column: Column,
    primes: tuple[int, ...],
) -> Floats:
    """The combinations of a part of so many rows, given residues and covers as dealt; (P, c), reduced."""
    octets, count = np.frombuffer(payload, dtype=np.uint8), covers_of(job)
    size = packed_bytes((len(primes), job.width, rows))
    planes = octets[:size].reshape(len(primes), job.width, -1)
    covers = octets[size:].reshape(len(primes), count, -1)
    source, values = coefficients_of(transcript, seed, place_of(job, column)), np.empty((len(primes), count))
    for index, p in enumerate(primes):
        coefficients = source.uniform(p, (count, job.width, rows))
        shares, cover = reduce(unpack(planes[index]), p), reduce(unpack(covers[index])[:, 0], p)
        values[index] = reduce(cover + combined(shares, coefficients, p), p)
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
