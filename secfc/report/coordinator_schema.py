"""A coordinator's record of a run in a summary. It is unsigned, so its form and values are checked first."""

from itertools import chain
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from secfc.agreement.job_file import Agreement
from secfc.agreement.schemas import Hex16
from secfc.agreement.statement import Count, Ending, Text
from secfc.errors import ParameterError
from secfc.protocol.gathering import Faults
from secfc.protocol.job.cases import LabelsOnly, Predict, Union
from secfc.tables.toml_file import FileSchema, ListOf, TableOf, check_values

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Part(FileSchema):
    """A part of the record. Keys of later versions are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, hide_input_in_errors=True)


class PhaseSchema(Part):
    """Costs of a phase in a role."""

    phase: Text
    role: Literal["client", "server"]
    seconds: Amount
    sent_bytes: Count
    messages: Count


class CostsSchema(Part):
    """Costs of a run, as in `secfc.drivers.costs.Costs.to_dict`."""

    wall_seconds: Amount
    messages: Count
    bytes: Count
    rounds: Count
    phases: ListOf[PhaseSchema]


Pair = Annotated[list[Count], Field(min_length=2, max_length=2)]


class FaultsSchema(Part):
    """Numbers of clients and helpers, as in `secfc.protocol.gathering.Faults`."""

    absent: ListOf[Count]
    left_out: ListOf[Count]
    liars: ListOf[Count]
    cheats: ListOf[Count]
    unread: ListOf[Pair]
    claimed: ListOf[Pair]

    def faults(self) -> Faults:
        """The same as `secfc.protocol.gathering.Faults`."""
        unread, claimed = (
            tuple((one, other) for one, other in pairs) for pairs in (self.unread, self.claimed)
        )
        clients = {name: tuple(getattr(self, name)) for name in ("absent", "left_out", "liars", "cheats")}
        return Faults(**clients, unread=unread, claimed=claimed)


class CandidateSchema(Part):
    """The best clustering with one of several numbers of clusters, as in `secfc.api.choose_k.Candidate`."""

    k: Count
    n_iter: Count
    converged: bool
    inertia: Amount | None
    sizes: ListOf[Count] | None
    equal_starts: Count | None
    near_starts: Count | None
    silhouette: float | None
    calinski_harabasz: Amount | None
    davies_bouldin: Amount | None


class EndSchema(Part):
    """How a run ended, as in `secfc.Result`."""

    n_iter: Count
    converged: bool
    inertia: Amount | None
    history: ListOf[Amount]
    near_ties: Count | None
    equal_starts: Count | None
    near_starts: Count | None
    faults: FaultsSchema


class ResultSchema(EndSchema):
    """A result, as in `secfc.drivers.setup.public_result`."""

    k: Count
    compared: ListOf[CandidateSchema]
    counts: ListOf[Count] | None
    by_party: ListOf[ListOf[Count]] | None
    sizes: ListOf[Count] | None


class CoordinatorSchema(Part):
    """The record. `ended` is "complete", or type and code of the error, `lost` parties have theirs."""

    secfc: Text
    run: Hex16 | None = None
    ended: Ending
    lost: TableOf[Text, Ending] = Field(default_factory=dict)
    costs: CostsSchema | None = None
    result: ResultSchema | None = None


def check_coordinator(coordinator: object, agreement: Agreement, *, name: str) -> CoordinatorSchema:
    """Check a coordinator's record; ParameterError, with `name`, for what is impossible for this job."""
    record = check_values(coordinator, CoordinatorSchema, name=f"{name}: coordinator")
    result, job = record.result, agreement.job
    if result is not None:
        faults = result.faults
        numbers = {*faults.absent, *faults.left_out, *faults.liars, *faults.cheats}
        numbers |= {*chain(*faults.unread, *faults.claimed)}
        counts, sizes = result.counts, result.sizes
        rows = sum(counts or ()) if sizes is None else sum(sizes)
        measured = not isinstance(job.disclosure, LabelsOnly)  # with labels no party knows a distance
        compared = tuple(one.k for one in result.compared)
        for key, holds in (
            ("k", result.k in (job.method.compared or (job.k,))),
            ("compared", compared == (job.method.compared if len(job.method.compared) > 1 else ())),
            ("compared", all((one.inertia is not None) == job.tells_inertia for one in result.compared)),
            ("compared", all(job.own_labels == (one.sizes is None) for one in result.compared)),
            (
                "compared",
                all(
                    one.sizes is None or (len(one.sizes), sum(one.sizes)) == (one.k, rows)
                    for one in result.compared
                ),
            ),
            ("equal_starts", (result.equal_starts is None) == (result.near_starts is None)),
            ("inertia", (result.inertia is not None) == job.tells_inertia),
            ("near_ties", (result.near_ties is not None) == measured),
            ("history", bool(result.history) == (measured and not isinstance(job.method, Predict))),
            ("counts", isinstance(job.rows, Union) if counts is None else len(counts) == job.n),
            (
                "sizes",
                job.own_labels
                if sizes is None
                else len(sizes) == result.k and 0 < rows == (rows if counts is None else sum(counts)),
            ),
            ("by_party", adds_up(result.by_party, counts, sizes)),
            ("faults", numbers <= set(range(1, job.parties + 1))),
            ("costs", record.costs is not None),
        ):
            if not holds:
                raise ParameterError(f"{name}: coordinator: {key}: not that of a run of this job")
    return record


def adds_up(by_party: list[list[int]] | None, counts: list[int] | None, sizes: list[int] | None) -> bool:
    """Whether each party's rows of each cluster add up to its rows, and to those of the clusters."""
    if by_party is None or counts is None or sizes is None:
        return by_party is None and (counts is None or sizes is None)
    if any(len(one) != len(sizes) for one in by_party):
        return False
    return list(map(sum, by_party)) == counts and list(map(sum, zip(*by_party, strict=True))) == sizes
