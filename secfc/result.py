"""What `secfc.run` returns."""

from dataclasses import dataclass, field
from typing import Any

from secfc._arrays import Floats, Ints, Labels
from secfc.drivers.costs import Costs
from secfc.errors import ParameterError
from secfc.params import Job
from secfc.protocol.progress import Faults


@dataclass(frozen=True, kw_only=True)
class Result:
    """A clustering of the parties' rows, equal to Lloyd's on the pooled rows. There are no centres in it.

    Attributes
    ----------
    labels : list of ndarray of shape (m_j,), int32
        Cluster of each row, one array a party; a pandas Series with the DataFrame's index where the party
        gave a DataFrame; -1 for the rows of a party that was left out.
    n_iter : int
        Iterations of the best start, as scikit-learn counts them.
    converged : bool
        Whether two assignments in a row were equal; False at `max_iter`.
    inertia : float
        Sum of squared distances of the quantised rows to their centres, in the data's units squared.
    sizes : ndarray of shape (k,), int64
        Rows of each cluster.
    history : ndarray of shape (n_iter,), float64
        Inertia of each iteration.
    start : list of ndarray of shape (m_j,), int32
        The sets whose means were the first centres (-1: in no set), one array a party.
    ids : list of list, or None
        With membership privacy, the IDs of each party's rows.
    union_rows : list of ndarray of shape (m_j,), int64, or None
        With membership privacy, the number of each row in the union.
    near_ties : int
        Comparisons of the best start that floating point could not decide and exact integers did.
    faults : Faults
        Clients, numbered from 1, that vanished or lied.
    costs : Costs
        Messages, bytes and CPU seconds per phase and role.
    job : Job
        The public parameters.
    """

    labels: list[Any] = field(repr=False)
    n_iter: int
    converged: bool
    inertia: float
    sizes: Ints
    history: Floats = field(repr=False)
    start: list[Labels] = field(repr=False)
    ids: list[list[Any]] | None = field(repr=False)
    union_rows: list[Ints] | None = field(repr=False)
    near_ties: int
    faults: Faults
    costs: Costs
    job: Job

    def by_id(self) -> dict[Any, int]:
        """The cluster of every ID of the union.

        Raises
        ------
        ParameterError
            The run had no IDs.
        """
        if self.ids is None:
            raise ParameterError("ids: the run had none")
        return {
            name: int(label)
            for names, labels in zip(self.ids, self.labels, strict=True)
            for name, label in zip(names, labels, strict=True)
        }
