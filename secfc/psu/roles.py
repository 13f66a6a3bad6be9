"""The two roles of a union as objects that take and return values. They send nothing themselves.

A stage is split into parts. For each part, every client deals shares to every other client. From the shares
of all it computes its share of what is opened. In a table the server opens these shares, and finds what all
clients must learn. In a check all open them.
"""

import logging
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from secfc import kernels as data_kernels
from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, MessageError, UnionError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints
from secfc.kernels.loading import NoLoopsError
from secfc.kernels.threads import ALONE, Threads
from secfc.psu.course import Course
from secfc.psu.field_sharing import Sharing
from secfc.psu.found import Found
from secfc.psu.kernels import UnionKernels
from secfc.psu.plan import UnionPlan
from secfc.psu.prime import Elements, P, add
from secfc.psu.proving import COVERS, Dealing, agrees, dealing, proof_of, proof_size
from secfc.psu.stages import CheckInput, CheckStage, SeriesFinder, SeriesInput, SeriesStage, Shape, ungrouped
from secfc.psu.tokens import Tokens

_LOG = logging.getLogger(__name__)

_RESIDUES = 32
"""NumPy loses as much time on this many residues of a run as on one value of a union, in all roles."""


def choose(values: int, threads: Threads = ALONE) -> UnionKernels:
    """Kernels for a union in which this many values are dealt to each client.

    The environment variable of `secfc.kernels` has effect here too.
    """
    if data_kernels.chosen_name(_RESIDUES * values) == "compiled":
        compiled = _compiled()
        if compiled is not None:
            return compiled(threads)
    return UnionKernels()


@cache
def _compiled() -> Callable[[Threads], UnionKernels] | None:
    """The compiled kernels, or None if Numba cannot be used."""
    if data_kernels.load() is None:
        return None
    try:
        from secfc.psu.compiled import CompiledUnionKernels  # noqa: PLC0415 - may run the compiler
    except NoLoopsError as error:
        _LOG.warning("unions use NumPy, because compiled code cannot be made: %s", error)
        return None
    return CompiledUnionKernels


def kernels_for(plan: UnionPlan, threads: Threads = ALONE) -> UnionKernels:
    """Kernels for a union of this size."""
    shape = Course(plan).stage.shape
    return choose(plan.n * shape.groups * shape.width, threads)


