"""The job, on which all parties agree before a run, and what follows from its parameters.

With disclosure "labels" three parties find the labels together: the comparers, or trio, a dealer and two
evaluators. A helper is a comparer without rows and shares.
Owners deposit rows with a committee, whose members compute.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from math import inf

import numpy as np

from secfc.errors import ParameterError, PrivacyWarning
from secfc.errors.codes import Code
from secfc.field.array_types import Labels
from secfc.field.fixed_point import quantised_radius, scale_exponent, unit_of
from secfc.field.primes import residues_needed
from secfc.kmeans.bounds import bounded_residues, draw_residues, fit_residues, pair_residues, refill_residues
from secfc.lagrange.basis import recovery_threshold
from secfc.protocol.job.cases import (
    Centres,
    Cluster,
    Compare,
    Deposited,
    Method,
    Noise,
    Own,
    Predict,
    Rows,
    Start,
    Union,
)
from secfc.protocol.job.options import AgreedClustering, CentreNoise, again, shared
from secfc.psu.plan import UnionPlan
from secfc.sharing.codewords import segment_width

_USUAL_ITERATIONS = 16  # of a start, to estimate the work of a run


@dataclass(frozen=True, kw_only=True)
class Job(AgreedClustering, CentreNoise):
    """The public parameters of a run, equal at all parties: the options of a job, and its cases made of them.

    `secfc.protocol.job.making.make_job` makes and checks it. With `max_liars` = A the server waits for
    R + A answers, and for R + 2A if these do not agree. Options that `secfc.run` has too are described there.

    Parameters
    ----------
    n : int
        Number of clients.
    k : int
        Number of clusters; the largest of several.
    t : int
        Number of clients that may collude and still learn nothing about other clients' rows.
    ell : int
        Number of segments of a row.
    d : int
        Number of columns.
    bound : float
        Public bound on the Euclidean norm of a row, in the data's units.
    init : {"random", "separation", "k-means++", "labels"}
        A job has no "auto", because `secfc.run` and job files have already replaced it.
    compared : tuple of int
        Numbers of clusters that are compared, ascending; the last is k. () for k alone.
    predict : bool
        Whether start labels are kept, and rows with label -1 get the label of the nearest mean.
    reveal_to : tuple of int
        Clients to whom centres are opened, ascending.
    reveal_spread : int or None
        Fewest rows of others in a cluster whose spread is opened. None: no spread is.
    comparers : tuple of int
        With disclosure "labels" the dealer, first and second evaluator: by default clients 1, 2 and 3 if
        t = 1, else client 1 and two helpers. Else nobody.
    seed : int or None
        Determines public first sets, and in a simulation also rows that are drawn in secret. Without a seed
        public sets follow from a coin that the comparers toss, with disclosure "coded" the server.
    owners, deposits : tuple of int and str, or None
        The fields of `Deposited`. None: the clients hold the rows.
    weighted : bool
        Whether every client gives public weights of its rows.
    """

    n: int
    k: int
    t: int
    ell: int
    d: int
    bound: float
    init: Start = "random"
    n_init: int = again(AgreedClustering, "n_init", default=1, kind="int", text="Starts.")
    compared: tuple[int, ...] = ()
    predict: bool = False
    reveal_to: tuple[int, ...] = ()
    reveal_spread: int | None = None
    comparers: tuple[int, ...] = ()
    seed: int | None = None
    owners: tuple[int, ...] | None = None
    deposits: str | None = None
    weighted: bool = False

    @cached_property
    def rows(self) -> Rows:
        """Whose rows are clustered."""
        if self.ids_cap is not None:
            return Union(self.ids_cap)
        if self.owners is not None and self.deposits is not None:
            return Deposited(self.owners, self.deposits)
        return Own(self.weighted)

    @cached_property
    def method(self) -> Method:
        """What is computed of the rows."""
        if self.predict:
            return Predict(k=self.k)
        if self.compared:
            return Compare(**shared(self, Compare))
        return Cluster(**shared(self, Cluster))

    @cached_property
    def opened(self) -> Centres:
        """What is opened at the end, and to whom."""
        noise = None
        if self.centres_epsilon is not None and self.centres_delta is not None:
            noise = Noise(self.centres_epsilon, self.centres_delta)
        return Centres(to=self.reveal_to, spread=self.reveal_spread, noise=noise)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of all parameters, 32 bytes: JSON with sorted names, floats as Python's shortest repr."""
        return hashlib.sha256(b"secfc job 3" + json.dumps(asdict(self), sort_keys=True).encode()).digest()

    @property
    def dealers(self) -> int:
        """Number of parties whose rows are shared: clients, or owners."""
        return len(self.rows.owners) if isinstance(self.rows, Deposited) else self.n

    @property
    def comparing_clients(self) -> tuple[int, ...]:
        """Comparers that are clients and so have rows."""
        return tuple(comparer for comparer in self.comparers if comparer <= self.n)

    @cached_property
    def helpers(self) -> int:
        """Number of parties without rows and shares that compare, numbered from n + 1."""
        return sum(comparer > self.n for comparer in self.comparers)

    def called(self, party: int) -> str:
        """The name of a client or helper in texts."""
        return f"{'client' if party <= self.n else 'helper'} {party}"

    def names_of(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Names of all clients and then of all helpers; where none is given, what `called` says."""
        return (*names, *map(self.called, range(len(names) + 1, self.parties + 1)))

    @cached_property
    def parties(self) -> int:
        """Number of clients and helpers."""
        return self.n + self.helpers

    def union_plan(self, salt: bytes) -> UnionPlan:
        """The plan of the union of rows' IDs in a run with this salt."""
        assert isinstance(self.rows, Union)
        return UnionPlan(n=self.n, t=self.t, ell=self.ell, cap=self.rows.cap, salt=salt)

    @property
    def threshold(self) -> int:
        """R, the number of answers needed in a round."""
        return recovery_threshold(self.t, self.ell)

    @property
    def width(self) -> int:
        """Number of columns of a segment."""
        return segment_width(self.d, self.ell)

    @property
    def own_labels(self) -> bool:
        """Whether nobody learns a label but its owner."""
        return self.disclosure == "labels"

    @property
    def tells_inertia(self) -> bool:
        """Whether all parties are told the inertia."""
        return self.reveal_inertia or not self.own_labels

    @property
    def exponent(self) -> int:
        """E: without a step rows are multiplied by 2**E before rounding."""
        return scale_exponent(self.bound, self.precision)

    @cached_property
    def unit(self) -> Fraction:
        """The length that becomes 1: rows are divided by it before rounding."""
        return unit_of(self.bound, self.precision, self.step)

    @property
    def bits(self) -> int:
        """Bits of a quantised row."""
        return self.precision if self.step is None else self.radius.bit_length()

    @cached_property
    def radius(self) -> int:
        """An integer that no quantised row's norm exceeds."""
        return quantised_radius(self.bound, self.precision, self.d, self.step)

    def residues(self, m: int) -> int:
        """Number of primes sufficient for all rounds about m rows in all, or rows of total weight m."""
        if self.own_labels:
            radius, method = self.radius, self.method
            numbers = [pair_residues(radius, m), refill_residues(radius, m)]
            if method.n_init > 1 or self.reveal_inertia:
                numbers.append(fit_residues(radius, m, compares=method.n_init > 1, opens=self.reveal_inertia))
            if method.init == "k-means++":
                numbers.append(draw_residues(radius, m))
            return max(*numbers, bounded_residues(radius, m, self.ell * self.width))
        return residues_needed(self.radius, m)

    def in_data_units(self, inertia: Fraction) -> float:
        """A sum of squared quantised distances in the data's units squared, correctly rounded."""
        try:
            return float(inertia * self.unit**2)
        except OverflowError:
            return inf

    def distance_in_data_units(self, distance: Fraction) -> float:
        """A quantised distance in the data's units, correctly rounded, at most the largest float64."""
        try:
            return float(distance * self.unit)
        except OverflowError:
            return sys.float_info.max

    @property
    def least_label(self) -> int:
        """The least start label. It is -1, for rows in no set, when their cluster is predicted."""
        return -1 if isinstance(self.method, Predict) else 0

    @property
    def hides_start(self) -> bool:
        """Whether nobody but its owner learns a start label: what is public is only which rows are new."""
        return self.own_labels and isinstance(self.method, Predict)

    def told_start(self, start: Labels) -> Labels:
        """What everybody is told of start labels. Where they are hidden: -1 for new rows, 0 for others."""
        return np.minimum(start, 0) if self.hides_start else start

    def check_start(self, start: Labels) -> None:
        """Raise ParameterError unless every cluster has a row in the given start labels.

        For a prediction one non-empty cluster is enough: a cluster without a row has no mean and is never the
        nearest. A prediction also needs a row without a label.
        """
        if isinstance(self.method, Predict):
            if start.max(initial=-1) < 0:
                raise ParameterError(
                    "labels: at least one row needs a label, because otherwise there is no centre"
                )
            if start.min(initial=0) >= 0:
                raise ParameterError("predict: no party has a new row", code=Code.BAD_LABELS)
            return
        missing = np.setdiff1d(np.arange(self.k), start)
        if missing.size:
            raise ParameterError(
                f"init: {missing.size} of {self.k} clusters have no row in the start labels, "
                f"the first is {missing[0]}",
                code=Code.BAD_LABELS,
            )

    @property
    def max_rounds(self) -> int:
        """Most rounds of a job: for each start those before it, its iterations and a last assignment.

        A prediction has one round.
        """
        return self._rounds(self.method.max_iter)

    @property
    def usual_rounds(self) -> int:
        """Rounds of a job whose starts converge after `_USUAL_ITERATIONS`."""
        return self._rounds(min(self.method.max_iter, _USUAL_ITERATIONS))

    def _rounds(self, iterations: int) -> int:
        """Most rounds."""
        if isinstance(self.method, Predict):
            return 1
        before = self.k if self.method.init == "k-means++" else 2
        starts = self.method.n_init
        if self.method.compared:
            starts = starts * len(self.method.compared) + 1
        return starts * (before + iterations + 1)

    def privacy_warning(self) -> PrivacyWarning | None:
        """A warning with all that the parameters reveal beyond what a reader may expect, else None."""
        clients = self.comparing_clients
        if self.t > 1 and len(clients) > 1:
            return PrivacyWarning(
                f"comparers: any two of clients {', '.join(map(str, clients))} together learn every row's "
                f"distances to the centres, though t={self.t} may collude"
            )
        if self.own_labels or self.ell == 1 or self.width > 2:
            return None
        columns = "one column" if self.width == 1 else "two columns"
        return PrivacyWarning(
            f"disclosure 'coded' shows the server distances per segment. With d={self.d} and "
            f"ell={self.ell} a segment has {columns}. With ell=1 the server sees only whole distances"
        )
