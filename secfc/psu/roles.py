"""The two roles of a union as objects that take and return values. They send nothing themselves.

A stage is split into parts. For each part, every client deals shares to every other client. From the shares
of all it computes a share for the server. The server opens these shares and, at the end of a stage, returns
what all clients must learn.
"""

from collections.abc import Mapping

import numpy as np

from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, MessageError, UnionError
from secfc.errors.codes import Code
from secfc.field.array_types import Ints
from secfc.kernels.threads import ALONE, Threads
from secfc.psu.choice import choose
from secfc.psu.course import Course
from secfc.psu.field_sharing import Sharing
from secfc.psu.found import Found
from secfc.psu.kernels import UnionKernels
from secfc.psu.plan import UnionPlan
from secfc.psu.prime import Elements, P, add
from secfc.psu.proving import COVERS, Dealing, agrees, dealing, proof_of, proof_size
from secfc.psu.stages import (
    CheckInput,
    CheckStage,
    SeriesFinder,
    SeriesInput,
    SeriesStage,
    Shape,
    ungrouped,
)
from secfc.psu.tokens import Tokens


def kernels_for(plan: UnionPlan, threads: Threads = ALONE) -> UnionKernels:
    """Kernels for a union of this size."""
    shape = Course(plan).stage.shape
    return choose(plan.n * shape.groups * shape.width, threads)