class UnionRole:
    """What both roles know about the current stage. A helper knows nothing else."""

    def __init__(self, plan: UnionPlan, threads: Threads = ALONE) -> None:
        self.course = Course(plan)
        self.plan = plan
        self._kernels = kernels_for(plan, threads)
        self._sharing = Sharing(n=plan.n, t=plan.t, ell=plan.ell, kernels=self._kernels)
        self._unique = False  # whether a check holds
        self._begin()

    def _begin(self) -> None:
        """Begin a stage."""

    @property
    def _shape(self) -> Shape:
        return self.course.stage.shape

    @property
    def parts(self) -> int:
        """The number of parts of this stage."""
        return -(-self._shape.groups // self._part_groups)

    def dealt_size(self, part: int) -> int:
        """How many values a client deals to another for a part, with covers (`secfc.psu.proving`)."""
        return self._count(part) * self._shape.width + 2 * self._random_size(part)

    def opened_size(self, part: int) -> int:
        """How many values a client sends to who opens them for a part."""
        return self._count(part) * self._shape.terms

    def _random_size(self, part: int) -> int:
        """How many random values a client deals to another for a part, and as many zeros, with covers."""
        return self._sharing.batches(self.opened_size(part)) + COVERS

    @property
    def checking(self) -> bool:
        """Whether the stage is a check, which has one part."""
        return isinstance(self.course.stage, CheckStage)

    def open(self, part: int, shares: Mapping[int, Elements]) -> None:
        """Open the values of a part, from the shares of all clients.

        MessageError for what is no element, UnionError unless the shares fit together.
        """
        clients = sorted(shares)
        for client, values in shares.items():
            check_elements(values, self.opened_size(part), client)
        misfits = self._sharing.misfits([shares[j] for j in clients], clients)
        if misfits is None or misfits:
            whose = "" if misfits is None else f" (client {', '.join(map(str, misfits))})"
            raise UnionError(
                f"union: clients' shares of the opened values contradict each other{whose}: such a share is "
                "wrong"
            )
        clients = clients[: self._sharing.responders]
        self._take_opened(self._sharing.open([shares[j] for j in clients], clients))

    def _take_opened(self, values: Elements) -> None:
        """Take the opened values of a part, shape (ell, opened values of a segment)."""
        self._unique = not values.any()

    def take_verdict(self) -> bool:
        """Whether the check holds. Continue as `Course.take_verdict`."""
        unique = self._unique
        self.course.take_verdict(unique)
        if not self.course.finished:
            self._begin()
        return unique

    def take_found(self, found: Found) -> None:
        """Take what is in a table; MessageError if it does not fit the table. See `Course.take_found`."""
        stage = self.course.stage
        assert isinstance(stage, SeriesStage)
        fault = found.fault(stage.table)
        if fault:
            raise MessageError(fault)
        self.course.take_found(found)
        self._begin()

    def _count(self, part: int) -> int:
        groups = self._groups(part)
        return int(groups.stop - groups.start)

    @property
    def _part_groups(self) -> int:
        return self._shape.part_groups(self.plan.n - self.plan.t)

    def _groups(self, part: int) -> slice:
        size = self._part_groups
        return slice(part * size, min((part + 1) * size, self._shape.groups))


class UnionClient(UnionRole):
    """A client's side of the union. `tokens` are those of its own IDs."""

    def __init__(
        self,
        *,
        number: int,
        plan: UnionPlan,
        tokens: Tokens,
        masks: MaskSource,
        threads: Threads = ALONE,
    ) -> None:
        self.number = number
        self._tokens, self._masks = tokens, masks
        super().__init__(plan, threads)

    def __repr__(self) -> str:
        return f"UnionClient(number={self.number}, stage={self.course.number})"

    def _begin(self) -> None:
        stage = self.course.stage
        if isinstance(stage, CheckStage):
            rows, missing = self.course.rows(self._tokens)
            self._input: SeriesInput | CheckInput = CheckInput(stage, rows, missing, first=self.number == 1)
        else:
            self._input = SeriesInput(stage, self.course.left(self._tokens), self._masks, self._kernels)

    def rows(self) -> Ints:
        """Rows of its own IDs in the union, in the order of its IDs, once the union is finished.

        -1 for one that is missing although the check holds: the server left it out, and a client dealt a
        false sum. The client goes on, because an error would show them who has the ID.
        """
        assert self.course.finished
        return self.course.located(self._tokens)

    def deal(self, part: int) -> Dealing:
        """Deal a part. Of its shares, (n, dealt_size), row j - 1 is for client j, also for itself."""
        values = self._input.values(self._groups(part))
        return dealing(self._sharing, values, self._random_size(part) - COVERS, self._masks)

    def proof(self, dealt: Dealing, seed: bytes) -> Elements:
        """The proof of its dealing, shape (proof_size,). A dealing is proved once."""
        return proof_of(dealt, seed, self._kernels)

    def check(self, dealer: int, part: int, values: Elements, proof: Elements, seed: bytes) -> None:
        """Raise CheatError unless what another client dealt to it agrees with the proof.

        MessageError for what is no element.
        """
        check_elements(values, self.dealt_size(part), dealer)
        check_elements(proof, proof_size(self._sharing), dealer)
        zeros = self._random_size(part)
        if not agrees(self._sharing, self.number, values, zeros, proof, seed, self._kernels):
            raise no_polynomial(dealer)

    def opening(self, part: int, dealt: Mapping[int, Elements]) -> Elements:
        """Its share of the values to open, shape (opened_size,), from what each client dealt to it."""
        shape, size, sharing, kernels = self._shape, self.opened_size(part), self._sharing, self._kernels
        first = self._count(part) * shape.width
        second = first + sharing.batches(size)
        total = np.zeros(first, dtype=np.uint64)
        weights, zeros = np.zeros((2, sharing.n - sharing.t, second - first), dtype=np.uint64)
        for dealer, values in dealt.items():
            column = np.ascontiguousarray(sharing.mixing[:, dealer - 1])
            kernels.add_into(values[:first], total)
            kernels.add_outer(column, values[first:second], weights)
            kernels.add_outer(column, values[second + COVERS : -COVERS], zeros)
        of_terms = weights.reshape(-1)[:size].reshape(-1, shape.terms)
        shares = self.course.stage.output(total.reshape(-1, shape.width), of_terms, kernels).reshape(-1)
        return add(shares, zeros.reshape(-1)[:size])


class UnionServer(UnionRole):
    """The server's side of the union: it opens shares and finds poles. It knows no key."""

    def _begin(self) -> None:
        stage = self.course.stage
        self._finder = SeriesFinder(stage, self._kernels) if isinstance(stage, SeriesStage) else None

    def _take_opened(self, values: Elements) -> None:
        if self._finder is None:
            super()._take_opened(values)
        else:
            self._finder.add(ungrouped(values, self._shape.terms))

    def found(self) -> Found:
        """The contents of a table of which all parts are opened."""
        assert self._finder is not None
        return self._finder.found()


def no_polynomial(dealer: int) -> CheatError:
    """The error of a client that finds what another dealt to it wrong."""
    text = f"party {dealer} dealt shares of a union that lie on no polynomial of their degree"
    return CheatError(text, code=Code.BAD_MESSAGE, clients=[dealer])


def check_elements(values: Elements, size: int, sender: int) -> None:
    """Raise MessageError unless `values` are `size` elements of the field."""
    if values.shape != (size,):
        raise MessageError(f"{values.size} elements from client {sender}, {size} expected")
    if size and values.max() >= P:
        raise MessageError(f"an element from client {sender} is not below {P}")
