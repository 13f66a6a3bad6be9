"""Attack i: a party that chooses new rows and finds unopened centres from their labels.

A label changes on the plane halfway between two centres. For a point x on the plane between h and g,
``f_h(x) = f_g(x)`` with ``f_h(x) = b_h - 2 <a_h, x>``. Any a, b with the same planes can replace c_h and
|c_h|**2: ``c_h = scale a_h + shift``, and with a_0 = b_0 = 0 ``scale |a_h|**2 + 2 <a_h, shift> = b_h``.
Points on planes give a and b up to the scale: (k - 1)(d + 1) - 1 unknowns, with one point for each. Then k -
1 linear equations remain for scale and shift, which are d + 1 unknowns. So k >= d + 2 centres in general
position with adjacent cells are determined. With fewer centres, d + 2 - k numbers stay unknown.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import secfc
from benchmarks.privacy.rows import CENTRES, AttackRow
from secfc.errors import LimitError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.protocol.job.limits import Limits

ATTACKER = 0
"""The party that chooses new rows."""


@dataclass
class Oracle:
    """`secfc.predict` as a function for one party.

    Parameters
    ----------
    parties : list of ndarray of shape (m_j, d), float64
    labels : list of ndarray of shape (m_j,), int32
        Labels of these rows, from a run.
    k : int
    limits : Limits
        Limits of every party.
    bound : float
        The public bound. The party's rows must be within it.
    """

    parties: list[Floats] = field(repr=False)
    labels: list[Labels] = field(repr=False)
    k: int
    limits: Limits
    bound: float
    asked: int = 0

    def __call__(self, rows: Floats) -> Labels:
        """Labels of new rows, from one prediction."""
        none = np.empty((0, rows.shape[1]))
        new = [rows if j == ATTACKER else none for j in range(len(self.parties))]
        found = secfc.predict(
            self.parties, self.labels, new, self.k, 1, 1, limits=self.limits, bound=self.bound
        )
        self.asked += len(rows)
        labels: Labels = found.labels[ATTACKER]
        return labels


@dataclass
class Brackets:
    """Pairs of points with different labels. A plane lies between them."""

    low: Floats
    high: Floats
    low_label: Labels
    high_label: Labels


def changes(ask: Oracle, low: Floats, high: Floats, points: int) -> Brackets:
    """Find where labels change between points in equal steps from `low` to `high`, with one prediction."""
    at = np.linspace(0.0, 1.0, points)[:, np.newaxis, np.newaxis]
    rows = low + at * (high - low)  # (points, lines, d)
    labels = ask(rows.reshape(-1, low.shape[1])).reshape(points, -1)
    step, line = np.nonzero(labels[1:] != labels[:-1])
    return Brackets(rows[step, line], rows[step + 1, line], labels[step, line], labels[step + 1, line])


def chosen(found: Brackets, most: int) -> Brackets:
    """At most `most` brackets, taken in turn from each pair of labels."""
    pairs = np.sort(np.stack([found.low_label, found.high_label]), axis=0)
    seen: dict[tuple[int, int], int] = {}
    turn = []
    for pair in pairs.T.tolist():
        seen[tuple(pair)] = seen.get(tuple(pair), 0) + 1
        turn.append(seen[tuple(pair)])
    keep = np.argsort(turn, kind="stable")[:most]
    return Brackets(found.low[keep], found.high[keep], found.low_label[keep], found.high_label[keep])


def solved(found: Brackets, k: int, guess: Floats) -> Floats:
    """Centres from points on planes. What these do not determine is as near to a guess as possible.

    Parameters
    ----------
    found : Brackets
    k : int
    guess : ndarray of shape (k, d), float64
        The means of the party's own rows.

    Returns
    -------
    ndarray of shape (k, d), float64
        `guess` if too few points on planes are known.
    """
    d = guess.shape[1]
    # Shift and scale to numbers of order 1 around the guess.
    middle, size = guess.mean(axis=0), float(np.abs(guess - guess.mean(axis=0)).max()) or 1.0
    points, start = ((found.low + found.high) / 2 - middle) / size, (guess - middle) / size
    system = np.zeros((len(points), k, d + 1))
    line = np.concatenate([-2 * points, np.ones((len(points), 1))], axis=1)
    at = np.arange(len(points))
    system[at, found.low_label] += line
    system[at, found.high_label] -= line
    unknown = (k - 1) * (d + 1)
    if len(points) < unknown - 1:
        return guess
    _, _, right = np.linalg.svd(system[:, 1:].reshape(len(points), unknown))
    planes = np.concatenate([np.zeros((1, d + 1)), right[-1].reshape(k - 1, d + 1)])
    low = (found.low - middle) / size
    values = planes[:, -1] - 2 * low @ planes[:, :-1].T
    if (values[at, found.low_label] > values[at, found.high_label]).mean() > 0.5:
        planes = -planes
    a, b = planes[:, :-1], planes[:, -1]
    # (scale, shift) nearest to the guess among those that satisfy the k - 1 equations.
    equations = np.concatenate([(a[1:] ** 2).sum(axis=1, keepdims=True), 2 * a[1:]], axis=1)
    exact = np.linalg.lstsq(equations, b[1:], rcond=None)[0]
    wanted = np.concatenate([a.reshape(-1, 1), np.tile(np.eye(d), (k, 1))], axis=1)
    _, sigma, basis = np.linalg.svd(equations)
    free = basis[int((sigma > 1e-9 * sigma[0]).sum()) :].T
    if free.shape[1]:
        exact = exact + free @ np.linalg.lstsq(wanted @ free, start.ravel() - wanted @ exact, rcond=None)[0]
    centres: Floats = (wanted @ exact).reshape(k, d) * size + middle
    return centres


def agreement(centres: Floats, found: Brackets) -> int:
    """How many labels at the ends of brackets agree with these centres."""
    agreeing = 0
    for points, labels in ((found.low, found.low_label), (found.high, found.high_label)):
        nearest = ((points[:, np.newaxis] - centres) ** 2).sum(axis=2).argmin(axis=1)
        agreeing += int((nearest == labels).sum())
    return agreeing


def own_means(rows: Floats, labels: Ints, k: int) -> Floats:
    """Means of a party's own rows by cluster, or the mean of all its rows for a cluster without own rows."""
    return np.array(
        [rows[labels == h].mean(axis=0) if (labels == h).any() else rows.mean(axis=0) for h in range(k)]
    )