class _Role:
    """What both roles know about the current stage."""

    def __init__(self, plan: UnionPlan, threads: Threads) -> None:
        self.course = Course(plan)
        self.plan = plan
        self._kernels = kernels_for(plan, threads)
        self._sharing = Sharing(n=plan.n, t=plan.t, ell=plan.ell, kernels=self._kernels)

    @property
    def _shape(self) -> Shape:
        return self.course.stage.shape

    @property
    def stage(self) -> int:
        """Number of the current stage, from 1."""
        return self.course.number

    @property
    def finished(self) -> bool:
        """Whether the union is found and checked."""
        return self.course.finished

    @property
    def m(self) -> int:
        """The number of IDs in the union."""
        return self.course.m

    @property
    def parts(self) -> int:
        """The number of parts of this stage."""
        return -(-self._shape.groups // self._part_groups)

    def dealt_size(self, part: int) -> int:
        """How many values a client deals to another for a part, with covers (`secfc.psu.proving`)."""
        return self._count(part) * self._shape.width + 2 * self._random_size(part)

    def opened_size(self, part: int) -> int:
        """How many values a client sends to the server for a part."""
        return self._count(part) * self._shape.terms

    @property
    def proof_size(self) -> int:
        """How many elements the proof of a dealing has."""
        return proof_size(self._sharing)

    def _random_size(self, part: int) -> int:
        """How many random values a client deals to another for a part, and as many zeros, with covers."""
        return self._sharing.batches(self.opened_size(part)) + COVERS

    @property
    def checking(self) -> bool:
        """Whether the stage is a check, which has one part."""
        return isinstance(self.course.stage, CheckStage)

    def unique(self, shares: Mapping[int, Elements]) -> bool:
        """Whether the check holds, from the clients' shares. All parties get the same result."""
        return not self._values(shares)[0].any()

    def _values(self, shares: Mapping[int, Elements]) -> Elements:
        """The opened values of a part, from the shares of the first R clients; UnionError unless all fit."""
        clients = sorted(shares)
        misfits = self._sharing.misfits([shares[j] for j in clients], clients)
        if misfits is None or misfits:
            whose = "" if misfits is None else f" (client {', '.join(map(str, misfits))})"
            raise UnionError(
                f"union: clients' shares of the opened values contradict each other{whose}: such a share is "
                "wrong"
            )
        clients = clients[: self._sharing.responders]
        return self._sharing.open([shares[j] for j in clients], clients)

    def _count(self, part: int) -> int:
        groups = self._groups(part)
        return int(groups.stop - groups.start)

    @property
    def _part_groups(self) -> int:
        return self._shape.part_groups(self.plan.n - self.plan.t)

    def _groups(self, part: int) -> slice:
        size = self._part_groups
        return slice(part * size, min((part + 1) * size, self._shape.groups))


class _Part:
    """Sums of the shares that the clients have dealt for a part."""

    def __init__(self, *, count: int, shape: Shape, sharing: Sharing) -> None:
        combined = sharing.n - sharing.t, sharing.batches(count * shape.terms)
        self.total = np.zeros(count * shape.width, dtype=np.uint64)
        self.weights = np.zeros(combined, dtype=np.uint64)
        self.zeros = np.zeros(combined, dtype=np.uint64)
        self.senders: set[int] = set()


class UnionClient(_Role):
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
        super().__init__(plan, threads)
        self.number = number
        self._tokens, self._masks = tokens, masks
        self._begin()

    def __repr__(self) -> str:
        return f"UnionClient(number={self.number}, stage={self.stage})"

    def rows(self) -> Ints:
        """Rows of its own IDs in the union, in the order of its IDs, once the union is finished.

        -1 for one that is missing although the check holds: the server left it out, and a client dealt a
        false sum. The client goes on, because an error would show them who has the ID.
        """
        assert self.finished
        return self.course.located(self._tokens)

    def deal(self, part: int) -> Dealing:
        """Deal a part. Of its shares, (n, dealt_size), row j - 1 is for client j. The own row is kept."""
        values = self._input.values(self._groups(part))
        dealt = dealing(self._sharing, values, self._random_size(part) - COVERS, self._masks)
        self._keep(self.number, part, dealt.shares[self.number - 1])
        return dealt

    def proof(self, dealt: Dealing, seed: bytes) -> Elements:
        """The proof of its dealing, shape (proof_size,). A dealing is proved once."""
        return proof_of(dealt, seed, self._kernels)

    def check(self, sender: int, part: int, values: Elements, proof: Elements, seed: bytes) -> None:
        """Raise CheatError unless what another client dealt to it agrees with the proof."""
        check_elements(values, self.dealt_size(part), sender)
        check_elements(proof, self.proof_size, sender)
        zeros = self._random_size(part)
        if not agrees(self._sharing, self.number, values, zeros, proof, seed, self._kernels):
            raise no_polynomial(sender)

    def take(self, sender: int, part: int, values: Elements) -> None:
        """Take shares that another client dealt. A MessageError, e.g. for a second time, changes nothing."""
        if not 0 <= part < self.parts:
            raise MessageError(f"part {part} from client {sender}, the stage has {self.parts}")
        check_elements(values, self.dealt_size(part), sender)
        if part in self._done or (part in self._open and sender in self._open[part].senders):
            raise MessageError(f"part {part} from client {sender} a second time")
        self._keep(sender, part, values)

    def complete(self, part: int) -> bool:
        """Whether all clients, itself included, have dealt this part."""
        return part in self._open and len(self._open[part].senders) == self.plan.n

    def opening(self, part: int) -> Elements:
        """Its share of the values to open of a complete part, shape (opened_size,). The part is deleted."""
        held, shape = self._open.pop(part), self._shape
        self._done.add(part)
        size = self.opened_size(part)
        total = held.total.reshape(-1, shape.width)
        weights = held.weights.reshape(-1)[:size].reshape(-1, shape.terms)
        shares = self.course.stage.output(total, weights, self._kernels).reshape(-1)
        return add(shares, held.zeros.reshape(-1)[:size])

    @property
    def settled(self) -> bool:
        """Whether it has computed all parts of the stage."""
        return len(self._done) == self.parts

    def take_found(self, found: Found) -> None:
        """Take what the server found; MessageError if it does not fit the table. See `Course.take_found`."""
        stage = self.course.stage
        if isinstance(stage, CheckStage):
            raise MessageError("a table's poles in a stage without a table")
        fault = found.fault(stage.table)
        if fault:
            raise MessageError(fault)
        self.course.take_found(found)
        self._begin()

    def take_verdict(self, unique: bool) -> None:
        """Take the result of the check; see `Course.take_verdict`."""
        if not self.checking:
            raise MessageError("a check's result in a stage without a check")
        self.course.take_verdict(unique)
        if not self.finished:
            self._begin()

    def _begin(self) -> None:
        self._open: dict[int, _Part] = {}
        self._done: set[int] = set()
        stage = self.course.stage
        if isinstance(stage, CheckStage):
            rows, missing = self.course.rows(self._tokens)
            self._input: SeriesInput | CheckInput = CheckInput(stage, rows, missing, first=self.number == 1)
        else:
            self._input = SeriesInput(stage, self.course.left(self._tokens), self._masks, self._kernels)

    def _keep(self, sender: int, part: int, values: Elements) -> None:
        if part not in self._open:
            self._open[part] = _Part(count=self._count(part), shape=self._shape, sharing=self._sharing)
        held = self._open[part]
        held.senders.add(sender)
        first = held.total.size
        second = first + held.weights.shape[1]
        self._kernels.add_into(values[:first], held.total)
        column = np.ascontiguousarray(self._sharing.mixing[:, sender - 1])
        self._kernels.add_outer(column, values[first:second], held.weights)
        self._kernels.add_outer(column, values[second + COVERS : -COVERS], held.zeros)


class UnionServer(_Role):
    """The server's side of the union: it opens shares and finds poles. It knows no key."""

    def __init__(self, plan: UnionPlan, threads: Threads = ALONE) -> None:
        super().__init__(plan, threads)
        self._begin()

    def take(self, sender: int, part: int, values: Elements) -> None:
        """Take a client's share of the values to open of a part. A MessageError changes nothing."""
        if part != self._sent[sender - 1] or part >= self.parts:
            raise MessageError(
                f"part {part} from client {sender}, part {self._sent[sender - 1]} of {self.parts} is next"
            )
        check_elements(values, self.opened_size(part), sender)
        self._sent[sender - 1] += 1
        self._held.setdefault(part, {})[sender] = values
        if len(self._held[part]) == self.plan.n:
            self._open(self._held.pop(part))

    @property
    def complete(self) -> bool:
        """Whether every part of the stage is opened."""
        return self.opened == self.parts

    @property
    def missing(self) -> tuple[int, ...]:
        """Clients that have not sent their share of the next part."""
        if self.complete:
            return ()
        held = self._held.get(self.opened, {})
        return tuple(j for j in range(1, self.plan.n + 1) if j not in held)

    def conclude(self) -> Found | bool:
        """The result of a complete stage: a table, or whether the check holds. Continue as `Course` does."""
        assert self.complete
        if self._finder is None:
            unique = self._unique
            self.course.take_verdict(unique)
            if not self.finished:
                self._begin()
            return unique
        found = self._finder.found()
        self.course.take_found(found)
        self._begin()
        return found

    def _begin(self) -> None:
        self._sent = [0] * self.plan.n
        self._held: dict[int, dict[int, Elements]] = {}
        self.opened = 0  # parts of this stage
        stage = self.course.stage
        self._finder = SeriesFinder(stage, self._kernels) if isinstance(stage, SeriesStage) else None

    def _open(self, shares: dict[int, Elements]) -> None:
        self.opened += 1
        if self._finder is None:
            self._unique = self.unique(shares)
        else:
            self._finder.add(ungrouped(self._values(shares), self._shape.terms))


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
