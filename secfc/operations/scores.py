"""Which of two starts ended better, by their scores (`secfc.kmeans.score`) of masked distances.

A score is linear, so the evaluators compute it from y and the dealer from r. They get a masked score and its
mask modulo each prime. Each of the three keeps the sums of the best start so far. The roles of
`secfc.operations.trio` compare two scores.
"""

import numpy as np

from secfc.comparing.matches import reduced
from secfc.comparing.question import Question
from secfc.errors import MessageError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.field.packing import PackedResidues, pack_canonical, unpack
from secfc.field.primes import primes_above
from secfc.field.residues import centred, matmul, reduce
from secfc.kmeans.score import most_score, score_weights


def score_residues(radius: int, rows: int) -> int:
    """Number of primes for a round that can ask for scores: two scores differ by less than Q / 2.

    D <= (2 |S_h| radius)**2. If rows have weights, |S_h| and `rows` are sums of weights. ParameterError if
    all primes together are not enough.
    """
    return primes_above(2 * most_score(rows, (2 * radius) ** 2), what=f"scores of {rows} rows")


def add_to_sums(
    sums: Floats,
    own: PackedResidues,
    *,
    labels: Labels,
    primes: tuple[int, ...],
    weights: Ints | None = None,
) -> Floats:
    """Add another part's rows to the sums of each label: masked at an evaluator, masks at the dealer.

    `sums`, shape (P, k), are those of the parts so far, zeros at first. `own` is y or r of each row of the
    part to the centre of its label (`own_column`), shape (P, 1, n). `own` and the result are canonical. If
    rows have `weights`, shape (n,), a row counts as many times as its weight.
    """
    expected = len(primes), 1, labels.size
    if own.shape != expected:
        raise MessageError(f"residues of shape {own.shape} given, {expected} needed")
    times = 1.0 if weights is None else weights.astype(np.float64)
    # Exact: below 2**24 times at most 2**29 rows, or weights.
    added = [
        reduce(_sums(labels, unpack(plane[0]) * times, sums.shape[1]), p)
        for plane, p in zip(own.planes(), primes, strict=True)
    ]
    return reduced(sums + np.array(added), primes)


def _sums(labels: Labels, values: Floats, k: int) -> Floats:
    return np.bincount(labels, weights=values, minlength=k).astype(np.float64)


def masked_score(sums: Floats, *, sizes: Ints, rows: int, primes: tuple[int, ...]) -> Floats:
    """The score from such sums, (P or more, k), for all rows of a run: shape (P,), canonical.

    `sizes` are |S_h| of the sets whose distances are summed. `rows` is m, or the sum of all weights.
    """
    weights, found = score_weights(sizes, rows), np.empty((len(primes), 1))
    for index, p in enumerate(primes):
        of_sets = np.array([[float(centred(one, p))] for one in weights])
        found[index] = matmul(sums[index : index + 1], of_sets, p)[0]
    return reduced(found, primes)[:, 0]


def scores_compared(
    first: Floats, second: Floats, primes: tuple[int, ...]
) -> tuple[Question, PackedResidues]:
    """Arguments of roles that compare two scores. The label of the only row is 1 if the second is less.

    `first` is the score of the start that was drawn first. The primes are those of all scores
    (`score_residues`).
    """
    columns = np.stack([first, second], axis=1)[..., np.newaxis]
    question = Question(primes=primes, sizes=np.ones(2, dtype=np.int64), rows=1)
    return question, PackedResidues(
        shape=(len(primes), 2, 1), payload=pack_canonical(columns).reshape(-1).data
    )
