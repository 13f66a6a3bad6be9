"""The result of `secfc.run`."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secfc.array_types import Floats, Ints, Labels
from secfc.drivers.costs import Costs
from secfc.errors import ParameterError
from secfc.params import Job
from secfc.protocol.progress import Faults

if TYPE_CHECKING:
    from secfc.prepare.transform import Preparation


@dataclass(frozen=True, kw_only=True)
class Result:
    """A clustering of the parties' rows, equal to Lloyd's on the pooled rows.

    Attributes
    ----------
    labels : list of ndarray of shape (m_j,), int32
        Cluster of each row, one array per party; a pandas Series with the DataFrame's index where the party
        gave a DataFrame. -1 for the rows of a party that was left out.
    n_iter : int
        Iterations of the best start, as scikit-learn counts them.
    converged : bool
        Whether the last iteration changed no label, or fewer than `tol_moved` allows. False if only
        `max_iter` ended the run.
    inertia : float or None
        Sum of squared distances of the quantised rows to their centres, in the data's units squared. None
        with disclosure "labels", unless it was opened (`reveal_inertia`); then it is within one in 2**52.
    sizes : ndarray of shape (k,), int64
        Rows of each cluster.
    history : ndarray of shape (n_iter,), float64
        Inertia of each iteration; empty with disclosure "labels".
    start : list of ndarray of shape (m_j,), int32
        The sets whose means were the first centres (-1: in no set), one array per party.
    ids : list of list, or None
        The IDs of each party's rows, with membership privacy.
    union_rows : list of ndarray of shape (m_j,), int64, or None
        The number of each row in the union, with membership privacy.
    cluster_centers : ndarray of shape (k, d), float64, or None
        Means of the clusters in the data's units, if they were revealed (`reveal_centres`), with the noise
        of `centres_epsilon` if it was given; NaN for a cluster without rows.
    cluster_std : ndarray of shape (k, d), float64, or None
        Population standard deviations of each column in each cluster, in the data's units, if they were
        revealed (`reveal_spread`); NaN for a cluster without rows.
    near_ties : int or None
        Comparisons of the best start that floating point could not decide and exact integers did. None with
        disclosure "labels".
    faults : Faults
        Clients, numbered from 1, that vanished or lied.
    distance_counts : ndarray of shape (24,), int64
        Number of rows by distance to their centre, in equal bins; empty with disclosure "labels".
    distance_edges : ndarray of shape (25,), float64
        Ends of the bins, from 0 to the largest distance, in the data's units; empty likewise.
    cluster_spreads : ndarray of shape (k,), float64
        Root mean square of the distances of each cluster's rows to its centre, in the data's units, each row
        counted once whatever its weight; NaN for a cluster without rows; empty likewise.
    cluster_silhouettes : ndarray of shape (k,), float64
        Simplified silhouette of each cluster (`secfc.Candidate`); NaN and empty likewise.
    costs : Costs
        Messages, bytes and CPU seconds per phase and role.
    columns : tuple of str
        Names of the d columns, if parties gave DataFrames or files; else empty.
    job : Job
        The public parameters.
    run_id : str
        The run's identifier, 32 hexadecimal digits, as in messages and logs.
    """

    labels: list[Any] = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float | None
    sizes: Ints
    history: Floats = field(repr=False)
    start: list[Labels] = field(repr=False)
    ids: list[list[Any]] | None = field(repr=False)
    union_rows: list[Ints] | None = field(repr=False)
    cluster_centers: Floats | None = field(repr=False)
    cluster_std: Floats | None = field(repr=False)
    near_ties: int | None
    faults: Faults
    distance_counts: Ints = field(repr=False)
    distance_edges: Floats = field(repr=False)
    cluster_spreads: Floats = field(repr=False)
    cluster_silhouettes: Floats = field(repr=False)
    costs: Costs
    columns: tuple[str, ...] = field(repr=False)
    job: Job
    run_id: str

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

    def cluster_report(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Mean, count and spread of each column in each cluster, if they were revealed.

        Parameters
        ----------
        columns : sequence of d str, optional
            Names; by default `columns` of the result, or else positions.

        Returns
        -------
        list of dict
            One for each cluster and column, cluster by cluster: cluster, column, count, mean, and std (None
            if spreads were not revealed). ``pandas.DataFrame`` accepts this list.

        Raises
        ------
        ParameterError
            If centres were not revealed, or the number of names is not d.
        """
        if self.cluster_centers is None:
            raise ParameterError("reveal_centres: centres were not revealed in this run")
        names = list(columns if columns is not None else self.columns or map(str, range(self.job.d)))
        if len(names) != self.job.d:
            raise ParameterError(f"columns: {self.job.d} names are needed, {len(names)} were given")
        return [
            {
                "cluster": h,
                "column": name,
                "count": int(self.sizes[h]),
                "mean": float(self.cluster_centers[h, at]),
                "std": None if self.cluster_std is None else float(self.cluster_std[h, at]),
            }
            for h in range(self.job.k)
            for at, name in enumerate(names)
        ]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        names: Sequence[str] | None = None,
        columns: "Sequence[str] | Preparation | None" = None,
        party: int | None = None,
        pooled: Sequence[Any] | None = None,
    ) -> Path:
        """Write one self-contained HTML page about the run: who learned what, clusters, convergence, costs.

        Parameters
        ----------
        path : path
            Written completely or not at all; an existing file is replaced.
        names : sequence of str, optional
            Names of the parties.
        columns : sequence of str or secfc.prepare.Preparation, optional
            Names of the columns, by default `columns` of the result. With a preparation, means are in the
            units of its schema.
        party : int, optional
            Position of the party that receives this copy. The copy shows the centres if they were revealed
            to this party, and with membership privacy its cluster sizes, which are otherwise on every copy.
            It leaves out the distances, which no party learns. Without `party` the page is for the operator
            of the server, who learns no mean and no deviation.
        pooled : sequence, optional
            The parties' rows, where the run was simulated: Lloyd's algorithm is run on the pooled rows. In a
            copy that shows centres only the party's own rows are used: it shows how well they fit.

        Returns
        -------
        Path

        Raises
        ------
        ParameterError, DataError
            The text names the argument, or the extra of a library that is not installed: `report` for Jinja,
            `sklearn` for a comparison with the pooled rows.
        """
        from secfc.report.html import page_of, write_page  # noqa: PLC0415 - imported only for a page

        page = page_of(self, names=names, columns=columns, party=party, pooled=pooled)
        return write_page(page, path)

    def _repr_html_(self) -> str:
        from secfc.report.html import summary_table  # noqa: PLC0415

        return summary_table(self)
