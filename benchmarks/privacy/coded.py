"""Attack f: what the server learns besides distances if it receives coded distances and interpolates phi."""

from collections.abc import Iterator

import numpy as np

from benchmarks.privacy.geometry import memberships, placed, procrustes_error
from benchmarks.privacy.rows import PLACED, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Floats, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.kmeans.sets import set_sizes
from secfc.lagrange.basis import basis_residues, evaluation_points
from secfc.sharing.codewords import split


def _at_segments(watched: Watched, answers: dict[int, Ints], index: int) -> Ints:
    """Values of the polynomial through R answers at the segments' points, modulo a prime, (ell, k, m)."""
    job, prime = watched.job, PRIMES[index]
    points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
    responders = sorted(answers)[: job.threshold]
    alpha = [points.alpha[j - 1] for j in responders]
    basis = basis_residues(alpha, points.beta[: job.ell], prime.p)
    total = np.zeros((job.ell, *answers[responders[0]].shape[1:]), dtype=np.int64)
    for weights, client in zip(basis.T, responders, strict=True):
        total = (total + weights[:, np.newaxis, np.newaxis] * answers[client][index]) % prime.p
    return total


def segment_distances(watched: Watched, round_: int) -> Floats:
    """Squared distances per segment, (ell, m, k), from the interpolated polynomial of a round.

    This is correct if the answers are evaluations of phi. Masked answers give random numbers.
    """
    job, answers = watched.job, watched.server.answers[round_]
    count = next(iter(answers.values())).shape[0]
    residues = np.stack([_at_segments(watched, answers, index) for index in range(count)])
    radix = MixedRadix(tuple(prime.p for prime in PRIMES[:count]))
    scaled = radix.approximate(radix.digits(residues.astype(float)))
    sizes = set_sizes(watched.server.questions[round_], job.k).astype(float)
    distances: Floats = (scaled / sizes[:, np.newaxis] ** 2 / 4.0**job.exponent).transpose(0, 2, 1)
    return distances


def segments_placed(watched: Watched, centres: list[int]) -> Iterator[AttackRow]:
    """Place every segment separately, up to a rigid motion: for a single column, up to sign and shift."""
    job = watched.job
    weights = memberships(watched.server.questions, job.k)
    rounds = range(len(watched.server.questions))
    table = np.concatenate([segment_distances(watched, r) for r in rounds], axis=2)
    segments = split(watched.rows, job.ell)
    for count in (one for one in centres if one <= table.shape[2]):
        errors = [
            procrustes_error(placed(table[u][:, :count], weights[:count], job.width), segments[u].T)
            for u in range(job.ell)
        ]
        yield PLACED.row(
            min(1.0, float(np.mean(errors))),
            job=job,
            m=len(watched.rows),
            attack="f-segments-placed",
            adversary="server",
            against=job.disclosure.name,
            swept="centres",
            value=count,
            note=f"mean over {job.ell} segments of {job.width} columns, each up to a rigid motion",
        )
