"""Deals shares, and proves that they lie on polynomials together with what all other holders got.

A dealer sends every holder a piece, shares of [x] and of zeros <0>, and tells everybody a digest of all
pieces. In the next step the three comparers toss a coin, from which coefficients r follow (`_sums`). Covers
are uniform sharings that it dealt too. For each it sends the polynomial cover + sum r x, and a holder checks
its own shares. A cover hides the sum. Opens nothing. What dealers that may be lost tell everybody passes
through the coordinator, so one that lies cannot tell parties different things. Who refuses pieces says so.

A comparer that lies may choose its part of the coin last. 2^40 tries leave a wrong share unnoticed with a
probability below 2^-29: each succeeds with at most 7 q^3, q = 2^-23.98. A dealer that tells parties different
digests of pieces, or sends them different polynomials, is found in the next step, because all parties note
what they got (`secfc.protocol.parties.inbox`). For the same reason no coin is tossed before its pieces are
fixed.
"""

import hashlib
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from secfc.comparing.role import Data
from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, MessageError, PartyError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.field.packing import BYTES_PER_RESIDUE, unpack
from secfc.field.residues import BLOCK, reduce
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import COORDINATOR, Half, Party
from secfc.sharing.residue_bytes import from_bytes, size_of, to_bytes
from secfc.sharing.shared import Shared

COVERS = 3
_DIGEST = 32
_COIN = 16
_WORD = np.dtype("<i4")
_WIDTH = BLOCK // 2
"""Numbers that are combined at a time: so many products of a canonical and a reduced residue are exact."""

_SALT = 32
"""Random bytes of each piece. Without them a digest of another's piece would confirm a guess of what is
shared, because t shares, the proof and the guess determine that piece."""


