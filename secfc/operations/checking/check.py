"""What holders computed alone is checked by both evaluators, before anything that depends on it is opened.

A claim is that a product <x>, which was reduced to [x] or opened, is [x], or that y = sum of x + r for
answers x under the dealer's masks r. When all of it is there, coefficients are tossed. With them all claims
on products are one: an inner product of two long vectors of shares is 0. The combination of all answers is an
inner product too, and is opened under masks of the dealer. Vectors are folded until they are short
(`folding`). In the last fold the dealer adds blocks of its own, so that vectors at a point can be opened to
both evaluators. What is opened lies on polynomials of degree l + t - 1, and n shares with at most t wrong
ones do not lie on another. So a wrong number is noticed at n = R too. Whether a check fails depends on what
was sent wrong, and on nothing else. Opens uniform numbers to both evaluators (docs/proofs.md, "Wrong numbers
are noticed").
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from secfc.errors import CheatError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.field.packing import from_bytes, size_of, to_bytes
from secfc.field.residues import reduce
from secfc.operations.checking.coins import Tossed, Tosses, anchored
from secfc.operations.checking.lane import LONGEST, Lane
from secfc.operations.masked import Answered
from secfc.operations.reduction import reducing
from secfc.protocol.parties.dealing import dealt
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.opened import noticing, opened_shares
from secfc.protocol.parties.party import Claim, Half, Party
from secfc.protocol.parties.random_sharings import Sharings, random_sharings
from secfc.sharing.formula import Arrays, Pair, products
from secfc.sharing.shared import Shared

COMBINATIONS = 3
"""Combinations of all answers, and of all claims: each passes a wrong number with probability below 2^-15."""

_LEAST = 1 << 13
"""So many numbers of the dealer are dealt at once, or more."""


def most_numbers() -> int:
    """Upper bound of the numbers that are dealt or opened for a check of answers and of claims."""
    return max(_LEAST, 2 * Lane(COMBINATIONS, LONGEST).opened)


@dataclass(frozen=True, kw_only=True)
class Check:
    """What is checked, with what it needs.

    `hidden` are uniform numbers of the dealer, which knows their segments, `own`: first masks of the
    combinations of answers.
    """

    claims: list[Claim]
    answers: list[Answered]
    lanes: list[Lane]
    masks: Sharings
    hidden: Shared
    own: Floats | None = field(repr=False)


def settled(me: Party) -> Generator[None, None, None]:
    """Check what was not checked yet, if there is anything, and go on when both evaluators have accepted."""
    check = yield from prepared(me)
    if check is not None:
        yield from me.together([_settling(me, check)])


def _settling(me: Party, check: Check) -> Half:
    yield from checking(me, check)
    if me.evaluates:
        me.tell("accepted", b"\1")
    yield Wait("accepted", me.roles.evaluators, 1)


def prepared(me: Party, least: int = 0) -> Generator[None, None, Check | None]:
    """The check of what was not checked yet. None if this is nothing, or less than `least`.

    That counts answers, and numbers of vectors of claims.
    """
    claims, answers = me.unchecked
    of_claims = sum(one.product.formula.length + 1 for one in claims)
    if not (claims or answers) or of_claims + sum(prod(one.answers.shape) for one in answers) < least:
        return None
    me.unchecked = [], []
    yield from anchored(me)
    lanes = list[Lane]()
    if answers:
        length = sum(one.answers.length(COMBINATIONS) for one in answers)
        lanes.append(Lane(COMBINATIONS, length, masked=True))
    if claims:
        lanes.append(Lane(COMBINATIONS, of_claims))
    masks = yield from random_sharings(me, twins=sum(lane.values for lane in lanes))
    sums = COMBINATIONS if answers else 0
    hidden, own = yield from _hidden(me, sums + sum(lane.hidden for lane in lanes))
    own = None if own is None else own[..., :sums]
    return Check(claims=claims, answers=answers, lanes=lanes, masks=masks, hidden=hidden, own=own)


def checking(me: Party, check: Check) -> Half:
    """The check as a half of a step, of every party. It ends at an evaluator once it has accepted.

    CheatError at an evaluator for a wrong number. Other parties end before they know: what is opened next
    needs both evaluators, or they wait for both (`settled`).
    """
    tosses, lanes, used = Tosses(me), check.lanes, 0
    coin = yield from tosses.toss()
    factors = [_factors(one, coin) for one in check.answers]
    if me.holds:
        _begin(me, check, coin, factors)
    for fold in range(max(lane.folds for lane in lanes)):
        counts = [lane.values_at(fold) for lane in lanes]
        found = np.concatenate([lane.make_values(fold) for lane in lanes], axis=1) if me.holds else None
        values = Shared(me.code.primes, (sum(counts),), found)
        reduced = yield from reducing(me, values, check.masks.some(used, values.size), f"fold {fold}")
        used += values.size
        coin = yield from tosses.toss()
        if reduced.residues is not None:
            for lane, own in zip(
                lanes, np.split(reduced.residues, np.cumsum(counts)[:-1], axis=1), strict=True
            ):
                lane.go_on(fold, own, coin)
    if me.holds:
        line = np.concatenate([lane.line() for lane in lanes], axis=1)
        me.send_share(me.roles.evaluators, "line", to_bytes(line, me.code.primes))
    if check.own is not None and factors:
        offsets = reduce(_held(me, check, factors) - check.own.sum(axis=1), me.code.moduli[..., 0])
        for evaluator in me.roles.evaluators:
            me.send(evaluator, "offsets", to_bytes(offsets, me.code.primes))
    if me.evaluates:
        yield from _accepting(me, check, factors)
    tosses.end()


def _accepting(me: Party, check: Check, factors: list[Arrays]) -> Half:
    """CheatError unless all is right."""
    code, right, at = me.code, True, 0
    size = sum(lane.opened for lane in check.lanes)
    line = reduce((yield from opened_shares(me, "line", size, wide=False, least=noticing(me))), code.moduli)
    for lane in check.lanes:
        sums, agrees = lane.sums_in(line[..., at : at + lane.opened], code.primes)
        right, at = right and agrees, at + lane.opened
        if not lane.masked:
            right &= not sums.any()
            continue
        told = yield Wait("offsets", (me.roles.dealer,), size_of(COMBINATIONS, code.primes))
        offsets, by = from_bytes(told[me.roles.dealer], (COMBINATIONS,), code.primes), code.moduli[..., 0]
        right &= not reduce(_held(me, check, factors) - offsets - sums.sum(axis=1), by).any()
    if not right:
        text = "what holders have sent does not agree with the shares that they hold: some holder has lied"
        raise CheatError(text, code=Code.BAD_MESSAGE)


def _begin(me: Party, check: Check, coin: Tossed, factors: list[Arrays]) -> None:
    """Give each lane its vectors, and what the dealer deals for it."""
    assert check.hidden.residues is not None
    at = 0
    for lane in check.lanes:
        masks = COMBINATIONS if lane.masked else 0
        pairs = (
            _pairs_of_answers(check.answers, factors) if lane.masked else _pairs_of_claims(check.claims, coin)
        )
        dealt_for = check.hidden.residues[:, at : at + masks + lane.hidden]
        lane.begin(me.code.primes, pairs, dealt_for, me.kernels.threads)
        at += masks + lane.hidden


def _pairs_of_claims(claims: list[Claim], coin: Tossed) -> list[Pair]:
    """Vectors whose inner product is 0 if all claims are right."""
    pairs = list[Pair]()

    def draw(shape: tuple[int, ...]) -> Floats:
        return coin.residues((COMBINATIONS, *shape))

    for one in claims:
        product, value = one.product, one.value
        assert value is not None
        count = len(value.primes)
        factors, own = product.formula.draw(draw, product.shape)
        own += value.formula.pairs(-factors[:count])
        if count < len(product.primes):
            own = [(first[:count], second[:count]) for first, second in own]
        pairs += own
    return pairs


def _pairs_of_answers(answers: list[Answered], factors: list[Arrays]) -> list[Pair]:
    """Vectors whose inner product is the combination of all answers."""
    pairs = list[Pair]()
    for one, own in zip(answers, factors, strict=True):
        pairs += one.answers.pairs(*own)
    return pairs


def _factors(answered: Answered, coin: Tossed) -> Arrays:
    """Coefficients of the columns and rows of answers."""
    columns, rows = answered.answers.shape
    return coin.residues((COMBINATIONS, columns)), coin.residues((COMBINATIONS, rows))


def _held(me: Party, check: Check, factors: list[Arrays]) -> Floats:
    """The combinations of y at an evaluator, of r at the dealer, shape (P, COMBINATIONS)."""
    total = np.zeros((len(me.code.primes), COMBINATIONS))
    for one, (of_columns, of_rows) in zip(check.answers, factors, strict=True):
        mixed = one.combined(of_columns, me.kernels, me.code.primes)
        total += products(mixed, of_rows, me.code.primes)
    return reduce(total, me.code.moduli[..., 0])


def _hidden(me: Party, count: int) -> Generator[None, None, tuple[Shared, Floats | None]]:
    """So many uniform numbers that the dealer alone knows, and their segments at the dealer."""
    if me.hidden is None or me.hidden[0].size < count:
        size = max(count, _LEAST)
        segments = me.uniform(me.code.ell, size) if me.deals else None
        found = yield from dealt(me, {me.roles.dealer: size}, segments)
        shares = reduce(found[me.roles.dealer].shared, me.code.moduli[..., 0]) if me.holds else None
        me.hidden = Shared(me.code.primes, (size,), shares), segments
    hidden, own = me.hidden
    me.hidden = hidden[count:], None if own is None else own[..., count:]
    return hidden[:count], None if own is None else own[..., :count]
