"""Attack j: a client that chooses its own rows and reads others' rows from the labels of every round.

Within the bound a label is the nearest centre, so the rounds give inequalities between others' rows and the
client's. The attack searches for rows that satisfy all of them. Before distances were compared with the
bound, integers beyond it made labels known functions of single values.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import log2, prod

import numpy as np

from benchmarks.privacy.geometry import error, procrustes_error
from benchmarks.privacy.label_fit import Round, averaged, centres_of, fitted
from benchmarks.privacy.rows import CENTRES, EXACT, PLACED, AttackRow
from benchmarks.privacy.view import Watched, watch
from secfc.field.array_types import Floats, Ints
from secfc.field.fixed_point import quantised_radius
from secfc.field.primes import primes_of
from secfc.protocol.job.making import make_job

_ROUNDS_OF_A_START = 10


def rounds_of(watched: Watched) -> list[Round]:
    """The sets and the following labels of each round, which every client receives."""
    told = [*watched.server.questions, watched.labels]
    return [(before.astype(np.int64), after.astype(np.int64)) for before, after in pairwise(told)]


def within_bound(
    parties: list[Floats], *, own: Floats, k: int, starts: int, seed: int, adversary: str
) -> Iterator[AttackRow]:
    """Attack j: the error of others' rows and of the last centres, for a client with the rows `own`.

    Parameters
    ----------
    parties : list of ndarray of shape (m_j, d), float64
        The others. The client knows the mean and deviation of each of their columns.
    own : ndarray of shape (rows, d), float64
        In units of these deviations from these means. With no own rows, labels do not determine position and
        orientation, so the found rows are compared after the best rigid motion.
    k, starts, seed : int
    adversary : str
    """
    others = np.concatenate(parties)
    mean, spread = others.mean(axis=0), others.std(axis=0)
    given = [own * spread + mean, *parties]
    runs = [watch(given, k=k, t=1, ell=1, seed=seed + s) for s in range(starts)]
    rounds = [one for run in runs for one in rounds_of(run)]
    rng = np.random.default_rng(seed)
    thought_of = np.concatenate([own, fitted(own, len(others), rounds, k, rng)])
    found = averaged(thought_of, len(own), rounds, k, rng)
    true = (others - mean) / spread
    truly = centres_of(np.concatenate([own, true]), rounds[-1][0], k)[0]
    thought = centres_of(thought_of, rounds[-1][0], k)[0]
    judge = error if len(own) else procrustes_error
    errors = judge(found, true), judge(thought, truly)
    note = (
        f"{len(rounds)} rounds of {starts} starts, at most {len(own) * log2(k):.0f} bits of own labels each"
    )
    for scale, name, value in zip((PLACED, CENTRES), ("j-rows", "j-centres"), errors, strict=True):
        yield scale.row(
            value,
            job=runs[0].job,
            m=len(others) + len(own),
            attack=name,
            adversary=adversary,
            swept=f"d={own.shape[1]}, k={k}, own rows",
            value=len(own),
            note=note,
        )


def beyond_bound(values: Ints, *, levels: int, rounds: int, seed: int) -> AttackRow:
    """Attack j before distances were compared with the bound, on one column of others' rows.

    The client has three rows with random integers below Q in the column, and one row for each possible value
    of the column. Labels follow from D modulo Q. Rows with the same history have the same value.
    """
    rng = np.random.default_rng(seed)
    m = 3 + levels + len(values)
    job = make_job(n=3, k=2, t=1, ell=1, d=1, bound=float(levels), precision=12, disclosure="coded")
    limit = (2 * m * quantised_radius(job.bound, job.precision, 1)) ** 2
    modulus = prod(next(p for c in range(1, 9) if prod(p := primes_of(c)) > limit))  # as then: no margin
    large = [int.from_bytes(rng.bytes(32), "little") % modulus for _ in range(3)]
    column = np.array(
        [*large, *(v << job.exponent for v in [*range(levels), *values.tolist()])], dtype=object
    )
    sets, history = rng.integers(0, 2, m), list[Ints]()
    for at in range(rounds):
        if at % _ROUNDS_OF_A_START == 0 or len({*sets.tolist()}) < 2:
            sets = rng.integers(0, 2, m)
        members = [sets == h for h in range(2)]
        sizes = [int(one.sum()) for one in members]
        wrapped = [
            (int(column[one].sum()) - size * column) ** 2 % modulus
            for one, size in zip(members, sizes, strict=True)
        ]
        sets = (wrapped[0] * sizes[1] ** 2 > wrapped[1] * sizes[0] ** 2).astype(np.int64)
        history.append(sets)
    told = np.array(history).T
    same = (told[3 + levels :, np.newaxis] == told[3 : 3 + levels]).sum(axis=2)
    return EXACT.row(
        float((same.argmax(axis=1) == values).mean()),
        job=job,
        m=m,
        attack="j-beyond",
        adversary="client, unchecked",
        swept="values of a column",
        value=levels,
        note=f"{len(history)} rounds, D modulo Q of {modulus.bit_length()} bits; RangeError in round 1 since",
    )
