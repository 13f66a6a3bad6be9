"""Whether a dealer's shares lie on polynomials: random combinations of them, hidden by covers.

Beside its shares a client deals covers, shares of polynomials of degree below ell + t that are uniform
altogether. When all shares are dealt the server draws a seed; every client answers, for each dealer, cover +
sum r f(alpha_j) with coefficients r of that seed. With a cover of its own each combination is a uniform
polynomial, whatever the rows are (docs/protocol.md, "Liars in sharing").
"""

import hashlib
import struct
from collections.abc import Mapping

import numpy as np

from secfc._arrays import Floats, Shares
from secfc.errors import MessageError, TooManyFaultsError
from secfc.field.packing import BYTES_PER_RESIDUE, PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import BLOCK, reduce
from secfc.kmeans.coded_distance import CodedPoints
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.reed_solomon import ReedSolomon
from secfc.params import Job, Layout, Parts
from secfc.protocol.consistency import combinations_for
from secfc.randomness import MaskSource

_PLACE = struct.Struct("<HI")  # dealer, part


def covers_of(job: Job) -> int:
    """Covers that a client deals for each prime; none where shares are not checked.

    They are not where no liar is tolerated, and not with membership privacy: shares of different dealers are
    added up as they come, so there is nothing to combine later.
    """
    return combinations_for(job.max_liars) if job.max_liars and job.ids_cap is None else 0


def cover_bytes(job: Job, primes: int) -> int:
    """Bytes of the covers that follow the first part of a client's shares."""
    return BYTES_PER_RESIDUE * primes * covers_of(job)


def dealers(layout: Layout) -> list[int]:
    """Clients with rows, whose shares are checked."""
    return [client for client, rows in enumerate(layout.counts, 1) if rows]


def combined(covers: Floats, shares: Shares, coefficients: Floats, p: int) -> Floats:
    """Covers plus combinations of shares, reduced.

    Parameters
    ----------
    covers : ndarray of shape (c,), float64
        Reduced, or a combination of earlier parts.
    shares : ndarray of shape (width, rows), float32
        Centred residues.
    coefficients : ndarray of shape (c, width, rows), float64
        Centred residues.
    """
    count, size = coefficients.shape[0], shares.size
    line, factors = shares.astype(np.float64).reshape(-1), coefficients.reshape(count, -1)
    whole = size // BLOCK * BLOCK
    # BLOCK products of centred residues stay below 2**53, and so do 2**29 reduced sums.
    sums = np.einsum(
        "cbi,bi->cb", factors[:, :whole].reshape(count, -1, BLOCK), line[:whole].reshape(-1, BLOCK)
    )
    total = reduce(sums, p).sum(axis=1) + reduce(factors[:, whole:] @ line[whole:], p)
    return reduce(covers + reduce(total, p), p)


def report(
    *,
    job: Job,
    run: bytes,
    seed: bytes,
    parts: Parts,
    asked: list[int],
    points: CodedPoints,
    covers: Mapping[int, PackedResidues],
    primes: tuple[int, ...],
) -> PackedResidues:
    """A client's combinations of what each dealer has given it.

    Parameters
    ----------
    asked : list of int
        The dealers.
    points : CodedPoints
        The client's shares of all rows.
    covers : mapping from dealer to PackedResidues of shape (P, c, 1)
    primes : tuple of P ints

    Returns
    -------
    PackedResidues of shape (P, c, len(asked))
    """
    count = covers_of(job)
    values = np.empty((len(primes), count, len(asked)))
    for at, dealer in enumerate(asked):
        values[:, :, at] = unpack(covers[dealer].planes())[:, :, 0]
        for part in range(parts.shares):
            rows = parts.share_rows(dealer, part)
            if rows.stop == rows.start:
                break
            key = hashlib.sha256(b"secfc check 1" + run + seed + _PLACE.pack(dealer, part)).digest()
            source = MaskSource(key)
            for index, p in enumerate(primes):
                coefficients = source.uniform(p, (count, job.width, rows.stop - rows.start))
                shares = points.shares(index, rows)
                values[index, :, at] = combined(values[index, :, at], shares, coefficients, p)
    payload = b"".join(pack(reduce(plane, p), p).tobytes() for plane, p in zip(values, primes, strict=True))
    return PackedResidues(shape=values.shape, payload=payload)


def check_report(residues: PackedResidues, primes: tuple[int, ...], sender: int) -> None:
    """Raise MessageError unless every number is below its prime."""
    for plane, p in zip(residues.planes(), primes, strict=True):
        if not (unpack(plane) < p).all():
            raise MessageError(f"Report: a residue from client {sender} is not below its prime {p}")


def judge(
    job: Job, primes: tuple[int, ...], asked: list[int], reports: Mapping[int, PackedResidues]
) -> dict[int, str]:
    """Who is left out, with the reason: dealers that more than A recipients dispute, and the other way round.

    Parameters
    ----------
    reports : mapping from client to PackedResidues of shape (P, c, len(asked))

    Raises
    ------
    TooManyFaultsError
        There are too few reports to tell.
    """
    reporters, dimension, most = sorted(reports), job.ell + job.t, job.max_liars
    beyond = len(reporters) - dimension
    if min(beyond // 2, beyond - most) < most:
        raise TooManyFaultsError(
            f"to check shares, n >= ell + t + S + 2A must hold: {job.n} < {job.ell} + {job.t} + "
            f"{job.n - len(reporters)} + 2 * {most}"
        )
    values = np.stack([unpack(reports[j].planes()) for j in reporters])
    disputes: dict[int, set[int] | None] = {dealer: set() for dealer in asked}
    for index, p in enumerate(primes):
        points = evaluation_points(PRIMES[index], n=job.n, coded=dimension)
        alpha = [points.alpha[j - 1] for j in reporters]
        code = ReedSolomon(points=alpha, dimension=dimension, p=p)
        for at, dealer in enumerate(asked):
            words = reduce(values[:, index, :, at], p)
            if code.contains(words):
                continue
            for word in words.T:
                errors, known = code.errors(word), disputes[dealer]
                if errors is None or known is None:
                    disputes[dealer] = None
                else:
                    known.update(reporters[position] for position in errors)
    out = {
        dealer: "its shares lie on no polynomial"
        for dealer, who in disputes.items()
        if who is None or len(who) > most
    }
    for client in reporters:
        disputed = sum(who is not None and client in who for d, who in disputes.items() if d not in out)
        if disputed > most:
            out.setdefault(client, f"it disputes the shares of {disputed} clients")
    return out
