"""Deals shares, and proves that they lie on polynomials together with what all other holders got.

A dealer sends every holder a piece, shares of [x] and of zeros <0>, and tells everybody a digest of all
pieces. Then the three comparers toss a coin, from which coefficients r follow (`_sums`). Covers are uniform
sharings that it dealt too. For each it sends the polynomial cover + sum r x, and a holder checks its own
shares. A cover hides the sum. Opens nothing.

A comparer that lies may choose its part of the coin last. 2^40 tries leave a wrong share unnoticed with a
probability below 2^-29: each succeeds with at most 7 q^3, q = 2^-23.98. A dealer that tells parties different
digests is named in the next step (`secfc.protocol.parties.inbox`).
"""

import hashlib
from collections.abc import Generator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from secfc.comparing.role import Data
from secfc.crypto.randomness import MaskSource
from secfc.errors import CheatError, MessageError
from secfc.errors.codes import Code
from secfc.field.array_types import Floats
from secfc.field.packing import unpack
from secfc.field.residues import BLOCK, reduce
from secfc.protocol.parties.inbox import Wait
from secfc.protocol.parties.party import Half, Party
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


def dealt(
    me: Party, dealers: tuple[int, ...], segments: Floats | None, *, shared: int, zeros: int = 0
) -> Generator[None, None, dict[int, Dealt]]:
    """What each dealer dealt, at holders. A dealer gives the segments of x, shape (P, ell, shared)."""
    halves = []
    if me.holds:
        halves.append(_holder(me, dealers, shared, zeros))
    if me.number in dealers and segments is not None:
        halves.append(_dealer(me, segments, zeros))
    if me.number in me.roles.comparers:
        halves.append(_tosser(me, dealers))
    halves.append(_witness(me, dealers))
    found = yield from me.together(halves)
    return found[0] if me.holds else {}


def added(me: Party, parts: list[Floats], size: int) -> Shared:
    """What several dealers dealt, shape (size,), added up; no parts at a party that holds no shares."""
    total = reduce(sum(parts[1:], parts[0]), me.code.moduli[..., 0]) if parts else None
    return Shared(me.code.primes, (size,), total)


def _dealer(me: Party, segments: Floats, zeros: int) -> Half:
    code, primes = me.code, me.code.primes
    of_shared, of_zeros = _with_masks(me, segments), me.uniform(code.wide - code.ell, zeros + COVERS)
    messages, digests = _messages(me, of_shared, of_zeros)
    for holder, message in zip(me.roles.holders, messages, strict=True):
        me.send(holder, "piece", message)
    for party in me.roles.everybody:
        me.send(party, "root", hashlib.sha256(digests).digest())
    factors = yield from _coefficients(me, max(segments.shape[2], zeros))
    proofs = [_sums(one, factors, code.moduli) for one in (of_shared, of_zeros)]
    for holder in me.roles.holders:
        me.send(holder, "proof", b"".join(to_bytes(one, primes) for one in proofs))


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


def _holder(me: Party, dealers: tuple[int, ...], shared: int, zeros: int) -> Half:
    code, primes = me.code, me.code.primes
    start = _DIGEST * code.n
    ends = start + size_of(shared + COVERS, primes), start + size_of(shared + zeros + 2 * COVERS, primes)
    pieces = yield Wait("piece", dealers, ends[1] + _SALT)
    roots = yield Wait("root", dealers, _DIGEST)
    factors = yield from _coefficients(me, max(shared, zeros))
    rows = code.narrow, code.wide - code.ell
    sizes = [size_of(COVERS * one, primes) for one in rows]
    proofs, found = (yield Wait("proof", dealers, sum(sizes))), {}
    for dealer, piece in pieces.items():
        view, said = memoryview(piece), memoryview(proofs[dealer])
        at = _DIGEST * (me.number - 1)
        committed = hashlib.sha256(view[:start]).digest() == roots[dealer]
        committed &= hashlib.sha256(view[start:]).digest() == view[at : at + _DIGEST]
        of_shared = _checked(me, view[start : ends[0]], said[: sizes[0]], factors, zeros=False)
        of_zeros = _checked(me, view[ends[0] : ends[1]], said[sizes[0] :], factors, zeros=True)
        if not committed or of_shared is None:
            raise _refusal(dealer, "shares")
        if of_zeros is None:
            raise _refusal(dealer, "zeros")
        found[dealer] = Dealt(shared=of_shared, zeros=of_zeros)
    return found


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


def _refusal(dealer: int, kind: str) -> CheatError:
    text = f"party {dealer} dealt {kind} that lie on no polynomial of their degree"
    return CheatError(text, code=Code.BAD_MESSAGE)


def _tosser(me: Party, dealers: tuple[int, ...]) -> Half:
    yield Wait("root", dealers, _DIGEST)
    coin = me.masks.octets(_COIN)
    for party in sorted({*me.roles.holders, *dealers}):
        me.send(party, "coin", coin)


def _witness(me: Party, dealers: tuple[int, ...]) -> Half:
    for root in (yield Wait("root", dealers, _DIGEST)).values():
        me.note(bytes(root))


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
