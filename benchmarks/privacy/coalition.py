"""Attacks a and b: clients pool their shares."""

from collections.abc import Iterator
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from scipy.stats import chi2, kstest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.privacy.lattice import SmallSolutions
from benchmarks.privacy.modular import row_reduced
from benchmarks.privacy.rows import EQUATIONS, EXACT, P_VALUE, TOLD_APART, AttackRow
from benchmarks.privacy.view import Watched, watch
from secfc.field.array_types import Floats, Ints
from secfc.field.fixed_point import quantise
from secfc.field.primes import PRIMES
from secfc.field.residues import centred
from secfc.lagrange.basis import basis_residues
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import split
from secfc.protocol.job.job import Job

_BINS = 64


def encoding_matrix(job: Job, index: int) -> Ints:
    """L_u(alpha_j) modulo prime `index`, shape (n, ell + t)."""
    prime = PRIMES[index]
    points = evaluation_points(prime, n=job.n, coded=job.ell + job.t)
    return basis_residues(points.beta, points.alpha, prime.p)


def unmasking(masks: Ints, p: int) -> Ints:
    """Combinations of clients' shares in which all masks cancel: the left null space of their mask matrix.

    Parameters
    ----------
    masks : ndarray of shape (c, t), int64
        L_{ell+u}(alpha_j) modulo p for the c clients.
    p : int

    Returns
    -------
    ndarray of shape (c - rank, c), int64
    """
    c, t = masks.shape
    rows, pivots = row_reduced(np.concatenate([masks, np.eye(c, dtype=np.int64)], axis=1), t, p)
    return rows[len(pivots) :, t:]


def equations(job: Job, coalition: tuple[int, ...]) -> list[tuple[Ints, Ints]]:
    """For each prime, the combinations without masks, and the coefficients of the segments in them.

    If there are none, the coalition's shares are uniform for any rows, so every function of them is
    independent of the data.
    """
    found = []
    for index in range(len(PRIMES)):
        p, matrix = PRIMES[index].p, encoding_matrix(job, index)[[j - 1 for j in coalition]]
        combine = unmasking(matrix[:, job.ell :], p)
        found.append((combine, combine @ matrix[:, : job.ell] % p))
    return found


