"""The common base of the methods on pooled rows."""

import warnings
from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from plaintext_baselines._arrays import FloatArray
from plaintext_baselines._base import FederatedClusterer, split
from plaintext_baselines._rounds import Rounds


class PooledClusterer(FederatedClusterer):
    """Base of Lloyd's algorithm on the concatenated rows, for any arithmetic."""

    max_iter: int
    history_: list[float]
    converged_: bool

    def _keep(self, rounds: Rounds[Any], data: Sequence[FloatArray]) -> None:
        """Set the fitted attributes that do not depend on the arithmetic; warn if the labels still change."""
        self.labels_ = split(rounds.assignment.labels, data)
        self.inertia_ = rounds.inertia
        self.history_ = rounds.history
        self.n_iter_ = len(rounds.history)
        self.converged_ = rounds.converged
        if not rounds.converged:
            warnings.warn(
                f"labels still change after max_iter={self.max_iter} rounds", ConvergenceWarning, stacklevel=4
            )