@dataclass(frozen=True, kw_only=True)
class Dealt:
    """A holder's shares from one dealer: [x], shape (P, shared), and <0>, shape (P, zeros)."""

    shared: Floats = field(repr=False)
    zeros: Floats = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Dealings:
    """What dealers that may be lost, or lie, have dealt.

    `kept` are those that proved it. `refused` are pairs of a dealer and a holder that says that its shares
    are wrong; everybody is told the same.
    """

    shares: dict[int, Dealt] = field(repr=False)  # by dealer, at a holder that got right ones
    kept: tuple[int, ...]
    refused: frozenset[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class _Task:
    """Who deals how many [x], how many <0> each of them deals, and whether dealers may be lost."""

    sizes: Mapping[int, int]
    zeros: int
    may_be_lost: bool

    @property
    def dealers(self) -> tuple[int, ...]:
        return tuple(self.sizes)

    @property
    def longest(self) -> int:
        """Coefficients that are drawn: those of a dealer with fewer values are the first ones."""
        return max(self.zeros, *self.sizes.values())

    def told(self, tag: str, size: int) -> Generator[Wait, dict[int, Data], dict[int, Data]]:
        """What each dealer that is left tells everybody. The coordinator passes it on if some may be lost."""
        if not self.may_be_lost:
            return (yield Wait(tag, self.dealers, size))
        bits = -(-len(self.sizes) // 8)
        told = (yield Wait(f"{tag}s", (COORDINATOR,), bits + size * len(self.sizes)))[COORDINATOR]
        left = np.unpackbits(np.frombuffer(told, dtype=np.uint8), count=len(self.sizes))
        starts = range(bits, len(told), size)
        every = zip(self.dealers, left, starts, strict=True)
        return {dealer: bytes(told[at : at + size]) for dealer, one, at in every if one}


def dealt(
    me: Party, sizes: Mapping[int, int], segments: Floats | None, *, zeros: int = 0
) -> Generator[None, None, dict[int, Dealt]]:
    """What each dealer dealt, at holders. `sizes` say how many values, by dealer.

    A dealer gives the segments of x, shape (P, ell, size).
    """
    dealings = yield from _dealings(me, _Task(sizes=sizes, zeros=zeros, may_be_lost=False), segments)
    return dealings.shares


def dealt_by_owners(
    me: Party, sizes: Mapping[int, int], segments: Floats | None
) -> Generator[None, None, Dealings]:
    """The same of dealers that may be lost. The coordinator says which of them are left.

    With `max_liars` a holder says what it refuses, and otherwise ends the run with a `CheatError`. A holder
    that was lost when this was to be told cannot go on: PartyError.
    """
    return (yield from _dealings(me, _Task(sizes=sizes, zeros=0, may_be_lost=True), segments))


def _dealings(me: Party, task: _Task, segments: Floats | None) -> Generator[None, None, Dealings]:
    halves = [_roots(me, task)]
    if me.holds:
        halves.append(_pieces(me, task))
    if segments is not None:
        halves.append(_dealer(me, task, segments))
    if task.may_be_lost and me.number == COORDINATOR:
        halves.append(_teller(me, task, "root", _DIGEST, task.dealers))
    roots, *found = yield from me.together(halves)
    pieces = found[0] if me.holds else {}
    values = found[me.holds] if segments is not None else None
    halves = [_witness(me, task)]
    if me.holds:
        halves.append(_holder(me, task, roots, pieces))
    if values is not None and me.number in roots:
        halves.append(_prover(me, task, values))
    if me.number in me.roles.comparers:
        halves.append(_tosser(me, task))
    if task.may_be_lost and me.number == COORDINATOR:
        halves.append(_teller(me, task, "proof", sum(_proof_sizes(me)), tuple(roots)))
        halves.append(_refusals(me, task))
    (kept, refused), *found = yield from me.together(halves)
    if me.holds and task.may_be_lost and me.max_liars:
        mine = {(dealer, me.number) for dealer in kept if dealer not in found[0]}
        told = {pair for pair in refused if pair[1] == me.number}
        if mine and not told:  # others take its shares for right ones
            raise PartyError(f"the server did not wait for what party {me.number} refuses")
        if mine != told:
            text = f"the server told others what party {me.number} refuses, and it refuses something else"
            raise CheatError(text, code=Code.BAD_MESSAGE)
    return Dealings(shares=found[0] if me.holds else {}, kept=kept, refused=refused)


def most_told_bytes(n: int, primes: int, narrow: int) -> int:
    """Most bytes of what the coordinator passes on, where holders deal."""
    return n * (BYTES_PER_RESIDUE * primes * COVERS * 3 * narrow + _DIGEST + n)


def most_piece_bytes(n: int, primes: int, values: int) -> int:
    """Most bytes of a piece with so many [x] and as many <0>."""
    return _DIGEST * n + BYTES_PER_RESIDUE * primes * 2 * (values + COVERS) + _SALT


def added(me: Party, parts: list[Floats], size: int) -> Shared:
    """What several dealers dealt, shape (size,), added up; no parts at a party that holds no shares."""
    total = reduce(sum(parts[1:], parts[0]), me.code.moduli[..., 0]) if parts else None
    return Shared(me.code.primes, (size,), total)


def _dealer(me: Party, task: _Task, segments: Floats) -> Half:
    """Deal. Return segments and masks, and masks of zeros, each with those of covers."""
    code = me.code
    of_shared, of_zeros = _with_masks(me, segments), me.uniform(code.wide - code.ell, task.zeros + COVERS)
    messages, digests = _messages(me, of_shared, of_zeros)
    for holder, message in zip(me.roles.holders, messages, strict=True):
        me.send(holder, "piece", message)
    _tell(me, task, "root", hashlib.sha256(digests).digest())
    return of_shared, of_zeros
    yield


def _tell(me: Party, task: _Task, tag: str, data: bytes) -> None:
    """Tell everybody, or the coordinator, which passes it on: so nobody is told anything else."""
    if task.may_be_lost:
        me.send(COORDINATOR, tag, data)
    else:
        me.tell(tag, data)


def _with_masks(me: Party, segments: Floats) -> Floats:
    """Segments with those of covers, and then masks of both, shape (P, ell + t, shared + COVERS)."""
    code, shared = me.code, segments.shape[2]
    values = np.empty((len(code.primes), code.narrow, shared + COVERS))
    values[:, : code.ell, :shared] = segments
    for of_prime, p in zip(values, code.primes, strict=True):
        of_prime[: code.ell, shared:] = me.masks.uniform(p, (code.ell, COVERS), me.kernels)
        of_prime[code.ell :] = me.masks.uniform(p, (code.t, shared + COVERS), me.kernels)
    return values


def _messages(me: Party, of_shared: Floats, of_zeros: Floats) -> tuple[list[Data], bytes]:
    """For each holder the digests of all pieces, and its own; and these digests."""
    code = me.code
    sizes = [size_of(one.shape[2], code.primes) for one in (of_shared, of_zeros)]
    start, middle, end = np.cumsum([_DIGEST * code.n, *sizes]).tolist()
    messages = np.empty((code.n, end + _SALT), dtype=np.uint8)
    shape = code.n, len(code.primes), -1
    code.deal(of_shared, me.kernels, messages[:, start:middle].reshape(shape))
    code.deal_zeros(of_zeros, me.kernels, messages[:, middle:end].reshape(shape))
    messages[:, end:] = np.frombuffer(me.masks.octets(_SALT * code.n), np.uint8).reshape(code.n, _SALT)
    digests = b"".join(hashlib.sha256(one[start:]).digest() for one in messages)
    messages[:, :start] = np.frombuffer(digests, np.uint8)
    return [one.data for one in messages], digests


def _roots(me: Party, task: _Task) -> Half:
    """The digest of each dealer that is present, which everybody notes."""
    roots = yield from task.told("root", _DIGEST)
    for dealer, root in roots.items():
        me.note(dealer.to_bytes(2) + root)
    return roots


def _pieces(me: Party, task: _Task) -> Half:
    found = dict[int, Data]()
    for dealer in (yield from task.told("root", _DIGEST)):
        size = _ends(me, task, dealer)[1] + _SALT
        found |= yield Wait("piece", (dealer,), size, unless_lost=task.may_be_lost, alone=task.may_be_lost)
    return found


def _prover(me: Party, task: _Task, values: tuple[Floats, Floats]) -> Half:
    factors = yield from _coefficients(me, task.longest)
    proofs = (to_bytes(_sums(one, factors, me.code.moduli), me.code.primes) for one in values)
    _tell(me, task, "proof", b"".join(proofs))


def _holder(me: Party, task: _Task, roots: Mapping[int, Data], pieces: Mapping[int, Data]) -> Half:
    code = me.code
    factors = yield from _coefficients(me, task.longest)
    sizes = _proof_sizes(me)
    proofs, found = (yield from task.told("proof", sum(sizes))), dict[int, Dealt]()
    for dealer, proof in proofs.items():
        said, ends = memoryview(proof), _ends(me, task, dealer)
        view = memoryview(pieces.get(dealer, bytes(ends[1] + _SALT)))
        start, at = _DIGEST * code.n, _DIGEST * (me.number - 1)
        committed = hashlib.sha256(view[:start]).digest() == roots[dealer]
        committed &= hashlib.sha256(view[start:]).digest() == view[at : at + _DIGEST]
        shared = _checked(me, view[start : ends[0]], said[: sizes[0]], factors, zeros=False)
        zeros = _checked(me, view[ends[0] : ends[1]], said[sizes[0] :], factors, zeros=True)
        if committed and shared is not None and zeros is not None:
            found[dealer] = Dealt(shared=shared, zeros=zeros)
        elif not task.may_be_lost or not me.max_liars:
            kind = "zeros" if committed and shared is not None else "shares"
            text = f"party {dealer} dealt {kind} that lie on no polynomial of their degree"
            raise CheatError(text, code=Code.BAD_MESSAGE, clients=[dealer])
    if task.may_be_lost and me.max_liars:
        refused = proofs.keys() - found.keys()
        me.send(COORDINATOR, "refused", np.packbits([j in refused for j in me.roles.holders]).tobytes())
    return found


def _proof_sizes(me: Party) -> tuple[int, int]:
    """Bytes of the proofs of [x] and of <0>."""
    of_shared, of_zeros = me.code.narrow, me.code.wide - me.code.ell
    return size_of(COVERS * of_shared, me.code.primes), size_of(COVERS * of_zeros, me.code.primes)


def _ends(me: Party, task: _Task, dealer: int) -> tuple[int, int]:
    """Where the shares of [x] and those of <0> end in a dealer's piece, in bytes."""
    primes, start, shared = me.code.primes, _DIGEST * me.code.n, task.sizes[dealer] + COVERS
    return start + size_of(shared, primes), start + size_of(shared + task.zeros + COVERS, primes)


def _checked(
    me: Party, data: memoryview, proof: memoryview, factors: Floats, *, zeros: bool
) -> Floats | None:
    """Shares, shape (P, size), without covers. None if they do not agree with a dealer's proof."""
    code, primes = me.code, me.code.primes
    planes = np.frombuffer(data, dtype=np.uint8).reshape(len(primes), -1)
    try:
        said = from_bytes(proof, (code.wide - code.ell if zeros else code.narrow, COVERS), primes)
    except MessageError:
        return None
    if me.kernels.refused(planes, primes) >= 0:
        return None
    shares = unpack(planes)
    own = _sums(shares[:, np.newaxis], factors, code.moduli)
    difference = reduce(own - code.at_holder(me.number, said, zeros=zeros), code.moduli)
    return None if difference.any() else shares[:, :-COVERS]


def _tosser(me: Party, task: _Task) -> Half:
    coin = me.masks.octets(_COIN)
    for party in sorted({*me.roles.holders, *task.dealers}):
        me.send(party, "coin", coin)
    return
    yield


def _teller(me: Party, task: _Task, tag: str, size: int, dealers: tuple[int, ...]) -> Half:
    """Pass on what dealers tell everybody, but for those that are lost."""
    told = yield Wait(tag, dealers, size, unless_lost=True)
    left = np.packbits([dealer in told for dealer in task.dealers]).tobytes()
    data = left + b"".join(told.get(dealer, bytes(size)) for dealer in task.dealers)
    me.tell(f"{tag}s", data)


def _refusals(me: Party, task: _Task) -> Half:
    """With `max_liars`, say who refuses whose pieces."""
    if me.max_liars:
        yield from task.told("proof", sum(_proof_sizes(me)))
        size = -(-me.code.n // 8)
        refused = yield Wait("refused", tuple(me.roles.holders), size, unless_lost=True)
        me.tell("refusals", b"".join(refused.get(j, bytes(size)) for j in me.roles.holders))


def _witness(me: Party, task: _Task) -> Half:
    """The dealers that are kept, and what holders refuse. Everybody notes the same, and the proofs."""
    proofs = yield from task.told("proof", sum(_proof_sizes(me)))
    for dealer, proof in proofs.items():
        me.note(dealer.to_bytes(2) + hashlib.sha256(proof).digest())
    refused = frozenset[tuple[int, int]]()
    if task.may_be_lost and me.max_liars:
        size = -(-me.code.n // 8)
        table = (yield Wait("refusals", (COORDINATOR,), size * me.code.n))[COORDINATOR]
        me.note(bytes(table))
        rows = np.frombuffer(table, dtype=np.uint8).reshape(me.code.n, size)
        said = np.unpackbits(rows, axis=1, count=me.code.n)
        every = ((j, holder) for holder in me.roles.holders for j in proofs)
        refused = frozenset((j, holder) for j, holder in every if said[holder - 1, j - 1])
    return tuple(proofs), refused


def _coefficients(me: Party, size: int) -> Half:
    """Coefficients of the coin for each level of `_sums` of so many numbers, (levels, P, COVERS, _WIDTH).

    They are words of 32 bits. Modulo a prime none is likelier than q = 259 / 2^32.
    """
    coins = yield Wait("coin", me.roles.comparers, _COIN)
    drawn = MaskSource(hashlib.sha256(b"secfc dealing 1" + b"".join(coins.values())).digest())
    shape = _levels(size), 1, COVERS, _WIDTH
    words = np.frombuffer(drawn.octets(_WORD.itemsize * prod(shape)), dtype=_WORD)
    return reduce(words.reshape(shape).astype(np.float64), me.code.moduli)


def _levels(size: int) -> int:
    """Levels after which `_sums` of so many numbers has a number for each cover: 7 for 10^9."""
    return 1 if size < _WIDTH else 1 + _levels(COVERS * (size // _WIDTH + 1))


def _sums(values: Floats, factors: Floats, moduli: Floats) -> Floats:
    """Covers, the last columns of values, plus sums of the others: shape (P, rows, COVERS).

    At each level every `_WIDTH` numbers become COVERS numbers, all by the same factors. If they are not all
    0, the new ones are with probability at most q^COVERS. So are all numbers of the last level, and what it
    adds to each cover.
    """
    numbers, covers = values[:, :, :-COVERS], values[:, :, -COVERS:]
    for of_level in factors[:, :, np.newaxis]:
        count = numbers.shape[2] // _WIDTH
        whole, rest = numbers[:, :, : count * _WIDTH], numbers[:, :, count * _WIDTH :, np.newaxis]
        each = of_level @ whole.reshape(*numbers.shape[:2], _WIDTH, count)
        found = np.concatenate([each, of_level[..., : rest.shape[2]] @ rest], axis=3)
        numbers = reduce(found.reshape(*numbers.shape[:2], -1), moduli)
    return reduce(numbers + covers, moduli)
