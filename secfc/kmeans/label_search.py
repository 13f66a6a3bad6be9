"""Lloyd's search where only labels are known: sets out, labels in, until two assignments are equal.

Server and evaluators make the same search from what was opened, so that each knows the next question.
"""

from typing import Any

import numpy as np

from secfc.array_types import Ints, Labels
from secfc.kmeans.search import LabelResult
from secfc.kmeans.sets import set_sizes


class LabelSearch:
    """One start of Lloyd's algorithm on labels that somebody else opens.

    `sets` asks for the nearest mean of every row; `add` takes labels, some rows at a time, and `end_round`
    returns whether there is another question. If not, `found` has the result.

    Parameters
    ----------
    sets : ndarray of shape (m,), int32
        Of the first question.
    k, max_iter : int
    guessed : bool
        Whether these sets are likely to be those that rows are nearest to.
    predict : bool
        Keep these sets: one question, of the rows in none of them.
    """

    def __init__(self, *, sets: Labels, k: int, max_iter: int, guessed: bool, predict: bool = False) -> None:
        self.sets, self._k, self._max_iter, self._predict = sets, k, max_iter, predict
        self._guessed = guessed
        self._labels = sets.copy()
        self._previous: Labels | None = None
        self._last = predict
        self.moved = sets.size
        self.current = LabelResult(start=sets, labels=sets, k=k)
        self.found: list[LabelResult] = []

    @property
    def champions(self) -> Labels | None:
        """The set that each row is in, where its mean is probably the nearest."""
        return self.sets if self._guessed and not self._predict else None

    @property
    def asked(self) -> Ints:
        """Rows whose label is opened, ascending."""
        return np.flatnonzero(self.sets < 0) if self._predict else np.arange(self.sets.size)

    def sizes(self) -> Ints:
        """Rows of each set, shape (k,)."""
        return set_sizes(self.sets, self._k)

    def add(self, rows: Ints, labels: Labels) -> None:
        """Take the labels of some rows; each row that is asked about once before `end_round`."""
        self._labels[rows] = labels

    @property
    def emptied(self) -> Ints:
        """Now that all labels are here: clusters without a row, ascending, that rows are moved to."""
        if self._last:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(np.bincount(self._labels, minlength=self._k) == 0)

    @property
    def labels(self) -> Labels:
        """All labels of this round."""
        return self._labels

    def end_round(self, farthest: Ints) -> bool:
        """Move the sets.

        Parameters
        ----------
        farthest : ndarray of shape (e,) or (0,), int64
            Rows that are moved to the emptied clusters, in order (`secfc.kmeans.relocation`); none where even
            the farthest row lies on its centre.

        Returns
        -------
        bool
            True when `sets` holds another question.
        """
        labels, run = self._labels.copy(), self.current
        run.labels = labels
        if self._last:
            if self._predict:
                run.converged = True
            self.found.append(run)
            return False
        sets = labels.copy()
        sets[farthest] = self.emptied[: farthest.size]
        run.n_iter += 1
        previous, self._previous = self._previous, labels
        run.converged = np.array_equal(sets, self.sets)
        if previous is None:
            self.moved = 0 if run.converged else sets.size
        else:
            self.moved = int(np.count_nonzero(previous != labels))
            run.converged = run.converged or self.moved == 0
        if run.converged:
            self.found.append(run)
            return False
        self.sets, self._guessed = sets, True
        self._last = run.n_iter == self._max_iter
        return True

    def standing(self) -> dict[str, Any]:
        """Between two questions, all that the rest of the search depends on, as a value of plain ones."""
        return {
            "sets": self.sets,
            "guessed": self._guessed,
            "previous": self._previous,
            "last": self._last,
            "moved": self.moved,
            "start": self.current.start,
            "n_iter": self.current.n_iter,
        }

    def stand(self, standing: dict[str, Any]) -> None:
        """Stand where another search stood that was made with the same arguments."""
        self.sets, self._guessed = standing["sets"], standing["guessed"]
        self._previous, self._last = standing["previous"], standing["last"]
        self.moved = standing["moved"]
        self._labels = self.sets.copy()
        self.current.start, self.current.n_iter = standing["start"], standing["n_iter"]
