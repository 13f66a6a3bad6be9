"""A party of a run: its roles, its keys, and how it runs the halves of an operation.

Every party runs the same program. Where the program comes to an operation, a party runs the halves of all
roles that it has, side by side: a holder that also evaluates waits for itself like for others. A half is a
generator. It sends by `Party.send`, yields what it awaits, and receives the bytes.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from secfc.comparing.batch import Arena
from secfc.crypto.keystream import Keys
from secfc.crypto.randomness import MaskSource
from secfc.errors import SecFCError
from secfc.field.array_types import Data, Floats, Ints
from secfc.kernels import Kernels
from secfc.protocol.parties.coins import Coins
from secfc.protocol.parties.inbox import Inbox, Place, Wait
from secfc.sharing.codewords import Codewords
from secfc.sharing.shared import Shared

COORDINATOR = 0
"""The number of the coordinator. Holders are 1 to n, then come helpers."""

Half = Generator[Wait, dict[int, Data], Any]
"""What a role does in an operation: yields what it awaits, receives it by sender, and returns its result."""


def at_once(act: Callable[..., Any], *of: Any) -> Half:
    """A half that waits for nothing: it does this, and returns what it gives."""
    return act(*of)
    yield


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Who does what: holders 1 to n keep shares; three parties compare, of which no two may collude.

    With disclosure "coded" the coordinator has the roles of all three: it tosses coins, and learns distances.
    """

    n: int
    dealer: int
    first: int
    second: int

    @property
    def evaluators(self) -> tuple[int, int]:
        """The first and the second evaluator."""
        return self.first, self.second

    @property
    def comparers(self) -> tuple[int, ...]:
        """The dealer and the evaluators, each once."""
        return tuple(dict.fromkeys((self.dealer, self.first, self.second)))

    @property
    def holders(self) -> range:
        """Numbers of the parties that keep shares."""
        return range(1, self.n + 1)

    @cached_property
    def insiders(self) -> frozenset[int]:
        """Holders and evaluators: they see masked numbers that others do not see."""
        return frozenset({*self.holders, *self.evaluators})

    @property
    def everybody(self) -> tuple[int, ...]:
        """All parties, with helpers and the coordinator."""
        return tuple(sorted({COORDINATOR, *self.holders, self.dealer, *self.evaluators}))


