"""Which of several starts has the least score, and how many are about as good.

Opens to everybody the number of the best, the first of equals; how many have the same score; and how many a
score that is at most one part in `NEAR` larger. Nothing else of the scores.
"""

from collections.abc import Generator, Sequence

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.kmeans.program import Best
from secfc.kmeans.score import NEAR
from secfc.operations.opening import nonzero, opened
from secfc.operations.under_masks import negative
from secfc.protocol.parties.party import Party
from secfc.protocol.parties.random_sharings import random_sharings
from secfc.sharing.shared import Shared, joined


def plain_best(scores: Sequence[int]) -> Best:
    """The same of public scores."""
    least = min(scores)
    near = sum(NEAR * one <= (NEAR + 1) * least for one in scores)
    return Best(number=scores.index(least), equal=scores.count(least), near=near)


def best_start(me: Party, scores: Shared) -> Generator[None, None, Best]:
    """Of [X], shape (starts,), whose segments are to be added up."""
    starts = scores.size
    earlier, later = np.triu_indices(starts, 1)
    less = yield from negative(me, scores[later] - scores[earlier])
    place = np.full((starts, starts), less.size)
    place[earlier, later] = np.arange(less.size)
    padded = joined([less, me.public(np.zeros(1, dtype=np.int64))], 0)
    beaten = padded[place].sum(1) - padded[place.T].sum(1) + np.arange(starts)  # by so many starts
    some = yield from nonzero(me, beaten)
    if np.count_nonzero(~some) != 1:
        raise CheatError("not exactly one start was opened as the best", code=Code.BAD_MESSAGE)
    best = int(some.argmin())
    least = scores[np.full(starts, best)]
    larger = yield from negative(me, joined([least - scores, least * (NEAR + 1) - scores * NEAR], 0))
    equal, near = yield from _opened_counts(me, starts - larger.reshape(2, starts).sum(1), most=starts)
    return Best(number=best, equal=equal, near=near)


def _opened_counts(me: Party, counts: Shared, *, most: int) -> Generator[None, None, tuple[int, ...]]:
    """Shared counts, shape (size,), at everybody. CheatError for one above `most`."""
    random = yield from random_sharings(me, zeros=counts.size)
    found = yield from opened(me, counts + random.zeros)
    if (found != found[0]).any() or (found > most).any():
        raise CheatError(f"a count above {most} was opened", code=Code.BAD_MESSAGE)
    return tuple(found[0].astype(np.int64).tolist())
