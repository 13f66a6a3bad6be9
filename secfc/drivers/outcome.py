"""The values of a run's result, which reports read too."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from secfc.drivers.costs import Costs
from secfc.errors import ParameterError
from secfc.field.array_types import Floats, Ints, Labels
from secfc.protocol.gathering import Faults
from secfc.protocol.job.job import Job

if TYPE_CHECKING:
    from secfc.prepare.by_cluster import Table1


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The values of a `secfc.Result`, whose documentation describes them."""

    labels: list[Any] = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float | None
    sizes: Ints
    history: Floats = field(repr=False)
    start: list[Labels] = field(repr=False)
    ids: list[list[Any]] | None = field(default=None, repr=False)
    union_rows: list[Ints] | None = field(default=None, repr=False)
    cluster_centers: Floats | None = field(repr=False)
    cluster_std: Floats | None = field(repr=False)
    near_ties: int | None
    equal_starts: int | None
    near_starts: int | None
    faults: Faults
    cluster_spreads: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    cluster_silhouettes: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    costs: Costs
    columns: tuple[str, ...] = field(repr=False)
    table: "Table1 | None" = field(default=None, repr=False)
    job: Job
    run_id: str
    parties: tuple[str, ...] = field(default=(), repr=False)
    cluster_names: tuple[str, ...] = ()
    cluster_order: tuple[int, ...] = ()

    @property
    def cluster_titles(self) -> tuple[str, ...]:
        """The names of the clusters, or else their numbers."""
        return self.cluster_names or tuple(map(str, range(self.job.k)))

    @property
    def revealed_centres(self) -> Floats:
        """`cluster_centers`; ParameterError if they were not revealed."""
        if self.cluster_centers is None:
            raise ParameterError("reveal_centres: centres were not revealed in this run")
        return self.cluster_centers

    def by_id(self) -> dict[Any, int]:
        """The cluster of every ID of the union.

        Raises
        ------
        ParameterError
            If the run had no IDs.
        """
        if self.ids is None:
            raise ParameterError("ids: the run had none")
        return {
            name: int(label)
            for names, labels in zip(self.ids, self.labels, strict=True)
            for name, label in zip(names, labels, strict=True)
        }

    def table1(self) -> "Table1":
        """The described columns by cluster (`describe` of `secfc.run`).

        Raises
        ------
        ParameterError
            If no columns were described.
        """
        if self.table is None:
            raise ParameterError("describe: no columns were described in this run")
        return self.table

    def cluster_report(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Mean, count and spread of each column in each cluster, if they were revealed.

        Parameters
        ----------
        columns : sequence of d str, optional
            Names; by default `columns` of the result, or else positions.

        Returns
        -------
        list of dict
            One for each cluster and column, cluster by cluster: cluster, its name if it has one, column,
            count, mean, and std (None if spreads were not revealed). ``pandas.DataFrame`` accepts this list.

        Raises
        ------
        ParameterError
            If centres were not revealed, or the number of names is not d.
        """
        centres = self.revealed_centres
        names = list(columns if columns is not None else self.columns or map(str, range(self.job.d)))
        if len(names) != self.job.d:
            raise ParameterError(f"columns: {self.job.d} names are needed, {len(names)} were given")
        return [
            {
                "cluster": h,
                **({"name": self.cluster_names[h]} if self.cluster_names else {}),
                "column": name,
                "count": int(self.sizes[h]),
                "mean": float(centres[h, at]),
                "std": None if self.cluster_std is None else float(self.cluster_std[h, at]),
            }
            for h in range(self.job.k)
            for at, name in enumerate(names)
        ]
