"""Attack f: what the server learns besides distances if it receives coded distances and interpolates phi."""

from collections.abc import Iterator

import numpy as np

from benchmarks.privacy.geometry import memberships, placed, procrustes_error
from benchmarks.privacy.modular import solution
from benchmarks.privacy.rows import COORDINATES, EXACT, PLACED, AttackRow
from benchmarks.privacy.view import Watched
from secfc.field.array_types import Floats, Ints
from secfc.field.fixed_point import quantise
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.field.residues import centred
from secfc.kmeans.sets import set_sizes
from secfc.lagrange.basis import basis_residues
from secfc.lagrange.points import evaluation_points
from secfc.lagrange.sharing import split


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


def true_segment_distances(watched: Watched, round_: int) -> Floats:
    """The true values of `segment_distances`, from the rows."""
    job, sets = watched.job, watched.server.questions[round_]
    segments = split(watched.rows, job.ell)
    centres = np.stack([segments[:, :, sets == h].mean(axis=2) for h in range(job.k)], axis=2)
    distances: Floats = ((segments[:, :, :, np.newaxis] - centres[:, :, np.newaxis, :]) ** 2).sum(axis=1)
    return distances


def per_segment(watched: Watched) -> AttackRow:
    """The correlation of the server's per-segment distances of the first round with the true ones."""
    found, true = segment_distances(watched, 0), true_segment_distances(watched, 0)
    correlation = abs(float(np.corrcoef(found.ravel(), true.ravel())[0, 1]))
    return COORDINATES.row(
        correlation,
        job=watched.job,
        m=len(watched.rows),
        attack="f-segments",
        adversary="server",
        against=watched.job.disclosure.name,
        swept="ell",
        value=watched.job.ell,
        note=f"squared distances of segments of {watched.job.width} of {watched.job.d} columns, one round",
    )


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


def server_and_t_clients(watched: Watched, own: int) -> AttackRow:
    """With ell = 1, the server and t >= 2 clients find every row exactly if they own a single one.

    The coalition's client j knows g_j = mu~_h - |S_h| x~_i at alpha_j. Let y = mu_h - |S_h| x_i at beta_1,
    which is unknown, and let L be the Lagrange polynomials on beta_1 and the coalition's alpha. Then
    phi = ||y||^2 L_1^2 + 2 L_1 sum_j L_j <y, g_j> + (known). The server knows phi everywhere, so the
    coalition knows every <y, g_j>, a linear equation about y with random coefficients. Rows and centres
    follow up to one shift, modulo each prime, and the small integers by the Chinese remainder theorem. (With
    t = 1, adding an antisymmetric map of g to y changes no equation, so d known rows are needed.)

    Parameters
    ----------
    watched : Watched
        A run with ell = 1.
    own : int
        A row that one of the clients knows.
    """
    job, coalition = watched.job, tuple(range(1, watched.job.t + 1))
    counts = [len(answers[1]) for answers in watched.server.answers]
    primes = watched.primes[: max(counts)]
    rounds = [r for r, count in enumerate(counts) if count == len(primes)]
    moduli = [_shifted_rows(watched, coalition, rounds, index, own) for index in range(len(primes))]
    success = 0.0
    if all(one is not None for one in moduli):
        digits = MixedRadix(primes).digits(np.stack([one for one in moduli if one is not None]).astype(float))
        whole = MixedRadix(primes).integers(digits)
        modulus = int(np.prod([int(p) for p in primes], dtype=object))
        true = quantise(watched.rows, job.unit)
        shifts = np.vectorize(lambda x: float(centred(int(x), modulus)), otypes=[float])(whole)
        success = float((shifts + true[own] == true).mean())
    return EXACT.row(
        success,
        job=job,
        m=len(watched.rows),
        attack="f-with-t-clients",
        adversary=f"server + {job.t} clients",
        against=job.disclosure.name,
        swept="t",
        value=job.t,
        note="ell = 1; the clients own one row" if success else "ell = 1; the equations have no solution",
    )