def by_predictions(
    parties: list[Floats],
    *,
    k: int,
    jobs: int,
    probes: int,
    seed: int,
    attack: str,
    most_rows: int | None = None,
) -> Iterator[AttackRow]:
    """Attack i: the error of the centres before any prediction and after each, with `probes` new rows each.

    The first prediction searches for changes of labels along random lines. The following ones search between
    the ends of the found changes.
    """
    rng = np.random.default_rng(seed)
    result = secfc.run(parties, k, 1, 1, seed=seed, init="random", n_init=1)
    rows, labels, own = np.concatenate(parties), np.concatenate(result.labels), parties[ATTACKER]
    true = np.array([rows[labels == h].mean(axis=0) for h in range(k)])
    guess = own_means(own, result.labels[ATTACKER], k)
    middle, reach = own.mean(axis=0), 0.75 * (own.max(axis=0) - own.min(axis=0))
    bound = 2 * float(np.linalg.norm(np.abs(middle) + reach))
    ask = Oracle(parties, result.labels, k, Limits(predict=True, most_rows=most_rows), bound)
    wanted = 2 * (k - 1) * (own.shape[1] + 1)  # points on planes, twice as many as unknowns
    low, high = (middle + reach * rng.uniform(-1, 1, size=(2 * wanted, len(middle))) for _ in range(2))
    centres, refusal, first = guess, None, None
    for done in range(jobs + 1):
        if done:
            try:
                found = chosen(changes(ask, low, high, max(3, probes // len(low))), wanted)
            except LimitError as error:
                refusal = str(error)
            else:
                # Ends of the first brackets are far apart, so they show whether a solution is good.
                first = first or found
                both = (solved(found, k, guess), centres)
                centres = max(both, key=partial(agreement, found=first))
                low, high = found.low, found.high
        yield CENTRES.row(
            float(np.linalg.norm(centres - true) / np.linalg.norm(true - true.mean(axis=0))),
            job=result.job,
            m=len(rows),
            attack=attack,
            adversary="party that chooses new rows",
            swept="new rows",
            value=ask.asked,
            note=refusal
            or f"{probes} rows each; {done} predictions; {max(0, own.shape[1] + 2 - k)} numbers stay open",
        )
        if refusal:
            return
