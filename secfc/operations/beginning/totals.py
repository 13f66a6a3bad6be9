"""Adds up numbers of all clients, of which they make their rows (docs/optional.md, Preparing).

Clients first tell each other of which columns they hold enough values, and go on when all were told the same.
Then each deals shares of its numbers, with a proof, and all send each other sums of their shares. Shares are
linear, so these are shares of the totals, under the sums of all masks. Everybody has a digest of what each
client dealt before an honest one sends its sum, so nobody chooses its numbers by the totals.

Opens to clients who holds enough of which column, and the totals.
"""

import hashlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from secfc.errors import CheatError, ParameterError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats, Ints
from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.operations.beginning.alike import all_have
from secfc.operations.opening import opened_to
from secfc.protocol.parties.dealing import added, dealt
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.sharing.codewords import Codewords

TOTAL_PRIMES = 5
"""Their product has 120 bits. Sums of 2**29 squares of 2**28 need only 86 bits."""

PRIMES_OF_TOTALS = tuple(prime.p for prime in PRIMES[:TOTAL_PRIMES])

LIMIT = prod(PRIMES_OF_TOTALS)
"""Totals are below this, since each of n numbers is below LIMIT // n."""

STEPS = 1 << 28
"""The largest number of which moments are added up. Of m < 2**29 rows sums of squares are below 2**85."""

_HALF = 32
_LOW_HALF = (1 << _HALF) - 1


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What clients learn: by column how many of them hold enough values, and the totals of all columns."""

    holders: tuple[int, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Addends:
    """What a client adds, and the `m` rows that it makes of the totals.

    `holds` says by column whether it holds enough values. `numbers` are those of all columns, from 0, below
    LIMIT // n. `check` refuses numbers of holders, by column, with an error. `rows_of` makes the rows, shape
    (m, d), or ends the run with an error.
    """

    m: int
    holds: tuple[bool, ...] = field(repr=False)
    numbers: tuple[int, ...] = field(repr=False)
    check: Callable[[tuple[int, ...]], None] = field(repr=False)
    rows_of: Callable[[Totals], Floats] = field(repr=False)


def moments(numbers: Ints) -> tuple[int, int, int]:
    """The count, the sum and the sum of squares of numbers from 0 to `STEPS`."""
    squares = numbers * numbers  # at most 2**56
    # 2**29 high halves below 2**25 and low halves below 2**32 fit int64.
    high, low = int((squares >> _HALF).sum()), int((squares & _LOW_HALF).sum())
    return numbers.size, int(numbers.sum()), (high << _HALF) + low


def are_possible(count: int, total: int, squares: int) -> bool:
    """Whether integers from 0 to `STEPS` can have these moments."""
    # 0 <= s <= STEPS, so s <= s**2 <= STEPS s, and s**2 has the parity of s. The last condition is the
    # Cauchy-Schwarz inequality.
    return (
        total <= count * STEPS
        and total <= squares <= STEPS * total
        and (squares - total) % 2 == 0
        and total * total <= count * squares
    )


def code_of_totals(me: Party) -> Codewords:
    """One segment, and as many primes as totals need."""
    return Codewords(n=me.code.n, t=me.code.t, ell=1, primes=PRIMES_OF_TOTALS)


def totals_of(me: Party, sizes: Sequence[int], own: Addends | None) -> Generator[None, None, Totals | None]:
    """The totals of columns of which each has so many numbers; None at parties that are no clients."""
    (holders,) = yield from me.together([_holders(me, len(sizes), own)])
    if own is not None:
        own.check(holders)
    length = sum(sizes)
    segments = None if own is None else _segments(own, length, me.code.n)
    with me.sharing_by(code_of_totals(me)):
        opened = yield from sums_over_clients(me, segments, length)
    if opened is None:
        return None
    radix = MixedRadix(PRIMES_OF_TOTALS)
    numbers = tuple(map(int, radix.integers(radix.digits(opened[:, 0]))))
    return Totals(holders=holders, numbers=numbers)


def sums_over_clients(
    me: Party, segments: Floats | None, length: int
) -> Generator[None, None, Floats | None]:
    """At clients the sums of what they give, segments of shape (P, ell, length)."""
    found = yield from dealt(me, dict.fromkeys(me.roles.holders, length), segments)
    total = added(me, [one.shared for one in found.values()], length)
    return (yield from opened_to(me, me.roles.holders, total, "totals"))


def _holders(me: Party, columns: int, own: Addends | None) -> Half:
    """By column the number of clients that hold enough values, once all were told the same; at a client.

    The coordinator learns who has told it, and so who keeps others waiting.
    """
    if own is None:
        if me.number == COORDINATOR:
            yield Wait("held", tuple(me.roles.holders), 0)
        return ()
    for holder in me.roles.holders:
        me.send(holder, "holds", bytes(own.holds))
    me.send(COORDINATOR, "held", b"")
    told = yield Wait("holds", tuple(me.roles.holders), columns)
    for holder, data in told.items():
        if not set(data) <= {0, 1}:
            text = f"holds: from client {holder}, a byte that is neither 0 nor 1"
            raise CheatError(text, code=Code.BAD_MESSAGE, clients=[holder])
    digest = hashlib.sha256(b"".join(told[holder] for holder in me.roles.holders)).digest()
    yield from all_have(me, "holders", digest, "clients were told different holders of columns")
    return tuple(map(sum, zip(*told.values(), strict=True)))


def _segments(own: Addends, length: int, n: int) -> Floats:
    if len(own.numbers) != length or not all(0 <= number < LIMIT // n for number in own.numbers):
        raise ParameterError(f"numbers: {length} whole numbers from 0 are needed, each in range")
    return np.array([[[number % p for number in own.numbers]] for p in PRIMES_OF_TOTALS], dtype=np.float64)
