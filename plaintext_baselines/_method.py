"""The common base of the approximate federated methods: one ``fit`` for the rounds that each defines."""

import abc
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plaintext_baselines._arrays import FloatArray, IntArray
from plaintext_baselines._base import FederatedClusterer, check_count
from plaintext_baselines._floats import assign, nearest, set_sizes, set_sums, squared_distances
from plaintext_baselines._frame import Frame
from plaintext_baselines._start import given_centres, given_labels, random_start


@dataclass(frozen=True)
class Fit:
    """The result of a method's rounds, in the frame's units; other fitted `attributes` in the data's units.

    `history` is the inertia at each round's first centres. Without `labels` rows get their nearest centre.
    """

    centres: FloatArray
    history: list[float]
    labels: list[IntArray] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


class FederatedMethod(FederatedClusterer):
    """Base of the federated methods, which are simulated in one process; docs/baselines.md has an example.

    A party without rows does not take part. Its entry in `labels_` is empty. Every method has `n_clusters`,
    and a seed `random_state`, None or int.
    """

    init: Any
    random_state: Any
    history_: list[float]

    def _fit(self, data: list[FloatArray]) -> None:
        self._check_parameters(data)
        frame = Frame(np.concatenate(data))
        inside = [frame.enter(rows) for rows in data]
        outcome = self._run(inside, frame, np.random.default_rng(self.random_state))

        centres = frame.leave(outcome.centres)
        labels = outcome.labels or [nearest(rows, centres) for rows in data]
        costs = [
            squared_distances(rows, outcome.centres, own) for rows, own in zip(inside, labels, strict=True)
        ]
        self.cluster_centers_ = centres
        self.labels_ = labels
        self.inertia_ = frame.leave_square(float(sum(cost.sum() for cost in costs)))
        self.history_ = [frame.leave_square(inertia) for inertia in outcome.history]
        self.n_iter_ = len(self.history_)
        for name, value in outcome.attributes.items():
            setattr(self, name, value)

    def _check_counts(self, *names: str, optional: Sequence[str] = ()) -> None:
        """Raise unless these parameters are integers >= 1. The `optional` ones may be None."""
        for name in (*names, *optional):
            if name not in optional or getattr(self, name) is not None:
                check_count(name, getattr(self, name))

    @abc.abstractmethod
    def _check_parameters(self, data: Sequence[FloatArray]) -> None:
        """Raise for invalid parameters."""

    @abc.abstractmethod
    def _run(self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator) -> Fit:
        """Run the method on parties whose rows are in the frame's units."""

    def _given_start(
        self, parties: list[FloatArray], frame: Frame, rng: np.random.Generator
    ) -> FloatArray | None:
        """First centres if `init` is an array, label arrays or "random"; None for any other name."""
        centres = given_centres(self.init, self.n_clusters, parties[0].shape[1])
        if centres is not None:
            return frame.enter(centres)
        if isinstance(self.init, str):
            if self.init != "random":
                return None
            labels = random_start(self.n_clusters, sum(len(rows) for rows in parties), rng)
        else:
            labels = given_labels(self.init, self.n_clusters, parties)
        sizes = set_sizes(labels, self.n_clusters)
        return set_sums(np.concatenate(parties), labels, self.n_clusters) / sizes[:, None]


def total_inertia(parties: Sequence[FloatArray], centres: FloatArray) -> float:
    """Sum of squared distances of all parties' rows to their nearest centres."""
    return float(sum(assign(rows, centres).distances.sum() for rows in parties))


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = np.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> None:
    """Raise unless `value` is a real number between `low` and `high`. An open bound is excluded."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    above = number > low if open_low else number >= low
    below = number < high if open_high else number <= high
    if not (above and below):
        interval = f"{'(' if open_low else '['}{low}, {high}{')' if open_high or high == np.inf else ']'}"
        raise ValueError(f"{name} must be in {interval}, got {value}")