def recovered(watched: Watched, coalition: tuple[int, ...], rows: int) -> Floats:
    """The first rows as this coalition computes them from its shares, (rows, ell * width), quantised.

    Equations without masks are combined over all primes by the Chinese remainder theorem, and their solution
    in small integers is computed. Zeros if there is no equation.
    """
    job, primes = watched.job, watched.primes
    systems = equations(job, coalition)[: len(primes)]
    count = systems[0][0].shape[0]
    out = np.zeros((rows, job.ell, job.width))
    if count == 0:
        return out.reshape(rows, -1)
    shares = [watched.shares(j)[:, :, :rows] for j in coalition]
    modulus = prod(primes)
    lift = [modulus // p * pow(modulus // p, -1, p) for p in primes]

    def joined(residues: list[Ints]) -> np.ndarray:
        planes = zip(residues, lift, strict=True)
        return np.asarray(sum(plane.astype(object) * factor for plane, factor in planes) % modulus)

    coefficients = joined([system for _, system in systems])
    values = joined(
        [
            np.einsum("ec,cwi->ewi", combine, np.stack([share[index] for share in shares])) % primes[index]
            for index, (combine, _) in enumerate(systems)
        ]
    )
    solutions = SmallSolutions([[int(x) for x in row] for row in coefficients], modulus)
    for column in range(job.width):
        for i in range(rows):
            out[i, :, column] = [
                centred(x, modulus) for x in solutions.solve([int(v) for v in values[:, column, i]])
            ]
    return out.reshape(rows, -1)


def truth(watched: Watched, rows: int) -> Floats:
    """The first rows, quantised and padded, shape (rows, ell * width)."""
    job = watched.job
    segments = split(quantise(watched.rows[:rows], job.unit), job.ell)
    return segments.transpose(2, 0, 1).reshape(rows, -1)


def any_t_clients(job: Job, m: int) -> AttackRow:
    """Attack a, by rank: the most equations of any t clients, over every subset and prime."""
    most = max(
        combine.shape[0]
        for coalition in combinations(range(1, job.n + 1), job.t)
        for combine, _ in equations(job, coalition)
    )
    return EQUATIONS.row(
        most,
        job=job,
        m=m,
        attack="a-rank",
        adversary=f"any {job.t} of {job.n} clients",
        swept="t",
        value=job.t,
        note=f"all {comb(job.n, job.t)} subsets at {len(PRIMES)} primes",
    )


def uniformity(watched: Watched, coalition: tuple[int, ...]) -> AttackRow:
    """Attack a, by chi-square: whether shares of unequal rows differ from uniform numbers.

    There is one p-value for each client, prime and pair of clients. They are uniform if the shares are. A
    Kolmogorov-Smirnov test checks this for all of them together.
    """
    values = []
    for index, p in enumerate(watched.primes):
        scaled = [watched.shares(j)[index].ravel() * (_BINS / p) for j in coalition]
        buckets = [share.astype(np.int64) for share in scaled]
        values += [_chi_square(np.bincount(one, minlength=_BINS)) for one in buckets]
        for one, other in combinations(buckets, 2):
            values.append(_chi_square(np.bincount(one // 8 * 8 + other // 8, minlength=_BINS)))
    return P_VALUE.row(
        float(kstest(values, "uniform").pvalue),
        job=watched.job,
        m=len(watched.rows),
        attack="a-uniform",
        adversary=f"{len(coalition)} clients",
        swept="t",
        value=len(coalition),
        note=f"{len(values)} chi-square tests, the least p-value {min(values):.2g}",
    )


def _chi_square(counts: Ints) -> float:
    expected = counts.sum() / counts.size
    return float(chi2.sf(((counts - expected) ** 2).sum() / expected, counts.size - 1))


def told_apart(*, n: int, t: int, ell: int, d: int, m: int, coalition: int, seed: int = 0) -> list[AttackRow]:
    """Attack a, by learning: classifiers that try to distinguish the shares of two datasets of one client.

    One dataset is all zeros, the other all ones, as different as a bound allows. A linear model and boosted
    trees get the coalition's shares and the combinations of these without masks. Both are tested on shares
    that were not used for training.
    """
    rng = np.random.default_rng(seed)
    kinds = (rng.random(m) < 0.5).astype(np.int64)
    rows = np.repeat(kinds[:, np.newaxis], d, axis=1).astype(np.float64)
    empty = [np.zeros((0, d)) for _ in range(n - 1)]
    # Precision 8: two primes and rows of 0 and 1, so only masks hide them.
    watched = watch([*empty, rows], k=1, t=t, ell=ell, precision=8)
    members = tuple(range(1, coalition + 1))
    features = []
    for index, (p, (combine, _)) in enumerate(
        zip(watched.primes, equations(watched.job, members), strict=False)
    ):
        shares = np.stack([watched.shares(j)[index] for j in members])
        unmasked = np.einsum("ec,cwi->ewi", combine, shares) % p
        features += [shares.reshape(-1, m) / p, unmasked.reshape(-1, m) / p]
    return [
        TOLD_APART.row(
            success,
            job=watched.job,
            m=m,
            attack="a-classifier",
            adversary=f"{coalition} clients",
            swept="clients",
            value=coalition,
            note=f"{name}; chance is 0.5 ± {3 * 0.5 / (m - m // 2) ** 0.5:.3f} at three deviations",
        )
        for name, success in accuracies(np.concatenate(features).T, kinds, seed).items()
    ]


def accuracies(x: Floats, kinds: Ints, seed: int) -> dict[str, float]:
    """The accuracy of classifiers on the second half of all rows, after training on the first half.

    Parameters
    ----------
    x : ndarray of shape (m, features), float64
    kinds : ndarray of shape (m,), int64
        0 or 1.
    seed : int
    """
    half = len(kinds) // 2
    models = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "boosted trees": HistGradientBoostingClassifier(random_state=seed, max_iter=50),
    }
    return {
        name: float(model.fit(x[:half], kinds[:half]).score(x[half:], kinds[half:]))
        for name, model in models.items()
    }


def coalitions(watched: Watched, rows: int) -> Iterator[AttackRow]:
    """Attack b: the values that 1 to ell + t clients recover, and the equations that they have."""
    job, true = watched.job, truth(watched, rows)
    d = job.d
    for size in range(1, job.ell + job.t + 1):
        coalition = tuple(range(1, size + 1))
        found = recovered(watched, coalition, rows)[:, :d]
        common: dict[str, Any] = {
            "job": job,
            "m": len(watched.rows),
            "adversary": f"{size} clients",
            "against": "any",
            "swept": "clients",
            "value": size,
        }
        has = equations(job, coalition)[0][0].shape[0]
        yield EQUATIONS.row(
            has / job.ell, attack="b-equations", **common, note=f"{has} of ell = {job.ell}, linear, mod p"
        )
        yield EXACT.row(
            float((found == true[:, :d]).mean()),
            attack="b-values",
            **common,
            note=f"t = {job.t}, ell = {job.ell}, {rows} rows",
        )