@dataclass(kw_only=True, eq=False)
class Claim:
    """A product without its residues, and what it was reduced to, or opened as, once this is known."""

    product: Shared
    value: Shared | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class Party:
    """What a party knows besides the values of the program.

    `secrets` are what it shares with each party, 32 bytes each, with itself too. `transcript` is at first the
    run's. Up to `max_liars` holders may send wrong shares; `liars` are those that were found. Shares of
    `unsure` holders are not used either, because it is not known whether they lie (`send_share`). Of these
    the `accused` lie unless the server withheld what was dealt (`secfc.sharing.unread`). `stock` are
    [rho] and <0> that were dealt and are not used yet (`secfc.protocol.parties.random_sharings`).
    """

    number: int
    roles: Roles
    code: Codewords
    kernels: Kernels
    masks: MaskSource
    transcript: bytes
    secrets: Mapping[int, bytes]
    inbox: Inbox
    arena: Arena = field(default_factory=Arena)
    max_liars: int = 0
    liars: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)
    accused: set[int] = field(default_factory=set)
    step: int = 0
    round: int = 0  # of the method, for costs
    outbox: list[tuple[int, Place, Data]] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)  # of its halves, while it cannot go on
    stock: tuple[Shared, Shared] | None = None
    hidden: tuple[Shared, Floats | None] | None = None  # numbers of the dealer, with their segments there
    coins: Coins | None = None  # of checks
    unchecked: tuple[list[Claim], list[Any]] = field(default_factory=lambda: ([], []))
    _keyed: set[tuple[int, str]] = field(default_factory=set)  # phases of the step, with whom
    _inside: bytes = b""  # a digest of what holders and evaluators saw
    _seen: bytes = b""  # the transcript before the present step
    _seen_inside: bytes = b""  # the same with `_inside`

    def __repr__(self) -> str:
        return f"Party(number={self.number}, step={self.step})"

    @contextmanager
    def sharing_by(self, code: Codewords) -> Iterator[None]:
        """Share by another code, with a stock of its own. The one before is there again afterwards."""
        before = self.code, self.stock, self.hidden
        self.code, self.stock, self.hidden = code, None, None
        try:
            yield
        finally:
            self.code, self.stock, self.hidden = before

    @property
    def holds(self) -> bool:
        """Whether it keeps shares."""
        return self.number in self.roles.holders

    @property
    def deals(self) -> bool:
        """Whether it is the dealer of the comparison."""
        return self.number == self.roles.dealer

    @property
    def evaluates(self) -> bool:
        """Whether it is one of the two evaluators."""
        return self.number in self.roles.evaluators

    @property
    def seen(self) -> bytes:
        """A digest of all that was opened to everybody before the present step."""
        return self._seen

    @property
    def awaited(self) -> tuple[int, ...]:
        """Parties without whose messages it cannot go on."""
        return tuple(sorted({sender for wait in self.waits for sender in self.inbox.missing(wait)}))

    def uniform(self, count: int, size: int) -> Floats:
        """Fresh uniform residues, shape (P, count, size)."""
        return np.stack([self.masks.uniform(p, (count, size)) for p in self.code.primes])

    def public(self, values: Ints) -> Shared:
        """Shares of public integers: every segment of each is the same, so the integers themselves."""
        primes = self.code.primes
        moduli = np.array(primes).reshape(-1, *[1] * values.ndim)
        return Shared(primes, values.shape, (values % moduli).astype(np.float64) if self.holds else None)

    def constant(self, values: Sequence[int], *, segment: int = 0) -> Shared:
        """Shares, shape (len(values),), of public integers in one segment, with 0 in the others."""
        primes = self.code.primes
        segments = np.zeros((len(primes), self.code.ell, len(values)))
        segments[:, segment] = [[float(value % p) for value in values] for p in primes]
        return self.of_segments(segments, (len(values),))

    def of_segments(self, segments: Floats | None, shape: tuple[int, ...]) -> Shared:
        """Shares, of this shape, of public segments, shape (P, ell, size), which holders need."""
        found = None
        if self.holds:
            assert segments is not None
            found = self.code.public(segments, self.number)
        return Shared(self.code.primes, shape, found)

    def send(self, recipient: int, tag: str, data: Data) -> None:
        """Send a message of the present step, which is not changed any more. One to itself does not leave."""
        insiders = self.roles.insiders
        inside = self.number in insiders and recipient in insiders
        place = Place(self.step, tag, self._seen_inside if inside else self._seen)
        if recipient == self.number:
            self.inbox.put(self.number, place, data)
        else:
            self.outbox.append((recipient, place, data))

    def tell(self, tag: str, data: Data) -> None:
        """Send a message of the present step to everybody."""
        for party in self.roles.everybody:
            self.send(party, tag, data)

    def send_share(self, recipients: Iterable[int], tag: str, data: Data) -> None:
        """Send a holder's share of what is computed, unless nobody uses it.

        A holder whose shares are not used may have refused what others have. Without an owner's rows, noise
        or covers its shares would tell more than is opened.
        """
        if self.number in self.liars | self.unsure:
            return
        for recipient in recipients:
            self.send(recipient, tag, data)

    def keys(self, other: int, phase: str) -> Keys:
        """Keys of the present step that only this party and another know.

        They depend on all that was opened to everybody. So who was told another number has other keys. No
        phase of a step is asked for twice, but at a party that has the roles of both: so no mask is used
        twice.
        """
        if (other, phase) in self._keyed and other != self.number:
            raise SecFCError(f"keys of {phase} with party {other} were used in step {self.step}")
        self._keyed.add((other, phase))
        return Keys(self.secrets[other], run=self._seen, round_=self.step, phase=phase)

    def claim(self, product: Shared) -> Claim:
        """Note that a product is reduced or opened, so that its value is checked."""
        claim = Claim(product=Shared(product.primes, product.shape, None, formula=product.formula))
        if self.roles.dealer != COORDINATOR:
            self.unchecked[0].append(claim)
        return claim

    def note(self, opened: bytes) -> None:
        """Note what was opened to everybody. Keys of later steps follow from it (`keys`)."""
        self.transcript = hashlib.sha256(self.transcript + opened).digest()

    def note_inside(self, opened: Data) -> None:
        """Note what was opened to holders and evaluators alone. What these tell each other then shows it."""
        self._inside = hashlib.sha256(self._inside + hashlib.sha256(opened).digest()).digest()

    def together(self, halves: Sequence[Half]) -> Generator[None, None, list[Any]]:
        """Run halves side by side as one step, until all have ended. Return their results in order."""
        self.step, self._seen = self.step + 1, self.transcript
        self._keyed.clear()
        self._seen_inside = hashlib.sha256(self._seen + self._inside).digest()
        insiders = self.roles.insiders if self.number in self.roles.insiders else frozenset[int]()
        self.inbox.begin(self.step, self._seen, insiders, self._seen_inside)
        results: list[Any] = [None] * len(halves)
        waiting: dict[int, Wait] = {}

        def advance(at: int, taken: dict[int, Data] | None) -> None:
            try:
                waiting[at] = halves[at].send(taken)  # type: ignore[arg-type]  # None begins
            except StopIteration as end:
                results[at] = end.value
                waiting.pop(at, None)

        for at in range(len(halves)):
            advance(at, None)
        while waiting:
            ready = [at for at, wanted in waiting.items() if self.inbox.has(wanted)]
            if not ready:
                self.waits = list(waiting.values())
                yield
            for at in ready:
                advance(at, self.inbox.take(waiting[at]))
        return results
