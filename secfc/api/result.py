"""The result of `secfc.run`."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secfc.drivers.outcome import Outcome
from secfc.errors import ParameterError
from secfc.field.array_types import Labels
from secfc.report.frames import frame_of
from secfc.tables.texts import has_visible

if TYPE_CHECKING:
    from secfc.prepare.column_transform import Preparation

_OF_CLUSTERS = "sizes", "cluster_centers", "cluster_std", "cluster_spreads", "cluster_silhouettes"


@dataclass(frozen=True, kw_only=True)
class Result(Outcome):
    """A clustering of the parties' rows, equal to Lloyd's on the pooled rows.

    Attributes
    ----------
    labels : list of ndarray of shape (m_j,), int32
        Cluster of each row, one array per party; a pandas Series with the DataFrame's index where the party
        gave a DataFrame. -1 for the rows of a party that was left out, and where a party lied and the label
        cannot be read.
    n_iter : int
        Iterations of the best start, as scikit-learn counts them.
    converged : bool
        Whether the last iteration changed no label, or fewer than `tol_moved` allows. False if only
        `max_iter` ended the run.
    inertia : float or None
        Sum of squared distances of the quantised rows to their centres, in the data's units squared. None
        with disclosure "labels", unless it was opened (`reveal`); then it is within one in 2**22.
    sizes : ndarray of shape (k,), int64
        Rows of each cluster.
    history : ndarray of shape (n_iter,), float64
        Inertia of each iteration; empty with disclosure "labels".
    start : list of ndarray of shape (m_j,), int32
        The sets whose means were the first centres (-1: in no set), one array per party. All are -1 if
        rows were drawn by k-means++ and nobody learned which (`init` of `secfc.run`).
    ids : list of list, or None
        The IDs of each party's rows, with membership privacy.
    union_rows : list of ndarray of shape (m_j,), int64, or None
        The number of each row in the union, with membership privacy.
    cluster_centers : ndarray of shape (k, d), float64, or None
        Means of the clusters in the data's units, if they were revealed (`reveal`), with the noise
        of `centres_epsilon` if it was given; NaN for a cluster without rows.
    cluster_std : ndarray of shape (k, d), float64, or None
        Population standard deviations of each column in each cluster, in the data's units, if they were
        revealed (`reveal`); NaN for a cluster without rows.
    near_ties : int or None
        Comparisons of the best start that floating point could not decide and exact integers did. None with
        disclosure "labels".
    equal_starts : int or None
        Of several starts, how many have the same score as the best, itself included: nearly always the same
        clustering. None with one start.
    near_starts : int or None
        How many starts have an inertia at most one part in 128 above that of the best, itself included. If
        they are few, more starts may find a better clustering. None likewise.
    faults : Faults
        Clients, numbered from 1, that vanished or lied.
    cluster_spreads : ndarray of shape (k,), float64
        Root mean square of the distances of each cluster's rows to its centre, in the data's units, each row
        counted once whatever its weight; NaN for a cluster without rows; empty with disclosure "labels".
    cluster_silhouettes : ndarray of shape (k,), float64
        Simplified silhouette of each cluster (`secfc.Candidate`); NaN and empty likewise.
    costs : Costs
        Messages, bytes and CPU seconds per phase and role.
    columns : tuple of str
        Names of the d columns, if parties gave DataFrames or files; else empty.
    table : Table1 or None
        What `table1` gives.
    job : Job
        The public parameters.
    run_id : str
        The run's identifier, 32 hexadecimal digits, as in messages and logs.
    parties : tuple of str
        Names of the parties, if they were given as a dict; else empty.
    cluster_names : tuple of k str
        Names of the clusters (`named`); else empty.
    cluster_order : tuple of k int
        The number that each cluster had in the run (`ordered`); else empty.
    """

    def ordered(self, by: str | int = "size") -> "Result":
        """The same result with clusters in another order: labels, sizes, means and names have new numbers.

        Numbers of a run have no meaning. Files that a run wrote keep them.

        Parameters
        ----------
        by : str or int
            "size", the largest cluster first; or a column whose means were revealed, by name or position, the
            least mean first. Clusters without rows come last, and equal ones stay in their order.

        Raises
        ------
        ParameterError
            If centres were not revealed, or there is no such column.
        """
        keys = -self.sizes if by == "size" else self.revealed_centres[:, self._column(by)]
        order = np.argsort(keys, kind="stable")
        numbers = np.full(self.job.k + 1, -1, dtype=np.int32)  # the last is for rows without a label
        numbers[order] = np.arange(self.job.k)
        moved = {
            name: value[order]
            for name in _OF_CLUSTERS
            if (value := getattr(self, name)) is not None and len(value)
        }
        names = tuple(self.cluster_names[h] for h in order if self.cluster_names)
        return replace(
            self,
            labels=[_renumbered(own, numbers) for own in self.labels],
            start=[_renumbered(own, numbers) for own in self.start],
            cluster_names=names,
            table=None if self.table is None else self.table.ordered(numbers, names),
            cluster_order=tuple(
                (np.array(self.cluster_order)[order] if self.cluster_order else order).tolist()
            ),
            **moved,
        )

    def named(self, names: Sequence[str]) -> "Result":
        """The same result with a name for each cluster, in their order, for frames, pictures and reports.

        `secfc.predict` keeps the names if it is given the result in place of labels. ParameterError unless
        there are k different texts.
        """
        given = tuple(names) if not isinstance(names, str) else ()
        texts = all(isinstance(one, str) and has_visible(one) for one in given)
        if not texts or len(given) != self.job.k or len(set(given)) < len(given):
            raise ParameterError(f"names: a list of {self.job.k} different texts is needed")
        table = None if self.table is None else replace(self.table, names=given)
        return replace(self, cluster_names=given, table=table)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line for each row of all parties: party, row, label, and name if named.

        `row` is the label in the index of a party's DataFrame, or else the position. With membership
        privacy there is `id` instead.
        """
        return frame_of(self.labels, self.parties, self.cluster_names, ids=self.ids)

    def plot_profiles(self, columns: "Sequence[str] | Preparation | None" = None) -> Any:
        """Means of columns in clusters, and how far they are from all rows, as a matplotlib figure.

        Centres must have been revealed. `columns` are as for `report`.
        """
        from secfc.report.plots import plot_profiles  # noqa: PLC0415 - an extra
        from secfc.report.profiles import profile  # noqa: PLC0415

        shown = profile(
            self.revealed_centres,
            self.cluster_std,
            self.sizes,
            inertia=self.inertia,
            columns=self.columns if columns is None else columns,
        )
        return plot_profiles(shown, self.cluster_titles)

    def plot_sizes(self) -> Any:
        """Rows of each cluster, as a matplotlib figure."""
        from secfc.report.plots import plot_sizes  # noqa: PLC0415 - an extra

        return plot_sizes(self.sizes, self.cluster_titles)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        names: Sequence[str] | None = None,
        columns: "Sequence[str] | Preparation | None" = None,
        party: int | None = None,
        pooled: Sequence[Any] | None = None,
        mended: Mapping[str, Mapping[str, Any]] | None = None,
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
            Position of the party that receives this copy: it shows the centres if they were revealed to this
            party, and with membership privacy its cluster sizes. It leaves out the distances, which no party
            learns. Without `party` the page is for the operator of the server.
        pooled : sequence, optional
            The parties' rows, where the run was simulated: Lloyd's algorithm is run on the pooled rows. In a
            copy that shows centres only the party's own rows are used: it shows how well they fit.
        mended : dict by name of site, optional
            With a preparation: how many values were missing and clipped, of each site that consents to tell
            it (`mended_` of `secfc.Prepare`).
        """
        from secfc.report.html import page_of, write_page  # noqa: PLC0415 - imported only for a page

        page = page_of(self, names=names, columns=columns, party=party, pooled=pooled, mended=mended)
        return write_page(page, path)

    def _repr_html_(self) -> str:
        from secfc.report.html import summary_table  # noqa: PLC0415

        return summary_table(self)

    def _column(self, by: str | int) -> int:
        if isinstance(by, str) and by in self.columns:
            return self.columns.index(by)
        if isinstance(by, int) and not isinstance(by, bool) and by in range(self.job.d):
            return by
        known = ", ".join(map(repr, self.columns)) or f"0 to {self.job.d - 1}"
        raise ParameterError(f"by: 'size' or a column is needed ({known}), {by!r} was given")


def _renumbered(labels: Any, numbers: Labels) -> Any:
    """Labels with new numbers, an array or a Series as before."""
    changed = labels.copy()
    changed[:] = numbers[np.asarray(labels)]
    return changed
