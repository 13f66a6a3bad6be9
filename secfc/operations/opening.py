"""Opens numbers, what is not zero, what is below a limit, and bits under masks.

Both evaluators tell every party what is opened to everybody, and a party continues only if they tell the
same. What is opened to some alone, each of these decodes for itself.
"""

from collections.abc import Collection, Generator
from dataclasses import replace

import numpy as np

from secfc.comparing.batch_plan import below_zero
from secfc.field.array_types import Bools, Floats
from secfc.field.packing import from_bytes, size_of, to_bytes
from secfc.operations.checking.check import settled
from secfc.operations.masked import masked
from secfc.operations.signs import HiddenBits, hidden_signs
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import opened_shares, to_tell, told_by_both
from secfc.protocol.parties.party import Half, Party, at_once
from secfc.protocol.parties.random_sharings import Sharings, random_sharings
from secfc.sharing.rows import answers_of
from secfc.sharing.shared import Shared, joined

MULTIPLES = 2
"""Uniform multiples that are opened of each number."""


def opened(me: Party, product: Shared) -> Generator[None, None, Floats]:
    """The segments modulo the first prime, canonical, shape (ell, size), of <x>.

    The sharing must be uniform among those of its segments: add <0> before.
    """
    yield from settled(me)
    found: list[Floats] = yield from me.together([opening(me, product)])
    return found[0]


def opening(me: Party, product: Shared) -> Half:
    """The same as a half of a step. What was opened is noted."""
    alone, size = replace(me, code=me.code.first_prime()), product.size
    shape, primes = (me.code.ell, size), alone.code.primes
    if product.residues is not None:
        me.send_share(me.roles.evaluators, "share", to_bytes(product.residues[:1], primes))
    claim = me.claim(product)
    if me.evaluates:
        decoded = yield from opened_shares(alone, "share", size, wide=True)
        me.tell("opened", to_tell(me, to_bytes(decoded, primes)))
    told = yield from told_by_both(me, "opened", size_of(me.code.ell * size, primes))
    me.note(bytes(told))
    segments = from_bytes(told, shape, primes)
    claim.value = alone.of_segments(segments, product.shape)
    return segments[0]


def opened_to(
    me: Party, recipients: Collection[int], numbers: Shared, what: str
) -> Generator[None, None, Floats | None]:
    """At recipients the segments, canonical, shape (P, ell, size), of [x] or <x>; `what` is in errors.

    The sharing must be uniform among those of its segments, as `reduced` makes it. It may be modulo the first
    primes alone.
    """
    yield from settled(me)
    halves = []
    if me.number in recipients:
        halves.append(_recipient(me, numbers, what))
    if numbers.residues is not None:
        shares = to_bytes(numbers.residues, numbers.primes)
        halves.append(at_once(me.send_share, recipients, what, shares))
    found = yield from me.together(halves)
    return found[0] if me.number in recipients else None


def nonzero(me: Party, numbers: Shared) -> Generator[None, None, Bools]:
    """Of [x], shape (size,), or of vectors, shape (size, width), which have a number that is not zero.

    What is opened are two uniform multiples of each number, or of each vector, modulo the first prime, others
    for each segment. A multiple of a vector is the sum of uniform multiples of its numbers. What is not 0
    modulo this prime passes for 0 only if all of these are 0, each independently with probability below
    2**-23. More is not opened: a comparer that lies can deal bits that differ by prime.
    """
    yield from settled(me)
    vectors = numbers.reshape(numbers.shape[0], -1)
    count = MULTIPLES * numbers.size
    random = yield from random_sharings(me, zeros=MULTIPLES * vectors.shape[0], alone=count)
    found: list[Bools] = yield from me.together([testing(me, [vectors], random)])
    return found[0]


def testing(me: Party, vectors: list[Shared], random: Sharings) -> Half:
    """The same as a half of a step, of vectors of several widths.

    `random` has two of `alone` for each number, and two of `zeros` for each vector.
    """
    at, multiples = 0, list[Shared]()
    alone = random.alone.modulo_first()
    for one in vectors:
        size, width = one.shape
        numbers = one.modulo_first().reshape(1, size, width)
        factors = alone[at : at + MULTIPLES * size * width].reshape(MULTIPLES, size, width)
        multiples.append((numbers * factors).sum(2))
        at += factors.size
    hidden = joined(multiples, 1).reshape(-1) + random.zeros.modulo_first()
    opened = yield from opening(me, hidden)
    found: Bools = opened.reshape(me.code.ell * MULTIPLES, -1).any(axis=0)
    return found


def below(me: Party, counts: Shared, limits: list[int]) -> Generator[None, None, tuple[bool, ...]]:
    """Whether each of some shared counts, shape (counts,), is below its limit.

    All segments of a count are the same, so their sum is ell times it; or the limit is 0.
    """
    apart = counts - np.array(limits)
    hidden = yield from masked(me, answers_of(apart))
    bits = yield from hidden_signs(me, hidden, below_zero(1))
    return (yield from opened_bits(me, bits))


def opened_bits(me: Party, bits: HiddenBits) -> Generator[None, None, tuple[bool, ...]]:
    """The bits, at everybody. The dealer tells the evaluators its masks when both have come here.

    Then both have accepted what was compared. With the masks alone an evaluator that lied would know the bits
    of what it made of numbers, although the other ends the run.
    """
    halves = [_bits_receiver(me, bits)]
    if me.deals and bits.held is not None:
        halves.append(_dealer(me, bits.held))
    if me.evaluates and bits.held is not None:
        halves.append(_evaluator(me, bits.held))
    found = yield from me.together(halves)
    return tuple(found[0])


def _dealer(me: Party, masks: Bools) -> Half:
    yield Wait("has bits", me.roles.evaluators, 1)
    for evaluator in me.roles.evaluators:
        me.send(evaluator, "mask", np.packbits(masks).tobytes())


def _evaluator(me: Party, deltas: Bools) -> Half:
    me.send(me.roles.dealer, "has bits", b"\1")
    masks = (yield Wait("mask", (me.roles.dealer,), -(-deltas.size // 8)))[me.roles.dealer]
    bits = np.frombuffer(masks, dtype=np.uint8) ^ np.packbits(deltas)
    me.tell("bits", to_tell(me, bits.tobytes()))


def _bits_receiver(me: Party, bits: HiddenBits) -> Half:
    size = bits.outputs * bits.rows
    told = yield from told_by_both(me, "bits", -(-size // 8))
    me.note(bytes(told))
    return np.unpackbits(np.frombuffer(told, dtype=np.uint8), count=size).astype(np.bool_).tolist()


def _recipient(me: Party, numbers: Shared, what: str) -> Half:
    code = replace(me.code, primes=numbers.primes)
    alone = replace(me, code=code)
    return (yield from opened_shares(alone, what, numbers.size, wide=numbers.wide, least=code.wide))
