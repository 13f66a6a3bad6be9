"""Find rows that would get the same labels as others' rows, for a client that knows its own rows."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from secfc.field.array_types import Floats, Ints

Round = tuple[Ints, Ints]
"""Sets and the labels that followed, each for all rows."""

_WIDTHS = (1.0, 0.2, 0.04)
_POINTS = 20_000


def centres_of(rows: Floats, sets: Ints, k: int) -> tuple[Floats, Floats]:
    """Means of the sets, 0 for an empty one, and the matrix that computes them, shape (k, m)."""
    members = (sets == np.arange(k)[:, np.newaxis]).astype(np.float64)
    weights = members / np.maximum(members.sum(axis=1, keepdims=True), 1)
    return weights @ rows, weights


def violated(rows: Floats, rounds: list[Round], k: int, width: float) -> tuple[float, Floats]:
    """A loss for the difference between the labels and those of these rows, and its gradient by the rows.

    It is the cross-entropy of labels that are drawn with log-odds of ``-|x - c_h|**2 / width``.
    """
    loss, slope, at = 0.0, np.zeros_like(rows), np.arange(len(rows))
    for sets, labels in rounds:
        centres, weights = centres_of(rows, sets, k)
        score = (2 * rows @ centres.T - (centres**2).sum(axis=1)) / width
        score[:, weights.sum(axis=1) == 0] = -np.inf
        odds = softmax(score, axis=1)
        loss -= float(np.log(np.maximum(odds[at, labels], 1e-300)).sum())
        odds[at, labels] -= 1
        by_centre = odds.T @ rows - odds.sum(axis=0)[:, np.newaxis] * centres
        slope += 2 / width * (odds @ centres + weights.T @ by_centre)
    return loss, slope


def fitted(own: Floats, others: int, rounds: list[Round], k: int, rng: np.random.Generator) -> Floats:
    """Others' rows for which all rounds have the observed labels, in units of the data's spread.

    The client's rows come first. Others' rows are assumed to be normal.
    """
    labels = rounds[-1][1]
    guess = np.array(
        [
            own[near].mean(axis=0) if (near := labels[: len(own)] == h).any() else own.sum(axis=0) * 0
            for h in range(k)
        ]
    )
    x = guess[labels[len(own) :]] + rng.normal(scale=0.3, size=(others, own.shape[1]))
    for width in _WIDTHS:

        def of(flat: Floats, width: float = width) -> tuple[float, Floats]:
            rows = flat.reshape(others, -1)
            loss, slope = violated(np.concatenate([own, rows]), rounds, k, width)
            return loss + float((rows**2).sum()) / 2, (slope[len(own) :] + rows).ravel()

        x = minimize(of, x.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
        x = x.reshape(others, -1)
    return np.asarray(x)


def averaged(found: Floats, own: int, rounds: list[Round], k: int, rng: np.random.Generator) -> Floats:
    """Others' rows as means of the normal points that agree with most labels, given the found centres."""
    points = rng.normal(size=(_POINTS, found.shape[1]))
    agreeing = np.zeros((len(found) - own, _POINTS), dtype=np.int16)
    for sets, labels in rounds:
        centres, weights = centres_of(found, sets, k)
        score = 2 * points @ centres.T - (centres**2).sum(axis=1)
        score[:, weights.sum(axis=1) == 0] = -np.inf
        agreeing += labels[own:, np.newaxis] == score.argmax(axis=1)
    best = (agreeing == agreeing.max(axis=1, keepdims=True)).astype(np.float64)
    return np.asarray(best @ points / best.sum(axis=1, keepdims=True))
