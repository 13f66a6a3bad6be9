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

from secfc.crypto.handshake import Session
from secfc.crypto.identity import Roster
from secfc.errors import ParameterError, PrivacyWarning
from secfc.errors.codes import Code
from secfc.field.array_types import Labels
from secfc.field.fixed_point import quantised_radius, scale_exponent, unit_of
from secfc.field.primes import residues_needed
from secfc.kmeans.bounds import bounded_residues, draw_residues, fit_residues, pair_residues, refill_residues
from secfc.lagrange.basis import recovery_threshold
from secfc.protocol.job.cases import (
    Centres,
    Coded,
    Deposited,
    Disclosed,
    LabelsOnly,
    Method,
    Predict,
    Rows,
    Union,
)
from secfc.psu.plan import UnionPlan
from secfc.sharing.codewords import segment_width
from secfc.version import PROTOCOL_BYTES

_AGREEMENT = b"secfc agreement 2"
_USUAL_ITERATIONS = 16  # of a start, to estimate the work of a run


@dataclass(frozen=True, kw_only=True)
class Job:
    """The public parameters of a run, equal at all parties: a sum of cases and a few numbers.

    `secfc.protocol.job.making.make_job` makes and checks it. With `max_liars` = A the server waits for
    R + A answers, and for R + 2A if these do not agree.

    Parameters
    ----------
    rows : Own, Union or Deposited
        Whose rows are clustered.
    method : Cluster, Compare or Predict
        What is computed of them.
    disclosure : LabelsOnly or Coded
        Who learns distances.
    opened : Centres
        What is opened at the end, and to whom.
    n : int
        Number of clients.
    t : int
        Number of clients that may collude and still learn nothing about other clients' rows.
    ell : int
        Number of segments of a row.
    d : int
        Number of columns.
    bound : float
        Public bound on the Euclidean norm of a row, in the data's units.
    precision : int
        Bits of a row relative to the bound; not used with a step.
    step : float or None
        A public number that every value is a multiple of.
    max_liars : int
        Number of clients that may send wrong answers.
    seed : int or None
        Determines public first sets, and in a simulation also rows that are drawn in secret. Without a seed
        public sets follow from a coin that the comparers toss, with disclosure "coded" the server.
    """

    rows: Rows
    method: Method
    disclosure: Disclosed
    opened: Centres
    n: int
    t: int
    ell: int
    d: int
    bound: float
    precision: int
    step: float | None
    max_liars: int
    seed: int | None

    @property
    def k(self) -> int:
        """Number of clusters; the largest of several."""
        return self.method.k

    @property
    def comparers(self) -> tuple[int, ...]:
        """With disclosure "labels" the dealer, first and second evaluator, else nobody."""
        return self.disclosure.comparers

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of all parameters, 32 bytes: JSON with sorted names, floats as Python's shortest repr."""
        given = asdict(self)
        for name in ("rows", "method", "disclosure"):
            given[name]["case"] = type(getattr(self, name)).__name__
        return hashlib.sha256(b"secfc job 2" + json.dumps(given, sort_keys=True).encode()).digest()

    def session(self, roster: Roster, run: bytes) -> Session:
        """A run whose agreement is the protocol's version, this job and the roster.

        ParameterError if the roster does not have the job's number of parties, or has no server.
        """
        if len(roster.keys) != self.parties:
            raise ParameterError(f"roster: it has {len(roster.keys)} parties, the job has {self.parties}")
        if roster.coordinator is None:
            raise ParameterError("roster: the server's key is needed")
        agreement = hashlib.sha256(_AGREEMENT + PROTOCOL_BYTES + self.digest + roster.digest).digest()
        return Session(run=run, agreement=agreement, roster=roster)

    @property
    def prepares(self) -> bool:
        """Whether clients first open means and deviations of all their values."""
        return bool(self.rows.totals)

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
        return isinstance(self.disclosure, LabelsOnly)

    @property
    def tells_inertia(self) -> bool:
        """Whether all parties are told the inertia."""
        return isinstance(self.disclosure, Coded) or self.disclosure.inertia

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
            if method.n_init > 1 or self.disclosure.inertia:
                numbers.append(
                    fit_residues(radius, m, compares=method.n_init > 1, opens=self.disclosure.inertia)
                )
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

        Each resample has as many, and one for each k in which all rows are assigned. A prediction has one
        round.
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
        of_resample = starts * (before + iterations + 1) + len(self.method.compared or (self.k,))
        return starts * (before + iterations + 1) + self.method.resamples * of_resample

    def privacy_warning(self) -> PrivacyWarning | None:
        """A warning with all that the parameters reveal beyond what a reader may expect, else None."""
        clients = self.comparing_clients
        if self.t > 1 and len(clients) > 1:
            return PrivacyWarning(
                f"comparers: any two of clients {', '.join(map(str, clients))} together learn every row's "
                f"distances to the centres, though t={self.t} may collude"
            )
        if not isinstance(self.disclosure, Coded) or self.ell == 1 or self.width > 2:
            return None
        columns = "one column" if self.width == 1 else "two columns"
        return PrivacyWarning(
            f"disclosure 'coded' shows the server distances per segment. With d={self.d} and "
            f"ell={self.ell} a segment has {columns}. With ell=1 the server sees only whole distances"
        )