def _shifted_rows(
    watched: Watched, coalition: tuple[int, ...], rounds: list[int], index: int, own: int
) -> Ints | None:
    """Every row minus row `own` modulo a prime, (m, d), from linear equations; None without a solution."""
    job, prime = watched.job, PRIMES[index]
    p, d, t = prime.p, job.d, job.t
    shares = np.stack([watched.shares(j)[index] for j in coalition])  # (t, d, m)
    questions, answers = watched.server.questions, watched.server.answers
    asked = [(r, h) for r in rounds for h in range(job.k) if (questions[r] == h).any()]
    g, b = [], []
    for r, h in asked:
        members = questions[r] == h
        size = int(members.sum())
        known = (shares[:, :, members].sum(axis=2)[:, :, np.newaxis] - size * shares) % p
        g.append(known * size % p)  # y = |S| (mean - x)
        b.append(_inner_products(watched, answers[r], index, h, known, coalition))
    # First solve for a few rows and centres: <mean_c - x_i, size g_ijc> = b_ijc, with x_own = 0.
    chosen = [own, *[i for i in range(len(watched.rows)) if i != own][: 2 * d // t + 2]]
    centres = list(range(min(len(asked), 2 * d // t + 4)))
    unknowns = (len(centres) + len(chosen) - 1) * d
    a_rows, b_rows = [], []
    for at_c, c in enumerate(centres):
        for at_i, i in enumerate(chosen):
            for j in range(t):
                line = np.zeros(unknowns, dtype=np.int64)
                line[at_c * d : (at_c + 1) * d] = g[c][j, :, i]
                if at_i:
                    start = (len(centres) + at_i - 1) * d
                    line[start : start + d] = -g[c][j, :, i] % p
                a_rows.append(line)
                b_rows.append(b[c][j, i])
    first = solution(np.array(a_rows), np.array(b_rows), p)
    if first is None:
        return None
    means = first[: len(centres) * d].reshape(-1, d)
    out = np.zeros((len(watched.rows), d), dtype=np.int64)
    for i in range(len(watched.rows)):
        a = np.concatenate([g[c][:, :, i] for c in centres])
        right = np.concatenate([(g[c][:, :, i] * means[c] % p).sum(axis=1) - b[c][:, i] for c in centres]) % p
        row = solution(a, right, p)
        if row is None:
            return None
        out[i] = row
    return out


def _inner_products(
    watched: Watched,
    answers: dict[int, Ints],
    index: int,
    h: int,
    known: Ints,
    coalition: tuple[int, ...],
) -> Ints:
    """<y, g_j> modulo a prime for each client of the coalition and row, (t, m)."""
    job, prime = watched.job, PRIMES[index]
    p, t = prime.p, job.t
    points = evaluation_points(prime, n=job.n, coded=job.ell + t)
    nodes = [points.beta[0], *(points.alpha[j - 1] for j in coalition)]
    others = [j for j in sorted(answers) if j not in coalition][: t + 1]
    basis = basis_residues(nodes, [points.alpha[j - 1] for j in others], p)  # (t+1, 1+t)
    # phi(a) = N L_1^2 + 2 L_1 sum_j L_j <y, g_j> + |sum_j L_j g_j|^2 at t + 1 points a.
    lead = basis[:, 0]
    combined = np.zeros((len(others), *known.shape[1:]), dtype=np.int64)
    for at in range(t):
        combined = (combined + basis[:, at + 1, np.newaxis, np.newaxis] * known[at]) % p
    rest = np.stack([answers[j][index, h] for j in others]) - (combined**2 % p).sum(axis=1)
    system = np.concatenate(
        [(lead * lead % p)[:, np.newaxis], 2 * (lead[:, np.newaxis] * basis[:, 1:] % p) % p], axis=1
    )
    inverse = np.stack([_solved(system, unit, p) for unit in np.eye(t + 1, dtype=np.int64)], axis=1)
    return np.stack([(line[:, np.newaxis] * (rest % p) % p).sum(axis=0) % p for line in inverse[1:]])


def _solved(a: Ints, b: Ints, p: int) -> Ints:
    found = solution(a, b, p)
    assert found is not None  # the points are distinct and not among the nodes
    return found
